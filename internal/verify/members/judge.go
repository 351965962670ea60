// Package members judges where the members of a campaign stand: whether its segments have each of them once, say the same in
// their maps, counts and states, follow from each other by repairs, and agree with what reached the provider.
//
// It reads what is stored, and changes nothing. Package verify asks it for the invariant I26.
package members

import (
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/campaign"
	"github.com/posthouse/posthouse/internal/work"
)

// Arrival is one message that reached the provider.
type Arrival struct {
	At time.Time
	// Taken says that the recipient may have it, Accepted that the provider has said so.
	Taken, Accepted bool
}

// Run is what is known of a campaign.
type Run struct {
	Campaign work.Campaign
	// Segments are all of it, also void ones.
	Segments []work.Segment
	// Twice reports whether a number is of no member, since the address stands before it. Members are asked for in order. nil
	// for nobody.
	Twice func(seq int64) (bool, error)
	// Arrived are the arrivals of a member's key, in the order of time. nil where nobody knows them.
	Arrived func(key string) []Arrival
	// Barred says of a member whether nothing may start for it at a time, and since when. nil for nobody.
	Barred func(seq int64, at time.Time) (since time.Time, is bool)
	// AtRest says that nothing is under way any more.
	AtRest bool
	// Slack is how far the clocks of the database and the provider may be apart, Timeout how long a send may take.
	Slack, Timeout time.Duration
}

// Finding is something that does not hold, of a campaign, a segment or a member.
type Finding struct {
	Subject, What string
	Barred        bool // it is of somebody who was suppressed
}

// judge is one campaign under judgement.
type judge struct {
	Run
	found func(Finding)
	by    map[string]*work.Segment // by id
}

// Judge calls found for each thing that does not hold, and returns how many members it has looked at.
func Judge(r Run, found func(Finding)) (members int, err error) {
	j := &judge{r, found, map[string]*work.Segment{}}
	for i := range r.Segments {
		j.by[r.Segments[i].ID] = &r.Segments[i]
	}
	for i := range r.Segments {
		j.segment(&r.Segments[i])
	}
	members, err = j.members()
	j.end()
	return members, err
}

func (j *judge) say(subject, format string, args ...any) {
	j.found(Finding{Subject: subject, What: fmt.Sprintf(format, args...)})
}

// segment holds that a segment's map, counts, reasons and state agree, and that it follows from what it repairs.
func (j *judge) segment(s *work.Segment) {
	n := campaign.Len(s)
	if n < 1 || s.First < 1 || len(s.Outcomes) != (n+1)/2 {
		j.say(s.ID, "it has the members %d to %d, and a map of %d bytes", s.First, s.Last, len(s.Outcomes))
		return
	}
	m := campaign.Map(s.Outcomes)
	counts := m.Count(n)
	for o, want := range counts {
		if s.Counts[o] != want {
			j.say(s.ID, "it counts %d as %s, and its map has %d", s.Counts[o], campaign.Outcome(o), want)
		}
	}
	unsent, started := counts[campaign.Unsent], counts[campaign.Started]
	switch s.Status {
	case work.SegmentFree:
		if started > 0 || unsent == 0 {
			j.say(s.ID, "it is free, and %d of its members are unsent and %d started", unsent, started)
		}
	case work.SegmentDone, work.SegmentVoid:
		if unsent+started > 0 {
			j.say(s.ID, "it has ended as %d, and %d of its members are unsent and %d started", s.Status, unsent, started)
		}
	case work.SegmentPartly:
		if started > 0 {
			j.say(s.ID, "it is partly done, and %d of its members are started", started)
		}
	case work.SegmentClaimed:
		if s.Owner == "" || s.Token == 0 {
			j.say(s.ID, "it is claimed by %q with the token %d", s.Owner, s.Token)
		}
	}
	j.receipts(s, m)
	j.repair(s, m)
}

// receipts holds that the provider has told only of members who were sent to, and that it is counted.
func (j *judge) receipts(s *work.Segment, m campaign.Map) {
	if len(s.Receipts) == 0 && s.Heard == (work.HeardMembers{}) {
		return
	}
	var heard work.HeardMembers
	for i := range min(len(s.Receipts), campaign.Len(s)) {
		switch o := campaign.At(s, i); {
		case s.Receipts[i] == 0:
		case m.At(i) != campaign.Sent:
			j.say(campaign.MemberID(s.Campaign, s.First+int64(i)), "the provider has told of it, and it is %s: the receipt is not its own", m.At(i))
		case o == campaign.Delivered:
			heard.Delivered++
		default:
			heard.Undelivered++
		}
	}
	if heard != s.Heard || len(s.Receipts) > campaign.Len(s) {
		j.say(s.ID, "receipts count %d as delivered and %d as not, and it has %d and %d", s.Heard.Delivered, s.Heard.Undelivered, heard.Delivered, heard.Undelivered)
	}
}

// repair holds that a segment that was issued anew has exactly members that the void one has let go.
func (j *judge) repair(s *work.Segment, m campaign.Map) {
	if s.RepairedFrom == "" {
		return
	}
	old := j.by[s.RepairedFrom]
	switch {
	case old == nil:
		j.say(s.ID, "it was issued for %s, which is not there", s.RepairedFrom)
		return
	case old.Status != work.SegmentVoid:
		j.say(s.ID, "it was issued for %s, which is not void", old.ID)
		return
	case s.First < old.First || s.Last > old.Last:
		j.say(s.ID, "it has the members %d to %d, and was issued for %s with %d to %d", s.First, s.Last, old.ID, old.First, old.Last)
		return
	}
	from := campaign.Map(old.Outcomes)
	for seq := s.First; seq <= s.Last; seq++ {
		was := from.At(int(seq - old.First))
		if is := m.At(int(seq - s.First)); is != campaign.Elsewhere && was != campaign.Elsewhere {
			j.say(campaign.MemberID(s.Campaign, seq), "it was issued anew in %s, and is %s in %s: it is done twice over", s.ID, was, old.ID)
		}
	}
}

// place is where a member stands.
type place struct {
	outcome campaign.Outcome
	in      *work.Segment
}

// stretch is how many members are put together at once.
const stretch = 100_000

// members holds that each member stands in one segment, and stands there as what arrived says.
func (j *judge) members() (n int, err error) {
	c := &j.Campaign
	for first := int64(1); first <= c.Planned; first += stretch {
		last := min(first+stretch-1, c.Planned)
		at := make([][]place, last-first+1)
		for i := range j.Segments {
			j.lay(&j.Segments[i], first, last, at)
		}
		for i, places := range at {
			if err := j.member(first+int64(i), places); err != nil {
				return n, err
			}
			n++
		}
	}
	for i := range j.Segments {
		if s := &j.Segments[i]; s.Last > c.Planned && j.AtRest {
			j.say(s.ID, "it has members up to %d, and %d are planned", s.Last, c.Planned)
		}
	}
	return n, nil
}

// lay notes where the members of a segment stand.
func (j *judge) lay(s *work.Segment, first, last int64, at [][]place) {
	if len(s.Outcomes) != (campaign.Len(s)+1)/2 {
		return
	}
	m := campaign.Map(s.Outcomes)
	for seq := max(first, s.First); seq <= min(last, s.Last); seq++ {
		if o := m.At(int(seq - s.First)); o != campaign.Elsewhere {
			at[seq-first] = append(at[seq-first], place{o, s})
		}
	}
}

// member judges one.
func (j *judge) member(seq int64, places []place) error {
	id := campaign.MemberID(j.Campaign.ID, seq)
	switch len(places) {
	case 0:
		j.say(id, "no segment has it: it is lost")
		return nil
	case 1:
	default:
		j.say(id, "%s has it as %s, and %s as %s", places[0].in.ID, places[0].outcome, places[1].in.ID, places[1].outcome)
		return nil
	}
	p := places[0]
	if j.Twice != nil {
		twice, err := j.Twice(seq)
		if err != nil {
			return err
		}
		if twice != (p.outcome == campaign.Repeated) {
			j.say(id, "it is %s, and that its address stands before it is %v", p.outcome, twice)
		}
	}
	if j.Arrived != nil {
		list := j.Arrived(id)
		if j.AtRest || !j.Campaign.FinishedAt.IsZero() { // else more arrives while it is read
			j.arrivals(seq, p, list)
		}
	}
	return nil
}

// arrivals holds what reached the provider against where a member stands.
func (j *judge) arrivals(seq int64, p place, list []Arrival) {
	id, s := campaign.MemberID(j.Campaign.ID, seq), p.in
	taken, accepted := 0, 0
	var last time.Time
	for _, a := range list {
		last = a.At
		if a.Taken {
			taken++
		}
		if a.Accepted {
			accepted++
		}
	}
	doubted := !s.DoubtedAt.IsZero() || noted(s, int(seq-s.First))
	switch o := p.outcome; {
	case (o == campaign.Sent || o == campaign.Delivered || o == campaign.Undelivered) && taken == 0 && !doubted:
		j.say(id, "it counts as %s, and nothing arrived: it is lost", o)
	case taken > 0 && (o == campaign.Suppressed || o == campaign.Expired || o == campaign.Cancelled || o == campaign.Repeated):
		j.say(id, "it is %s, and %d messages arrived", o, taken)
	case taken > 0 && o == campaign.Unsent && s.Status != work.SegmentClaimed && !doubted:
		j.say(id, "it is unsent, and %d messages arrived: it would be sent to again", taken)
	case accepted > 0 && o == campaign.Failed && !doubted:
		j.say(id, "it has failed, and the provider has accepted a message")
	}
	if taken > 1 && s.DoubtedAt.IsZero() {
		j.say(id, "%d messages arrived, and no attempt was in doubt before the last", taken)
	}
	if since, is := j.barred(seq, last); is && len(list) > 0 {
		j.found(Finding{id, fmt.Sprintf("a message arrived at %s, and its address has been suppressed since %s", last.UTC().Format(time.RFC3339Nano), since.UTC().Format(time.RFC3339Nano)), true})
	}
	if d := j.Campaign.Deadline; !d.IsZero() && last.After(d.Add(j.Slack+j.Timeout)) {
		j.say(id, "a message arrived at %s, after the deadline", last.UTC().Format(time.RFC3339Nano))
	}
}

// barred reports whether a member was suppressed before a message was sent to it that arrived at a time.
func (j *judge) barred(seq int64, arrived time.Time) (since time.Time, is bool) {
	if j.Barred == nil {
		return since, false
	}
	return j.Barred(seq, arrived.Add(-j.Slack-j.Timeout))
}

// noted reports whether a member was in doubt: it is unknown, or was until somebody decided on it.
func noted(s *work.Segment, at int) bool {
	if at >= len(s.Noted) || s.Noted[at] == 0 || int(s.Noted[at]) > len(s.Reasons) {
		return false
	}
	r := &s.Reasons[s.Noted[at]-1]
	return r.Outcome == campaign.Unknown.String() || r.Class == posthouse.ClassUnknown
}

// end holds that a campaign that has ended has nobody left.
func (j *judge) end() {
	c := &j.Campaign
	if c.State != posthouse.CampaignDone {
		return
	}
	if c.Planned != c.Last {
		j.say(c.ID, "it is done, and %d of %d members are in segments", c.Planned, c.Last)
	}
	for i := range j.Segments {
		if s := &j.Segments[i]; s.Status != work.SegmentDone && s.Status != work.SegmentVoid {
			j.say(s.ID, "its campaign is done, and it is not: %d", s.Status)
		}
	}
}
