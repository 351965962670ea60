package store

import (
	"context"
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/layout"
	"github.com/posthouse/posthouse/internal/store/schema"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// placeHeld is the row that says which place may send. There is none until a server with a place has begun.
const placeHeld = "SELECT value FROM posthouse_meta WHERE name = 'place'"

// SetPlace has every accept look whether this place still holds the database, inside its transaction, before anything is stored.
func (s *Store) SetPlace(name string) { s.Plans.place = name }

// Holding is the place that may send by the database, and the database's epoch. It is not found where none holds that epoch.
func (s Places) Holding(ctx context.Context) (h work.Holding, epoch int64, found bool, err error) {
	if epoch, err = readEpoch(s.db.Reads(ctx)); err == nil {
		h, found, err = readHolding(s.db.Reads(ctx), "")
	}
	return h, epoch, found && h.Epoch == epoch, s.db.Coded(err, "read which place holds the database")
}

func readHolding(from sqldb.Lookup, lock string) (h work.Holding, found bool, err error) {
	text, found, err := sqldb.First(from, sqldb.Word, placeHeld+lock)
	if err != nil || !found {
		return h, false, err
	}
	h, err = work.ParseHolding(text)
	return h, err == nil, err
}

// Take lets a place begin to send where none holds the epoch, or where the place before it has ended, and returns which holds the database now.
func (s Places) Take(ctx context.Context, now time.Time, place string) (h work.Holding, err error) {
	err = s.change(ctx, now, "take the database for a place", func(t *tx) error {
		epoch, is, found, err := placing{t}.held()
		if h = is; err != nil {
			return err
		}
		free := !found || h.Epoch != epoch
		if !free && (h.Place != place || h.Phase != work.PhaseReady) {
			return nil // it is held already, perhaps by this place
		}
		before := h
		h = work.Holding{Place: place, Epoch: epoch, Phase: work.PhaseHeld, From: before.From}
		if free && before.Place != place {
			h.From = before.Place
		}
		return placing{t}.set(&h, found)
	})
	return h, err
}

// Leave begins a switch to another place: the epoch rises, so that nothing starts by this database any more and nothing is accepted.
// What was begun is recorded yet, until Ready. A switch that was begun before goes on.
func (s Places) Leave(ctx context.Context, now time.Time, to string) (h work.Holding, err error) {
	if err := work.CheckPlace(to); err != nil {
		return h, err
	}
	err = s.change(ctx, now, "leave the database to another place", func(t *tx) error {
		epoch, is, found, err := placing{t}.held()
		if h = is; err != nil {
			return err
		}
		switch {
		case !found || h.Epoch != epoch:
			return posthouse.Errorf(posthouse.CodeConflict, "no place holds the database: start a server with the setting place first")
		case h.Place == to:
			return nil
		}
		// A copy that may lack something cannot be handed over: its next holder would take it for whole.
		if err := schema.Undecided(t.Tx); err != nil {
			return posthouse.Errorf(posthouse.CodeConflict, "%s: run posthouse migrate new-epoch --yes instead", err.Error())
		}
		h = work.Holding{Place: to, Epoch: epoch + 1, Phase: work.PhaseLeaving, From: h.Place}
		if err := (raising{t}).setEpoch(h.Epoch); err != nil {
			return err
		}
		return placing{t}.set(&h, true)
	})
	if err != nil {
		return h, err
	}
	return h, s.change(ctx, now, "wait for what is being started", func(t *tx) error { return t.AwaitStarts() })
}

// Ready ends the part of the place that leaves: a copy of the database that says so lacks nothing that was accepted or sent.
func (s Places) Ready(ctx context.Context, now time.Time, to string) error {
	return s.change(ctx, now, "end the part of a place", func(t *tx) error {
		h, found, err := readHolding(t.Query, t.DB.Dialect.Lock)
		if err != nil {
			return err
		}
		if !found || h.Place != to || h.Phase == work.PhaseHeld {
			return posthouse.Errorf(posthouse.CodeConflict, "no switch to %s is under way", to)
		}
		h.Phase = work.PhaseReady
		return placing{t}.set(&h, true)
	})
}

// Yield ends this database's holding for that of another place, which holds a copy of it with a newer epoch: nothing starts by this
// one any more, also after a restart.
func (s Places) Yield(ctx context.Context, now time.Time, to work.Holding) error {
	return s.change(ctx, now, "yield to another place", func(t *tx) error {
		epoch, err := raising{t}.lockEpoch()
		if err != nil || epoch < 0 {
			return err
		}
		own, found, err := readHolding(t.Query, t.DB.Dialect.Lock)
		if err != nil || found && own.Epoch == epoch && own.Place == to.Place {
			return err
		}
		h := work.Holding{Place: to.Place, Epoch: max(to.Epoch, epoch+1), Phase: work.PhaseHeld, From: own.Place}
		if err := (raising{t}).setEpoch(h.Epoch); err != nil {
			return err
		}
		return placing{t}.set(&h, found)
	})
}

// Forget lets servers without a place work on the database.
func (s Places) Forget(ctx context.Context, now time.Time) (was work.Holding, found bool, err error) {
	err = s.change(ctx, now, "forget the place", func(t *tx) error {
		var err error
		if was, found, err = readHolding(t.Query, t.DB.Dialect.Lock); err != nil {
			return err
		}
		_, err = t.Exec("DELETE FROM posthouse_meta WHERE name = 'place'")
		return err
	})
	return was, found, err
}

// UnderWay is how many deliveries have begun whose results are not stored.
func (s Places) UnderWay(ctx context.Context) (int64, error) {
	n, _, err := sqldb.First(s.db.Reads(ctx), sqldb.Number, "SELECT (SELECT COUNT(*) FROM posthouse_queue WHERE state = 'sending') + (SELECT COUNT(*) FROM "+layout.StillFlying(s.db.Dialect)+")")
	return n, s.db.Coded(err, "count what is under way")
}

// placing is a transaction that changes which place holds the database.
type placing struct{ *tx }

// held is the epoch, locked, and which place holds the database.
func (t placing) held() (epoch int64, h work.Holding, found bool, err error) {
	epoch, err = raising{t.tx}.lockEpoch()
	if err == nil && epoch < 0 {
		err = posthouse.Errorf(posthouse.CodeUnavailable, "the epoch is being raised: if no other process does, raise it again")
	}
	if err == nil {
		h, found, err = readHolding(t.Query, t.DB.Dialect.Lock)
	}
	return epoch, h, found, err
}

func (t placing) set(h *work.Holding, found bool) error {
	at, err := t.Now()
	if err != nil {
		return err
	}
	h.Since = sqldb.TimeOf(at)
	if found {
		_, err = t.Exec("UPDATE posthouse_meta SET value = ? WHERE name = 'place'", h.Text())
		return err
	}
	_, err = t.Exec("INSERT INTO posthouse_meta (name, value) VALUES ('place', ?)", h.Text())
	return err
}

// held refuses an accept of a place that holds the database no more. What takes it away waits for the accepts that have looked.
func (t accepting) held(place string) error {
	h, found, err := readHolding(t.Query, t.DB.Dialect.Share)
	if err != nil {
		return err
	}
	if found && (h.Place != place || h.Phase != work.PhaseHeld) {
		return &posthouse.Error{Code: posthouse.CodeUnavailable, Message: fmt.Sprintf("the place %s holds the database now: try there", h.Place), Place: &posthouse.Place{Name: h.Place}, Cause: work.ErrElsewhere}
	}
	return nil
}
