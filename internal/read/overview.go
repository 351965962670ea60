package read

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// Tallies are counts that are kept beside the deliveries.
type Tallies interface {
	// MinutesOf are the counts of what a tenant had accepted and of its attempts since a time, by minute, channel and outcome.
	MinutesOf(ctx context.Context, tenant string, since time.Time) ([]work.Minute, error)
	// HoursOf are the same by the hour.
	HoursOf(ctx context.Context, tenant string, since time.Time) ([]work.Minute, error)
}

// Depths are what was open when it was last counted, and when that was.
type Depths interface {
	Depths() ([]work.Depth, time.Time)
}

// Lines are the channels that are open in this process.
type Lines interface {
	Channel(tenant, name string) *state.Channel
}

// Gates are the accounts that providers have refused.
type Gates interface {
	Gates(ctx context.Context, tenant string) ([]work.Gate, error)
}

// Fullness says which window is the fullest of each channel that is open here.
type Fullness interface {
	Tightest(ctx context.Context, tenant string) (map[string]wire.Window, error)
}

// Overviewer reads how the sending of tenants goes. All of its fields are required.
type Overviewer struct {
	Tallies Tallies
	Depths  Depths
	Lines   Lines
	Gates   Gates
	Fill    Fullness
}

// mostTrouble bounds the list of what went wrong.
const mostTrouble = 10

// byMinute is how far back counts are told by the minute. Beyond it they are by the hour: a large fleet has a thousand rows a minute.
const byMinute = 4 * time.Hour

// Overview reads how a tenant's sending went since a time, and what is open: of one channel, or of all where none is named.
func (o Overviewer) Overview(ctx context.Context, tenant, channel string, now, since time.Time) (wire.Overview, error) {
	out := wire.Overview{At: now.UTC(), Step: posthouse.Duration(time.Minute), Minutes: []wire.OverviewMinute{}, Lanes: []wire.OverviewLane{}, Trouble: []wire.OverviewTrouble{}}
	counts, err := o.counts(ctx, tenant, now, since, &out.Step)
	if err != nil {
		return out, err
	}
	trouble := map[wire.OverviewTrouble]int{}
	for _, c := range counts {
		if channel != "" && c.Channel != channel {
			continue
		}
		tell(&out.Minutes, c)
		if class := posthouse.Class(c.Outcome); class != posthouse.ClassOK && c.Outcome != work.Accepted && c.Outcome != work.GaveUp {
			trouble[wire.OverviewTrouble{Channel: c.Channel, Class: class}] += c.N
		}
	}
	for t, n := range trouble {
		t.N = n
		out.Trouble = append(out.Trouble, t)
	}
	slices.SortFunc(out.Trouble, func(a, b wire.OverviewTrouble) int {
		return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.Channel, b.Channel), cmp.Compare(a.Class, b.Class))
	})
	out.Trouble = out.Trouble[:min(len(out.Trouble), mostTrouble)]
	out.Lanes, out.CountedAt = o.lanes(tenant, channel, now)
	out.Parked, err = o.parked(ctx, tenant, channel, now)
	return out, err
}

// fiveMinutes is the step of what is told of each channel: a fleet has hundreds of them.
const fiveMinutes = 5 * time.Minute

// ByChannel is how the sending of each channel of a tenant went since a time, and how full the window is that will stop it first: from the
// same counts, and from one look at all windows.
func (o Overviewer) ByChannel(ctx context.Context, tenant string, now, since time.Time) ([]wire.OverviewChannel, error) {
	var step posthouse.Duration
	counts, err := o.counts(ctx, tenant, now, since, &step)
	if err != nil {
		return nil, err
	}
	tightest, err := o.Fill.Tightest(ctx, tenant)
	if err != nil {
		return nil, err
	}
	of := map[string]*wire.OverviewChannel{}
	named := func(channel string) *wire.OverviewChannel {
		if of[channel] == nil {
			of[channel] = &wire.OverviewChannel{Channel: channel, Minutes: []wire.OverviewMinute{}}
		}
		return of[channel]
	}
	for _, c := range counts {
		c.At = c.At.Truncate(fiveMinutes)
		tell(&named(c.Channel).Minutes, c)
	}
	for channel, w := range tightest {
		named(channel).Tightest = &w
	}
	list := make([]wire.OverviewChannel, 0, len(of))
	for _, channel := range slices.Sorted(maps.Keys(of)) {
		list = append(list, *of[channel])
	}
	return list, nil
}

// tell adds a count to the last of some minutes, or to a new one.
func tell(list *[]wire.OverviewMinute, c work.Minute) {
	if n := len(*list); n == 0 || !(*list)[n-1].At.Equal(c.At) {
		*list = append(*list, wire.OverviewMinute{At: c.At})
	}
	minute := &(*list)[len(*list)-1]
	switch c.Outcome {
	case work.Accepted:
		minute.Accepted += c.N
		return
	case work.GaveUp: // its class is counted too
		minute.Failed, minute.Again = minute.Failed+c.N, minute.Again-c.N
		return
	}
	add(minute, posthouse.Class(c.Outcome), c.N)
}

// parked counts the accounts that providers refuse, by channel. A gate without an account is of the whole channel, whose state says it.
func (o Overviewer) parked(ctx context.Context, tenant, channel string, now time.Time) ([]wire.OverviewParked, error) {
	list := []wire.OverviewParked{}
	gates, err := o.Gates.Gates(ctx, tenant)
	for _, g := range gates { // by channel
		if g.Account == "" || !now.Before(g.Until) || channel != "" && g.Channel != channel {
			continue
		}
		if n := len(list); n == 0 || list[n-1].Channel != g.Channel {
			list = append(list, wire.OverviewParked{Channel: g.Channel})
		}
		p := &list[len(list)-1]
		p.Accounts++
		if until := g.Until.UTC(); until.After(p.Until) {
			p.Until = until
		}
	}
	return list, err
}

// counts are those since a time, and by which step.
func (o Overviewer) counts(ctx context.Context, tenant string, now, since time.Time, step *posthouse.Duration) ([]work.Minute, error) {
	if now.Sub(since) <= byMinute {
		return o.Tallies.MinutesOf(ctx, tenant, since)
	}
	*step = posthouse.Duration(time.Hour)
	return o.Tallies.HoursOf(ctx, tenant, since)
}

// add counts attempts that ended in one way.
func add(m *wire.OverviewMinute, class posthouse.Class, n int) {
	switch class {
	case posthouse.ClassOK:
		m.Sent += n
	case posthouse.ClassRecipient, posthouse.ClassContent, posthouse.ClassRequest:
		m.Failed += n
	case posthouse.ClassUnknown:
		m.Unknown += n
	default:
		m.Again += n
	}
}

// lanes are what was open of a tenant when it was last counted, by channel and priority.
func (o Overviewer) lanes(tenant, channel string, now time.Time) ([]wire.OverviewLane, time.Time) {
	depths, at := o.Depths.Depths()
	list := []wire.OverviewLane{}
	for _, d := range depths {
		if d.Tenant != tenant || channel != "" && d.Channel != channel {
			continue
		}
		i := slices.IndexFunc(list, func(l wire.OverviewLane) bool { return l.Channel == d.Channel && l.Priority == d.Priority })
		if i < 0 {
			i, list = len(list), append(list, wire.OverviewLane{Channel: d.Channel, Priority: d.Priority})
		}
		count(&list[i], d, now)
	}
	for i := range list {
		l := &list[i]
		wait := state.Promise(o.Lines.Channel(tenant, l.Channel), l.Priority)
		l.Promise, l.Late = posthouse.Duration(wait), !l.Oldest.IsZero() && now.Sub(l.Oldest) > wait
	}
	return list, at
}

func count(l *wire.OverviewLane, d work.Depth, now time.Time) {
	switch d.State {
	case posthouse.Pending:
		l.Pending += d.Count
		if !d.Oldest.IsZero() && d.Oldest.Before(now) && (l.Oldest.IsZero() || d.Oldest.Before(l.Oldest)) {
			l.Oldest = d.Oldest
		}
	case posthouse.Sending:
		l.Sending += d.Count
	case posthouse.Unknown:
		l.Unknown += d.Count
	case posthouse.Quarantined:
		l.Quarantined += d.Count
	}
}
