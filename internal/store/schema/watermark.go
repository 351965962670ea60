package schema

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse/internal/store/sqldb"
)

// Watermark is how far a database has come. Processes raise it while they work and remember it outside of the database:
// where the database has less than somebody saw, it went back, to a backup or to a replica that lagged.
type Watermark struct {
	// History names the database from its making, or from its last new epoch, on.
	History string
	// At rises with each raise. It is about the time of the last one.
	At time.Time
	// Stand is where it was raised, of a database that has standbys.
	Stand sqldb.Stand
}

// WentBack says that a database is behind what was seen of it, has another history, or may be behind: a standby of it was promoted
// for which commits did not wait.
type WentBack struct{ Seen, Found Watermark }

// Promoted reports whether a standby was promoted. Where it was not, the database was restored.
func (e *WentBack) Promoted() bool { return e.Found.Stand.Promoted(e.Seen.Stand) }

// Error is for people.
func (e *WentBack) Error() string {
	if e.Promoted() && e.Seen.History == e.Found.History && !e.Found.At.Before(e.Seen.At) {
		return fmt.Sprintf("a standby of the database was promoted (timeline %d, was %d) that commits did not wait for: it may lack the last ones. It is as of %s",
			e.Found.Stand.Timeline, e.Seen.Stand.Timeline, Moment(e.Found.At))
	}
	if e.Seen.History != e.Found.History {
		return "the database has begun a new epoch"
	}
	return fmt.Sprintf("the database went back: it is as of %s, and was seen at %s", Moment(e.Found.At), Moment(e.Seen.At))
}

// Moment is a watermark's time as people and settings name it.
func Moment(at time.Time) string { return at.UTC().Format(momentForm) }

const momentForm = "2006-01-02T15:04:05.000000Z"

// ParseMoment reads what Moment wrote.
func ParseMoment(text string) (time.Time, error) { return time.Parse(momentForm, text) }

// Tides says how far the database has come.
type Tides struct{ db *sqldb.DB }

// TidesOf are those of a database.
func TidesOf(db *sqldb.DB) Tides { return Tides{db} }

// Promotions lets nothing work on a standby that is promoted from now on until Decided is called, and tells of each. Raises find out
// whether it lacks anything.
func (s Tides) Promotions() <-chan struct{} { return s.db.Gate() }

// Decided lets everything work on the database as a raise has found it, and reports whether no later promotion is to be decided about.
func (s Tides) Decided(w Watermark) bool { return s.db.Decided(w.Stand.Timeline) }

// Missing returns those of some messages that the database does not have.
func (s Tides) Missing(ctx context.Context, messages []string) (missing []string, err error) {
	for part := range sqldb.Parts(messages, sqldb.BulkStep) {
		clause, args := s.db.Dialect.Among("id", part)
		there, err := sqldb.All(s.db.Reads(sqldb.Deciding(ctx)), sqldb.Word, "SELECT id FROM posthouse_messages WHERE "+clause, args...)
		if err != nil {
			return missing, s.db.Coded(err, "look for messages")
		}
		has := map[string]bool{}
		for _, id := range there {
			has[id] = true
		}
		for _, id := range part {
			if !has[id] {
				missing = append(missing, id)
			}
		}
	}
	return missing, nil
}

// Watermark reads how far the database has come; not found where no server has worked on it yet.
func (s Tides) Watermark(ctx context.Context) (w Watermark, found bool, err error) {
	return s.watermark(s.db.Reads(ctx))
}

// OwnWatermark is that of the very server that was opened: of a replica how far that one has come.
func (s Tides) OwnWatermark(ctx context.Context) (w Watermark, found bool, err error) {
	return s.watermark(s.db.Own(ctx))
}

func (s Tides) watermark(from sqldb.Lookup) (w Watermark, found bool, err error) {
	text, found, err := sqldb.First(from, sqldb.Word, watermarkOf)
	if err != nil || !found {
		return w, false, s.db.Coded(err, "read the watermark")
	}
	w, err = parseWatermark(text)
	return w, err == nil, err
}

const watermarkOf = "SELECT value FROM posthouse_meta WHERE name = 'watermark'"

func parseWatermark(text string) (Watermark, error) {
	history, at, _ := strings.Cut(text, " ")
	n, err := strconv.ParseInt(at, 10, 64)
	if err != nil || history == "" {
		return Watermark{}, fmt.Errorf("the watermark %.60q in the database is none", text)
	}
	return Watermark{History: history, At: sqldb.TimeOf(n)}, nil
}

func (w Watermark) text() string { return w.History + " " + strconv.FormatInt(sqldb.Micros(w.At), 10) }

// RaiseWatermark raises it and returns what it is now. Where the database is behind what was seen of it, or has another
// history, nothing changes and the error is a *WentBack. What was seen is empty in a process that has seen nothing yet.
func (s Tides) RaiseWatermark(ctx context.Context, now time.Time, seen Watermark) (w Watermark, err error) {
	err = s.db.Change(sqldb.Deciding(ctx), now, "raise the watermark", func(x *sqldb.Tx) error {
		t := passing{x}
		var err error
		if w, err = t.watermark(); err != nil {
			return err
		}
		kept, _, err := sqldb.First(t.Query, sqldb.Word, standOf)
		if err != nil {
			return err
		}
		if err := behind(seen, w, sqldb.ParseStand(kept)); err != nil {
			return err
		}
		w.At, err = t.later(w.At)
		if err != nil {
			return err
		}
		return t.setWatermark(w)
	})
	return w, err
}

// behind refuses a database that went back, and one whose promoted standby may lack commits: by what this process saw of the former
// primary, or by what the standby was told before, which is kept in it. A new machine has seen nothing, and learns it from there.
func behind(seen, now Watermark, kept sqldb.Stand) error {
	if seen.Stand == (sqldb.Stand{}) {
		seen.Stand = kept
	}
	if seen.History != "" && (now.History != seen.History || now.At.Before(seen.At)) {
		return &WentBack{seen, now}
	}
	for _, before := range []sqldb.Stand{seen.Stand, kept} {
		if now.Stand.Promoted(before) && !before.Sync {
			return &WentBack{Watermark{now.History, cmp.Or(seen.At, now.At), before}, now}
		}
	}
	return nil
}

// Undecided reports whether a transaction stands on a promoted standby that commits did not wait for, before anything has decided about it.
func Undecided(x *sqldb.Tx) error {
	t := passing{x}
	w, err := t.watermark()
	if err != nil {
		return err
	}
	kept, _, err := sqldb.First(t.Query, sqldb.Word, standOf)
	if err != nil {
		return err
	}
	return behind(Watermark{}, w, sqldb.ParseStand(kept))
}

const standOf = "SELECT value FROM posthouse_meta WHERE name = 'stand'"

// PassWatermark raises it over what was seen before the database went back: a person has decided to go on.
func (s Tides) PassWatermark(ctx context.Context, now time.Time, seen Watermark) error {
	return s.db.Change(ctx, now, "pass the watermark", func(x *sqldb.Tx) error {
		t := passing{x}
		w, err := t.watermark()
		if err != nil {
			return err
		}
		if w.At, err = t.later(seen.At); err != nil {
			return err
		}
		return t.setWatermark(w)
	})
}

// passing is a transaction that raises the watermark.
type passing struct{ *sqldb.Tx }

// watermark locks and reads it, and makes one where there is none.
func (t passing) watermark() (Watermark, error) {
	text, found, err := sqldb.First(t.Query, sqldb.Word, watermarkOf+t.DB.Dialect.Lock)
	if err == nil && !found { // of several processes that start at one moment, one makes it
		if err = t.Serialize(); err == nil {
			text, found, err = sqldb.First(t.Query, sqldb.Word, watermarkOf+t.DB.Dialect.Lock)
		}
	}
	if err != nil {
		return Watermark{}, err
	}
	stand, err := t.Stand()
	if err != nil {
		return Watermark{}, err
	}
	if found {
		w, err := parseWatermark(text)
		w.Stand = stand
		return w, err
	}
	w := Watermark{newHistory(), sqldb.TimeOf(1), stand}
	_, err = t.Exec("INSERT INTO posthouse_meta (name, value) VALUES ('watermark', ?)", w.text())
	return w, err
}

func (t passing) setWatermark(w Watermark) error {
	if _, err := t.Exec("UPDATE posthouse_meta SET value = ? WHERE name = 'watermark'", w.text()); err != nil || w.Stand == (sqldb.Stand{}) {
		return err
	}
	text, found, err := sqldb.First(t.Query, sqldb.Word, standOf)
	if err != nil || text == w.Stand.Text() {
		return err
	}
	if !found {
		_, err = t.Exec("INSERT INTO posthouse_meta (name, value) VALUES ('stand', ?)", w.Stand.Text())
		return err
	}
	_, err = t.Exec("UPDATE posthouse_meta SET value = ? WHERE name = 'stand'", w.Stand.Text())
	return err
}

// later is the time now, but later than another.
func (t passing) later(than time.Time) (time.Time, error) {
	now, err := t.Now()
	return sqldb.TimeOf(max(now, sqldb.Micros(than)+1)), err
}

// BeginHistory names the database anew: what others saw of its older history says nothing of the new one.
func BeginHistory(x *sqldb.Tx) error {
	t := passing{x}
	w, err := t.watermark()
	if err != nil {
		return err
	}
	w.History = newHistory()
	if w.At, err = t.later(w.At); err != nil {
		return err
	}
	return t.setWatermark(w)
}

// newHistory is a name that no other database has.
func newHistory() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
