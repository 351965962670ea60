package registry

import (
	"context"
	"encoding/json"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// Preferences are what users of the directory want of messages. They stay when a file that lacks a user replaces the directory: the user
// may be back tomorrow, and has chosen.
type Preferences struct{ db *sqldb.DB }

var preferencesTable = sqldb.NewTable("posthouse_preferences", "tenant", "user_id", "doc", "links#", "updated_at#")

func readPreferences(scan sqldb.Scanner) (p posthouse.Preferences, err error) {
	var tenant, user, doc string
	var links, updated int64
	if err := scan(&tenant, &user, &doc, &links, &updated); err != nil {
		return p, err
	}
	err = json.Unmarshal([]byte(doc), &p)
	p.Tenant, p.User, p.Links, p.UpdatedAt = tenant, user, links, sqldb.TimeOf(updated)
	return p, err
}

// Preferences are those of a user; the zero value but for the user is one who has chosen nothing.
func (s Preferences) Preferences(ctx context.Context, tenant, user string) (posthouse.Preferences, error) {
	p, _, err := sqldb.First(s.db.Reads(ctx), readPreferences, "SELECT "+preferencesTable.List+" FROM posthouse_preferences WHERE tenant = ? AND user_id = ?", tenant, user)
	p.Tenant, p.User = tenant, user
	return p, s.db.Coded(err, "read what a user prefers")
}

// PreferencesOf are those of some users, by their ids. One who has chosen nothing is missing. It reads what is committed when it is asked.
func (s Preferences) PreferencesOf(ctx context.Context, tenant string, users []string) (map[string]posthouse.Preferences, error) {
	found := map[string]posthouse.Preferences{}
	for part := range sqldb.Parts(users, 500) {
		clause, args := s.db.In("user_id", part)
		err := s.db.Reads(ctx)("SELECT "+preferencesTable.List+" FROM posthouse_preferences WHERE "+clause+" AND tenant = ?", append(args, tenant), func(scan sqldb.Scanner) error {
			p, err := readPreferences(scan)
			found[p.User] = p
			return err
		})
		if err != nil {
			return nil, s.db.Coded(err, "look up what users prefer")
		}
	}
	return found, nil
}

// Choosing are the users who have chosen something whose ids come after one, in the order of their ids, at most so many.
func (s Preferences) Choosing(ctx context.Context, tenant, after string, most int) ([]posthouse.Preferences, error) {
	list, err := sqldb.All(s.db.Reads(ctx), readPreferences, "SELECT "+preferencesTable.List+" FROM posthouse_preferences WHERE tenant = ? AND user_id > ? ORDER BY user_id LIMIT ?", tenant, after, most)
	return list, s.db.Coded(err, "list what users prefer")
}

// Preferring are the tenants of which a user has chosen something: one look at the key for each.
func (s Preferences) Preferring(ctx context.Context) (tenants []string, err error) {
	for last := ""; ; {
		tenant, found, err := sqldb.First(s.db.Reads(ctx), sqldb.Word, "SELECT tenant FROM posthouse_preferences WHERE tenant > ? ORDER BY tenant LIMIT 1", last)
		if err != nil || !found {
			return tenants, s.db.Coded(err, "look for tenants whose users have chosen")
		}
		tenants, last = append(tenants, tenant), tenant
	}
}

// ChangePreferences changes what a user prefers, also while others do, and returns it before and after. There must be such a user.
func (s Preferences) ChangePreferences(ctx context.Context, now time.Time, tenant, user string, change func(*posthouse.Preferences) error) (before, after posthouse.Preferences, err error) {
	err = s.db.Change(ctx, now, "store what a user prefers", func(t *sqldb.Tx) error {
		id, found, err := sqldb.First(t.Query, sqldb.Word, "SELECT id FROM posthouse_users WHERE tenant = ? AND id = ?"+t.DB.Dialect.Lock, tenant, user)
		if err != nil {
			return err
		}
		if !found || id != user {
			return noUser(user)
		}
		before, _, err = sqldb.First(t.Query, readPreferences, "SELECT "+preferencesTable.List+" FROM posthouse_preferences WHERE tenant = ? AND user_id = ?"+t.DB.Dialect.Lock, tenant, user)
		if err != nil {
			return err
		}
		before.Tenant, before.User = tenant, user
		if err := work.OnlyOf(ctx).Check("preferences of the user", user, before.Tag()); err != nil {
			return err
		}
		after = before
		if err := change(&after); err != nil {
			return err
		}
		at, err := t.Now()
		if err != nil {
			return err
		}
		after.Tenant, after.User, after.UpdatedAt = tenant, user, sqldb.TimeOf(at)
		doc, err := json.Marshal(after)
		if err != nil {
			return err
		}
		return t.Put(preferencesTable, 2, [][]any{{tenant, user, string(doc), after.Links, at}})
	})
	return before, after, err
}

// clearPreferences forgets what users preferred that are deleted one by one.
func clearPreferences(t *sqldb.Tx, tenant, user string) error {
	_, err := t.Exec("DELETE FROM posthouse_preferences WHERE tenant = ? AND user_id = ?", tenant, user)
	return err
}
