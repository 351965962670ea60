package channels

import (
	"context"
	"maps"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// stated fills in whether channels of a tenant send now, an empty one meaning all, and why not.
func (s *Set) stated(ctx context.Context, tenant string, list []posthouse.Channel) error {
	gates, err := s.store.Gates(ctx, tenant)
	if err != nil {
		return err
	}
	broken := s.brokenNow()
	State(time.Now(), list, gates, func(tenant, name string) error { return broken[key{tenant, name}] })
	return nil
}

// State fills in whether channels send now, and why not, from the refusals that stand and what each cannot be opened for. What stops a
// channel for longest comes first: one that cannot be opened is not said to be parked.
func State(now time.Time, list []posthouse.Channel, gates []work.Gate, broken func(tenant, name string) error) {
	parked := map[key]work.Gate{} // the one that lasts longest
	for _, g := range gates {
		k := key{g.Tenant, g.Channel}
		if g.Until.After(now) && g.Until.After(parked[k].Until) {
			parked[k] = g
		}
	}
	for i := range list {
		ch := &list[i]
		k := key{ch.Tenant, ch.Name}
		if !ch.PausedAt(now) { // or it has gone on by itself
			ch.Paused, ch.PauseReason, ch.PausedUntil = false, "", time.Time{}
		}
		g, refused := parked[k]
		why := broken(ch.Tenant, ch.Name)
		switch {
		case why != nil:
			ch.State, ch.StateReason = posthouse.ChannelBroken, why.Error()
		case ch.PausedAt(now):
			ch.State, ch.StateReason, ch.StateUntil = posthouse.ChannelPaused, ch.PauseReason, ch.PausedUntil
		case refused:
			ch.State, ch.StateReason, ch.StateUntil = posthouse.ChannelParked, parkedBecause(g), g.Until
		default:
			ch.State, ch.StateReason = posthouse.ChannelOpen, ""
		}
	}
}

// parkedBecause says why an account is refused, in words that hold nothing of what the provider wrote.
func parkedBecause(g work.Gate) string {
	return state.Refusal(g.Class, "the account") + ": " + strings.TrimSpace(string(g.Class)+" "+g.Code)
}

func (s *Set) brokenNow() map[key]error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.broken)
}

// All lists the channels of all tenants with their states, without what is configured of them.
func (s *Set) All(ctx context.Context) ([]posthouse.Channel, error) {
	rows, err := s.store.Channels(ctx, "")
	if err != nil {
		return nil, err
	}
	list := make([]posthouse.Channel, len(rows))
	for i, row := range rows {
		list[i] = row.Channel
		list[i].Config = nil
	}
	return list, s.stated(ctx, "", list)
}
