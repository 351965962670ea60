package sqldb

import (
	"context"
	"database/sql"
	"sync"
)

// maxOften bounds the texts of look-ups that stay prepared, each on every connection of the read pool.
const maxOften = 64

// often are the prepared look-ups of SQLite's read pool, by their texts.
type often struct {
	mu    sync.Mutex
	texts map[string]*sql.Stmt
}

// Often is Reads for a look-up that each request, or each claim, makes anew with the same text. SQLite would parse it each time,
// which costs twice as much as the look-up itself; so the statement stays prepared there. PostgreSQL's driver keeps all statements itself.
func (s *DB) Often(ctx context.Context) Lookup {
	if !s.Dialect.OneWriter {
		return s.Reads(ctx)
	}
	return func(query string, args []any, each func(scan Scanner) error) error {
		ctx, cancel := context.WithTimeout(ctx, lookTimeout)
		defer cancel()
		stmt, err := s.often.statement(ctx, s.Reader, s.Text(query)) //nolint:sqlclosecheck // kept, and closed with the pool
		if err != nil {
			return err
		}
		if stmt == nil {
			return Each(ctx, s.Reader, s.Text(query), args, each)
		}
		rows, err := stmt.QueryContext(ctx, args...)
		if err != nil {
			return err
		}
		return Drain(rows, each)
	}
}

// statement is a text prepared, or nil where too many are: none is closed for another, since somebody may be about to use it.
func (o *often) statement(ctx context.Context, pool *sql.DB, text string) (*sql.Stmt, error) {
	o.mu.Lock()
	stmt, full := o.texts[text], len(o.texts) >= maxOften
	o.mu.Unlock()
	if stmt != nil || full {
		return stmt, nil
	}
	stmt, err := pool.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	return o.keep(text, stmt), nil
}

// keep keeps a statement, or closes it and returns the one that somebody has prepared meanwhile.
func (o *often) keep(text string, stmt *sql.Stmt) *sql.Stmt {
	o.mu.Lock()
	defer o.mu.Unlock()
	if first := o.texts[text]; first != nil {
		_ = stmt.Close() // nobody has used it
		return first
	}
	if o.texts == nil {
		o.texts = map[string]*sql.Stmt{}
	}
	o.texts[text] = stmt
	return stmt
}
