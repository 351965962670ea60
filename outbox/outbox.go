package outbox

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/draft"
)

// Database is the kind of database that the caller and Posthouse share.
type Database string

// The databases.
const (
	SQLite   Database = "sqlite"
	Postgres Database = "postgres"
	MySQL    Database = "mysql" // MariaDB too
)

// Bounds of one call.
const (
	MaxDrafts     = 1000                // drafts
	MaxRecipients = draft.MaxRecipients // recipients of one draft
	MaxBytes      = 8 << 20             // all drafts together, as JSON: below what MariaDB takes in one packet by default
)

// Options makes a box. Database is required.
type Options struct {
	// Database decides how placeholders are written. Required.
	Database Database
	// Tenant owns the messages. Defaults to posthouse.DefaultTenant.
	Tenant string
}

// Execer is the caller's transaction: a *sql.Tx, or whatever else runs a statement in it and takes
// the database's own placeholders. A *sql.DB or *sql.Conn without a transaction commits at once.
type Execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// Box writes messages into the outbox. It holds no connection and is safe for concurrent use.
type Box struct {
	tenant string
	dollar bool // placeholders are $1, $2, … instead of ?
}

// New makes a box.
func New(o Options) (*Box, error) {
	p := &draft.Problems{}
	switch o.Database {
	case SQLite, Postgres, MySQL:
	default:
		p.Add("Database", "is %q: want %q, %q or %q", o.Database, SQLite, Postgres, MySQL)
	}
	p.Word("Tenant", o.Tenant, draft.MaxWord)
	if err := posthouse.Invalid("the outbox can not be used", p.List); err != nil {
		return nil, err
	}
	if o.Tenant == "" {
		o.Tenant = posthouse.DefaultTenant
	}
	return &Box{tenant: o.Tenant, dollar: o.Database == Postgres}, nil
}

// Enqueue writes messages into the outbox, in one statement on tx, and returns their ids in order.
// They are sent if and when tx commits; a rollback leaves nothing.
//
// What is wrong with the drafts themselves is a *posthouse.Error of code invalid that names every
// problem, and then nothing was written: tx can go on. What only Posthouse knows, such as whether
// the channel exists, is found out after the commit: such a message waits in the table, with its
// problem, until it can be accepted. An error of the database is returned wrapped; whether tx can
// go on after it is the database's rule.
func (b *Box) Enqueue(ctx context.Context, tx Execer, drafts ...posthouse.Draft) ([]string, error) {
	if len(drafts) == 0 {
		return nil, nil
	}
	texts, err := encode(drafts)
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(drafts))
	args := make([]any, 0, 3*len(drafts))
	for i, text := range texts {
		ids[i] = posthouse.NewID()
		args = append(args, ids[i], b.tenant, text)
	}
	if _, err := tx.ExecContext(ctx, b.insert(len(drafts)), args...); err != nil {
		return nil, fmt.Errorf("write into the outbox: %w", err)
	}
	return ids, nil
}

// insert is the statement for n drafts. The database dates the rows itself.
func (b *Box) insert(n int) string {
	var s strings.Builder
	s.WriteString("INSERT INTO outbox (id, tenant, draft) VALUES ")
	for i := range n {
		if i > 0 {
			s.WriteString(", ")
		}
		if !b.dollar {
			s.WriteString("(?, ?, ?)")
			continue
		}
		for c, before := range []string{"($", ", $", ", $"} {
			s.WriteString(before + strconv.Itoa(3*i+c+1))
		}
		s.WriteByte(')')
	}
	return s.String()
}

// encode checks the drafts and writes them as JSON.
func encode(drafts []posthouse.Draft) ([]string, error) {
	if n := len(drafts); n > MaxDrafts {
		return nil, refuse([]posthouse.Problem{{Path: "drafts", Message: fmt.Sprintf("has %d messages: at most %d are allowed in one call", n, MaxDrafts)}})
	}
	var problems []posthouse.Problem
	now := time.Now()
	texts := make([]string, len(drafts))
	size := 0
	for i := range drafts {
		p := &draft.Problems{}
		if len(drafts) > 1 {
			p.Path = fmt.Sprintf("drafts[%d].", i)
		}
		draft.Check(&drafts[i], MaxRecipients, now, p)
		if len(p.List) == 0 {
			text, err := json.Marshal(drafts[i])
			if err != nil {
				p.Add("draft", "can not be written as JSON: %s", err)
			}
			texts[i] = string(text)
			size += len(text)
		}
		problems = append(problems, p.List...)
	}
	if size > MaxBytes {
		problems = append(problems, posthouse.Problem{Path: "drafts", Message: fmt.Sprintf("have %d bytes together: at most %d are allowed in one call", size, MaxBytes)})
	}
	return texts, refuse(problems)
}

// refuse makes the error of a call, nil without problems.
func refuse(problems []posthouse.Problem) error {
	return posthouse.Invalid("the message can not be enqueued", problems)
}
