package registry

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// Minutes counts what was accepted and how attempts ended, by the minute.
type Minutes struct{ db *sqldb.DB }

// minuteKeys name a row of posthouse_minutes, after its minute.
var minuteKeys = []string{"tenant", "channel", "account", "type", "outcome"}

var (
	minutesTable = sqldb.NewTable("posthouse_minutes", "minute#", "tenant", "channel", "account", "type", "outcome", "n#", "ms#")
	pulseTable   = sqldb.NewTable("posthouse_pulse", "minute#", "tenant", "channel", "outcome", "n#")
	totalsTable  = sqldb.NewTable("posthouse_totals", "tenant", "hour#", "channel", "outcome", "n#")
	hoursTable   = sqldb.NewTable("posthouse_hours", "hour#", "tenant", "channel", "account", "type", "outcome", "n#", "ms#")
)

// minutesKept is for how long each minute is told from its hour.
const minutesKept = 90 * 24 * time.Hour

// pulseKept is for how long the totals of minutes are kept: an overview that looks further back counts hours.
const pulseKept = 24 * time.Hour

// AddMinutes adds to the counts of minutes, and to the totals of their minutes and hours.
func (s Minutes) AddMinutes(ctx context.Context, now time.Time, list []work.Minute) error {
	return s.db.Change(ctx, now, "count attempts", func(t *sqldb.Tx) error {
		if err := addMinutes(t, minutesTable, "minute", list, time.Minute); err != nil {
			return err
		}
		if err := addPulse(t, list); err != nil {
			return err
		}
		return addTotals(t, list)
	})
}

// addPulse adds to the totals of minutes, in one order for all.
func addPulse(t *sqldb.Tx, list []work.Minute) error {
	var rows [][]any
	for _, m := range totals(list, time.Minute) {
		rows = append(rows, []any{m.At.UnixMicro() / time.Minute.Microseconds(), m.Tenant, m.Channel, m.Outcome, int64(m.N)})
	}
	return t.Write(pulseTable, rows, t.DB.Dialect.Add(pulseTable.Name, []string{"minute", "tenant", "channel", "outcome"}, []string{"n"}))
}

// totals are counts without what tells accounts and contents apart, by a unit of time and in the order of tenants.
func totals(list []work.Minute, unit time.Duration) []work.Minute {
	sums := map[work.MinuteKey]int{}
	for _, m := range list {
		sums[work.MinuteKey{At: m.At.Truncate(unit), Tenant: m.Tenant, Channel: m.Channel, Outcome: m.Outcome}] += m.N
	}
	keys := slices.SortedFunc(maps.Keys(sums), func(a, b work.MinuteKey) int {
		return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), a.At.Compare(b.At), cmp.Compare(a.Channel, b.Channel), cmp.Compare(a.Outcome, b.Outcome))
	})
	out := make([]work.Minute, len(keys))
	for i, k := range keys {
		out[i] = work.Minute{MinuteKey: k, N: sums[k]}
	}
	return out
}

// addTotals adds to the totals of hours, in one order for all.
func addTotals(t *sqldb.Tx, list []work.Minute) error {
	var rows [][]any
	for _, m := range totals(list, time.Hour) {
		rows = append(rows, []any{m.Tenant, m.At.UnixMicro() / time.Hour.Microseconds(), m.Channel, m.Outcome, int64(m.N)})
	}
	return t.Write(totalsTable, rows, t.DB.Dialect.Add(totalsTable.Name, []string{"tenant", "hour", "channel", "outcome"}, []string{"n"}))
}

// addMinutes adds to the rows of a table, in one order for all, so that no two writers wait for each other.
func addMinutes(t *sqldb.Tx, tab *sqldb.Table, column string, list []work.Minute, unit time.Duration) error {
	list = slices.SortedFunc(slices.Values(list), func(a, b work.Minute) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Channel, b.Channel),
			cmp.Compare(a.Account, b.Account), cmp.Compare(a.Type, b.Type), cmp.Compare(a.Outcome, b.Outcome))
	})
	rows := make([][]any, len(list))
	for i, m := range list {
		rows[i] = []any{m.At.UnixMicro() / unit.Microseconds(), m.Tenant, m.Channel, m.Account, m.Type, m.Outcome, int64(m.N), m.Took.Milliseconds()}
	}
	return t.Write(tab, rows, t.DB.Dialect.Add(tab.Name, append([]string{column}, minuteKeys...), []string{"n", "ms"}))
}

// Minutes are the counts of the minutes from since on, in their order.
func (s Minutes) Minutes(ctx context.Context, since time.Time) ([]work.Minute, error) {
	list, err := sqldb.All(s.db.Reads(ctx), readMinute(time.Minute), "SELECT "+minutesTable.List+" FROM posthouse_minutes WHERE minute >= ? ORDER BY minute",
		since.UnixMicro()/time.Minute.Microseconds())
	return list, s.db.Coded(err, "read the counts of minutes")
}

// MinutesOf are the counts of a tenant's attempts from since on, at most a day back, by minute, channel and outcome, in the order of the
// minutes: a few rows for each minute, however many accounts send.
func (s Minutes) MinutesOf(ctx context.Context, tenant string, since time.Time) ([]work.Minute, error) {
	return s.countsOf(ctx, tenant, since, time.Minute,
		"SELECT minute, channel, outcome, n FROM posthouse_pulse WHERE minute >= ? AND tenant = ? ORDER BY minute, channel, outcome")
}

// HoursOf are the same by the hour, from the hour of since on: a few rows for each hour, however far back it is.
func (s Minutes) HoursOf(ctx context.Context, tenant string, since time.Time) ([]work.Minute, error) {
	return s.countsOf(ctx, tenant, since, time.Hour, "SELECT hour, channel, outcome, n FROM posthouse_totals WHERE hour >= ? AND tenant = ? ORDER BY hour, channel, outcome")
}

func (s Minutes) countsOf(ctx context.Context, tenant string, since time.Time, unit time.Duration, query string) ([]work.Minute, error) {
	list, err := sqldb.All(s.db.Reads(ctx), func(scan sqldb.Scanner) (m work.Minute, err error) {
		var at int64
		err = scan(&at, &m.Channel, &m.Outcome, &m.N)
		m.At, m.Tenant = sqldb.TimeOf(at*unit.Microseconds()), tenant
		return m, err
	}, query, since.UnixMicro()/unit.Microseconds(), tenant)
	return list, s.db.Coded(err, "read the counts of attempts")
}

// readMinute reads a row that counts from so many units since 1970.
func readMinute(unit time.Duration) func(scan sqldb.Scanner) (work.Minute, error) {
	return func(scan sqldb.Scanner) (work.Minute, error) {
		var m work.Minute
		var at, ms int64
		err := scan(&at, &m.Tenant, &m.Channel, &m.Account, &m.Type, &m.Outcome, &m.N, &ms)
		m.At, m.Took = sqldb.TimeOf(at*unit.Microseconds()), time.Duration(ms)*time.Millisecond
		return m, err
	}
}

// FoldMinutes makes the minutes that are older than 90 days a part of their hours: up to max rows, and those of the last one's
// minute. It returns how many.
func (s Minutes) FoldMinutes(ctx context.Context, now time.Time, max int) (n int, err error) {
	err = s.db.Change(ctx, now, "fold minutes", func(t *sqldb.Tx) error {
		n = 0
		at, err := t.Now()
		if err != nil {
			return err
		}
		if _, err := t.Exec("DELETE FROM posthouse_pulse WHERE minute < ?", sqldb.TimeOf(at).Add(-pulseKept).UnixMicro()/time.Minute.Microseconds()); err != nil {
			return err
		}
		old := sqldb.TimeOf(at).Add(-minutesKept).Truncate(time.Hour).UnixMicro() / time.Minute.Microseconds()
		last, found, err := sqldb.First(t.Query, sqldb.Number, "SELECT minute FROM posthouse_minutes WHERE minute < ? ORDER BY minute LIMIT 1 OFFSET ?", old, max-1)
		if err != nil {
			return err
		}
		if !found {
			last = old - 1
		}
		list, err := sqldb.All(t.Query, readMinute(time.Minute), "SELECT "+minutesTable.List+" FROM posthouse_minutes WHERE minute <= ? ORDER BY minute"+t.DB.Dialect.Lock, last)
		if err != nil || len(list) == 0 {
			return err
		}
		n = len(list)
		if err := addMinutes(t, hoursTable, "hour", byHour(list), time.Hour); err != nil {
			return err
		}
		_, err = t.Exec("DELETE FROM posthouse_minutes WHERE minute <= ?", last)
		return err
	})
	return n, err
}

// byHour adds up the minutes of each hour.
func byHour(list []work.Minute) []work.Minute {
	sums := map[work.MinuteKey]int{}
	var hours []work.Minute
	for _, m := range list {
		m.At = m.At.Truncate(time.Hour)
		i, there := sums[m.MinuteKey]
		if !there {
			sums[m.MinuteKey], hours = len(hours), append(hours, m)
			continue
		}
		hours[i].N += m.N
		hours[i].Took += m.Took
	}
	return hours
}
