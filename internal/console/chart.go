package console

import (
	"time"

	"github.com/posthouse/posthouse/wire"
)

// chart is how attempts ended over a stretch of time, as the script draws it and the table beside it tells it.
type chart struct {
	Span  span
	Spans []span
	Bars  []bar
	Sum   wire.OverviewMinute
}

// bar is what one point of a chart counts.
type bar struct {
	wire.OverviewMinute
	All, Most int
}

// span is a stretch of time that a chart shows, and what each of its points counts.
type span struct {
	Name   string // in the address, and of the word
	Length time.Duration
	Unit   time.Duration
}

const day = 24 * time.Hour

// spans are those to choose from; the first is the usual one.
func spans() []span {
	return []span{{"hour", time.Hour, time.Minute}, {"day", day, time.Hour}, {"week", 7 * day, time.Hour}, {"quarter", 90 * day, day}}
}

// chartOf reads the stretch of time that the address names, of a channel or of all.
func chartOf(v *visit, channel string) (wire.Overview, chart, error) {
	c := chart{Spans: spans()}
	c.Span = c.Spans[0]
	for _, s := range c.Spans {
		if s.Name == v.query("span") {
			c.Span = s
		}
	}
	o, err := v.call().Overview(v.ctx(), channel, int(c.Span.Length/time.Minute))
	if err == nil {
		c.draw(o, zoneFor(v))
	}
	return o, c, err
}

// draw adds counts up by the unit of the span. Days are those of the zone.
func (c *chart) draw(o wire.Overview, zone *time.Location) {
	unit := c.Span.Unit
	slots := int(c.Span.Length / unit)
	last := o.At.Truncate(unit)
	if unit == day {
		y, m, d := o.At.In(zone).Date()
		last = time.Date(y, m, d, 0, 0, 0, 0, zone)
	}
	c.Bars = make([]bar, slots)
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
func (c *chart) slot(from time.Time, n int) time.Time {
	if c.Span.Unit == day {
		return from.AddDate(0, 0, n)
	}
	return from.Add(time.Duration(n) * c.Span.Unit)
}

// Days reports whether the points of the chart are days apart, or of several days.
func (c *chart) Days() bool { return c.Span.Length > day }

// chartWords are the texts of charts.
func chartWords() map[string]word {
	return map[string]word{
		"chart":        {"How attempts ended", "发送尝试的结果"},
		"span":         {"Time shown", "时间范围"},
		"span_hour":    {"60 minutes", "60 分钟"},
		"span_day":     {"24 hours", "24 小时"},
		"span_week":    {"7 days", "7 天"},
		"span_quarter": {"90 days", "90 天"},
	}
}
