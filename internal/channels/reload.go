package channels

import (
	"context"
	"maps"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/life"
	"github.com/posthouse/posthouse/internal/work"
)

// Follow takes over what other processes changed, until ctx ends.
func (s *Set) Follow(ctx context.Context) {
	tick := time.NewTicker(life.Spread(time.Second))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := s.Refresh(ctx); err != nil && ctx.Err() == nil {
				s.log.Warn("the channels cannot be read", "error", err)
			}
		}
	}
}

// Refresh reloads the channels if any has changed since the last time.
func (s *Set) Refresh(ctx context.Context) error {
	version, err := s.store.ChannelsVersion(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	same := version == s.version
	s.mu.Unlock()
	if same {
		return nil
	}
	return s.Reload(ctx)
}

// Reload makes the engine's channels what the database says. A channel that cannot be opened is named in the log and
// by Broken; the others go on.
func (s *Set) Reload(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	version, err := s.store.ChannelsVersion(ctx)
	if err != nil {
		return err
	}
	rows, err := s.store.Channels(ctx, "")
	if err != nil {
		return err
	}
	seen := map[key]bool{}
	for _, row := range rows {
		k := key{row.Channel.Tenant, row.Channel.Name}
		seen[k] = true
		if s.open[k] == editionOf(row) {
			continue
		}
		if err := s.take(ctx, k, row); err != nil {
			return err
		}
	}
	s.dropUnseen(seen)
	s.version = version
	return nil
}

// take hands a channel that is new or has changed to the engine.
func (s *Set) take(ctx context.Context, k key, row work.ChannelRow) error {
	var accounts []work.AccountRow
	err := row.Err
	if err == nil && row.Channel.Accounts {
		var fault error
		if accounts, fault = allAccounts(ctx, s.accounts, k.tenant, k.name); fault != nil {
			return fault // the next look tries again
		}
	}
	if err == nil {
		err = s.handOver(row.Channel, accounts)
	}
	if err == nil {
		delete(s.broken, k)
		s.open[k] = editionOf(row)
		return nil
	}
	s.log.Error("a channel cannot be opened: its messages wait", "tenant", k.tenant, "channel", k.name, "error", err)
	s.broken[k] = err
	if _, was := s.open[k]; was { // by its old settings it might send what an operator has stopped
		s.engine.RemoveChannel(k.tenant, k.name)
		delete(s.open, k)
	}
	return nil
}

func (s *Set) handOver(ch posthouse.Channel, accounts []work.AccountRow) error {
	opened, err := s.OpenStored(ch)
	if err != nil {
		return err
	}
	if err := s.OpenAccounts(ch, &opened, accounts); err != nil {
		return err
	}
	return s.engine.SetChannel(ch, opened)
}

// dropUnseen forgets the channels that are stored no longer.
func (s *Set) dropUnseen(seen map[key]bool) {
	gone := func(k key) bool {
		if seen[k] {
			return false
		}
		s.engine.ForgetChannel(k.tenant, k.name)
		return true
	}
	maps.DeleteFunc(s.open, func(k key, _ edition) bool { return gone(k) })
	maps.DeleteFunc(s.broken, func(k key, _ error) bool { return gone(k) })
}
