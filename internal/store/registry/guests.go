package registry

import (
	"context"
	"maps"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/sqldb"
)

// MeetPerson finds the person of an identity provider's subject, or makes one, and gives it title and roles: its name stays, and
// whether it is kept out. before is nil for a new one. An error of code conflict says that somebody else has the name.
func (s People) MeetPerson(ctx context.Context, now time.Time, p posthouse.Person) (before *posthouse.Person, met posthouse.Person, err error) {
	err = s.db.Change(ctx, now, "meet a person", func(t *sqldb.Tx) error {
		before, met = nil, p
		at, err := t.Now()
		if err == nil {
			err = t.Serialize()
		}
		if err != nil {
			return err
		}
		old, found, err := sqldb.First(t.Query, readPerson, "SELECT "+personColumns+" FROM posthouse_people WHERE subject = ?"+t.DB.Dialect.Lock, p.Subject)
		if err == nil && found {
			err = addPersonRoles(t.Query, t.DB, []hashedPerson{old})
		}
		if err != nil {
			return err
		}
		if !found {
			met.CreatedAt, met.UpdatedAt = sqldb.TimeOf(at), sqldb.TimeOf(at)
			return addGuest(t, met, at)
		}
		before, met = &old.Person, old.Person
		if old.Title == p.Title && maps.Equal(old.Roles, p.Roles) {
			return nil
		}
		met.Title, met.Roles, met.UpdatedAt = p.Title, p.Roles, sqldb.TimeOf(at)
		if _, err := t.Exec("UPDATE posthouse_people SET title = ?, updated_at = ? WHERE name = ?", met.Title, at, met.Name); err != nil {
			return err
		}
		return putPersonRoles(t, met)
	})
	return before, met, err
}

// addGuest stores a new person whom an identity provider knows.
func addGuest(t *sqldb.Tx, p posthouse.Person, at int64) error {
	_, taken, err := sqldb.First(t.Query, sqldb.Word, "SELECT name FROM posthouse_people WHERE name = ?", p.Name)
	if err == nil && taken {
		err = posthouse.Errorf(posthouse.CodeConflict, "there is a person %.80q already, whom the identity provider does not vouch for", p.Name)
	}
	if err == nil {
		_, err = t.Exec("INSERT INTO posthouse_people ("+personColumns+") VALUES ("+sqldb.Marks(9)+")", p.Name, p.Title, "", 0, at, at, 0, 0, p.Subject)
	}
	if err == nil {
		err = putPersonRoles(t, p)
	}
	return err
}
