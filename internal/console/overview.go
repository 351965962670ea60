package console

import (
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// overview is what the first page of a tenant shows.
type overview struct {
	wire.Overview
	Day      bool
	Bars     []bar
	Sum      wire.OverviewMinute
	Stuck    []wire.OverviewLane // with something that needs a person
	Waiting  []wire.OverviewLane
	Halted   []posthouse.Channel // that do not send
	Rejected int                 // rows of the outbox on the first page
	First    bool                // there is no channel yet
}

// bar is a minute, or an hour of a day, as the page draws it.
type bar struct {
	wire.OverviewMinute
	All, Most int
}

// minutesOfDay is how far back the long view looks.
const minutesOfDay = 24 * 60

func showOverview(v *visit) error {
	o := overview{Day: v.query("span") == "day"}
	minutes := 60
	if o.Day {
		minutes = minutesOfDay
	}
	var err error
	if o.Overview, err = v.call().Overview(v.ctx(), minutes); err != nil {
		return err
	}
	o.draw(minutes)
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
	return v.show("overview", "overview", o)
}

// draw adds the minutes up, by the hour where it is a day that is shown.
func (o *overview) draw(minutes int) {
	unit := time.Minute
	if o.Day {
		unit = time.Hour
	}
	slots := minutes / int(unit/time.Minute)
	first := o.At.Truncate(unit).Add(-time.Duration(slots-1) * unit)
	o.Bars = make([]bar, slots)
	for i := range o.Bars {
		o.Bars[i].At = first.Add(time.Duration(i) * unit)
	}
	most := 1
	for _, m := range o.Minutes {
		i := int(m.At.Sub(first) / unit)
		if m.At.Before(first) || i >= slots {
			continue
		}
		for _, sum := range []*wire.OverviewMinute{&o.Bars[i].OverviewMinute, &o.Sum} {
			sum.Sent += m.Sent
			sum.Failed += m.Failed
			sum.Again += m.Again
			sum.Unknown += m.Unknown
		}
		o.Bars[i].All += m.Sent + m.Failed + m.Again + m.Unknown
		most = max(most, o.Bars[i].All)
	}
	for i := range o.Bars {
		o.Bars[i].Most = most
	}
}
