package foreign

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/posthouse/posthouse/internal/store/sqldb"
)

// reading are the words that a query begins with.
var reading = []string{"SELECT", "WITH"}

// Query reads what a query of the user's gives from a database, one row after the other, in a transaction that may only read. columns is
// told their names first; a value is a text, nil for NULL, and times are those of zone. An error of columns or row ends it.
func Query(ctx context.Context, dsn string, zone *time.Location, query string, columns func(names []string) error, row func(values []*string) error) (err error) {
	first, _, _ := strings.Cut(strings.Join(strings.Fields(query), " "), " ")
	if !slices.Contains(reading, strings.ToUpper(first)) {
		return fmt.Errorf("begins with %.20q: want %s", first, strings.Join(reading, " or "))
	}
	d, dsn, err := sqldb.DialectOf(dsn, sqldb.Known)
	if err != nil {
		return err
	}
	db, err := d.Former.Open(dsn, zone)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if d.Former.Guard != nil {
		if err := d.Former.Guard(conn); err != nil {
			return err
		}
	}
	tx, err := conn.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // it has changed nothing
	rows, err := tx.QueryContext(ctx, query)
	if err != nil {
		return whyNot(err)
	}
	defer rows.Close()
	types, err := rows.ColumnTypes()
	if err != nil {
		return err
	}
	names, into, values, texts := make([]string, len(types)), make([]any, len(types)), make([]any, len(types)), make([]*string, len(types))
	for i, t := range types {
		names[i], into[i] = t.Name(), &values[i]
	}
	if err := columns(names); err != nil {
		return err
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		if size := sizeOf(values); size > sqldb.MaxRow {
			return tooLong(size)
		}
		for i, v := range values {
			texts[i] = textOf(v, types[i].DatabaseTypeName(), zone)
		}
		if err := row(texts); err != nil {
			return err
		}
	}
	return whyNot(rows.Err())
}

// whyNot says in our words that PostgreSQL's driver has met a row beyond the bound.
func whyNot(err error) error {
	var long *pgproto3.ExceededMaxBodyLenErr
	if errors.As(err, &long) {
		return tooLong(long.ActualBodyLen)
	}
	return err
}

func tooLong(size int) error {
	return fmt.Errorf("a row has %d bytes: at most %d are allowed. Name the columns that are needed", size, sqldb.MaxRow)
}

// sizeOf is how many bytes the texts of a row have.
func sizeOf(values []any) (n int) {
	for _, v := range values {
		switch v := v.(type) {
		case []byte:
			n += len(v)
		case string:
			n += len(v)
		}
	}
	return n
}

// textOf is a value as a text, nil for NULL. kind is the database's word for its type.
func textOf(value any, kind string, zone *time.Location) *string {
	var text string
	switch v := value.(type) {
	case nil:
		return nil
	case []byte:
		text = string(v)
	case float64:
		text = strconv.FormatFloat(v, 'f', -1, 64)
	case float32:
		text = strconv.FormatFloat(float64(v), 'f', -1, 32)
	case time.Time:
		text = timeText(v, strings.ToUpper(kind), zone)
	default:
		text = fmt.Sprint(v)
	}
	return &text
}

// timeText is a time as its database shows it. PostgreSQL alone has a type with a zone that comes as a moment.
func timeText(at time.Time, kind string, zone *time.Location) string {
	switch kind {
	case "DATE":
		return at.Format(time.DateOnly)
	case "TIMESTAMPTZ":
		at = at.In(zone)
	}
	return at.Format("2006-01-02 15:04:05.999999")
}
