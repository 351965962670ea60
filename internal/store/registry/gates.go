package registry

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// Gates are the accounts that providers have refused.
type Gates struct{ db *sqldb.DB }

var gatesTable = sqldb.NewTable("posthouse_gates", "tenant", "channel", "account", "until_at#", "class", "code", "error", "refusals#", "learned#", "updated_at#")

// perLearned is the unit of a learned rate: calls in a thousand seconds.
const perLearned = 1000

// SetGate parks an account for wait from now, by the clock that leases go by. Until and
// UpdatedAt of g are not looked at.
func (s Gates) SetGate(ctx context.Context, now time.Time, g work.Gate, wait time.Duration) error {
	return s.db.Change(ctx, now, "park an account", func(t *sqldb.Tx) error {
		if past, err := ofThePast(t, &g); past || err != nil {
			return err
		}
		at, err := t.Now()
		if err != nil {
			return err
		}
		return t.Put(gatesTable, 3, [][]any{{
			g.Tenant, g.Channel, g.Account, at + wait.Microseconds(), string(g.Class), g.Code, g.Error, int64(g.Refusals), int64(g.Learned * perLearned), at,
		}})
	})
}

// ofThePast reports whether the config that was refused is no longer the stored one: another process has not heard of the change yet.
// The channel's row is locked, as whoever changes it or an account of it does. How fast an account may be called is said by no
// config.
func ofThePast(t *sqldb.Tx, g *work.Gate) (bool, error) {
	if g.ChannelVersion == 0 || g.Class == posthouse.ClassRate {
		return false, nil
	}
	version, found, err := sqldb.First(t.Query, sqldb.Number, "SELECT version FROM posthouse_channels WHERE tenant = ? AND name = ?"+t.DB.Dialect.Lock, g.Tenant, g.Channel)
	if past := found && version != g.ChannelVersion; err != nil || past {
		return past, err
	}
	if g.Account == "" {
		return false, nil
	}
	version, found, err = sqldb.First(t.Query, sqldb.Number, "SELECT version FROM posthouse_accounts WHERE tenant = ? AND channel = ? AND name = ?", g.Tenant, g.Channel, g.Account)
	return found && version != g.AccountVersion, err
}

// ClearGate lets an account send again; the account "*" means all of the channel.
func (s Gates) ClearGate(ctx context.Context, tenant, channel, account string) error {
	return s.db.Change(ctx, time.Time{}, "free an account", func(t *sqldb.Tx) error {
		query, args := "DELETE FROM posthouse_gates WHERE tenant = ? AND channel = ?", []any{tenant, channel}
		if account != "*" {
			query, args = query+" AND account = ?", append(args, account)
		}
		_, err := t.Exec(query, args...)
		return err
	})
}

// Gates lists the parked accounts of a tenant; an empty tenant means all tenants. Their times are by
// the caller's clock, whatever the database's shows: for how long an account is parked is what counts.
func (s Gates) Gates(ctx context.Context, tenant string) ([]work.Gate, error) {
	where, args := ofTenant(tenant)
	list, err := sqldb.All(s.db.Reads(ctx), readGate, "SELECT "+gatesTable.List+" FROM posthouse_gates"+where+" ORDER BY tenant, channel, account", args...)
	if err != nil || len(list) == 0 || !s.db.SharedClock() {
		return list, s.db.Coded(err, "list the parked accounts")
	}
	theirs, err := s.db.Now(ctx)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	for i := range list {
		list[i].Until = now.Add(list[i].Until.Sub(theirs))
		list[i].UpdatedAt = now.Add(list[i].UpdatedAt.Sub(theirs))
	}
	return list, nil
}

func readGate(scan sqldb.Scanner) (work.Gate, error) {
	var g work.Gate
	var until, learned, updated int64
	err := scan(&g.Tenant, &g.Channel, &g.Account, &until, &g.Class, &g.Code, &g.Error, &g.Refusals, &learned, &updated)
	g.Learned = float64(learned) / perLearned
	g.Until, g.UpdatedAt = sqldb.TimeOf(until), sqldb.TimeOf(updated)
	return g, err
}
