package members

import (
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/campaign"
	"github.com/posthouse/posthouse/internal/ids"
	"github.com/posthouse/posthouse/internal/work"
)

// now is a moment of the run.
var now = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// told are the outcomes of a segment's members, and what follows from them.
func told(s work.Segment, status work.SegmentStatus, outcomes ...campaign.Outcome) work.Segment {
	m := campaign.NewMap(campaign.Len(&s))
	for i, o := range outcomes {
		m.Exclude(i, o)
	}
	s.Status, s.Outcomes = status, m
	campaign.Count(&s)
	return s
}

// finished is a campaign of ten in segments of four: one member stands twice, one has failed, one was in doubt when the second
// segment's worker was lost, and the rest of it was issued anew.
func finished() Run {
	c := work.Campaign{Campaign: posthouse.Campaign{ID: ids.At(now, "c"), State: posthouse.CampaignDone, SegmentSize: 4, Deadline: now.Add(time.Hour), FinishedAt: now}, Planned: 10, Last: 10}
	list := campaign.Cut(&c, 1, 10, func(seq int64) bool { return seq == 3 })
	const sent, unsent = campaign.Sent, campaign.Unsent
	list[0] = told(list[0], work.SegmentDone, sent, sent, campaign.Repeated, campaign.Failed)
	lost := told(list[1], work.SegmentClaimed, sent, campaign.Started, unsent, unsent)
	lost.Token, lost.Owner, lost.BeganAt = 1, "p1", now
	void, issued := campaign.Repair(lost, campaign.Terms{}, now, 0)
	issued[0] = told(issued[0], work.SegmentDone, sent, sent)
	list[1], list[2] = void, told(list[2], work.SegmentDone, sent, sent)
	return Run{
		Campaign: c, Segments: append(list, issued...), AtRest: true, Slack: time.Second, Timeout: 10 * time.Second,
		Twice: func(seq int64) (bool, error) { return seq == 3, nil },
	}
}

// journal is what arrived of a run: one message for each who counts as sent, and for the one in doubt.
func journal(r *Run) map[string][]Arrival {
	got := map[string][]Arrival{}
	for seq := int64(1); seq <= 10; seq++ {
		if seq != 3 && seq != 4 {
			got[campaign.MemberID(r.Campaign.ID, seq)] = []Arrival{{At: now, Taken: true, Accepted: true}}
		}
	}
	return got
}

// I26: a sound campaign is judged so, and each of these bugs is found by what it leaves behind.
func TestBugsOfCampaignsAreFound(t *testing.T) {
	t.Parallel()
	type bug func(r *Run, got map[string][]Arrival, id func(seq int64) string)
	set := func(s *work.Segment, at int, o campaign.Outcome) {
		campaign.Map(s.Outcomes).Exclude(at, o)
		campaign.Count(s)
	}
	for name, c := range map[string]struct {
		do   bug
		want string // empty for a sound run
	}{
		"none": {func(*Run, map[string][]Arrival, func(int64) string) {}, ""},
		"a repeat after doubt, by policy": {func(r *Run, got map[string][]Arrival, id func(int64) string) {
			lost := told(campaign.Cut(&r.Campaign, 5, 8, func(int64) bool { return false })[0], work.SegmentClaimed, campaign.Sent, campaign.Started, campaign.Sent, campaign.Sent)
			lost.BeganAt = now
			void, issued := campaign.Repair(lost, campaign.Terms{Again: true, Window: time.Hour}, now, 0)
			issued[0] = told(issued[0], work.SegmentDone, campaign.Sent)
			r.Segments = append([]work.Segment{r.Segments[0], r.Segments[2], void}, issued...)
			got[id(6)] = append(got[id(6)], Arrival{At: now.Add(time.Minute), Taken: true, Accepted: true})
		}, ""},
		"the map's bit is written before the send, and the process dies": {func(r *Run, got map[string][]Arrival, id func(int64) string) { delete(got, id(2)) }, "c.2: it counts as sent, and nothing arrived"},
		"the cursor moves at fetch": {func(r *Run, got map[string][]Arrival, id func(int64) string) {
			r.Segments[1].Outcomes = append([]byte(nil), r.Segments[1].Outcomes...)
			r.Segments = r.Segments[:3] // what was fetched and not sent is in no segment
		}, "c.7: no segment has it"},
		"the repair issues those anew who are done": {func(r *Run, got map[string][]Arrival, id func(int64) string) {
			r.Segments[3] = told(work.Segment{ID: "again", Campaign: r.Campaign.ID, First: 5, Last: 8, RepairedFrom: r.Segments[1].ID}, work.SegmentDone, campaign.Sent, campaign.Elsewhere, campaign.Sent, campaign.Sent)
		}, "c.5: it was issued anew"},
		"a segment has two owners": {func(r *Run, got map[string][]Arrival, id func(int64) string) {
			got[id(9)] = append(got[id(9)], got[id(9)]...)
		}, "c.9: 2 messages arrived"},
		"a receipt of another campaign": {func(r *Run, got map[string][]Arrival, id func(int64) string) {
			set(&r.Segments[0], 0, campaign.Delivered)
			delete(got, id(1))
		}, "c.1: it counts as delivered, and nothing arrived"},
		"a receipt of somebody else": {func(r *Run, _ map[string][]Arrival, _ func(int64) string) {
			r.Segments[0].Receipts, r.Segments[0].Heard = []byte{1, 0, 0, 1}, work.HeardMembers{Delivered: 1}
		}, "c.4: the provider has told of it, and it is failed"},
		"a receipt that is counted twice": {func(r *Run, _ map[string][]Arrival, _ func(int64) string) {
			r.Segments[0].Receipts, r.Segments[0].Heard = []byte{1, 2, 0, 0}, work.HeardMembers{Delivered: 2, Undelivered: 1}
		}, "receipts count 2 as delivered and 1 as not, and it has 1 and 1"},
		"receipts": {func(r *Run, _ map[string][]Arrival, _ func(int64) string) {
			r.Segments[0].Receipts, r.Segments[0].Heard = []byte{1, 2, 0, 0}, work.HeardMembers{Delivered: 1, Undelivered: 1}
		}, ""},
		"two segments have the same member": {func(r *Run, got map[string][]Arrival, id func(int64) string) {
			r.Segments = append(r.Segments, told(work.Segment{ID: "s9", First: 10, Last: 10}, work.SegmentDone, campaign.Sent))
		}, "c.10: "},
		"a segment is off by one": {func(r *Run, got map[string][]Arrival, id func(int64) string) { r.Segments[2].Last++ }, "map of"},
		"counts beside the map":   {func(r *Run, got map[string][]Arrival, id func(int64) string) { r.Segments[0].Counts[campaign.Sent]++ }, "it counts 3 as sent, and its map has 2"},
		"done before everybody is": {func(r *Run, got map[string][]Arrival, id func(int64) string) {
			set(&r.Segments[2], 1, campaign.Unsent)
			r.Segments[2].Status = work.SegmentFree
			delete(got, id(10))
		}, "its campaign is done, and it is not"},
		"started members in a void segment": {func(r *Run, got map[string][]Arrival, id func(int64) string) {
			set(&r.Segments[1], 1, campaign.Started)
		}, "it has ended as 4"},
		"sent after the deadline": {func(r *Run, got map[string][]Arrival, id func(int64) string) {
			got[id(9)][0].At = now.Add(time.Hour + time.Minute)
		}, "c.9: a message arrived at"},
		"suppressed and sent": {func(r *Run, got map[string][]Arrival, id func(int64) string) {
			set(&r.Segments[0], 0, campaign.Suppressed)
		}, "c.1: it is suppressed, and 1 messages arrived"},
		"suppressed a second before": {func(r *Run, got map[string][]Arrival, id func(int64) string) {
			r.Barred = func(seq int64, at time.Time) (time.Time, bool) {
				return now.Add(-r.Timeout), seq == 9 && at.After(now.Add(-r.Timeout))
			}
		}, ""},
		"suppressed, and sent to since": {func(r *Run, got map[string][]Arrival, id func(int64) string) {
			r.Barred = func(seq int64, at time.Time) (time.Time, bool) { return now.Add(-time.Minute), seq == 9 }
		}, "c.9: a message arrived at"},
		"whoever stands twice is told": {func(r *Run, got map[string][]Arrival, id func(int64) string) { set(&r.Segments[0], 2, campaign.Sent) }, "c.3: it is sent, and that its address stands before it is true"},
		"unsent and sent": {func(r *Run, got map[string][]Arrival, id func(int64) string) {
			r.Campaign.State = posthouse.CampaignPaused
			set(&r.Segments[2], 0, campaign.Unsent)
			r.Segments[2].Status = work.SegmentFree
		}, "c.9: it is unsent"},
	} {
		r := finished()
		got := journal(&r)
		id := func(seq int64) string { return campaign.MemberID(r.Campaign.ID, seq) }
		c.do(&r, got, id)
		r.Arrived = func(key string) []Arrival { return got[key] }
		var found []string
		n, err := Judge(r, func(f Finding) { found = append(found, strings.ReplaceAll(f.Subject, r.Campaign.ID, "c")+": "+f.What) })
		if err != nil || n != 10 {
			t.Errorf("%s: %d members were judged, %v", name, n, err)
		}
		all := strings.Join(found, "\n")
		if c.want == "" && all != "" || !strings.Contains(all, c.want) {
			t.Errorf("%s: want %q, found:\n%s", name, c.want, all)
		}
	}
}
