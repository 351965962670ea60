package outbox_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/outbox"
	"github.com/posthouse/posthouse/outbox/pgxbox"
	"github.com/posthouse/posthouse/workflow"
)

// The rights that the guide lists are enough for each way in which it hands something in, within the transaction of a user who has a
// table of its own and no other rights. Those to write alone do not read what others have handed in.
func TestTheRightsOfTheGuideAreEnough(t *testing.T) {
	said := plainInserts(t)
	eachOf(t, []outbox.Database{outbox.Postgres, outbox.MySQL}, 0, func(h *house) {
		on := map[outbox.Database]string{outbox.Postgres: "PostgreSQL", outbox.MySQL: "MySQL and MariaDB"}[h.kind]
		writer, looker := h.user(), h.user()
		h.grant(said, "Rights to write on "+on, writer)
		h.grant(said, "Rights to write on "+on, looker)
		h.grant(said, "Rights to look on "+on, looker)
		for _, user := range []string{writer, looker} {
			dsn := h.dsnOf(user)
			business := openBusiness(h, dsn)
			for way, hand := range h.ways(said, on, dsn, user == looker) {
				tx, err := business.BeginTx(h.Context(), nil)
				if err != nil {
					h.Fatal(err)
				}
				if _, err = tx.ExecContext(h.Context(), "INSERT INTO orders (id) VALUES ('"+posthouse.NewID()+"')"); err == nil {
					err = hand(tx)
				}
				if err == nil {
					err = tx.Commit()
				}
				if err != nil {
					h.Errorf("%s, a user with the rights to look %t: %v", way, user == looker, err)
					_ = tx.Rollback()
				}
			}
			_, err := business.ExecContext(h.Context(), "SELECT draft FROM posthouse_outbox")
			if (err == nil) != (user == looker) {
				h.Errorf("a user with the rights to look %t reads the outbox: %v", user == looker, err)
			}
		}
	})
}

// ways are those of the guide, each in a transaction.
func (h *house) ways(said map[string]string, on, dsn string, looks bool) map[string]func(tx *sql.Tx) error {
	h.Helper()
	o := outbox.Options{Database: h.kind, Log: quiet}
	if h.kind == outbox.MySQL && looks {
		o.Lookup = openBusiness(h, dsn)
	}
	b := box(h, o)
	enqueue := func(tx outbox.Execer, d posthouse.Draft) error {
		_, err := b.Enqueue(h.Context(), tx, d)
		return err
	}
	plain := func(heading string) func(tx *sql.Tx) error {
		statement, ok := said[heading]
		if !ok {
			h.Fatalf("the guide has no statement %q", heading)
		}
		return func(tx *sql.Tx) error {
			_, err := tx.ExecContext(h.Context(), strings.Replace(statement, `"oa"`, `"test"`, 1))
			return err
		}
	}
	ways := map[string]func(tx *sql.Tx) error{
		"Enqueue": func(tx *sql.Tx) error { return enqueue(tx, text("u1")) },
		"Report": func(tx *sql.Tx) error {
			return b.Report(h.Context(), tx, workflow.Event{Type: workflow.NodeDone, Task: "t1", Node: "n1"})
		},
		"EnqueueJob": func(tx *sql.Tx) error {
			return b.EnqueueJob(h.Context(), tx, outbox.Job{BizID: "1001", Channel: 1, Users: []string{"u1"}, DedupKey: "0_1001_1", Payload: json.RawMessage(`{"taskName":"x"}`)})
		},
		"SQL":          plain(on),
		"SQL of event": plain("An event of a task"),
		"SQL of a job": plain("A job"),
	}
	if looks {
		ways["Enqueue with a dedup_key"] = func(tx *sql.Tx) error { return enqueue(tx, keyed("order", "u1")) }
		ways["Enqueue with a dedup_key, again"] = ways["Enqueue with a dedup_key"]
	}
	if h.kind == outbox.Postgres {
		ways["pgxbox"] = func(*sql.Tx) error {
			return h.native(dsn, func(tx pgx.Tx) error { return enqueue(pgxbox.In(tx), text("u1")) })
		}
		if looks {
			ways["pgxbox with a dedup_key"] = func(*sql.Tx) error {
				return h.native(dsn, func(tx pgx.Tx) error { return enqueue(pgxbox.In(tx), keyed("native", "u1")) })
			}
		}
	}
	return ways
}

// native runs fn in a transaction of pgx itself.
func (h *house) native(dsn string, fn func(tx pgx.Tx) error) error {
	conn, err := pgx.Connect(h.Context(), dsn)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(h.Context()))
	return pgx.BeginFunc(h.Context(), conn, fn)
}

// user makes one who has rights on the table of the business alone.
func (h *house) user() string {
	h.Helper()
	name := "u" + strings.ToLower(posthouse.NewID())
	if h.kind == outbox.Postgres {
		h.exec("CREATE ROLE " + name + " LOGIN PASSWORD 'secret'")
	} else {
		h.exec("CREATE USER " + name + " IDENTIFIED BY 'secret'")
	}
	h.exec("GRANT INSERT ON orders TO " + name)
	return name
}

func (h *house) dsnOf(user string) string {
	h.Helper()
	u, err := url.Parse(h.dsn)
	if err != nil {
		h.Fatal(err)
	}
	u.User = url.UserPassword(user, "secret")
	return u.String()
}

// grant gives a user the rights of a heading of the guide.
func (h *house) grant(said map[string]string, heading, user string) {
	h.Helper()
	if said[heading] == "" {
		h.Fatalf("the guide has no statements %q", heading)
	}
	for statement := range strings.SplitSeq(said[heading], "\n") {
		given := strings.Replace(strings.TrimSuffix(statement, ";"), " TO shop", " TO "+user, 1)
		if given == strings.TrimSuffix(statement, ";") {
			h.Errorf("%q grants nothing to shop", statement)
		}
		h.exec(given)
	}
}
