package prove

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/campaign"
	"github.com/posthouse/posthouse/internal/work"
)

// stretch is a segment of a campaign that a process has claimed, and what it saw that others had left.
type stretch struct {
	held     bool
	seg      work.Segment
	leaseEnd int64
	members  [mostMembers]member
	late     bool // the write was refused: another has the segment
	left     []work.Segment
}

const (
	mostMembers = 3
	campaignID  = "C1"
)

// member is how far the sending to one has come in a process's memory.
type member struct {
	under bool // it was started
	phase phase
	end   int64
	class posthouse.Class // empty for one that was not called
}

func (s *stretch) text(b []byte) []byte {
	if s.held {
		b = fmt.Appendf(b, "%s %d %s %x %d %d %v %t", s.seg.ID, s.seg.Status, s.seg.Owner, s.seg.Outcomes, s.seg.Token, s.leaseEnd, s.members, s.late)
	}
	for i := range s.left {
		b = fmt.Appendf(b, "<%s %d %d %x", s.left[i].ID, s.left[i].Status, s.left[i].Token, s.left[i].Outcomes)
	}
	return b
}

// busy reports whether any member is under way.
func (s *stretch) busy() bool {
	return slices.ContainsFunc(s.members[:], func(m member) bool { return m.under })
}

// changed is a copy of a segment whose map may be changed.
func changed(s work.Segment) work.Segment {
	s.Outcomes, s.Noted, s.Reasons = slices.Clone(s.Outcomes), slices.Clone(s.Noted), slices.Clone(s.Reasons)
	return s
}

// placeOf is the place of a member of the campaign in a segment, and whether it is in its range.
func placeOf(s *work.Segment, n int) (int, bool) {
	i := int64(n+1) - s.First
	return int(i), i >= 0 && i <= s.Last-s.First
}

// beginCampaign cuts one segment of all members.
func (m *model) beginCampaign() error {
	c := work.Campaign{AudienceID: "L1", Last: int64(m.scene.members)}
	c.ID, c.Tenant, c.Name, c.Channel, c.Priority, c.SegmentSize = campaignID, tenant, "spring", chanel, posthouse.Normal, m.scene.members
	c.State, c.CreatedAt, c.UpdatedAt, c.Content, c.OnUnknown = posthouse.CampaignDraft, epoch0, epoch0, &posthouse.Content{Text: "你好"}, posthouse.Hold
	own := work.Audience{}
	own.ID, own.Tenant, own.Name, own.CreatedAt, own.UpdatedAt = "L1", tenant, "L1", epoch0, epoch0
	c.Audience = "L1"
	made, err := m.db.Campaigns.MakeCampaign(m.ctx, epoch0, c, &own)
	if err != nil {
		return err
	}
	made.State, made.StartedAt, made.Planned, made.Last = posthouse.CampaignRunning, epoch0, int64(m.scene.members), int64(m.scene.members)
	_, err = m.db.Campaigns.StepCampaign(m.ctx, epoch0, made, campaign.Cut(&made, 1, int64(m.scene.members), func(int64) bool { return false }))
	return err
}

func (m *model) terms() campaign.Terms {
	return campaign.Terms{Profile: m.settings.Profile, Timeout: timeout}
}

// segmentMoves is what a process does with segments.
func (m *model) segmentMoves(w *world, p int, add adder, write writer) {
	s := &w.procs[p].stretch
	switch {
	case s.held && s.late:
		write(name(p)+" keeps what late results prove", p, m.witness, nil)
	case s.held:
		m.memberMoves(w, p, add, write)
	default:
		owner := w.owner(p)
		write(name(p)+" claims a segment", p, func(proc *process) error {
			seg, found, err := m.db.Segments.ClaimSegment(m.ctx, epoch0, work.SegmentClaim{Lane: lane, Owner: owner, Lease: lease, Epoch: proc.epoch})
			if found {
				proc.stretch = stretch{held: true, seg: seg, leaseEnd: now + lease.Microseconds(), left: proc.stretch.left}
			}
			return err
		}, nil)
	}
	if len(s.left) > 0 {
		write(name(p)+" repairs a segment as it saw it", p, func(proc *process) error {
			old := proc.stretch.left[0]
			void, issued := campaign.Repair(old, m.terms(), epoch0, 0)
			_, err := m.db.Segments.ReplaceSegment(m.ctx, epoch0, old, void, issued)
			proc.stretch.left = nil
			return err
		}, nil)
		return
	}
	write(name(p)+" looks for segments that were left", p, func(proc *process) (err error) {
		proc.stretch.left, err = m.db.Segments.LeftSegments(m.ctx, epoch0, 1)
		return err
	}, nil)
}

// memberMoves is what a process does with the members of a segment that it holds.
func (m *model) memberMoves(w *world, p int, add adder, write writer) {
	s := &w.procs[p].stretch
	unsent, over := -1, false
	for i := range campaign.Len(&s.seg) {
		if unsent < 0 && campaign.Map(s.seg.Outcomes).At(i) == campaign.Unsent {
			unsent = i
		}
		if s.members[i].under {
			over = over || s.members[i].phase == answered
			m.callMember(w, p, i, add)
		}
	}
	under := 0
	for _, one := range s.members {
		if one.under {
			under++
		}
	}
	if unsent >= 0 && under < m.scene.slots {
		write(fmt.Sprintf("%s starts member %d", name(p), s.seg.First+int64(unsent)), p, func(proc *process) error { return m.startMember(proc, unsent) }, nil)
	}
	if over {
		write(name(p)+" writes results of members", p, m.settleMembers, nil)
	}
}

func (m *model) startMember(proc *process, i int) error {
	s := &proc.stretch
	seg := changed(s.seg)
	if seg.BeganAt.IsZero() {
		seg.BeganAt = epoch0
	}
	if err := campaign.Map(seg.Outcomes).Step(i, campaign.Started); err != nil {
		return err
	}
	campaign.Count(&seg)
	is, err := m.db.Segments.StartChunk(m.ctx, epoch0, seg, lease)
	switch {
	case err != nil:
		return err
	case is == work.ChunkStarted:
		s.seg, s.leaseEnd = seg, now+lease.Microseconds()
		s.members[i] = member{under: true, phase: held}
	case !s.busy():
		proc.stretch = stretch{left: s.left}
	}
	return nil
}

// callMember is the call of the provider for one member.
func (m *model) callMember(w *world, p, i int, add adder) {
	s := &w.procs[p].stretch
	one := &s.members[i]
	n := int(s.seg.First) + i
	step := func(what string, change func(next *world, one *member)) {
		add(fmt.Sprintf("%s %s member %d", name(p), what, n), p, func(next *world) error {
			change(next, &next.procs[p].stretch.members[i])
			return nil
		})
	}
	end := func(class posthouse.Class) func(*world, *member) {
		return func(_ *world, one *member) { one.phase, one.class = answered, class }
	}
	switch {
	case one.phase == held && now+timeout.Microseconds() > s.leaseEnd:
		step("finds too little of its lease left for", end(""))
	case one.phase == held:
		step("begins to call the provider for", func(_ *world, one *member) { one.phase, one.end = calling, now+timeout.Microseconds() })
	case one.phase == calling && now > one.end:
		step("finds the time for its call over, for", end(posthouse.ClassUnknown))
	case one.phase == calling:
		step("reaches", func(next *world, one *member) {
			next.boxes[n-1].arrive(0, true)
			one.phase = arrived
		})
		step("loses its call on the way to", end(posthouse.ClassUnknown))
		for _, class := range m.scene.classes {
			step("is refused ("+string(class)+"), for", end(class))
		}
	case one.phase == arrived:
		step("is answered yes, for", end(posthouse.ClassOK))
		step("loses the answer, for", end(posthouse.ClassUnknown))
	}
}

// settleMembers writes what has ended, and gives the segment back with the last.
func (m *model) settleMembers(proc *process) error {
	s := &proc.stretch
	seg, members := changed(s.seg), s.members
	for i := range members {
		if one := &members[i]; one.under && one.phase == answered {
			to := campaign.Unsent
			if one.class != "" {
				to = m.terms().After(seg.Pass, channel.Result{Class: one.class}, 0).Outcome
			}
			if err := campaign.Map(seg.Outcomes).Step(i, to); err != nil {
				return err
			}
			*one = member{}
		}
	}
	campaign.Count(&seg)
	over := seg.Counts[campaign.Unsent] == 0 && !slices.ContainsFunc(members[:], func(one member) bool { return one.under })
	if over {
		campaign.Conclude(&seg, m.terms(), epoch0, 0, 0)
	}
	kept, err := m.db.Segments.SaveSegments(m.ctx, epoch0, []work.Segment{seg}, nil, lease)
	switch {
	case err != nil:
		return err
	case !kept[0]:
		s.late = true // its results are evidence now
	case over:
		proc.stretch = stretch{left: s.left}
	default:
		s.seg, s.members, s.leaseEnd = seg, members, now+lease.Microseconds()
	}
	return nil
}

// witness keeps what late results prove of members whose segment was taken.
func (m *model) witness(proc *process) error {
	s := proc.stretch
	proc.stretch = stretch{left: s.left}
	return m.db.Segments.ReviseSegment(m.ctx, epoch0, s.seg.ID, func(seg work.Segment) (work.Segment, bool) {
		news := false
		for i, one := range s.members {
			if to := (map[posthouse.Class]campaign.Outcome{posthouse.ClassOK: campaign.Sent, posthouse.ClassRecipient: campaign.Failed})[one.class]; one.under && one.phase == answered && to != 0 {
				after, is := campaign.Witness(seg, i, to, work.SegmentReason{Outcome: to.String(), Class: one.class})
				seg, news = after, news || is
			}
		}
		return seg, news
	})
}

// rowSegments are the stored segments.
func (m *model) rowSegments(w *world) (list []work.Segment) {
	for _, row := range w.rows[segments] {
		s := setter{m.db, segments, row}
		outcomes, _ := row[m.db.column(segments, "outcomes")].([]byte)
		list = append(list, work.Segment{
			ID: s.word("id"), First: s.number("first_seq"), Last: s.number("last_seq"), Status: work.SegmentStatus(s.number("status")), Outcomes: outcomes,
			Owner: s.word("owner"), Token: s.number("token"),
		})
	}
	return list
}

// The laws of members.
const (
	lawOneSegment = "each member stands in exactly one segment"
	lawNoLess     = "the database never says less of a member than what has left"
)

// judgeMembers asks the laws of a campaign's members.
func (m *model) judgeMembers(w *world) *violation {
	list := m.rowSegments(w)
	for n := range m.scene.members {
		var in []campaign.Outcome
		for i := range list {
			if at, is := placeOf(&list[i], n); is && campaign.Map(list[i].Outcomes).At(at) != campaign.Elsewhere {
				in = append(in, campaign.Map(list[i].Outcomes).At(at))
			}
		}
		box := &w.boxes[n]
		switch {
		case len(in) != 1:
			return broken(lawOneSegment, "member %d stands in %d: %v", n+1, len(in), in)
		case box.arrivals > 1:
			return broken(lawTwice, "member %d is reached %d times, and an unknown is left to people", n+1, box.arrivals)
		case in[0] == campaign.Sent && box.arrivals == 0:
			return broken(lawTruth, "member %d is sent, and the provider has never seen it", n+1)
		case box.arrivals > 0 && in[0] != campaign.Started && in[0] != campaign.Sent && in[0] != campaign.Unknown:
			return broken(lawNoLess, "member %d has reached the provider, and is %s", n+1, in[0])
		}
	}
	return nil
}

// membersRest reports whether a campaign needs nobody any more.
func (m *model) membersRest(w *world) bool {
	for _, s := range m.rowSegments(w) {
		if s.Status != work.SegmentDone && s.Status != work.SegmentVoid {
			return false
		}
	}
	return !slices.ContainsFunc(w.procs, func(p process) bool { return p.stretch.held })
}

// normalSegments numbers the segments, and takes the times out of them.
func (m *model) normalSegments(w *world) {
	names := map[string]string{}
	for i, s := range m.rowSegments(w) {
		_ = i
		names[s.ID] = fmt.Sprintf("%d-%d %x %d", s.First, s.Last, s.Outcomes, s.Status)
	}
	var order []string
	for id := range names {
		order = append(order, id)
	}
	slices.SortFunc(order, func(a, b string) int {
		if d := strings.Compare(names[a], names[b]); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	for i, id := range order {
		names[id] = fmt.Sprintf("S%d", i+1)
	}
	named := func(id string) string {
		if names[id] == "" {
			return id
		}
		return names[id]
	}
	m.edit(w, segments, func(s setter) {
		s.set("id", named(s.word("id")))
		s.set("repaired_from", "")
		s.set("reasons", "")
		s.set("noted", nil)
		s.clamp(past, "created_at", "finished_at", "due_at", "began_at", "doubted_at")
		s.clamp(ended, "lease_until")
	})
	slices.SortFunc(w.rows[segments], func(a, b []any) int { return strings.Compare(a[0].(string), b[0].(string)) })
	for p := range w.procs {
		s := &w.procs[p].stretch
		s.leaseEnd = ended(s.leaseEnd)
		for i := range s.members {
			s.members[i].end = ended(s.members[i].end)
		}
		s.seg.ID = named(s.seg.ID)
		s.seg.Reasons, s.seg.Noted = nil, nil
		for _, t := range []*time.Time{&s.seg.BeganAt, &s.seg.DoubtedAt, &s.seg.CreatedAt, &s.seg.DueAt} {
			clampTime(t, past)
		}
		left := slices.Clone(s.left)
		for i := range left {
			left[i].ID = named(left[i].ID)
		}
		s.left = left
		if !s.held {
			*s = stretch{left: left}
		}
	}
}
