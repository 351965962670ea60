package outbox

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/draft"
	"github.com/posthouse/posthouse/workflow"
)

// Database is the kind of database that the caller and Posthouse share.
type Database string

// The databases.
const (
	SQLite   Database = "sqlite"
	Postgres Database = "postgres"
	MySQL    Database = "mysql" // MariaDB too
)

// Options makes a box. Database is required.
type Options struct {
	// Database decides how statements are written. Required.
	Database Database
	// Tenant owns the messages. Defaults to posthouse.DefaultTenant.
	Tenant string
	// Lookup is where Enqueue looks whether a dedup_key already stands for a message, beside the caller's
	// transaction: a *sql.DB with connections to spare. Defaults to the caller's transaction itself, and to
	// nothing on MySQL and MariaDB, where reading would take locks or fix the transaction's snapshot.
	Lookup Querier
	// Trace is the caller's span as the W3C writes it ("00-…-…-01"); the message's attempts link to it.
	// Defaults to none.
	Trace func(ctx context.Context) (traceparent string)
	// Log hears of look-ups that failed. Defaults to slog.Default().
	Log *slog.Logger
}

// Execer is the caller's transaction: a *sql.Tx, or whatever else runs a statement in it and takes
// the database's own placeholders. A *sql.DB or *sql.Conn without a transaction commits at once.
type Execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// Querier is a handle that can look, too. Those of database/sql can.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Lister is a handle that can look and knows no *sql.Rows, such as that of package pgxbox. It calls row
// for each row of the answer.
type Lister interface {
	List(ctx context.Context, query string, args []any, row func(scan func(dest ...any) error) error) error
}

// Box writes into the outbox. It holds no connection and is safe for concurrent use.
type Box struct {
	o        Options
	text     dialect
	now      func() time.Time
	patience time.Duration // of a look beside the caller's transaction
}

// New makes a box.
func New(o Options) (*Box, error) {
	p := &draft.Problems{}
	text, known := dialects()[o.Database]
	if !known {
		p.Add("Database", "is %q: want %q, %q or %q", o.Database, SQLite, Postgres, MySQL)
	}
	p.Word("Tenant", o.Tenant, draft.MaxWord)
	if err := posthouse.Invalid("the outbox cannot be used", p.List); err != nil {
		return nil, err
	}
	if o.Tenant == "" {
		o.Tenant = posthouse.DefaultTenant
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return &Box{o: o, text: text, now: time.Now, patience: lookTimeout}, nil
}

// Enqueue writes messages into the outbox with tx and returns their ids in order. They are sent if and
// when tx commits; a rollback leaves nothing.
//
// A draft whose dedup_key stands for a message already, or for one that waits in the outbox, writes
// nothing: the id is that message's. Of several that hand in a key at the same time, none waits for
// another and one message is made; they are told the same id. Where that is not possible, on both sides of a
// full minute or where a handle cannot look, the ids lead to the same message once it is there.
//
// Faults of the drafts themselves are a *posthouse.Error of code invalid that names every
// problem, and then nothing was written: tx can go on. What only Posthouse knows, such as whether
// the channel exists, is found out after the commit: such a message waits in the table, with its
// problem, until it can be accepted. An error of the database is returned wrapped; whether tx can
// go on after it is the database's rule.
func (b *Box) Enqueue(ctx context.Context, tx Execer, drafts ...posthouse.Draft) ([]string, error) {
	texts, err := b.encode(ctx, drafts)
	if err != nil || len(drafts) == 0 {
		return nil, err
	}
	places, err := b.place(ctx, tx, drafts)
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(drafts))
	rows := make([]row, 0, len(drafts))
	for i, p := range places {
		ids[i] = p.message
		if p.row != "" {
			rows = append(rows, row{p.row, texts[i]})
		}
	}
	if err := b.insert(ctx, tx, rows); err != nil {
		return nil, err
	}
	return ids, nil
}

// Report writes events of tasks into the outbox with tx, as POST /v1/workflow/events would take them. They are
// applied if and when tx commits, in the order they were written as far as that can be seen. One
// without a time has the time of its row.
//
// Errors are as with Enqueue; what is wrong with an event beyond its type and task is found out after
// the commit, and then it waits in the table.
func (b *Box) Report(ctx context.Context, tx Execer, events ...workflow.Event) error {
	texts, err := encodeEvents(events)
	if err != nil {
		return err
	}
	rows := make([]row, len(events))
	for i, text := range texts {
		rows[i] = row{posthouse.NewID(), text}
	}
	return b.insert(ctx, tx, rows)
}

// row is a row of the table outbox, with what the writer says of it.
type row struct{ id, draft string }

// insert writes rows in one statement. The database dates them itself.
func (b *Box) insert(ctx context.Context, tx Execer, rows []row) error {
	if len(rows) == 0 {
		return nil
	}
	args := make([]any, 0, 3*len(rows))
	for _, r := range rows {
		args = append(args, r.id, b.o.Tenant, r.draft)
	}
	query := "INSERT INTO posthouse_outbox (id, tenant, draft) VALUES " + strings.TrimSuffix(strings.Repeat("(?, ?, ?), ", len(rows)), ", ")
	if _, err := tx.ExecContext(ctx, b.text.rebind(query), args...); err != nil {
		return fmt.Errorf("write into the outbox: %w", err)
	}
	return nil
}

// rebind turns ? into $1, $2, … where the database wants it. The texts hold no other question mark.
func (d dialect) rebind(query string) string {
	if !d.dollar {
		return query
	}
	var s strings.Builder
	for i, part := range strings.Split(query, "?") {
		if i > 0 {
			s.WriteString("$" + strconv.Itoa(i))
		}
		s.WriteString(part)
	}
	return s.String()
}
