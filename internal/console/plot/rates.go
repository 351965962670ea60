package plot

import (
	"time"

	"github.com/posthouse/posthouse/wire"
)

// Rates are how fast an account could go over a stretch of time.
type Rates struct {
	Span  Span
	Spans []Span
	Slots []Slot
	Most  float64 // of the rates
	Any   bool    // the account made a call
}

// Slot is a point of time, with nothing where the account made no call.
type Slot struct {
	At time.Time
	*wire.RatePoint
}

// RatesOver is a chart of a span of a name, without its points. Rates are kept for a day.
func RatesOver(span string) Rates {
	list := Spans()[:2]
	return Rates{Spans: list, Span: named(list, span)}
}

// Fill puts the points of a history where they belong, by its step.
func (c *Rates) Fill(h wire.RateHistory, now time.Time) {
	step := h.Step.Std()
	n := int(c.Span.Length / step)
	from := now.Truncate(step).Add(-time.Duration(n-1) * step)
	c.Slots = make([]Slot, n)
	for i := range c.Slots {
		c.Slots[i].At = from.Add(time.Duration(i) * step)
	}
	for i := range h.Points {
		p := &h.Points[i]
		if at := int(p.At.Sub(from) / step); !p.At.Before(from) && at < n {
			c.Slots[at].RatePoint, c.Any = p, true
			c.Most = max(c.Most, p.Rate)
		}
	}
}

// Drawn reports whether there is a chart to draw.
func (c *Rates) Drawn() bool { return c.Any }
