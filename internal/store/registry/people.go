package registry

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/page"
	"github.com/posthouse/posthouse/internal/store/sqldb"
)

// People are those who use the console, with their roles and what lets them in.
type People struct{ db *sqldb.DB }

const personColumns = "name, title, password, disabled, created_at, updated_at, seen_at, totp_since, subject"

var personRolesTable = sqldb.NewTable("posthouse_person_roles", "tenant", "person", "role")

// hashedPerson is a person with the hash of the password.
type hashedPerson struct {
	posthouse.Person
	hash string
}

func readPerson(scan sqldb.Scanner) (p hashedPerson, err error) {
	var disabled, created, updated, seen, totp int64
	err = scan(&p.Name, &p.Title, &p.hash, &disabled, &created, &updated, &seen, &totp, &p.Subject)
	p.Roles, p.Disabled, p.Person.Password = map[string]posthouse.Role{}, disabled != 0, p.hash != ""
	p.TOTP = totp != 0
	p.CreatedAt, p.UpdatedAt, p.SeenAt = sqldb.TimeOf(created), sqldb.TimeOf(updated), sqldb.TimeOf(seen)
	return p, err
}

// Person reads a person with the hash of the password, empty without one.
func (s People) Person(ctx context.Context, name string) (p posthouse.Person, hash string, err error) {
	found, there, err := sqldb.First(s.db.Reads(ctx), readPerson, "SELECT "+personColumns+" FROM posthouse_people WHERE name = ?", name)
	if err == nil && !there {
		return p, "", noPerson(name)
	}
	if err == nil {
		err = addPersonRoles(s.db.Reads(ctx), s.db, []hashedPerson{found})
	}
	return found.Person, found.hash, s.db.Coded(err, "read a person")
}

// addPersonRoles fills in the roles of people. Each has a map of its own already.
func addPersonRoles(from sqldb.Lookup, db *sqldb.DB, list []hashedPerson) error {
	roles := make(map[string]map[string]posthouse.Role, len(list))
	names := make([]string, len(list))
	for i, p := range list {
		roles[p.Name], names[i] = p.Roles, p.Name
	}
	for part := range sqldb.Parts(names, 500) {
		clause, args := db.In("person", part)
		err := from("SELECT person, tenant, role FROM posthouse_person_roles WHERE "+clause, args, func(scan sqldb.Scanner) error {
			var name, tenant string
			var role posthouse.Role
			err := scan(&name, &tenant, &role)
			roles[name][tenant] = role
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func noPerson(name string) error {
	return posthouse.Errorf(posthouse.CodeNotFound, "there is no person %.80q", name)
}

// People lists all of them by name, a page at a time.
func (s People) People(ctx context.Context, cursor string, limit int) ([]posthouse.Person, string, error) {
	after, err := page.Key("people", cursor)
	if err != nil {
		return nil, "", err
	}
	size := page.Size(limit)
	list, err := sqldb.All(s.db.Reads(ctx), readPerson, "SELECT "+personColumns+" FROM posthouse_people WHERE name > ? ORDER BY name LIMIT ?", after, size+1)
	if err != nil {
		return nil, "", s.db.Coded(err, "list the people")
	}
	list, next := page.Cut(list, size, "people", func(p hashedPerson) string { return p.Name })
	if err := addPersonRoles(s.db.Reads(ctx), s.db, list); err != nil {
		return nil, "", s.db.Coded(err, "list the people's roles")
	}
	people := make([]posthouse.Person, len(list))
	for i := range list {
		people[i] = list[i].Person
	}
	return people, next, nil
}

// PutPerson makes a person or replaces title, roles and whether they are kept out. A person who is kept out loses all sessions
// and links.
func (s People) PutPerson(ctx context.Context, now time.Time, p posthouse.Person) (stored posthouse.Person, created bool, err error) {
	err = s.db.Change(ctx, now, "store a person", func(t *sqldb.Tx) error {
		at, err := t.Now()
		if err == nil {
			err = t.Serialize()
		}
		if err != nil {
			return err
		}
		old, found, err := sqldb.First(t.Query, readPerson, "SELECT "+personColumns+" FROM posthouse_people WHERE name = ?"+t.DB.Dialect.Lock, p.Name)
		if err != nil {
			return err
		}
		stored, created = p, !found
		stored.TOTP, stored.Subject = old.TOTP, old.Subject
		stored.Password, stored.CreatedAt, stored.UpdatedAt, stored.SeenAt = old.hash != "", old.CreatedAt, sqldb.TimeOf(at), old.SeenAt
		if created {
			stored.CreatedAt = stored.UpdatedAt
			_, err = t.Exec("INSERT INTO posthouse_people ("+personColumns+") VALUES ("+sqldb.Marks(9)+")", p.Name, p.Title, "", truth(p.Disabled), at, at, 0, 0, "")
		} else {
			_, err = t.Exec("UPDATE posthouse_people SET title = ?, disabled = ?, updated_at = ? WHERE name = ?", p.Title, truth(p.Disabled), at, p.Name)
		}
		if err == nil {
			err = putPersonRoles(t, p)
		}
		if err == nil && p.Disabled {
			_, err = t.Exec("DELETE FROM posthouse_passes WHERE person = ?", p.Name)
		}
		return err
	})
	return stored, created, err
}

func putPersonRoles(t *sqldb.Tx, p posthouse.Person) error {
	if _, err := t.Exec("DELETE FROM posthouse_person_roles WHERE person = ?", p.Name); err != nil {
		return err
	}
	var rows [][]any
	for tenant, role := range p.Roles {
		rows = append(rows, []any{tenant, p.Name, string(role)})
	}
	return t.Insert(personRolesTable, rows)
}

func truth(yes bool) int64 {
	if yes {
		return 1
	}
	return 0
}

// FirstPerson stores a person where there is none at all.
func (s People) FirstPerson(ctx context.Context, now time.Time, p posthouse.Person) (added bool, err error) {
	err = s.db.Change(ctx, now, "store the first person", func(t *sqldb.Tx) error {
		added = false
		if err := t.Serialize(); err != nil {
			return err
		}
		_, some, err := sqldb.First(t.Query, sqldb.Word, "SELECT name FROM posthouse_people LIMIT 1")
		if err != nil || some {
			return err
		}
		at, err := t.Now()
		if err != nil {
			return err
		}
		added = true
		if _, err := t.Exec("INSERT INTO posthouse_people ("+personColumns+") VALUES ("+sqldb.Marks(9)+")", p.Name, p.Title, "", 0, at, at, 0, 0, ""); err != nil {
			return err
		}
		return putPersonRoles(t, p)
	})
	return added, err
}

// SetPassword stores the hash of a person's password and ends all sessions but one, by its mark, and all links.
func (s People) SetPassword(ctx context.Context, now time.Time, name, hash, but string) error {
	return s.db.Change(ctx, now, "store a password", func(t *sqldb.Tx) error {
		at, err := t.Now()
		if err != nil {
			return err
		}
		n, err := t.Exec("UPDATE posthouse_people SET password = ?, updated_at = ? WHERE name = ?", hash, at, name)
		if err == nil && n == 0 {
			err = noPerson(name)
		}
		if err != nil {
			return err
		}
		_, err = t.Exec("DELETE FROM posthouse_passes WHERE person = ? AND mark <> ?", name, but)
		return err
	})
}

// DeletePerson deletes a person with roles, sessions and links.
func (s People) DeletePerson(ctx context.Context, now time.Time, name string) error {
	return s.db.Change(ctx, now, "delete a person", func(t *sqldb.Tx) error {
		n, err := t.Exec("DELETE FROM posthouse_people WHERE name = ?", name)
		if err == nil && n == 0 {
			err = noPerson(name)
		}
		for _, table := range []string{"posthouse_person_roles", "posthouse_passes"} {
			if err == nil {
				_, err = t.Exec("DELETE FROM "+table+" WHERE person = ?", name)
			}
		}
		return err
	})
}
