package api_test

import (
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse/wire"
)

// write writes to the database as another program would.
func (h *house) write(statement string) {
	h.Helper()
	db, err := sql.Open("sqlite", "file:"+strings.TrimPrefix(h.dsn, "sqlite:")+"?_pragma=busy_timeout(10000)")
	if err != nil {
		h.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(statement); err != nil {
		h.Fatal(err)
	}
}

// outbox waits until so many rows are rejected and none waits.
func (h *house) outbox(rejected int) wire.Outbox {
	h.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		box := read[wire.Outbox](h, h.must(200, "GET", "/v1/outbox", ""))
		if box.Rejected == rejected && box.Waiting == 0 {
			return box
		}
		select {
		case <-tick.C:
		case <-h.Context().Done():
			h.Fatalf("the outbox is %+v, want %d rejected rows", box, rejected)
		}
	}
}

func TestRejectedRowOfTheOutboxIsSeenAndTriedAgain(t *testing.T) {
	t.Parallel()
	h := with(t)
	h.write(`INSERT INTO posthouse_outbox (id, draft) VALUES ('row 1', '{"channel": "new", "kind": "order", "ref": "7", "dedup_key": "k", "to": [{"user": "zoe"}, {"address": "13800000000"}], "content": {"text": "a secret"}}')`)
	h.write(`INSERT INTO posthouse_outbox (id, draft) VALUES ('row/2', '{"task_event": {"event": "unheard of", "task_id": "t7"}}')`)
	box := h.outbox(2)
	first, second := box.Items[0], box.Items[1]
	if first.ID != "row 1" || first.Channel != "new" || first.Kind != "order" || first.Ref != "7" || first.DedupKey != "k" || first.Recipients != 2 ||
		!strings.Contains(first.Problem, `there is no channel "new"`) || first.Failures == 0 || !first.NextTryAt.After(first.FailedAt) || first.CreatedAt.IsZero() {
		t.Errorf("the message's row: %+v", first)
	}
	if second.ID != "row/2" || second.Task != "t7" || second.TaskEvent != "unheard of" || second.Problem == "" {
		t.Errorf("the event's row: %+v", second)
	}
	if body := h.must(200, "GET", "/v1/outbox?limit=1", "").body; strings.Contains(body, "secret") || strings.Contains(body, "zoe") || !strings.Contains(body, `"next"`) {
		t.Errorf("a page of one: %s", body)
	}
	h.write("UPDATE posthouse_outbox SET due_at = due_at + 3600000000 WHERE id = 'row 1'") // an hour: not by itself
	h.must(201, "PUT", "/v1/channels/new", `{"driver":"test"}`)
	h.must(204, "POST", "/v1/outbox/row%201/retry", "")
	h.must(204, "DELETE", "/v1/outbox/row%2F2", "")
	h.outbox(0)
	if ids, _ := h.listed("/v1/messages?ref=7"); len(ids) != 1 {
		t.Errorf("messages %v, want one", ids)
	}
	h.must(404, "POST", "/v1/outbox/row%201/retry", "")
	h.must(404, "DELETE", "/v1/outbox/row%201", "")
}

func TestRowThatWaitsForAPersonHasNoNextTry(t *testing.T) {
	t.Parallel()
	h := with(t)
	h.write(`INSERT INTO posthouse_outbox (id, draft, error, failures, failed_at, due_at) VALUES ('held', 'no JSON', 'held', 1, 1, 9223372036854775807)`)
	if row := h.outbox(1).Items[0]; !row.NextTryAt.IsZero() || row.Problem != "held" {
		t.Errorf("%+v", row)
	}
}
