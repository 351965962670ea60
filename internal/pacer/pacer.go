// Package pacer tells the rates of accounts what all processes have seen of them and what time it is, shows them to Prometheus, and keeps
// how they were once a minute. It is not what decides how fast an account goes: that is package rate, and the engine asks it.
package pacer

import (
	"context"
	"hash/fnv"
	"log/slog"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/admission"
	"github.com/posthouse/posthouse/internal/life"
	"github.com/posthouse/posthouse/internal/metrics"
	"github.com/posthouse/posthouse/internal/rate"
	"github.com/posthouse/posthouse/internal/rollup"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/rule"
)

// Channel is a channel whose accounts have rates.
type Channel interface {
	Of() *state.Channel
	// TimeFactor is that of the time of day, as it was set last.
	TimeFactor() float64
	// Surround takes over what all processes have seen, and the factor of the time of day.
	Surround(factor float64)
	// Rates are those of the accounts that have sent.
	Rates(now time.Time) []posthouse.Rate
	// Stirred are those of the accounts that have called since it was asked last.
	Stirred(now time.Time) []posthouse.Rate
}

// Channels are those that are open in this process.
type Channels interface {
	Paced() []Channel
	Channel(tenant, name string) *state.Channel
}

// Kept keeps how fast accounts could go.
type Kept interface {
	AddRates(ctx context.Context, now time.Time, list []work.RateMinute) error
}

// Pacer keeps the rates' surroundings up to date. All of its fields but Shaper are required.
type Pacer struct {
	Seen     *rollup.Rollup // of all processes
	Channels Channels
	Shaper   *admission.Shaper // nil where nothing is shaped
	Rosters  rule.Rosters
	Kept     Kept
	Owner    string // names this process
	Life     *life.Life
	Log      *slog.Logger
	Metrics  *metrics.Metrics
}

// readEvery is how often the counts of all processes are read.
const readEvery = 10 * time.Second

// Run looks at the counts of all processes and at the clock until the engine stops.
func (p *Pacer) Run(ctx context.Context) {
	kept := p.Life.Now().Truncate(time.Minute)
	for more := true; more; more = p.Life.Pause(life.Spread(readEvery)) {
		p.succeeded(p.Seen.Read(ctx))
		for k, n := range p.Shaper.Tokens(time.Now()) {
			p.Metrics.Tokens.WithLabelValues(k.Tenant, string(k.Priority)).Set(n)
		}
		p.Metrics.Rate.Reset()
		list := p.Channels.Paced()
		for _, c := range list {
			c.Surround(p.factor(ctx, c))
			for _, f := range c.Rates(time.Now()) {
				p.show(c.Of().Key, &f)
			}
		}
		if minute := p.Life.Now().Truncate(time.Minute); minute.After(kept) {
			kept = minute
			p.keep(ctx, minute, list)
		}
	}
}

// keep writes the rates of the accounts that have called in the minute that is over. They are statistics: what cannot be written is
// left out.
func (p *Pacer) keep(ctx context.Context, minute time.Time, list []Channel) {
	var rows []work.RateMinute
	process := number(p.Owner)
	for _, c := range list {
		k := c.Of().Key
		for _, f := range c.Stirred(time.Now()) {
			rows = append(rows, work.RateMinute{At: minute, Tenant: k.Tenant, Channel: k.Channel, Process: process, Rate: f})
		}
	}
	if len(rows) == 0 {
		return
	}
	if err := p.Kept.AddRates(ctx, time.Now(), rows); err != nil && ctx.Err() == nil {
		p.Log.Warn("rates of accounts could not be kept: their history has a gap", "accounts", len(rows), "error", err)
	}
}

// number is a short name of a process.
func number(owner string) int64 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(owner)) // it never fails
	return int64(h.Sum32())
}

// succeeded shows the success rates of the channels that are open.
func (p *Pacer) succeeded(ends map[rollup.AccountKey]rate.Ends) {
	if ends == nil {
		return // the last known ones stay
	}
	p.Metrics.Success.Reset()
	for of, n := range ends {
		if n.Good+n.Bad > 0 && p.Channels.Channel(of.Tenant, of.Channel) != nil {
			p.Metrics.Success.WithLabelValues(of.Tenant, of.Channel, of.Account).Set(float64(n.Good) / float64(n.Good+n.Bad))
		}
	}
}

// show sets the metrics of a rate.
func (p *Pacer) show(k state.Key, f *posthouse.Rate) {
	for name, v := range map[string]float64{"rate": f.Rate, "base": f.Base, "health": f.Health, "success": f.Success, "load": f.Load, "time": f.Time} {
		p.Metrics.Rate.WithLabelValues(k.Tenant, k.Channel, f.Account, name).Set(v)
	}
}

// factor is that of the time of day. Where the calendar cannot be read, it stays as it was.
func (p *Pacer) factor(ctx context.Context, c Channel) float64 {
	of := c.Of()
	s := of.Settings.Rate
	if s == nil || s.Hours == nil {
		return 1
	}
	h, now := s.Hours, p.Life.Now().In(of.Settings.Location)
	off := now.Weekday() == time.Saturday || now.Weekday() == time.Sunday
	if h.Calendar != "" {
		roster, found, err := p.Rosters.Roster(ctx, of.Key.Tenant, h.Calendar)
		if err != nil || !found {
			p.Log.Warn("the calendar of working hours cannot be read", "channel", of.Key.Channel, "calendar", h.Calendar, "error", err)
			return c.TimeFactor()
		}
		off = rate.DayOff(&roster, now)
	}
	return rate.Hour(h, now, off)
}
