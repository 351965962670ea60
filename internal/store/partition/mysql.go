package partition

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/posthouse/posthouse/internal/store/layout"
	"github.com/posthouse/posthouse/internal/store/schema"
	"github.com/posthouse/posthouse/internal/store/sqldb"
)

// mysqlPartitions are MariaDB's and MySQL's. They stand one behind the other without a gap: old has what stayed of those that
// were dropped, rest what is younger than all others. No step can lose a row: a partition changes places with a table that
// has what stays, and that is done whole or not at all. A process that is killed between two tables leaves a note of what it
// was at (leaving.go), and the next round of any process goes on from there.
var mysqlPartitions = &partitioning{List: listMySQL, add: addMySQL, Retire: retireMySQL, Resume: resumeMySQL}

func listMySQL(from sqldb.Lookup) ([]Slot, error) {
	var list []Slot
	last := ""
	err := from(`SELECT table_name, partition_name, partition_description FROM information_schema.partitions
		WHERE table_schema = DATABASE() AND table_name LIKE 'posthouse\_%' AND partition_name IS NOT NULL
		ORDER BY table_name, partition_ordinal_position`, nil, func(scan sqldb.Scanner) error {
		var h Slot
		err := scan(&h.Table, &h.Name, &h.To)
		h.from, h.To = last, strings.Trim(h.To, "'")
		if last = h.To; h.Name != "old" && h.Name != "rest" {
			list = append(list, h)
		}
		return err
	})
	return list, err
}

// AlterMySQL runs fn on a connection that gives up rather than let others wait for its locks, and that no other process has.
func AlterMySQL(ctx context.Context, s *Partitions, fn func(t Altering) error) error {
	return s.db.Alter(ctx, func(own *sqldb.Tx) error { return alteringMySQL(Altering{own, ctx, s}, fn) })
}

func alteringMySQL(t Altering, fn func(t Altering) error) error {
	if _, err := t.Exec("SET SESSION lock_wait_timeout = 1"); err != nil {
		return err
	}
	mine, _, err := sqldb.First(t.Query, sqldb.Number, "SELECT COALESCE(GET_LOCK("+partsLock+", 0), 0)")
	if err == nil && mine == 0 {
		err = errElsewhere
	}
	if err != nil {
		return err
	}
	defer func() { // before its connection ends, or the next step would find the lock taken
		_, _ = t.Exec("UNLOCK TABLES")
		_, _ = t.Exec("DO RELEASE_LOCK(" + partsLock + ")")
	}()
	return fn(t)
}

const partsLock = "LEFT(CONCAT('posthouse-parts.', DATABASE()), 64)"

// restMost bounds how many rows are copied to make a partition while everyone waits.
const restMost = 50_000

func addMySQL(ctx context.Context, s *Partitions, made []Slot) error {
	return AlterMySQL(ctx, s, func(t Altering) error {
		have, err := listMySQL(t.Query)
		if err != nil {
			return err
		}
		for _, m := range made {
			if slices.ContainsFunc(have, func(h Slot) bool { return h.Table == m.Table && h.To >= m.To }) {
				continue // another process did
			}
			many, _, err := sqldb.First(t.Query, sqldb.Number, fmt.Sprintf("SELECT COUNT(*) FROM (SELECT 1 FROM %s PARTITION (rest) LIMIT %d) r", m.Table, restMost+1))
			if err != nil {
				return err
			}
			if many > restMost {
				return fmt.Errorf("the partition rest of %s holds more than %d rows: divide it in a quiet hour (ALTER TABLE %[1]s REORGANIZE PARTITION rest INTO …)", m.Table, restMost)
			}
			from, before := "rest", ""
			if !slices.ContainsFunc(have, func(h Slot) bool { return h.Table == m.Table }) {
				from, before = "old, rest", fmt.Sprintf("PARTITION old VALUES LESS THAN ('%s'), ", m.from)
			}
			if _, err := t.Exec(fmt.Sprintf("ALTER TABLE %s REORGANIZE PARTITION %s INTO (%sPARTITION %s VALUES LESS THAN ('%s'), PARTITION rest VALUES LESS THAN (MAXVALUE))",
				m.Table, from, before, partName(m), m.To)); err != nil {
				return err
			}
		}
		return nil
	})
}

// partName is the name of a partition within its table.
func partName(m Slot) string { return "p" + strings.TrimPrefix(m.Name, m.Table+"_") }

// leavingName is the table that changes places with a partition.
func leavingName(table string) string { return table + "_leaving" }

func retireMySQL(ctx context.Context, s *Partitions, of Span, cutoff int64) (moved int, err error) {
	err = AlterMySQL(ctx, s, func(t Altering) error {
		stay, err := s.kept(s.db.Reads(ctx), of, cutoff, keptMost) // before anything is begun that could not be ended
		if err != nil {
			return err
		}
		moved = len(stay)
		if err := t.Note(MetaLeaving, layout.IDAt(of.From)+" "+layout.IDAt(of.To)); err != nil {
			return err
		}
		if err := t.Note(MetaFloor, layout.IDAt(of.To)); err != nil {
			return err
		}
		err = t.retireAll(of, cutoff)
		if err != nil && t.untouched(of) {
			err = errors.Join(err, t.Note(MetaLeaving, ""))
		}
		return err
	})
	return moved, err
}

// untouched reports whether no table has lost its partition of a time yet.
func (t Altering) untouched(of Span) bool {
	_, _ = t.Exec("UNLOCK TABLES")
	have, err := listMySQL(t.Query)
	return err == nil && slices.ContainsFunc(have, func(h Slot) bool { return h.Table == InPartitions[0].Table && h.To == layout.IDAt(of.To) })
}

// resumeMySQL ends what was begun.
func resumeMySQL(ctx context.Context, s *Partitions, cutoff int64) error {
	leaving := func(from sqldb.Lookup) (of Span, leaves bool, err error) {
		value, _, err := sqldb.First(from, sqldb.Word, "SELECT value FROM posthouse_meta WHERE name = ?", MetaLeaving)
		low, high, leaves := leavingRange(value)
		return Span{layout.TimeOfID(low), layout.TimeOfID(high)}, leaves, err
	}
	if _, leaves, err := leaving(s.db.Reads(ctx)); err != nil || !leaves {
		return err
	}
	return AlterMySQL(ctx, s, func(t Altering) error {
		of, leaves, err := leaving(t.Query)
		if err != nil || !leaves {
			return err
		}
		return t.retireAll(of, cutoff)
	})
}

// Note writes a row of posthouse_meta, which waits for who holds it.
func (t Altering) Note(name, value string) error {
	_, err := t.Exec("INSERT INTO posthouse_meta (name, value) VALUES (?, ?) ON DUPLICATE KEY UPDATE value = VALUES(value)", name, value)
	return err
}

// retireAll drops the partitions of a time that is noted as leaving, those that are left of them, and takes the note away.
func (t Altering) retireAll(of Span, cutoff int64) error {
	have, err := listMySQL(t.Query)
	if err != nil {
		return err
	}
	for _, in := range InPartitions {
		at := slices.IndexFunc(have, func(h Slot) bool { return h.Table == in.Table && h.To == layout.IDAt(of.To) })
		if at >= 0 {
			err = t.RetireOne(have[at], of, cutoff)
		} else { // it was done, but for what changed places
			err = t.dropLeaving(in.Table)
		}
		if err != nil {
			return err
		}
	}
	return t.Note(MetaLeaving, "")
}

// RetireOne drops the partition of one table. All writes to the table wait meanwhile, so that what is found stays as it is. The
// queue is read by another connection: where one holds locks on more tables, no partition may change places.
func (t Altering) RetireOne(l Slot, of Span, cutoff int64) error {
	if err := t.MakeLeaving(l.Table); err != nil {
		return err
	}
	if _, err := t.Exec("LOCK TABLES " + l.Table + " WRITE, " + leavingName(l.Table) + " WRITE"); err != nil {
		return err
	}
	stay, err := t.parted.kept(t.parted.db.Reads(t.ctx), of, cutoff, math.MaxInt32)
	if err != nil {
		return err
	}
	if err := t.moveMySQL(l, keptKeys(l.Table, stay)); err != nil {
		return err
	}
	if _, err := t.Exec("UNLOCK TABLES"); err != nil {
		return err
	}
	return t.dropLeaving(l.Table)
}

// MakeLeaving makes an empty table like another, without its partitions.
func (t Altering) MakeLeaving(table string) error {
	if err := t.dropLeaving(table); err != nil {
		return err
	}
	if _, err := t.Exec("CREATE TABLE " + leavingName(table) + " LIKE " + table); err != nil {
		return err
	}
	_, err := t.Exec("ALTER TABLE " + leavingName(table) + " REMOVE PARTITIONING")
	return err
}

// dropLeaving drops the table that has changed places with a partition. One that a killed process has left before it did goes
// too: what stays of it is in its partition.
func (t Altering) dropLeaving(table string) error {
	name := leavingName(table)
	comment, there, err := sqldb.First(t.Query, sqldb.Word, "SELECT table_comment FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = ?", name)
	if err != nil || !there {
		return err
	}
	if comment != sqldb.OurComment {
		return schema.Stranger(sqldb.Object{Name: name, Kind: "table"})
	}
	_, err = t.Exec("DROP TABLE " + name)
	return err
}

// moveMySQL drops one partition: what is left is in old.
func (t Altering) moveMySQL(l Slot, stay []string) error {
	for part := range sqldb.Parts(stay, sqldb.BulkStep) {
		clause, args := t.Among(partitionKey(l.Table), part)
		_, err := t.Exec(fmt.Sprintf("INSERT INTO %s SELECT * FROM %s PARTITION (%s) WHERE %s", leavingName(l.Table), l.Table, l.Name, clause), args...)
		if err != nil {
			return err
		}
	}
	for _, text := range []string{
		"ALTER TABLE %[1]s EXCHANGE PARTITION %[2]s WITH TABLE %[3]s",
		"ALTER TABLE %[1]s REORGANIZE PARTITION old, %[2]s INTO (PARTITION old VALUES LESS THAN ('%[4]s'))",
	} {
		if _, err := t.Exec(fmt.Sprintf(strings.ReplaceAll(text, "%[4]s", l.To), l.Table, l.Name, leavingName(l.Table))); err != nil {
			return err
		}
	}
	return nil
}
