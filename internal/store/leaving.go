package store

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/layout"
	"github.com/posthouse/posthouse/internal/store/sqldb"
)

// MariaDB drops the partitions of a time table by table. Before the first, the time is written down as leaving, until the last
// is gone; floor is where the latest of these ended, and stays. Nothing that leaves is changed any more: who changes what was
// settled long ago holds the row of leaving, so that one of the two sees the other. Who finds a part of a delivery below the
// floor without the rest takes it for gone.

// The rows of posthouse_meta. leaving is two ids, from and to, or nothing.
const (
	metaLeaving = "leaving"
	metaFloor   = "floor"
)

// leavingRange reads what leaving says.
func leavingRange(value string) (from, to string, leaves bool) { return strings.Cut(value, " ") }

// refuseLeaving is an error where one of the deliveries that a transaction has locked is about to go with its partition. What
// is open is moved out of it instead.
func (t settling) refuseLeaving(found []posthouse.Delivery) error {
	if p := t.parted.way(); p == nil || p.resume == nil {
		return nil
	}
	young := layout.IDAt(time.Now().Add(-layout.LateAfter + time.Hour)) // no partition goes before
	for i := range found {
		if d := &found[i]; d.State.Open() || d.ID >= young {
			continue
		}
		value, _, err := sqldb.First(t.Query, sqldb.Word, "SELECT value FROM posthouse_meta WHERE name = ?"+t.DB.Dialect.Share, metaLeaving)
		if err != nil {
			return err
		}
		from, to, leaves := leavingRange(value)
		for i := range found {
			if d := &found[i]; leaves && !d.State.Open() && d.ID >= from && d.ID < to {
				return posthouse.Errorf(posthouse.CodeUnavailable, "delivery %s is about to be deleted with all of its time that is no longer kept: try again in some minutes", d.ID)
			}
		}
		return nil
	}
	return nil
}

// floor is the id below which a part of a delivery without the rest is on its way out; "" where tables lose theirs in one step.
func (s *partitions) floor(ctx context.Context) (string, error) {
	if p := s.way(); p == nil || p.resume == nil {
		return "", nil
	}
	value, _, err := sqldb.First(s.db.Reads(ctx), sqldb.Word, "SELECT value FROM posthouse_meta WHERE name = ?", metaFloor)
	return value, err
}

// notLeaving is a condition that a delivery d is not on its way out.
func (s *partitions) notLeaving(ctx context.Context) (text string, args []any, err error) {
	if p := s.way(); p == nil || p.resume == nil {
		return "", nil, nil
	}
	value, _, err := sqldb.First(s.db.Reads(ctx), sqldb.Word, "SELECT value FROM posthouse_meta WHERE name = ?", metaLeaving)
	from, to, leaves := leavingRange(value)
	if err != nil || !leaves {
		return "", nil, err
	}
	return " AND (d.id < ? OR d.id >= ? OR EXISTS (SELECT 1 FROM posthouse_messages m WHERE m.id = " + layout.SoleMessage(s.db.Dialect, "d.id") + "))",
		[]any{from, to}, nil
}

// leavingOf adds to the deliveries that were pruned those of a list of events whose messages have gone with their partition.
func (s History) leavingOf(ctx context.Context, list []posthouse.Event, pruned map[string]bool) error {
	floor, err := s.parted.floor(ctx)
	if err != nil || list[0].Delivery >= floor {
		return err
	}
	var below []string
	for i := range list {
		if id := posthouse.MessageID(list[i].Delivery); id < floor {
			below = append(below, id)
		}
	}
	below = slices.Compact(below)
	there := map[string]bool{}
	for part := range sqldb.Parts(below, sqldb.BulkStep) {
		clause, args := s.db.Dialect.Among("id", part)
		found, err := sqldb.All(s.db.Reads(ctx), sqldb.Word, "SELECT id FROM posthouse_messages WHERE "+clause, args...)
		if err != nil {
			return err
		}
		for _, id := range found {
			there[id] = true
		}
	}
	for i := range list {
		if id := posthouse.MessageID(list[i].Delivery); id < floor && !there[id] {
			pruned[list[i].Delivery] = true
		}
	}
	return nil
}
