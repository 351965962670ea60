package console

import (
	"time"

	"github.com/posthouse/posthouse/internal/console/plot"
	"github.com/posthouse/posthouse/wire"
)

// chart is what was accepted and how attempts ended over a stretch of time.
type chart = plot.Attempts

// chartOf reads the stretch of time that the address names, of a channel or of all.
func chartOf(v *visit, channel string) (wire.Overview, chart, error) {
	c := plot.AttemptsOver(v.query("span"))
	o, err := v.call().Overview(v.ctx(), channel, int(c.Span.Length/time.Minute))
	if err == nil {
		c.Count(o, zoneFor(v))
	}
	return o, c, err
}
