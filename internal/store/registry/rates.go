package registry

import (
	"context"
	"math"
	"time"

	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// ratesTable has rates and factors in millionths: they are read to be shown.
var ratesTable = sqldb.NewTable("posthouse_rates",
	"tenant", "channel", "account", "minute#", "process#", "rate#", "base#", "by_health#", "by_success#", "by_load#", "by_time#", "reason")

// ratesKept is for how long rates are kept.
const ratesKept = 24 * time.Hour

const million = 1e6

// AddRates keeps how fast accounts could go, one row an account, minute and process.
func (s Minutes) AddRates(ctx context.Context, now time.Time, list []work.RateMinute) error {
	rows := make([][]any, len(list))
	for i, m := range list {
		rows[i] = []any{m.Tenant, m.Channel, m.Account, minuteOf(m.At), m.Process, millionths(m.Rate.Rate), millionths(m.Base), millionths(m.Health), millionths(m.Success), millionths(m.Load), millionths(m.Time), string(m.Reason)}
	}
	return s.db.Change(ctx, now, "keep rates of accounts", func(t *sqldb.Tx) error { return t.Put(ratesTable, 5, rows) })
}

func minuteOf(at time.Time) int64 { return at.UnixMicro() / time.Minute.Microseconds() }

func millionths(v float64) int64 { return int64(math.Round(v * million)) }

// RatesOf are how fast an account could go in the minutes from since on, in their order: a row for each process that sent by it then.
func (s Minutes) RatesOf(ctx context.Context, tenant, channel, account string, since time.Time) ([]work.RateMinute, error) {
	list, err := sqldb.All(s.db.Reads(ctx), readRate, "SELECT "+ratesTable.List+" FROM posthouse_rates WHERE tenant = ? AND channel = ? AND account = ? AND minute >= ? ORDER BY minute, process",
		tenant, channel, account, minuteOf(since))
	return list, s.db.Coded(err, "read the rates of an account")
}

func readRate(scan sqldb.Scanner) (m work.RateMinute, err error) {
	var minute, all, base, health, success, load, hours int64
	err = scan(&m.Tenant, &m.Channel, &m.Account, &minute, &m.Process, &all, &base, &health, &success, &load, &hours, &m.Reason)
	m.At = sqldb.TimeOf(minute * time.Minute.Microseconds())
	m.Rate.Rate, m.Base, m.Health, m.Success, m.Load, m.Time = float64(all)/million, float64(base)/million, float64(health)/million, float64(success)/million, float64(load)/million, float64(hours)/million
	return m, err
}

// DropRates deletes the rates of minutes that are over for a day: up to max rows, and those of the last one's minute. It returns how many.
func (s Minutes) DropRates(ctx context.Context, now time.Time, max int) (n int, err error) {
	err = s.db.Change(ctx, now, "delete old rates of accounts", func(t *sqldb.Tx) error {
		at, err := t.Now()
		if err != nil {
			return err
		}
		old := minuteOf(sqldb.TimeOf(at).Add(-ratesKept))
		last, found, err := sqldb.First(t.Query, sqldb.Number, "SELECT minute FROM posthouse_rates WHERE minute < ? ORDER BY minute LIMIT 1 OFFSET ?", old, max-1)
		if err != nil {
			return err
		}
		if !found {
			last = old - 1
		}
		gone, err := t.Exec("DELETE FROM posthouse_rates WHERE minute <= ?", last)
		n = int(gone)
		return err
	})
	return n, err
}
