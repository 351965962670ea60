package partition

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
	MetaLeaving = "leaving"
	MetaFloor   = "floor"
)

// leavingRange reads what leaving says.
func leavingRange(value string) (from, to string, leaves bool) { return strings.Cut(value, " ") }

// Floor is the id below which a part of a delivery without the rest is on its way out; "" where tables lose theirs in one step.
func (s *Partitions) Floor(ctx context.Context) (string, error) {
	if p := s.Way(); p == nil || p.Resume == nil {
		return "", nil
	}
	value, _, err := sqldb.First(s.db.Reads(ctx), sqldb.Word, "SELECT value FROM posthouse_meta WHERE name = ?", MetaFloor)
	return value, err
}

// NotLeaving is a condition that a delivery d is not on its way out.
func (s *Partitions) NotLeaving(ctx context.Context) (text string, args []any, err error) {
	if p := s.Way(); p == nil || p.Resume == nil {
		return "", nil, nil
	}
	value, _, err := sqldb.First(s.db.Reads(ctx), sqldb.Word, "SELECT value FROM posthouse_meta WHERE name = ?", MetaLeaving)
	from, to, leaves := leavingRange(value)
	if err != nil || !leaves {
		return "", nil, err
	}
	return " AND (d.id < ? OR d.id >= ? OR EXISTS (SELECT 1 FROM posthouse_messages m WHERE m.id = " + layout.SoleMessage(s.db.Dialect, "d.id") + "))",
		[]any{from, to}, nil
}

// Refuse is an error where one of the deliveries that a transaction has locked is about to go with its partition. What
// is open is moved out of it instead.
func (s *Partitions) Refuse(from sqldb.Lookup, found []posthouse.Delivery) error {
	if p := s.Way(); p == nil || p.Resume == nil {
		return nil
	}
	young := layout.IDAt(time.Now().Add(-layout.LateAfter + time.Hour)) // no partition goes before
	for i := range found {
		if d := &found[i]; d.State.Open() || d.ID >= young {
			continue
		}
		value, _, err := sqldb.First(from, sqldb.Word, "SELECT value FROM posthouse_meta WHERE name = ?"+s.db.Dialect.Share, MetaLeaving)
		if err != nil {
			return err
		}
		low, high, leaves := leavingRange(value)
		for i := range found {
			if d := &found[i]; leaves && !d.State.Open() && d.ID >= low && d.ID < high {
				return posthouse.Errorf(posthouse.CodeUnavailable, "delivery %s is about to be deleted with all of its time that is no longer kept: try again in some minutes", d.ID)
			}
		}
		return nil
	}
	return nil
}

// Gone adds to the deliveries that were pruned those of a list of events whose messages have gone with their partition.
func (s *Partitions) Gone(ctx context.Context, list []posthouse.Event, pruned map[string]bool) error {
	floor, err := s.Floor(ctx)
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
