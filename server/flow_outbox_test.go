package server_test

import (
	"context"
	"database/sql"
	"fmt"
	"path"
	"slices"
	"testing"
	"time"

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

// Events take what jobs take: ids as numbers, also of 19 digits, and times without a zone, over HTTP and in SQL.
func TestFLOW_EventsTakeNumbersAndTimesOfTheServersZone(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		h.bureau()
		describe := `{"event": "task.created", "task_id": %d, "at": "2026-01-02 08:00:00", "task": {"name": "x", "create_by": 1, "create_time": "2026-01-02T07:59:58",
			"nodes": [{"id": 9007199254740993, "name": "a", "handler_user_ids": [7, "8"], "next_node_ids": [12]}, {"id": 12, "name": "b", "handler_user_ids": ["9"]}]}}`
		_, err := h.api.Tasks.TellJSON(h.Context(), "", fmt.Appendf(nil, describe, 1001))
		h.must(err)
		zone, err := time.LoadLocation("Asia/Shanghai")
		h.must(err)
		h.insertRow(`{"task_event": ` + fmt.Sprintf(describe, 9007199254740995) + `}`)
		h.insertRow(`{"task_event": {"event": "node.done", "task_id": 9007199254740995, "node_id": 9007199254740993}}`)
		h.outboxIsEmpty()
		for _, task := range []string{"1001", "9007199254740995"} {
			got, err := h.api.Tasks.Get(h.Context(), task)
			h.must(err)
			if at := time.Date(2026, 1, 2, 7, 59, 58, 0, zone); len(got.Messages) == 0 || !got.About.CreatedAt.Equal(at) {
				h.Errorf("task %s is %+v, want it made at %s", task, got, at)
			}
		}
		if users, _ := h.toldOf("node_done", "9007199254740993", "oa"); !slices.Equal(users, []string{"9"}) {
			h.Errorf("of the node that is done %v were told, want 9", users)
		}
	})
}
