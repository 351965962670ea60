package registry

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

const passColumns = "mark, kind, person, source, created_at, seen_at, ends_at" //nolint:gosec // names of columns

func readPass(scan sqldb.Scanner) (p work.Pass, err error) {
	var created, seen, ends int64
	err = scan(&p.Mark, &p.Kind, &p.Person, &p.Source, &created, &seen, &ends)
	p.CreatedAt, p.SeenAt, p.EndsAt = sqldb.TimeOf(created), sqldb.TimeOf(seen), sqldb.TimeOf(ends)
	return p, err
}

// addPass stores a pass, and forgets what is over.
func addPass(t *sqldb.Tx, p work.Pass, lasts time.Duration) (work.Pass, error) {
	at, err := t.Now()
	if err != nil {
		return p, err
	}
	p.CreatedAt, p.SeenAt, p.EndsAt = sqldb.TimeOf(at), sqldb.TimeOf(at), sqldb.TimeOf(at).Add(lasts)
	if _, err := t.Exec("DELETE FROM posthouse_passes WHERE ends_at < ?", at); err != nil {
		return p, err
	}
	_, err = t.Exec("INSERT INTO posthouse_passes ("+passColumns+") VALUES ("+sqldb.Marks(7)+")", p.Mark, string(p.Kind), p.Person, p.Source, at, at, sqldb.Micros(p.EndsAt))
	if err == nil && p.Kind == work.PassSession { // its later uses are noted once a minute
		_, err = t.Exec("UPDATE posthouse_people SET seen_at = ? WHERE name = ?", at, p.Person)
	}
	return p, err
}

// AddLink stores a link by which a person gets in once, within a time. A person has one link: an older one ends.
func (s People) AddLink(ctx context.Context, now time.Time, p work.Pass, lasts time.Duration) (work.Pass, error) {
	err := s.db.Change(ctx, now, "store a link", func(t *sqldb.Tx) (err error) {
		_, found, err := sqldb.First(t.Query, sqldb.Word, "SELECT name FROM posthouse_people WHERE name = ? AND disabled = 0"+t.DB.Dialect.Lock, p.Person)
		if err == nil && !found {
			err = posthouse.Errorf(posthouse.CodeNotFound, "there is no person %.80q who is let in", p.Person)
		}
		if err == nil {
			_, err = t.Exec("DELETE FROM posthouse_passes WHERE person = ? AND kind = ?", p.Person, string(work.PassLink))
		}
		if err == nil {
			p.Kind = work.PassLink
			p, err = addPass(t, p, lasts)
		}
		return err
	})
	return p, err
}

// AddPass stores what lets a person in who has shown a password.
func (s People) AddPass(ctx context.Context, now time.Time, p work.Pass, lasts time.Duration) error {
	return s.db.Change(ctx, now, "begin a session", func(t *sqldb.Tx) error {
		_, err := addPass(t, p, lasts)
		return err
	})
}

// SwapPass ends a pass and begins another of its person; found is false for one that is not there any more.
func (s People) SwapPass(ctx context.Context, now time.Time, old, p work.Pass, lasts time.Duration) (person string, found bool, err error) {
	err = s.db.Change(ctx, now, "use a pass", func(t *sqldb.Tx) error {
		at, err := t.Now()
		if err != nil {
			return err
		}
		person, found, err = sqldb.First(t.Query, sqldb.Word, "SELECT person FROM posthouse_passes WHERE mark = ? AND kind = ? AND ends_at > ?"+t.DB.Dialect.Lock, old.Mark, string(old.Kind), at)
		if err != nil || !found {
			return err
		}
		n, err := t.Exec("DELETE FROM posthouse_passes WHERE mark = ?", old.Mark)
		if found = n > 0; err != nil || !found {
			return err // another was faster
		}
		p.Person = person
		_, err = addPass(t, p, lasts)
		return err
	})
	return person, found, err
}

// PassOf finds whose pass it is, without using it.
func (s People) PassOf(ctx context.Context, kind work.PassKind, mark string) (person string, found bool, err error) {
	now, err := s.db.Now(ctx)
	if err != nil {
		return "", false, err
	}
	person, found, err = sqldb.First(s.db.Reads(ctx), sqldb.Word, "SELECT person FROM posthouse_passes WHERE mark = ? AND kind = ? AND ends_at > ?", mark, string(kind), sqldb.Micros(now))
	return person, found, s.db.Coded(err, "look for a pass")
}

// Session finds a session that has not ended and was used within the idle time, and notes its use at most once a minute.
func (s People) Session(ctx context.Context, mark string, idle time.Duration) (p work.Pass, found bool, err error) {
	now, err := s.db.Now(ctx)
	if err != nil {
		return p, false, err
	}
	p, found, err = sqldb.First(s.db.Reads(ctx), readPass, "SELECT "+passColumns+" FROM posthouse_passes WHERE mark = ? AND kind = ? AND ends_at > ? AND seen_at > ?",
		mark, string(work.PassSession), sqldb.Micros(now), sqldb.Micros(now.Add(-idle)))
	if err != nil || !found || now.Sub(p.SeenAt) < time.Minute {
		return p, found, s.db.Coded(err, "look for a session")
	}
	return p, true, s.db.Change(ctx, now, "note the use of a session", func(t *sqldb.Tx) error {
		at, err := t.Now()
		if err == nil {
			_, err = t.Exec("UPDATE posthouse_passes SET seen_at = ? WHERE mark = ?", at, mark)
		}
		if err == nil {
			_, err = t.Exec("UPDATE posthouse_people SET seen_at = ? WHERE name = ?", at, p.Person)
		}
		return err
	})
}

// EndSession ends one session.
func (s People) EndSession(ctx context.Context, now time.Time, mark string) error {
	return s.db.Change(ctx, now, "end a session", func(t *sqldb.Tx) error {
		_, err := t.Exec("DELETE FROM posthouse_passes WHERE mark = ?", mark)
		return err
	})
}

// EndSessions ends all sessions and links of a person, and says how many there were.
func (s People) EndSessions(ctx context.Context, now time.Time, person string) (n int, err error) {
	err = s.db.Change(ctx, now, "end sessions", func(t *sqldb.Tx) error {
		ended, err := t.Exec("DELETE FROM posthouse_passes WHERE person = ?", person)
		n = int(ended)
		return err
	})
	return n, err
}
