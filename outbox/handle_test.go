package outbox_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/outbox"
	"github.com/posthouse/posthouse/workflow"
)

// sqlxTx has the shape of sqlx's transaction.
type sqlxTx struct {
	*sql.Tx
	driverName string
}

// bunTx has the shape of bun's: its own methods take ? everywhere and put the values into the text.
type bunTx struct {
	ctx context.Context
	*sql.Tx
}

func (bunTx) ExecContext(context.Context, string, ...any) (sql.Result, error) {
	panic("bun would rewrite the statement")
}

// gormTx has the shape of gorm's: what runs statements is its pool.
type gormTx struct{ Statement *gormStatement }

type gormStatement struct{ ConnPool gormPool }

type gormPool interface {
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// handles are what docs/guide/outbox.md says to pass, made around one transaction.
func handles(tx *sql.Tx) map[string]outbox.Execer {
	gorm := gormTx{&gormStatement{ConnPool: tx}}
	return map[string]outbox.Execer{
		"database/sql": tx,
		"sqlx":         &sqlxTx{tx, "any"},
		"bun":          bunTx{context.Background(), tx}.Tx,
		"gorm":         gorm.Statement.ConnPool,
		"two methods":  &counting{Tx: tx},
		"one method":   blind{tx},
	}
}

// FLOW-3: whatever the program writes with, a rolled-back transaction leaves no message and a committed
// one has it sent.
func TestHandleOfEachLibraryJoinsItsTransaction(t *testing.T) {
	eachDB(t, 1, func(h *house) {
		b := h.looking()
		want := map[string]int{}
		for _, commit := range []bool{false, true} {
			for name := range handles(nil) {
				tx, err := h.business.BeginTx(h.Context(), nil)
				if err != nil {
					h.Fatal(err)
				}
				id := h.tell(b, handles(tx)[name], keyed(name, "u1"))
				if end := tx.Rollback; commit {
					want[id] = 1
					err = tx.Commit()
				} else {
					err = end()
				}
				if err != nil {
					h.Error(name, err)
				}
			}
		}
		if diff := cmp.Diff(want, h.next(len(want))); diff != "" {
			h.Errorf("arrivals (-want +got):\n%s", diff)
		}
		if n := h.count("posthouse_messages"); n != len(want) {
			h.Errorf("%d messages, want %d", n, len(want))
		}
	})
}

// FLOW-3, FLOW-19: an event of a task belongs to the transaction that changes the task.
func TestReportedEventIsAppliedIfItsTransactionCommits(t *testing.T) {
	eachDB(t, 1, func(h *house) {
		at := time.Date(2026, 10, 1, 8, 30, 0, 0, time.UTC)
		for _, task := range []string{"rolled back", "committed"} {
			tx, err := h.business.BeginTx(h.Context(), nil)
			if err != nil {
				h.Fatal(err)
			}
			err = h.box.Report(h.Context(), tx, workflow.Event{Type: workflow.NodeActivated, Task: task, Node: "n1", At: at},
				workflow.Event{Type: workflow.NodeDone, Task: task, Node: "n1"})
			if err == nil && task == "committed" {
				err = tx.Commit()
			} else if err == nil {
				err = tx.Rollback()
			}
			if err != nil {
				h.Fatal(err)
			}
		}
		first, second := h.event(), h.event()
		want := workflow.Event{Type: workflow.NodeActivated, Task: "committed", Node: "n1", At: at}
		if diff := cmp.Diff(want, first); diff != "" {
			h.Errorf("the first event (-want +got):\n%s", diff)
		}
		if off := time.Since(second.At).Abs(); second.Type != workflow.NodeDone || off > time.Hour {
			h.Errorf("the second event is %+v, dated %v off", second, off)
		}
		h.relayed()
	})
}

func (h *house) event() workflow.Event {
	h.Helper()
	select {
	case e := <-h.events:
		return e
	case <-h.Context().Done():
		h.Fatal("the test ended before the event was applied")
	}
	return workflow.Event{}
}

func TestPlainInsertOfAnEventIsApplied(t *testing.T) {
	statement, ok := plainInserts(t)["An event of a task"]
	if !ok {
		t.Fatal("the guide has no such statement")
	}
	eachDB(t, 1, func(h *house) {
		h.exec(statement)
		if e := h.event(); e.Type != workflow.NodeDone || e.Task != "t1" || e.Node != "n1" || e.At.IsZero() {
			h.Errorf("applied: %+v", e)
		}
	})
}

func TestReportNamesEveryProblemAndWritesNothing(t *testing.T) {
	t.Parallel()
	var l ledger
	err := box(t, outbox.Options{Database: outbox.SQLite}).Report(t.Context(), &l, workflow.Event{Type: workflow.NodeDone, Task: "t1"}, workflow.Event{})
	const want = "events[1].event: is required: what happened, such as task.created; events[1].task_id: is required"
	if posthouse.CodeOf(err) != posthouse.CodeInvalid || err == nil || !contains(err, want) || len(l.queries) != 0 {
		t.Errorf("Report = %v after %d statements; want %q and none", err, len(l.queries), want)
	}
}
