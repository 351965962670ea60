package registry

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/page"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// Suppressions are the addresses to which nothing is sent.
type Suppressions struct{ db *sqldb.DB }

var suppressionsTable = sqldb.NewTable("posthouse_suppressions", "tenant", "address", "channel", "reason", "source", "until_at#", "created_at#")

func readSuppression(scan sqldb.Scanner) (s posthouse.Suppression, err error) {
	var until, created int64
	err = scan(&s.Tenant, &s.Address, &s.Channel, &s.Reason, &s.Source, &until, &created)
	s.Until, s.CreatedAt = sqldb.TimeOf(until), sqldb.TimeOf(created)
	return s, err
}

// Suppress stores suppressions in one transaction. One of the same address and channel is replaced; no two in the list have
// both in common.
func (s Suppressions) Suppress(ctx context.Context, now time.Time, list []posthouse.Suppression) error {
	return s.db.Change(ctx, now, "store suppressions", func(t *sqldb.Tx) error {
		at, err := t.Now()
		if err != nil {
			return err
		}
		rows := make([][]any, len(list))
		for i, one := range list {
			rows[i] = []any{one.Tenant, one.Address, one.Channel, one.Reason, string(one.Source), sqldb.Micros(one.Until), at}
		}
		return t.Put(suppressionsTable, 3, rows)
	})
}

// Unsuppress deletes the suppressions of addresses in a channel, or those in all channels where it is empty, and returns how
// many there were. Where source is set, only those that came so.
func (s Suppressions) Unsuppress(ctx context.Context, now time.Time, tenant, channel string, addresses []string, source posthouse.SuppressionSource) (n int64, err error) {
	err = s.db.Change(ctx, now, "delete suppressions", func(t *sqldb.Tx) error {
		clause, args := t.In("address", addresses)
		text, all := "DELETE FROM posthouse_suppressions WHERE tenant = ? AND channel = ? AND "+clause, append([]any{tenant, channel}, args...)
		if source != "" {
			text, all = text+" AND source = ?", append(all, string(source))
		}
		n, err = t.Exec(text, all...)
		return err
	})
	return n, err
}

// Suppressed finds which of the addresses nothing is sent to on a channel at a moment, with the reason of each. It reads what
// is committed when it is asked: whoever asks after a start is stored misses no suppression that was stored before that start.
func (s Suppressions) Suppressed(ctx context.Context, now time.Time, tenant, channel string, addresses []string) (map[string]string, error) {
	if len(addresses) > worthAsking { // most tenants suppress nobody
		if some, err := s.AnySuppressed(ctx, tenant); err != nil || !some {
			return nil, err
		}
	}
	text, args, err := s.lookup(tenant, channel, now, addresses)
	if err != nil {
		return nil, err
	}
	var found map[string]string
	err = s.db.Look(ctx, text, args, func(scan sqldb.Scanner) error {
		var address, reason string
		if err := scan(&address, &reason); err != nil {
			return err
		}
		if found == nil {
			found = map[string]string{}
		}
		if found[address] == "" {
			found[address] = reason
		}
		return nil
	})
	return found, s.db.Coded(err, "look for suppressions")
}

// lookup is the statement that finds addresses, each by its key: a plan that was made while the table was empty would else read
// all of a tenant's when it is not.
func (s Suppressions) lookup(tenant, channel string, now time.Time, addresses []string) (text string, args []any, err error) {
	// Where a bare placeholder is compared with what an index is limited to, SQLite makes the plan anew for each value.
	holds := "tenant = ? AND channel IN ('', ?) AND (until_at = 0 OR until_at > " + s.db.Dialect.Blind + ") AND "
	args = []any{tenant, channel, sqldb.Micros(now)}
	switch d := s.db.Dialect; {
	case d.Arrays:
		text = "SELECT s.address, s.reason FROM unnest(?::text[]) AS a(address) CROSS JOIN LATERAL (SELECT address, reason FROM posthouse_suppressions WHERE " + holds + "address = a.address LIMIT 2) s"
		return text, append([]any{addresses}, args...), nil
	case d.By(sqldb.Primary) != "" && len(addresses) > 1:
		list, err := json.Marshal(addresses)
		text = "SELECT s.address, s.reason FROM JSON_TABLE(?, '$[*]' COLUMNS (address varchar(512) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) a STRAIGHT_JOIN posthouse_suppressions s" +
			d.By(sqldb.Primary) + " WHERE s.address = a.address AND " + holds + "1 = 1"
		return text, append([]any{string(list)}, args...), err
	}
	clause, in := s.db.In("address", addresses)
	return "SELECT address, reason FROM posthouse_suppressions WHERE " + holds + clause, append(args, in...), nil
}

// worthAsking is from how many addresses on it is asked first whether a tenant suppresses anybody.
const worthAsking = 4

// AnySuppressed reports whether a tenant has any suppression: by the first of the key alone, which is never a search.
func (s Suppressions) AnySuppressed(ctx context.Context, tenant string) (bool, error) {
	_, some, err := sqldb.First(s.db.Reads(ctx), sqldb.Word, "SELECT address FROM posthouse_suppressions WHERE tenant = ? LIMIT 1", tenant)
	return some, s.db.Coded(err, "look for suppressions")
}

// Suppressions lists those of a tenant by address, also those whose time is over and that are not deleted yet.
func (s Suppressions) Suppressions(ctx context.Context, tenant string, of work.SuppressionsOf, cursor string, limit int) (list []posthouse.Suppression, next string, err error) {
	behind, err := page.Key("suppressions", cursor)
	if err != nil {
		return nil, "", err
	}
	where, args := "tenant = ?", []any{tenant}
	if len(of.Addresses) > 0 {
		clause, in := s.db.In("address", of.Addresses)
		where, args = where+" AND "+clause, append(args, in...)
	}
	if of.Channel != "" {
		where, args = where+" AND channel = ?", append(args, of.Channel)
	}
	if address, channel, is := strings.Cut(behind, keyParts); is {
		where, args = where+" AND address >= ? AND (address > ? OR channel > ?)", append(args, address, address, channel)
	}
	size := page.Size(limit)
	list, err = sqldb.All(s.db.Reads(ctx), readSuppression, "SELECT "+suppressionsTable.List+" FROM posthouse_suppressions WHERE "+where+" ORDER BY address, channel LIMIT ?", append(args, size+1)...)
	list, next = page.Cut(list, size, "suppressions", func(s posthouse.Suppression) string { return s.Address + keyParts + s.Channel })
	return list, next, s.db.Coded(err, "list suppressions")
}

// keyParts stands between the parts of a cursor's key. No address has it.
const keyParts = "\n"

// PruneSuppressions deletes those whose time is over, at most so many, and returns how many it did.
func (s Suppressions) PruneSuppressions(ctx context.Context, now time.Time, most int) (n int, err error) {
	err = s.db.Change(ctx, now, "delete suppressions whose time is over", func(t *sqldb.Tx) error {
		at, err := t.Now()
		if err != nil {
			return err
		}
		list, err := sqldb.All(t.Query, readSuppression, "SELECT "+suppressionsTable.List+" FROM posthouse_suppressions WHERE until_at > 0 AND until_at <= ? ORDER BY until_at LIMIT ?", at, most)
		for _, old := range list {
			if err == nil { // one that was stored anew meanwhile stays
				_, err = t.Exec("DELETE FROM posthouse_suppressions WHERE tenant = ? AND address = ? AND channel = ? AND until_at = ?", old.Tenant, old.Address, old.Channel, sqldb.Micros(old.Until))
			}
		}
		n = len(list)
		return err
	})
	return n, err
}
