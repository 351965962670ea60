package server_test

import (
	"context"
	"database/sql"
	"path"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/outbox"
)

// business is a program that writes the server's database: its outbox, and a table of its own.
func (h *house) business() *outbox.Box {
	h.Helper()
	o := outbox.Options{Database: map[string]outbox.Database{"sqlite": outbox.SQLite, "postgres": outbox.Postgres, "mariadb": outbox.MySQL}[path.Base(h.Name())]}
	if o.Database == outbox.MySQL {
		o.Lookup = unhurried{h.db}
	}
	box, err := outbox.New(o)
	h.must(err)
	_, err = h.db.ExecContext(h.Context(), "CREATE TABLE tasks (id VARCHAR(20) PRIMARY KEY)")
	h.must(err)
	return box
}

// unhurried looks for as long as it takes: a look that ends after two seconds gives a message an id of its own.
type unhurried struct{ db *sql.DB }

func (u unhurried) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return u.db.QueryContext(context.WithoutCancel(ctx), query, args...)
}

// start is a transaction of the business: a task begins, its initiator gets a message, and everybody who
// handles it is told by its event.
func (h *house) start(box *outbox.Box, task string, commit bool) (message string) {
	h.Helper()
	tx, err := h.db.BeginTx(h.Context(), nil)
	h.must(err)
	defer tx.Rollback() // without effect after a commit
	_, err = tx.ExecContext(h.Context(), "INSERT INTO tasks (id) VALUES ('"+task+"')")
	h.must(err)
	h.must(box.Report(h.Context(), tx, imaging(task)))
	ids, err := box.Enqueue(h.Context(), tx, posthouse.Draft{
		Channel: "oa", To: []posthouse.Recipient{{User: "boss"}}, Content: &posthouse.Content{Text: "accepted"}, Kind: "accepted", Ref: task, DedupKey: "accepted " + task,
	})
	h.must(err)
	end := tx.Commit
	if !commit {
		end = tx.Rollback
	}
	h.must(end())
	return ids[0]
}

// FLOW-3, FLOW-4, FLOW-19: a business whose transaction rolls back has told nobody anything; one that commits has
// everybody told, by messages and by what follows from events, and learns the ids of its messages at once.
func TestFLOW_WhatABusinessCommitsIsToldAndWhatItRollsBackIsNot(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		h.bureau()
		box := h.business()
		never := h.start(box, "7", false)
		id := h.start(box, "8", true)
		h.wantSent("task_created", "8", "guest", "o1", "p1", "p2")
		h.eventually("the message is there", func() bool {
			m, err := h.api.Messages.Get(h.Context(), id)
			return err == nil && m.ID == id && m.Ref == "8"
		})
		ids, err := box.Enqueue(h.Context(), h.db, posthouse.Draft{
			Channel: "oa", To: []posthouse.Recipient{{User: "boss"}}, Content: &posthouse.Content{Text: "accepted again"}, DedupKey: "accepted 8",
		})
		if err != nil || ids[0] != id {
			h.Errorf("the key is told as %v, %v; want %s", ids, err, id)
		}
		if _, err := h.api.Messages.Get(h.Context(), never); posthouse.CodeOf(err) != posthouse.CodeNotFound {
			h.Errorf("what was rolled back is a message: %v", err)
		}
		h.eventually("the outbox is empty", func() bool { return h.number("SELECT COUNT(*) FROM posthouse_outbox") == 0 })
		if users, _ := h.toldOf("task_created", "7", "oa"); len(users) != 0 {
			h.Errorf("of the task that was rolled back %v are told", users)
		}
		if n := h.number("SELECT COUNT(*) FROM posthouse_messages WHERE kind = 'accepted'"); n != 1 {
			h.Errorf("%d messages say that a task was accepted, want 1", n)
		}
	})
}
