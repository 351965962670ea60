package store

import (
	"context"
	"encoding/json"
	"time"

	"github.com/posthouse/posthouse"
)

var usersTable = newTable("users", "tenant", "id", "name", "type", "addresses", "updated_at#")

// PutUsers stores users of a tenant, all or none; those there are already are replaced.
func (s *Store) PutUsers(ctx context.Context, now time.Time, tenant string, users []posthouse.User) error {
	return s.change(ctx, now, "store users", func(t *tx) error {
		at, err := t.now()
		if err != nil {
			return err
		}
		place := map[string]int{}
		var rows [][]any
		for _, u := range users {
			addresses, _ := json.Marshal(u.Addresses) // strings: can not fail
			row := []any{tenant, u.ID, u.Name, u.Type, string(addresses), at}
			if i, twice := place[u.ID]; twice {
				rows[i] = row
				continue
			}
			place[u.ID] = len(rows)
			rows = append(rows, row)
		}
		return t.put(usersTable, 2, rows)
	})
}

func readUser(scan scanner) (posthouse.User, error) {
	var u posthouse.User
	var addresses string
	var updated int64
	if err := scan(&u.Tenant, &u.ID, &u.Name, &u.Type, &addresses, &updated); err != nil {
		return u, err
	}
	u.UpdatedAt = timeOf(updated)
	return u, json.Unmarshal([]byte(addresses), &u.Addresses)
}

// User reads one user of the directory.
func (s *Store) User(ctx context.Context, tenant, id string) (posthouse.User, error) {
	u, found, err := first(s.reads(ctx), readUser, "SELECT "+usersTable.list+" FROM users WHERE tenant = ? AND id = ?", tenant, id)
	if err != nil {
		return u, s.toError(err, "read a user")
	}
	if !found {
		return u, noUser(id)
	}
	return u, nil
}

func noUser(id string) error {
	return posthouse.Errorf(posthouse.CodeNotFound, "there is no user %q in the directory", id)
}

// Users lists a tenant's users by id, a page at a time, and returns the next page's cursor.
func (s *Store) Users(ctx context.Context, tenant, cursor string, limit int) ([]posthouse.User, string, error) {
	after, err := keyOf("users", cursor)
	if err != nil {
		return nil, "", err
	}
	size := pageSize(limit)
	list, err := all(s.reads(ctx), readUser, "SELECT "+usersTable.list+" FROM users WHERE tenant = ? AND id > ? ORDER BY id LIMIT ?", tenant, after, size+1)
	if err != nil {
		return nil, "", s.toError(err, "list the users")
	}
	list, next := page(list, size, "users", func(u posthouse.User) string { return u.ID })
	return list, next, nil
}

// DeleteUser deletes one user.
func (s *Store) DeleteUser(ctx context.Context, tenant, id string) error {
	return s.change(ctx, time.Time{}, "delete a user", func(t *tx) error {
		n, err := t.exec("DELETE FROM users WHERE tenant = ? AND id = ?", tenant, id)
		if err == nil && n == 0 {
			return noUser(id)
		}
		return err
	})
}

// Addresses tells where a channel reaches users. Users without an address there are missing.
func (s *Store) Addresses(ctx context.Context, tenant, channel string, ids []string) (map[string]string, error) {
	found := map[string]string{}
	for part := range parts(ids, 500) {
		clause, args := s.in("id", part)
		err := s.look(ctx, "SELECT "+usersTable.list+" FROM users WHERE "+clause+" AND tenant = ?", append(args, tenant), func(scan scanner) error {
			u, err := readUser(scan)
			if address := u.Addresses[channel]; address != "" {
				found[u.ID] = address
			}
			return err
		})
		if err != nil {
			return nil, s.toError(err, "look up addresses")
		}
	}
	return found, nil
}
