package schema

import (
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
}

// WentBack says that a database is behind what was seen of it, or has another history.
type WentBack struct{ Seen, Found Watermark }

// Error is for people.
func (e *WentBack) Error() string {
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

// Watermark reads how far the database has come; not found where no server has worked on it yet.
func (s Tides) Watermark(ctx context.Context) (w Watermark, found bool, err error) {
	text, found, err := sqldb.First(s.db.Reads(ctx), sqldb.Word, watermarkOf)
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
	return Watermark{history, sqldb.TimeOf(n)}, nil
}

func (w Watermark) text() string { return w.History + " " + strconv.FormatInt(sqldb.Micros(w.At), 10) }

// RaiseWatermark raises it and returns what it is now. Where the database is behind what was seen of it, or has another
// history, nothing changes and the error is a *WentBack. What was seen is empty in a process that has seen nothing yet.
func (s Tides) RaiseWatermark(ctx context.Context, now time.Time, seen Watermark) (w Watermark, err error) {
	err = s.db.Change(ctx, now, "raise the watermark", func(x *sqldb.Tx) (err error) {
		t := passing{x}
		if w, err = t.watermark(); err != nil {
			return err
		}
		if seen != (Watermark{}) && (w.History != seen.History || w.At.Before(seen.At)) {
			return &WentBack{seen, w}
		}
		w.At, err = t.later(w.At)
		if err != nil {
			return err
		}
		return t.setWatermark(w)
	})
	return w, err
}

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
	if found {
		return parseWatermark(text)
	}
	w := Watermark{History: newHistory(), At: sqldb.TimeOf(1)}
	_, err = t.Exec("INSERT INTO posthouse_meta (name, value) VALUES ('watermark', ?)", w.text())
	return w, err
}

func (t passing) setWatermark(w Watermark) error {
	_, err := t.Exec("UPDATE posthouse_meta SET value = ? WHERE name = 'watermark'", w.text())
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
