package console

import (
	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// overview is what the first page of a tenant shows.
type overview struct {
	wire.Overview
	chart
	Stuck    []wire.OverviewLane // with something that needs a person
	Waiting  []wire.OverviewLane
	Halted   []posthouse.Channel // that do not send
	Rejected int                 // rows of the outbox on the first page
	First    bool                // there is no channel yet
}

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
	channels, err := v.call().Channels.List(v.ctx())
	if err != nil {
		return err
	}
	o.First = len(channels) == 0
	for _, c := range channels {
		if c.State != "" && c.State != posthouse.ChannelOpen {
			o.Halted = append(o.Halted, c)
		}
	}
	return v.show("overview", "overview", &o)
}
