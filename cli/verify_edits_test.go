package cli

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/chain"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/secret"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/simulator"
)

// edits are what somebody can do to a database behind its back, and whether verify finds it. What it does not find without a
// copy of the truth elsewhere is a text that stands in one place only.
var edits = []struct {
	name, sql string
	found     bool
}{
	{"a row's state", "UPDATE posthouse_settled SET state = 'failed' WHERE user_id = 'busy-twice'", true},
	{"a row's version", "UPDATE posthouse_settled SET version = version + 1 WHERE user_id = 'busy-twice'", true},
	{"a row's token", "UPDATE posthouse_settled SET token = token + 1 WHERE user_id = 'busy-twice'", true},
	{"a row's attempts", "UPDATE posthouse_settled SET attempts = attempts + 1 WHERE user_id = 'busy-twice'", true},
	{"a row's tries", "UPDATE posthouse_settled SET tries = 0 WHERE user_id = 'busy-twice'", true},
	{"a row's reason", "UPDATE posthouse_settled SET reason = 'content' WHERE user_id = 'fail-recipient'", true},
	{"a row's provider_ref", "UPDATE posthouse_settled SET provider_ref = 'other' WHERE user_id = 'busy-twice'", true},
	{"a row's due_at", "UPDATE posthouse_queue SET due_at = due_at - 60000000 WHERE user_id = 'later'", true},
	{"a deadline before all times", "UPDATE posthouse_queue SET deadline = -5 WHERE user_id = 'later'", true},
	{"a deadline after all times", "UPDATE posthouse_queue SET deadline = 9223372036854775807 WHERE user_id = 'later'", true},
	{"a deadline of one that has settled", "UPDATE posthouse_settled SET deadline = -9223372036854775808 WHERE user_id = 'busy-twice'", true},
	{"a message's deadline", "UPDATE posthouse_messages SET deadline = -62135596800000000 WHERE ref = 'later'", true},
	{"a row's epoch", "UPDATE posthouse_settled SET epoch = epoch + 1 WHERE user_id = 'busy-twice'", true},
	{"a row's created_at", "UPDATE posthouse_settled SET created_at = created_at - 1000000 WHERE user_id = 'busy-twice'", true},
	{"a row's updated_at", "UPDATE posthouse_settled SET updated_at = updated_at - 1 WHERE user_id = 'busy-twice'", true},
	{"a row's idempotency key", "UPDATE posthouse_settled SET idem_key = 'other' WHERE user_id = 'busy-twice'", true},
	{"a row's cancel", "UPDATE posthouse_settled SET cancel_requested = 1 WHERE user_id = 'busy-twice'", true},
	{"a row", "DELETE FROM posthouse_settled WHERE user_id = 'busy-twice'", true},
	{"a row's events", "DELETE FROM EVENTS WHERE delivery IN (SELECT id FROM posthouse_settled WHERE user_id = 'busy-twice')", true},
	{"one event", "DELETE FROM EVENTS WHERE version = 3 AND delivery IN (SELECT id FROM posthouse_settled WHERE user_id = 'busy-twice')", true},
	{"an event's class", "UPDATE EVENTS SET class = 'ok' WHERE type = 'retry'", true},
	{"the class of a success", "UPDATE EVENTS SET class = 'transient' WHERE type = 'sent'", true},
	{"an event's ref", "UPDATE EVENTS SET ref = 'other' WHERE ref <> ''", true},
	{"an event's token", "UPDATE EVENTS SET token = token + 1 WHERE type = 'sent'", true},
	{"an event's time", "UPDATE EVENTS SET at = at - 3600000000 WHERE type = 'sent'", true},
	{"a message's row", "DELETE FROM posthouse_messages WHERE ref = 'busy'", true},
	{"a message's tenant", "UPDATE posthouse_messages SET tenant = 'other' WHERE ref = 'busy'", true},
	{"the kept answer of a key", "UPDATE posthouse_idempotency SET answer = replace(answer, '0000\"', '0009\"')", true},
	{"the owner of a key", "UPDATE posthouse_idempotency SET owner = '01K00000000000000000000000'", true},
	{"what a dedup key stands for", "UPDATE posthouse_dedup SET message_id = (SELECT id FROM posthouse_messages WHERE ref = 'later')", true},
	{"a lower epoch", "UPDATE posthouse_meta SET value = '0' WHERE name = 'epoch'", true},
	{"a whole message with a key", "DELETE FROM EVENTS WHERE tenant = 'default' AND substr(delivery, 1, 22) = (SELECT substr(id, 1, 22) FROM posthouse_messages WHERE ref = 'busy'); " +
		"DELETE FROM posthouse_settled WHERE substr(id, 1, 22) = (SELECT substr(id, 1, 22) FROM posthouse_messages WHERE ref = 'busy'); DELETE FROM posthouse_messages WHERE ref = 'busy'", true},
	{"nothing", "SELECT 1", false},
	{"the row of a dedup key", "DELETE FROM posthouse_dedup", false},
	{"the kept answers of keys", "DELETE FROM posthouse_idempotency", false},
	{"a whole message with its key", "DELETE FROM posthouse_idempotency WHERE owner = (SELECT id FROM posthouse_messages WHERE ref = 'plain'); DELETE FROM EVENTS WHERE substr(delivery, 1, 22) = (SELECT substr(id, 1, 22) FROM posthouse_messages WHERE ref = 'plain'); " +
		"DELETE FROM posthouse_queue WHERE substr(id, 1, 22) = (SELECT substr(id, 1, 22) FROM posthouse_messages WHERE ref = 'plain'); DELETE FROM posthouse_messages WHERE ref = 'plain'", false},
	{"a text", "UPDATE posthouse_messages SET content = replace(content, 'hello', 'other')", false},
	{"a recipient", "UPDATE posthouse_settled SET user_id = 'other' WHERE user_id = 'busy-twice'", false},
	{"the request in an event", "UPDATE EVENTS SET request = 'other' WHERE request <> ''", false},
}

// posthouse verify finds what was changed in a database, as far as two places of it say the same.
func TestVerifyFindsEdits(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "posthouse.db")
	furnish(t, path)
	verifyEdited(t, path, func(found bool, _ string) bool { return found })
}

// With a hash chain it finds all of them.
func TestVerifyFindsEveryEditWithAHashChain(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "posthouse.db")
	furnish(t, path)
	seal(t, path)
	verifyEdited(t, path, func(_ bool, name string) bool { return name != "nothing" })
}

// seal seals all that stands in a database file.
func seal(t *testing.T, path string) {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{DSN: "sqlite:" + path, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	sealer := chain.Sealer{Book: s.Chain, After: time.Millisecond, Keep: -1, Log: slog.New(slog.DiscardHandler)}
	if err := errors.Join(sealer.Seal(t.Context(), time.Now().Add(time.Second)), s.Close()); err != nil {
		t.Fatal(err)
	}
}

// verifyEdited makes each edit of a copy of a database, and wants verify to find those that are to be found.
func verifyEdited(t *testing.T, path string, finds func(found bool, name string) bool) {
	t.Helper()
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range edits {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "posthouse.db")
			if err := os.WriteFile(file, whole, 0o600); err != nil {
				t.Fatal(err)
			}
			edit(t, file, e.sql)
			out, code := ran(t, []string{"POSTHOUSE_DSN=sqlite:" + file}, "verify", "--sometimes", "none", "--at-rest")
			if want := map[bool]int{true: 1, false: 0}[finds(e.found, e.name)]; code != want {
				t.Errorf("got exit code %d, want %d\n%s", code, want, out)
			}
		})
	}
}

// edit changes a database file, and wants that to have changed something.
func edit(t *testing.T, path, text string) {
	t.Helper()
	db := dbtest.SQL(t, "sqlite:"+path)
	log := "posthouse_events"
	if db.QueryRowContext(t.Context(), "SELECT name FROM sqlite_master WHERE type = 'table' AND name <> 'posthouse_events' AND sql LIKE '%from_state%'").Scan(&log) != nil {
		log = "posthouse_events"
	}
	for _, statement := range strings.Split(strings.ReplaceAll(text, "EVENTS", log), "; ") {
		result, err := db.ExecContext(t.Context(), statement)
		if err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
		if n, _ := result.RowsAffected(); n == 0 && !strings.HasPrefix(statement, "SELECT") {
			t.Fatalf("%s changed nothing", statement)
		}
	}
}

// household is a server over an SQLite file, and a provider whose recipients behave as they are named.
type household struct {
	*client.Client
	t    *testing.T
	stop func()
}

func newHousehold(t *testing.T, path string) household {
	t.Helper()
	sim := simulator.New(simulator.Options{})
	if err := sim.Start(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	key := secret.FormatKey(secret.NewKey())
	s, err := server.New(t.Context(), server.Options{DSN: "sqlite:" + path, Addr: "127.0.0.1:0", AdminKey: key, AllowPrivate: true, Log: slog.New(slog.DiscardHandler), Output: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(client.Options{URL: s.URL(), Key: key})
	if err != nil {
		t.Fatal(err)
	}
	none := 0.0
	_, _, err = c.Channels.Put(t.Context(), posthouse.Channel{Name: "oa", Driver: "httpapi", Config: map[string]any{
		"url": sim.URL() + "/oa/messages", "encoding": "form", "body": "to=${user}&subject=${title}&body=${text}&ref=${idempotency_key}", "success_path": `/^(OK)\|/`,
		"success_values": []any{"OK"}, "id_path": `/^OK\|(.+)/`, "code_path": `/^ERR\|([^|]*)/`, "codes": map[string]any{"E02": "recipient", "E05": "transient"},
	}, ChannelSettings: posthouse.ChannelSettings{
		Limits:  []posthouse.Limit{{Max: 10_000, Per: posthouse.Duration(time.Second)}}, // what begins with its accept has other times than what is claimed
		Backoff: []posthouse.Duration{posthouse.Duration(10 * time.Millisecond)}, Jitter: &none, HoldTimeout: posthouse.Duration(24 * time.Hour)}})
	if err != nil {
		t.Fatal(err)
	}
	return household{c, t, func() {
		t.Helper()
		if err := errors.Join(s.Stop(context.WithoutCancel(t.Context())), sim.Stop(context.WithoutCancel(t.Context()))); err != nil {
			t.Fatal(err)
		}
	}}
}

func (h household) send(key, body string) posthouse.Accepted {
	h.t.Helper()
	accepted, err := h.Messages.SendJSON(h.t.Context(), key, []byte(body))
	if err != nil {
		h.t.Fatal(err)
	}
	return accepted.Accepted[0]
}

// furnish makes a database in which something was sent at once, again and never, and something waits; none of it took the
// shortest course.
func furnish(t *testing.T, path string) {
	t.Helper()
	h := newHousehold(t, path)
	h.send(posthouse.NewID(), `{"channel": "oa", "kind": "k", "ref": "busy", "dedup_key": "d", "to": [{"user": "busy-twice"}, {"user": "fail-recipient"}], "content": {"text": "hello"}}`)
	soon := time.Now().Add(time.Hour).Format(time.RFC3339)
	h.send(posthouse.NewID(), `{"channel": "oa", "kind": "k", "ref": "later", "to": [{"user": "later"}, {"user": "later too"}], "content": {"text": "hello"}, "not_before": "`+soon+`"}`)
	h.send("", `{"channel": "oa", "kind": "k", "ref": "plain", "to": [{"user": "a"}, {"user": "b"}], "content": {"text": "x"}, "not_before": "`+soon+`"}`)
	h.settled(2)
	h.stop()
}

// settled waits until so many are sent, failed or held.
func (h household) settled(want int) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		list, err := h.Deliveries.List(ctx, client.Filter{States: []posthouse.State{posthouse.Sent, posthouse.Failed, posthouse.Unknown}, Limit: 1000})
		if err != nil {
			h.t.Fatal(err)
		}
		if len(list.Items) == want {
			return
		}
		<-tick.C
	}
}
