package registry

import (
	"context"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/page"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// Rosters say who is on duty.
type Rosters struct{ db *sqldb.DB }

var (
	rostersTable       = sqldb.NewTable("posthouse_rosters", "tenant", "name", "hand_over", "time_zone", "updated_at#")
	rosterDaysTable    = sqldb.NewTable("posthouse_roster_days", "tenant", "roster", "day")
	rosterEntriesTable = sqldb.NewTable("posthouse_roster_entries", "tenant", "roster", "day", "user_id", "position#")
)

// PutRoster stores a roster with all its days and overrides; what it had before is gone.
func (s Rosters) PutRoster(ctx context.Context, now time.Time, r posthouse.Roster) (posthouse.Roster, error) {
	var days, entries [][]any
	for _, part := range []map[string][]string{r.Days, r.Overrides} {
		for day, users := range part {
			days = append(days, []any{r.Tenant, r.Name, day})
			for i, user := range users {
				if slices.Index(users, user) == i { // once a day is enough
					entries = append(entries, []any{r.Tenant, r.Name, day, user, int64(i)})
				}
			}
		}
	}
	err := s.db.Change(ctx, now, "store a roster", func(t *sqldb.Tx) error {
		at, err := t.Now()
		if err != nil {
			return err
		}
		if err := rosterOnly(ctx, t, r.Tenant, r.Name); err != nil {
			return err
		}
		r.UpdatedAt = sqldb.TimeOf(at)
		if err := t.Put(rostersTable, 2, [][]any{{r.Tenant, r.Name, r.HandOver, r.TimeZone, at}}); err != nil {
			return err // and the row is locked: others that store this roster wait
		}
		if err := clearRoster(t, r.Tenant, r.Name); err != nil {
			return err
		}
		if err := t.Insert(rosterDaysTable, days); err != nil {
			return err
		}
		return t.Insert(rosterEntriesTable, entries)
	})
	return r, err
}

// rosterOnly is an error where a roster is not in the state that the caller wants to replace.
func rosterOnly(ctx context.Context, t *sqldb.Tx, tenant, name string) error {
	only := work.OnlyOf(ctx)
	if only.Any() {
		return nil
	}
	if err := t.Serialize(); err != nil { // a row that is not there yet cannot be locked
		return err
	}
	at, found, err := sqldb.First(t.Query, sqldb.Number, "SELECT updated_at FROM posthouse_rosters WHERE tenant = ? AND name = ?", tenant, name)
	if err != nil {
		return err
	}
	return only.Check("roster", name, tagOf(posthouse.Roster{UpdatedAt: sqldb.TimeOf(at)}, found))
}

func clearRoster(t *sqldb.Tx, tenant, name string) error {
	if _, err := t.Exec("DELETE FROM posthouse_roster_entries WHERE tenant = ? AND roster = ?", tenant, name); err != nil {
		return err
	}
	_, err := t.Exec("DELETE FROM posthouse_roster_days WHERE tenant = ? AND roster = ?", tenant, name)
	return err
}

// Roster reads one roster; false says that there is none.
func (s Rosters) Roster(ctx context.Context, tenant, name string) (posthouse.Roster, bool, error) {
	list, err := s.rosters(ctx, "r.tenant = ? AND r.name = ?", tenant, name)
	if err != nil || len(list) == 0 {
		return posthouse.Roster{}, false, s.db.Coded(err, "read a roster")
	}
	return list[0], true, nil
}

// Rosters lists a tenant's rosters by name.
func (s Rosters) Rosters(ctx context.Context, tenant, cursor string, limit int) (list []posthouse.Roster, next string, err error) {
	after, err := page.Key("rosters", cursor)
	if err != nil {
		return nil, "", err
	}
	size := page.Size(limit)
	names, err := sqldb.All(s.db.Reads(ctx), sqldb.Word, "SELECT name FROM posthouse_rosters WHERE tenant = ? AND name > ? ORDER BY name LIMIT ?", tenant, after, size+1)
	names, next = page.Cut(names, size, "rosters", func(name string) string { return name })
	if err == nil && len(names) > 0 {
		list, err = s.rosters(ctx, "r.tenant = ? AND r.name > ? AND r.name <= ?", tenant, after, names[len(names)-1])
	}
	return list, next, s.db.Coded(err, "list the rosters")
}

// rosters reads rosters with their days in one statement, so that a roster stored meanwhile is
// seen whole.
func (s Rosters) rosters(ctx context.Context, where string, args ...any) ([]posthouse.Roster, error) {
	var list []posthouse.Roster
	err := s.db.Look(ctx, `SELECT r.tenant, r.name, r.hand_over, r.time_zone, r.updated_at, COALESCE(d.day, ''), COALESCE(e.user_id, '')
		FROM posthouse_rosters r
		LEFT JOIN posthouse_roster_days d ON d.tenant = r.tenant AND d.roster = r.name
		LEFT JOIN posthouse_roster_entries e ON e.tenant = d.tenant AND e.roster = d.roster AND e.day = d.day
		WHERE `+where+` ORDER BY r.name, d.day, e.position`, args, func(scan sqldb.Scanner) error {
		var r posthouse.Roster
		var updated int64
		var day, user string
		if err := scan(&r.Tenant, &r.Name, &r.HandOver, &r.TimeZone, &updated, &day, &user); err != nil {
			return err
		}
		if n := len(list); n == 0 || list[n-1].Name != r.Name {
			r.UpdatedAt, r.Days = sqldb.TimeOf(updated), map[string][]string{}
			list = append(list, r)
		}
		addDuty(&list[len(list)-1], day, user)
		return nil
	})
	return list, err
}

// addDuty puts a user on a day; without a user the day is known and empty, without a day
// nothing happens.
func addDuty(r *posthouse.Roster, day, user string) {
	if day == "" {
		return
	}
	days := r.Days
	if len(day) > 1 { // a date
		if r.Overrides == nil {
			r.Overrides = map[string][]string{}
		}
		days = r.Overrides
	}
	if days[day] == nil {
		days[day] = []string{}
	}
	if user != "" {
		days[day] = append(days[day], user)
	}
}

// DeleteRoster deletes a roster with its days.
func (s Rosters) DeleteRoster(ctx context.Context, tenant, name string) error {
	return s.db.Change(ctx, time.Time{}, "delete a roster", func(t *sqldb.Tx) error {
		n, err := t.Exec("DELETE FROM posthouse_rosters WHERE tenant = ? AND name = ?", tenant, name)
		if err != nil {
			return err
		}
		if n == 0 {
			return posthouse.Errorf(posthouse.CodeNotFound, "there is no roster %q", name)
		}
		return clearRoster(t, tenant, name)
	})
}
