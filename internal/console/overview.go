package console

import (
	"net/url"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/wire"
)

// overview is what the first page of a tenant shows.
type overview struct {
	wire.Overview
	chart
	Stuck     []wire.OverviewLane // with something that needs a person
	Waiting   []wire.OverviewLane
	Halted    []posthouse.Channel // that do not send
	Campaigns []onTheWay          // that run or were paused by themselves, and have unsent members
	Matters   []matter            // what needs somebody, the verdict of the page
	Open      wire.OverviewLane   // the sum of what is open
	Loudest   []wire.OverviewTrouble
	Day       time.Time // since when they are counted
	Box       *wire.Outbox
	Processes []wire.Process // none where the person may not see them
	First     bool           // there is no channel yet
}

// mostLoud are the errors that the overview names.
const mostLoud = 3

func showOverview(v *visit) error {
	o := overview{}
	var err error
	if o.Overview, o.chart, err = chartOf(v, ""); err != nil {
		return err
	}
	for _, l := range o.Lanes {
		o.Open.Pending += l.Pending
		o.Open.Sending += l.Sending
		o.Open.Unknown += l.Unknown
		o.Open.Quarantined += l.Quarantined
		if l.Unknown+l.Quarantined > 0 {
			o.Stuck = append(o.Stuck, l)
		}
		if l.Pending+l.Sending > 0 {
			o.Waiting = append(o.Waiting, l)
		}
	}
	for _, look := range []func(*visit) error{o.halted, o.campaigns, o.loudest, o.refused, o.present} {
		if err := look(v); err != nil {
			return err
		}
	}
	o.judge(v)
	return v.show("overview", "overview", &o)
}

// matter is one thing that needs somebody: how many of it there are or whose it is, and where it is put right.
type matter struct {
	N          int
	Name       string // of a channel
	Word, Link string
	Detail     string
}

// Needs is how much needs somebody.
func (o *overview) Needs() int { return len(o.Matters) }

// judge collects what needs somebody, what cannot wait first.
func (o *overview) judge(v *visit) {
	f := frame{v: v, Now: time.Now()}
	add := func(is bool, m matter) {
		if is {
			o.Matters = append(o.Matters, m)
		}
	}
	add(o.Open.Unknown > 0, matter{N: o.Open.Unknown, Word: "matter_unknown", Link: v.at("attention") + "?state=unknown"})
	add(o.Open.Quarantined > 0, matter{N: o.Open.Quarantined, Word: "matter_quarantined", Link: v.at("attention") + "?state=quarantined"})
	for _, c := range o.Halted {
		byAccounts := c.State == posthouse.ChannelParked && slices.ContainsFunc(o.Parked, func(p wire.OverviewParked) bool { // which are named below
			return p.Channel == c.Name && p.Until.Equal(c.StateUntil)
		})
		add(!byAccounts, matter{Name: c.Name, Word: "channel_" + string(c.State), Link: v.at("channels", c.Name), Detail: c.StateReason})
	}
	for _, c := range o.Campaigns {
		add(c.Stands, matter{N: int(c.Counts.Unsent), Name: c.Name, Word: "matter_campaign", Link: v.at("campaigns", c.Name), Detail: c.Halted})
	}
	for _, l := range o.Waiting {
		add(l.Late && !slices.ContainsFunc(o.Halted, func(c posthouse.Channel) bool { return c.Name == l.Channel }),
			matter{Name: l.Channel, Word: "matter_late", Link: v.at("channels", l.Channel), Detail: f.Ago(l.Oldest)})
	}
	for _, p := range o.Parked {
		add(true, matter{N: p.Accounts, Name: p.Channel, Word: "matter_parked", Link: v.at("channels", p.Channel) + "?state=parked#accounts"})
	}
	if o.Box != nil {
		add(o.Box.Rejected > 0, matter{N: o.Box.Rejected, Word: "outbox_rejected", Link: v.at("outbox")})
	}
	add(o.Differ(), matter{Word: "matter_differ", Link: v.at("system") + "#processes"})
}

// Spark are the points of a small line over what the chart counts, in a field of 100 by 24.
func (o *overview) Spark(of string) string {
	value := func(b *wire.OverviewMinute) int {
		return map[string]int{"accepted": b.Accepted, "sent": b.Sent, "failed": b.Failed, "again": b.Again, "unknown": b.Unknown}[of]
	}
	values := make([]int, len(o.Bars))
	for i := range o.Bars {
		values[i] = value(&o.Bars[i].OverviewMinute)
	}
	return sparkline(values, slices.Max(append([]int{1}, values...)))
}

// halted reads which channels do not send.
func (o *overview) halted(v *visit) error {
	channels, err := v.call().Channels.List(v.ctx())
	o.First = err == nil && len(channels) == 0
	for _, c := range channels {
		if !isOpen(c) {
			o.Halted = append(o.Halted, c)
		}
	}
	return err
}

// onTheWay is a campaign that has begun: its members are in no queue before their turn, so no lane counts them.
type onTheWay struct {
	wire.CampaignListed
	Stands bool // it stands still, and that does not pass by itself in a moment
}

const (
	// mostCampaigns bounds the campaigns of a state that the overview names.
	mostCampaigns = 20
	// passes is how soon what stops a campaign ends, where nobody needs to know: providers refuse an account for some seconds.
	passes = time.Minute
)

// campaigns reads which campaigns have unsent members, and which of them stand still.
func (o *overview) campaigns(v *visit) error {
	for _, state := range []posthouse.CampaignState{posthouse.CampaignRunning, posthouse.CampaignPaused} {
		page, err := v.call().Campaigns.List(v.ctx(), state, client.Filter{Limit: mostCampaigns})
		if err != nil {
			return err
		}
		for _, c := range page.Items {
			if c.Counts.Unsent+c.Counts.Started == 0 || state == posthouse.CampaignPaused && c.Halted == "" { // a person paused it
				continue
			}
			o.Campaigns = append(o.Campaigns, onTheWay{c, c.Halted != "" && (c.Until.IsZero() || time.Until(c.Until) >= passes)})
		}
	}
	return nil
}

// loudest reads what most attempts of the last day ended badly by.
func (o *overview) loudest(v *visit) error {
	day := o.Overview
	if o.Span.Length != lookedBack {
		var err error
		if day, err = v.call().Overview(v.ctx(), "", int(lookedBack/time.Minute)); err != nil {
			return err
		}
	}
	o.Loudest, o.Day = day.Trouble[:min(len(day.Trouble), mostLoud)], day.At.Add(-lookedBack).Truncate(day.Step.Std())
	return nil
}

// refused reads how the outbox stands, for who may see it.
func (o *overview) refused(v *visit) error {
	if !v.may(posthouse.ScopeAdmin, "outbox.read") {
		return nil
	}
	box, err := v.call().Outbox.List(v.ctx(), client.Filter{Limit: 1})
	o.Box = &box
	return err
}

// present reads which processes are at work.
func (o *overview) present(v *visit) (err error) {
	o.Processes, err = processesFor(v)
	return err
}

// processesFor are the processes of the database, none for who may not see them.
func processesFor(v *visit) ([]wire.Process, error) {
	if v.tenant != posthouse.DefaultTenant || !v.may(posthouse.ScopeAdmin, "processes.read") {
		return nil, nil
	}
	return v.call().Processes.List(v.ctx())
}

// Behind are the deliveries that were handed in since a time.
func (o *overview) Behind(f frame, since time.Time) string {
	return f.At("search") + "?" + url.Values{"since": {f.ISO(since)}}.Encode()
}

// In are the deliveries that were handed in in a slot of the chart. How attempts ended in it is counted apart: they may be of older ones.
func (o *overview) In(f frame, slot time.Time) string {
	return f.At("search") + "?" + url.Values{"since": {f.ISO(slot)}, "until": {f.ISO(slot.Add(o.Span.Unit))}}.Encode()
}

// Lane are the deliveries of a channel and priority in a state.
func (o *overview) Lane(f frame, l wire.OverviewLane, state posthouse.State) string {
	return f.At("search") + "?" + url.Values{"channel": {l.Channel}, "priority": {string(l.Priority)}, "state": {string(state)}}.Encode()
}

// Causes are the deliveries behind a class of results.
func (o *overview) Causes(f frame, t wire.OverviewTrouble) []behind {
	return behindClass(f, t.Channel, t.Class)
}

// From is the beginning of what the page counts: the first slot of its chart.
func (o *overview) From() time.Time { return o.Bars[0].At }

// Differ reports whether processes that are at work differ in version or keyring, or one has outlived a restore.
func (o *overview) Differ() bool { return differ(o.Processes) }

// AtWork is how many processes are.
func (o *overview) AtWork() int { return len(o.Processes) - o.Silent() }

// Silent is how many were killed, hang or do not reach the database, of those of the last day.
func (o *overview) Silent() (n int) {
	for _, p := range o.Processes {
		if p.Gone {
			n++
		}
	}
	return n
}

func differ(list []wire.Process) bool {
	kinds := map[[2]string]bool{}
	for _, p := range list {
		if p.Stale && !p.Gone {
			return true
		}
		if !p.Gone {
			kinds[[2]string{p.Version, p.Key + " " + p.Keyring}] = true
		}
	}
	return len(kinds) > 1
}
