package partition

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/posthouse/posthouse/internal/store/schema"
	"github.com/posthouse/posthouse/internal/store/sqldb"
)

// postgresPartitions are PostgreSQL's own. posthouse_…_rest has the rows that no other has; what stays of a partition moves
// there.
var postgresPartitions = &partitioning{List: listPostgres, add: addPostgres, Retire: retirePostgres}

// postgresBound is how PostgreSQL writes the ends of a partition.
var postgresBound = regexp.MustCompile(`^FOR VALUES FROM \('(\w+)'\) TO \('(\w+)'\)$`)

func listPostgres(from sqldb.Lookup) ([]Slot, error) {
	var list []Slot
	err := from(`SELECT p.relname, c.relname, pg_get_expr(c.relpartbound, c.oid) FROM pg_inherits i
		JOIN pg_class c ON c.oid = i.inhrelid JOIN pg_class p ON p.oid = i.inhparent
		WHERE p.relkind = 'p' AND p.relnamespace = current_schema()::regnamespace AND p.relname LIKE 'posthouse\_%'`, nil, func(scan sqldb.Scanner) error {
		var h Slot
		var bound string
		err := scan(&h.Table, &h.Name, &bound)
		if ends := postgresBound.FindStringSubmatch(bound); ends != nil {
			h.from, h.To = ends[1], ends[2]
			list = append(list, h)
		}
		return err
	})
	return list, err
}

// alterPostgres runs fn in a transaction that gives up rather than let others wait for its locks, and that no other process
// runs.
func alterPostgres(ctx context.Context, s *Partitions, fn func(t Altering) error) error {
	return s.db.Alter(ctx, func(own *sqldb.Tx) error {
		t := Altering{own, ctx, s}
		// A lock that is not had at once is given up before the server looks for a deadlock.
		if _, err := t.Exec("SET LOCAL lock_timeout = '500ms'"); err != nil {
			return err
		}
		if _, err := t.Exec("SET LOCAL statement_timeout = '5s'"); err != nil {
			return err
		}
		mine, _, err := sqldb.First(t.Query, sqldb.Number, "SELECT pg_try_advisory_xact_lock(7077102, hashtext(current_schema()))::int")
		if err == nil && mine == 0 {
			err = errElsewhere
		}
		if err != nil {
			return err
		}
		return fn(t)
	})
}

func addPostgres(ctx context.Context, s *Partitions, made []Slot) error {
	return alterPostgres(ctx, s, func(t Altering) error {
		have, err := listPostgres(t.Query)
		if err != nil {
			return err
		}
		for _, m := range made {
			if slices.Contains(have, m) {
				return errElsewhere
			}
			_, err := t.Exec(fmt.Sprintf("CREATE TABLE %s PARTITION OF %s FOR VALUES FROM ('%s') TO ('%s')", m.Name, m.Table, m.from, m.To))
			var said *pgconn.PgError
			switch {
			case errors.As(err, &said) && said.Code == "42P07": // duplicate_table
				return schema.Stranger(sqldb.Object{Name: m.Name, Kind: "table"})
			case errors.As(err, &said) && said.Code == "23514": // check_violation: of the partition that takes the rest
				return errOccupied
			case err != nil:
				return err
			}
		}
		return nil
	})
}

func retirePostgres(ctx context.Context, s *Partitions, of Span, cutoff int64) (moved int, err error) {
	err = alterPostgres(ctx, s, func(t Altering) error {
		have, err := listPostgres(t.Query)
		if err != nil {
			return err
		}
		leaving := slices.DeleteFunc(have, func(h Slot) bool { return !h.of(of) })
		if len(leaving) == 0 {
			return errElsewhere // another process did
		}
		tables := make([]string, len(leaving))
		for i, l := range leaving {
			tables[i] = "ONLY " + l.Table
		}
		// All writes to these tables wait, so that what is found stays as it is.
		if _, err := t.Exec("LOCK TABLE " + strings.Join(tables, ", ") + " IN ACCESS EXCLUSIVE MODE"); err != nil {
			return err
		}
		stay, err := s.kept(t.Query, of, cutoff, keptMost)
		if err != nil {
			return err
		}
		moved = len(stay)
		for _, l := range leaving {
			if err := t.movePostgres(l, keptKeys(l.Table, stay)); err != nil {
				return err
			}
		}
		return nil
	})
	return moved, err
}

// movePostgres drops one partition. Once it is none any more, its rows have their place in the rest.
func (t Altering) movePostgres(l Slot, stay []string) error {
	if _, err := t.Exec("ALTER TABLE " + l.Table + " DETACH PARTITION " + l.Name); err != nil {
		return err
	}
	if len(stay) > 0 {
		_, err := t.Exec(fmt.Sprintf("INSERT INTO %s SELECT * FROM %s WHERE %s = ANY(?::text[])", l.Table, l.Name, partitionKey(l.Table)), stay)
		if err != nil {
			return err
		}
	}
	_, err := t.Exec("DROP TABLE " + l.Name)
	return err
}
