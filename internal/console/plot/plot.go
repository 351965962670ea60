// Package plot makes the points of the console's charts of what the API counts and keeps: which slots of time a chart has, and what
// stands in each. It draws nothing: the points are a table of a page, which a script draws (ADR 0044).
package plot

import (
	"time"

	"github.com/posthouse/posthouse/wire"
)

// Span is a stretch of time that a chart shows, and what each of its points counts.
type Span struct {
	Name   string // in the address, and of the word
	Length time.Duration
	Unit   time.Duration
}

const day = 24 * time.Hour

// Spans are those to choose from; the first is the usual one.
func Spans() []Span {
	return []Span{{"hour", time.Hour, time.Minute}, {"day", day, time.Hour}, {"week", 7 * day, time.Hour}, {"quarter", 90 * day, day}}
}

// named is the span of a name, the first of a list where it has none.
func named(list []Span, name string) Span {
	for _, s := range list {
		if s.Name == name {
			return s
		}
	}
	return list[0]
}

// Attempts are how attempts ended over a stretch of time, as the script draws it and the table beside it tells it.
type Attempts struct {
	Span  Span
	Spans []Span
	Bars  []Bar
	Sum   wire.OverviewMinute
}

// Bar is what one point of a chart counts.
type Bar struct {
	wire.OverviewMinute
	All, Most int
}

// AttemptsOver is a chart of a span of a name, without its counts.
func AttemptsOver(span string) Attempts {
	return Attempts{Spans: Spans(), Span: named(Spans(), span)}
}

// Count adds counts up by the unit of the span. Days are those of the zone.
func (c *Attempts) Count(o wire.Overview, zone *time.Location) {
	unit := c.Span.Unit
	slots := int(c.Span.Length / unit)
	last := o.At.Truncate(unit)
	if unit == day {
		y, m, d := o.At.In(zone).Date()
		last = time.Date(y, m, d, 0, 0, 0, 0, zone)
	}
	c.Bars = make([]Bar, slots)
	for i := range c.Bars {
		c.Bars[i].At = c.slot(last, i-slots+1)
	}
	most, i := 1, 0
	for _, m := range o.Minutes {
		for i < slots && !m.At.Before(c.slot(c.Bars[i].At, 1)) {
			i++
		}
		if i == slots || m.At.Before(c.Bars[i].At) {
			continue
		}
		for _, sum := range []*wire.OverviewMinute{&c.Bars[i].OverviewMinute, &c.Sum} {
			sum.Accepted += m.Accepted
			sum.Sent += m.Sent
			sum.Failed += m.Failed
			sum.Again += m.Again
			sum.Unknown += m.Unknown
		}
		c.Bars[i].All += m.Sent + m.Failed + m.Again + m.Unknown
		most = max(most, c.Bars[i].All)
	}
	for i := range c.Bars {
		c.Bars[i].Most = most
	}
}

// slot is the beginning of the slot that is so many further on: a day may have 23 or 25 hours.
func (c *Attempts) slot(from time.Time, n int) time.Time {
	if c.Span.Unit == day {
		return from.AddDate(0, 0, n)
	}
	return from.Add(time.Duration(n) * c.Span.Unit)
}

// Days reports whether the points of the chart are days apart, or of several days.
func (c *Attempts) Days() bool { return c.Span.Length > day }

// Drawn reports whether there is a chart to draw.
func (c *Attempts) Drawn() bool { return len(c.Bars) > 0 }
