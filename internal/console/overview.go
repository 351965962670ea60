package console

import (
	"net/url"
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
		if l.Unknown+l.Quarantined > 0 {
			o.Stuck = append(o.Stuck, l)
		}
		if l.Pending+l.Sending > 0 {
			o.Waiting = append(o.Waiting, l)
		}
	}
	for _, look := range []func(*visit) error{o.halted, o.loudest, o.refused, o.present} {
		if err := look(v); err != nil {
			return err
		}
	}
	return v.show("overview", "overview", &o)
}

// halted reads which channels do not send.
func (o *overview) halted(v *visit) error {
	channels, err := v.call().Channels.List(v.ctx())
	o.First = err == nil && len(channels) == 0
	for _, c := range channels {
		if c.State != "" && c.State != posthouse.ChannelOpen {
			o.Halted = append(o.Halted, c)
		}
	}
	return err
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

// Behind are the deliveries behind a number of the page, as far as they can be told by when they were handed in.
func (o *overview) Behind(f frame, state posthouse.State, since time.Time) string {
	return f.At("search") + "?" + stated(state, url.Values{"since": {f.ISO(since)}}).Encode()
}

// In are the deliveries of a state that were handed in in a slot of the chart.
func (o *overview) In(f frame, state posthouse.State, slot time.Time) string {
	return f.At("search") + "?" + stated(state, url.Values{"since": {f.ISO(slot)}, "until": {f.ISO(slot.Add(o.Span.Unit))}}).Encode()
}

// stated adds a state, where there is one, to what is searched for.
func stated(state posthouse.State, filter url.Values) url.Values {
	if state != "" {
		filter.Set("state", string(state))
	}
	return filter
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

// There is how many processes are at work.
func (o *overview) There() (n int) {
	for _, p := range o.Processes {
		if !p.Gone {
			n++
		}
	}
	return n
}

// Differ reports whether processes that are at work differ in version or keyring, or one has outlived a restore.
func (o *overview) Differ() bool { return differ(o.Processes) }

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
