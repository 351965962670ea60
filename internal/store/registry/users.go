package registry

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/page"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// Users is the directory of people, with their roles and addresses.
type Users struct{ db *sqldb.DB }

var (
	usersTable = sqldb.NewTable("posthouse_users", "tenant", "id", "name", "type", "addresses", "time_zone", "language", "manager", "updated_at#")
	rolesTable = sqldb.NewTable("posthouse_user_roles", "tenant", "role", "user_id")
)

// PutUsers stores users of a tenant, all or none; those there are already are replaced with their roles.
func (s Users) PutUsers(ctx context.Context, now time.Time, tenant string, users []posthouse.User) error {
	return s.db.Change(ctx, now, "store users", func(t *sqldb.Tx) error {
		if only := work.OnlyOf(ctx); !only.Any() {
			there, err := directoryOf(t, tenant)
			if err == nil {
				err = only.Check("directory of the tenant", tenant, work.DirectoryTag(there))
			}
			if err != nil {
				return err
			}
		}
		return putUsers(t, tenant, users)
	})
}

func putUsers(t *sqldb.Tx, tenant string, users []posthouse.User) error {
	at, err := t.Now()
	if err != nil {
		return err
	}
	place := map[string]int{}
	roles := map[string][]string{}
	last := map[string]posthouse.User{}
	var rows [][]any
	for _, u := range users {
		roles[u.ID], last[u.ID] = u.Roles, u
		addresses, _ := json.Marshal(u.Addresses) // strings: cannot fail
		row := []any{tenant, u.ID, u.Name, u.Type, string(addresses), u.TimeZone, u.Language, u.Manager, at}
		if i, twice := place[u.ID]; twice {
			rows[i] = row
			continue
		}
		place[u.ID] = len(rows)
		rows = append(rows, row)
	}
	if err := t.Put(usersTable, 2, rows); err != nil {
		return err // and the rows are locked: others that store these users wait
	}
	if err := putRoles(t, tenant, roles); err != nil {
		return err
	}
	return putWords(t, tenant, last)
}

// ReplaceUsers makes the directory of a tenant hold these users and no others, and says what that changes. A rehearsal changes
// nothing. Of a user that is named twice the last word counts.
func (s Users) ReplaceUsers(ctx context.Context, now time.Time, tenant string, users []posthouse.User, rehearse bool) (work.Directory, error) {
	var done work.Directory
	err := s.db.Change(ctx, now, "replace the directory", func(t *sqldb.Tx) error {
		there, err := directoryOf(t, tenant)
		if err != nil {
			return err
		}
		var fresh []posthouse.User
		if done, fresh = work.Compare(there, users); !rehearse {
			err = work.OnlyOf(ctx).Check("directory of the tenant", tenant, done.Tag)
		}
		if err != nil {
			return err
		}
		if rehearse {
			return nil
		}
		if err := putUsers(t, tenant, fresh); err != nil {
			return err
		}
		return removeUsers(t, tenant, done.Removed)
	})
	return done, err
}

// directoryOf reads all users of a tenant with their roles, and locks them.
func directoryOf(t *sqldb.Tx, tenant string) (map[string]posthouse.User, error) {
	there := map[string]posthouse.User{}
	list, err := sqldb.All(t.Query, readUser, "SELECT "+usersTable.List+" FROM posthouse_users WHERE tenant = ? ORDER BY id"+t.DB.Dialect.Lock, tenant)
	if err != nil {
		return nil, err
	}
	for _, u := range list {
		there[u.ID] = u
	}
	return there, t.Query("SELECT user_id, role FROM posthouse_user_roles WHERE tenant = ? ORDER BY user_id, role", []any{tenant}, func(scan sqldb.Scanner) error {
		var id, role string
		err := scan(&id, &role)
		if u, known := there[id]; known {
			u.Roles = append(u.Roles, role)
			there[id] = u
		}
		return err
	})
}

func removeUsers(t *sqldb.Tx, tenant string, ids []string) error {
	for part := range sqldb.Parts(ids, 500) {
		clause, args := t.DB.In("id", part)
		if _, err := t.Exec("DELETE FROM posthouse_users WHERE "+clause+" AND tenant = ?", append(args, tenant)...); err != nil {
			return err
		}
	}
	if err := clearRoles(t, tenant, ids); err != nil {
		return err
	}
	return clearWords(t, tenant, ids)
}

// ChangeUser changes one user, also while others write it.
func (s Users) ChangeUser(ctx context.Context, now time.Time, tenant, id string, change func(*posthouse.User)) (before, after posthouse.User, err error) {
	err = s.db.Change(ctx, now, "change a user", func(t *sqldb.Tx) error {
		u, found, err := sqldb.First(t.Query, readUser, "SELECT "+usersTable.List+" FROM posthouse_users WHERE tenant = ? AND id = ?"+t.DB.Dialect.Lock, tenant, id)
		if err != nil {
			return err
		}
		if !found {
			return noUser(id)
		}
		if err := work.OnlyOf(ctx).Check("user", id, u.Tag()); err != nil {
			return err
		}
		if u.Roles, err = sqldb.All(t.Query, sqldb.Word, "SELECT role FROM posthouse_user_roles WHERE tenant = ? AND user_id = ? ORDER BY role", tenant, id); err != nil {
			return err
		}
		before, after = u, u
		after.Addresses = maps.Clone(u.Addresses)
		change(&after)
		at, err := t.Now()
		if err != nil {
			return err
		}
		after.UpdatedAt = sqldb.TimeOf(at)
		return putUsers(t, tenant, []posthouse.User{after})
	})
	return before, after, err
}

// putRoles gives users these roles and no others.
func putRoles(t *sqldb.Tx, tenant string, roles map[string][]string) error {
	if err := clearRoles(t, tenant, slices.Sorted(maps.Keys(roles))); err != nil {
		return err
	}
	var rows [][]any
	for user, list := range roles {
		for i, role := range list {
			if slices.Index(list, role) == i {
				rows = append(rows, []any{tenant, role, user})
			}
		}
	}
	return t.Insert(rolesTable, rows)
}

func clearRoles(t *sqldb.Tx, tenant string, users []string) error {
	for part := range sqldb.Parts(users, 500) {
		clause, args := t.DB.In("user_id", part)
		if _, err := t.Exec("DELETE FROM posthouse_user_roles WHERE "+clause+" AND tenant = ?", append(args, tenant)...); err != nil {
			return err
		}
	}
	return nil
}

// addRoles fills in the roles of a page of users of one tenant, sorted. It reads from the first user to the last: for a list of ids SQLite
// goes through the roles of everybody.
func (s Users) addRoles(ctx context.Context, tenant string, users []posthouse.User) error {
	if len(users) == 0 {
		return nil
	}
	place := map[string]int{}
	low, high := users[0].ID, users[0].ID
	for i := range users {
		place[users[i].ID], low, high = i, min(low, users[i].ID), max(high, users[i].ID)
	}
	err := s.db.Look(ctx, "SELECT user_id, role FROM posthouse_user_roles WHERE tenant = ? AND user_id >= ? AND user_id <= ?", []any{tenant, low, high}, func(scan sqldb.Scanner) error {
		var user, role string
		err := scan(&user, &role)
		if i, wanted := place[user]; wanted {
			users[i].Roles = append(users[i].Roles, role)
		}
		return err
	})
	for i := range users {
		slices.Sort(users[i].Roles) // databases sort as they like
	}
	return err
}

// UsersOf lists who has roles: by role, sorted. A role that nobody has is missing.
func (s Users) UsersOf(ctx context.Context, tenant string, roles []string) (map[string][]string, error) {
	found := map[string][]string{}
	for part := range sqldb.Parts(roles, 500) {
		clause, args := s.db.In("role", part)
		err := s.db.Look(ctx, "SELECT role, user_id FROM posthouse_user_roles WHERE "+clause+" AND tenant = ?", append(args, tenant), func(scan sqldb.Scanner) error {
			var role, user string
			err := scan(&role, &user)
			found[role] = append(found[role], user)
			return err
		})
		if err != nil {
			return nil, s.db.Coded(err, "look up who has a role")
		}
	}
	for _, users := range found {
		slices.Sort(users)
	}
	return found, nil
}

func readUser(scan sqldb.Scanner) (posthouse.User, error) {
	var u posthouse.User
	var addresses string
	var updated int64
	if err := scan(&u.Tenant, &u.ID, &u.Name, &u.Type, &addresses, &u.TimeZone, &u.Language, &u.Manager, &updated); err != nil {
		return u, err
	}
	u.UpdatedAt = sqldb.TimeOf(updated)
	return u, json.Unmarshal([]byte(addresses), &u.Addresses)
}

// User reads one user of the directory.
func (s Users) User(ctx context.Context, tenant, id string) (posthouse.User, error) {
	u, found, err := sqldb.First(s.db.Reads(ctx), readUser, "SELECT "+usersTable.List+" FROM posthouse_users WHERE tenant = ? AND id = ?", tenant, id)
	if err != nil {
		return u, s.db.Coded(err, "read a user")
	}
	if !found {
		return u, noUser(id)
	}
	one := []posthouse.User{u}
	err = s.addRoles(ctx, tenant, one)
	return one[0], s.db.Coded(err, "read a user's roles")
}

func noUser(id string) error {
	return posthouse.Errorf(posthouse.CodeNotFound, "there is no user %q in the directory", id)
}

// Users lists a tenant's users by id, a page at a time, and returns the next page's cursor.
func (s Users) Users(ctx context.Context, tenant, cursor string, limit int) ([]posthouse.User, string, error) {
	after, err := page.Key("users", cursor)
	if err != nil {
		return nil, "", err
	}
	size := page.Size(limit)
	list, err := sqldb.All(s.db.Reads(ctx), readUser, "SELECT "+usersTable.List+" FROM posthouse_users WHERE tenant = ? AND id > ? ORDER BY id LIMIT ?", tenant, after, size+1)
	if err != nil {
		return nil, "", s.db.Coded(err, "list the users")
	}
	list, next := page.Cut(list, size, "users", func(u posthouse.User) string { return u.ID })
	if err := s.addRoles(ctx, tenant, list); err != nil {
		return nil, "", s.db.Coded(err, "list the users' roles")
	}
	return list, next, nil
}

// DeleteUser deletes one user.
func (s Users) DeleteUser(ctx context.Context, tenant, id string) error {
	return s.db.Change(ctx, time.Time{}, "delete a user", func(t *sqldb.Tx) error {
		n, err := t.Exec("DELETE FROM posthouse_users WHERE tenant = ? AND id = ?", tenant, id)
		if err == nil && n == 0 {
			return noUser(id)
		}
		if err != nil {
			return err
		}
		if err := clearRoles(t, tenant, []string{id}); err != nil {
			return err
		}
		if err := clearWords(t, tenant, []string{id}); err != nil {
			return err
		}
		return clearPreferences(t, tenant, id)
	})
}

// Profiles reads users by their ids, without their roles. Those that the directory does not know are missing.
func (s Users) Profiles(ctx context.Context, tenant string, ids []string) (map[string]posthouse.User, error) {
	found := map[string]posthouse.User{}
	for part := range sqldb.Parts(ids, 500) {
		clause, args := s.db.In("id", part)
		err := s.db.Look(ctx, "SELECT "+usersTable.List+" FROM posthouse_users WHERE "+clause+" AND tenant = ?", append(args, tenant), func(scan sqldb.Scanner) error {
			u, err := readUser(scan)
			found[u.ID] = u
			return err
		})
		if err != nil {
			return nil, s.db.Coded(err, "look up users")
		}
	}
	return found, nil
}

// RolesOf lists the roles that users have: by user, sorted. One without any is missing. It asks for one user at a time: for a list of ids SQLite
// goes through the roles of everybody.
func (s Users) RolesOf(ctx context.Context, tenant string, users []string) (map[string][]string, error) {
	found := map[string][]string{}
	for _, id := range users {
		roles, err := sqldb.All(s.db.Reads(ctx), sqldb.Word, "SELECT role FROM posthouse_user_roles WHERE tenant = ? AND user_id = ?", tenant, id)
		if err != nil {
			return nil, s.db.Coded(err, "look up the roles of users")
		}
		if len(roles) > 0 {
			slices.Sort(roles) // databases sort as they like
			found[id] = roles
		}
	}
	return found, nil
}

// Addresses tells where a channel reaches users. Users without an address there are missing.
func (s Users) Addresses(ctx context.Context, tenant, channel string, ids []string) (map[string]string, error) {
	users, err := s.Profiles(ctx, tenant, ids)
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for id, u := range users {
		if address := u.Addresses[channel]; address != "" {
			found[id] = address
		}
	}
	return found, nil
}
