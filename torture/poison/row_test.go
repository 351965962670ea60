package poison

import (
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/torture/internal/house"
)

// spoilt is one way a stored delivery can be beyond this version's understanding.
type spoilt struct {
	name string
	// spoil are statements with %[1]s for the delivery's id and %[2]s for its message's.
	spoil []string
	want  string // the state it must be in at the end
}

var spoiltRows = []spoilt{
	{"a state of a newer version", []string{"UPDATE posthouse_queue SET state = 'teleporting' WHERE id = '%[1]s'"}, "teleporting"},
	{"a priority of a newer version", []string{"UPDATE posthouse_queue SET priority = 9 WHERE id = '%[1]s'"}, "pending"},
	{"a policy of a newer version", []string{"UPDATE posthouse_queue SET on_unknown = 'consult' WHERE id = '%[1]s'"}, "sent"},
	{"a kind of recipient of a newer version", []string{"UPDATE posthouse_queue SET recipient_type = 'hologram' WHERE id = '%[1]s'"}, "sent"},
	{"a channel that is gone", []string{"UPDATE posthouse_queue SET channel = 'vanished' WHERE id = '%[1]s'"}, "pending"},
	{"broken JSON", []string{"UPDATE posthouse_messages SET content = '{\"text\":' WHERE id = '%[2]s'"}, "quarantined"},
	{"JSON of another form", []string{"UPDATE posthouse_messages SET content = '{\"text\":[1,2]}' WHERE id = '%[2]s'"}, "quarantined"},
	{"no content", []string{"UPDATE posthouse_messages SET content = '' WHERE id = '%[2]s'"}, "quarantined"},
	{"no message", []string{"DELETE FROM posthouse_messages WHERE id = '%[2]s'"}, "quarantined"},
	{"the message of another tenant", []string{"UPDATE posthouse_messages SET tenant = 'other' WHERE id = '%[2]s'"}, "quarantined"},
	{"an event of a newer version", []string{"UPDATE posthouse_transitions SET type = 'wormhole' WHERE delivery = '%[1]s'"}, "sent"},
	{"a lease of a state that knows none", []string{"UPDATE posthouse_queue SET lease_until = 1, lease_owner = 'x' WHERE id = '%[1]s'"}, "sent"},
	{"a time beyond all times", []string{"UPDATE posthouse_queue SET deadline = 9223372036854775807 WHERE id = '%[1]s'"}, "sent"},
}

// spoiltDrafts are rows of the outbox that cannot be accepted.
var spoiltDrafts = []string{
	"", "null", "[]", "{", `"text"`, `{"channel":"generic"}`, `{"channel":"nowhere","to":[{"user":"u"}],"content":{"text":"x"}}`,
	`{"channel":"generic","to":"u","content":{"text":"x"}}`, `{"channel":"generic","to":[{"user":"u"}],"content":{"text":"x"},"hologram":true}`,
	`{"channel":"generic","to":[{"user":"u"}],"content":{"text":"x"},"priority":"warp"}`, `{} {}`,
}

// TestRowsThatNobodyCanReadStopNobody (E3) spoils rows of every table under a running server, in the
// way a newer version, a bug or a person does, and looks that all others go on and none is thrown away.
func TestRowsThatNobodyCanReadStopNobody(t *testing.T) {
	t.Parallel()
	for _, db := range databases(house.MariaDB) {
		t.Run(string(db), func(t *testing.T) {
			copies, good := house.Size(2, 50), house.Size(50, 2000)
			dsn := db.DSN(t)
			h := house.Open(t, house.Options{DSN: dsn})
			raw := dbtest.SQL(t, dsn)
			limited := h.Channel("limited")
			limited.Limits = []posthouse.Limit{{Max: 1000, Per: posthouse.Duration(1e9)}}
			for _, ch := range []posthouse.Channel{h.Channel("generic"), h.Channel("broken"), limited} {
				h.PutChannel(t, ch)
				pause(t, h, ch.Name)
			}
			pid := h.Members[0].PID()
			total := len(spoiltRows) * copies
			messages := h.Produce(t, house.Load{Messages: total, Prefix: "spoilt", Draft: func(n int) posthouse.Draft {
				d := house.Text("generic", n)
				d.Deadline = time.Now().Add(24 * time.Hour) // so that it has a row of its own from the beginning
				return d
			}})
			others := h.Produce(t, house.Load{Messages: 2, Prefix: "kept", Draft: func(n int) posthouse.Draft {
				return house.Text([]string{"broken", "limited"}[n-1], n)
			}})
			do := func(query string) {
				if _, err := raw.ExecContext(t.Context(), query); err != nil {
					t.Fatalf("%v\n%s", err, query)
				}
			}
			for n, message := range messages {
				for _, query := range spoiltRows[n%len(spoiltRows)].spoil {
					do(strings.NewReplacer("%[1]s", posthouse.DeliveryID(message, 1), "%[2]s", message).Replace(query))
				}
			}
			for _, query := range []string{
				"UPDATE posthouse_channels SET settings = '{\"tries\":\"many\",\"paused\":', paused = 0, version = version + 1 WHERE name = 'broken'",
				"INSERT INTO posthouse_channels (tenant, name, driver, config, created_at, updated_at) VALUES ('default', 'newer', 'holodeck', '{}', 1, 1)",
				"DELETE FROM posthouse_limits WHERE name = 'default/limited'",
				"INSERT INTO posthouse_limits (name, state, updated_at) VALUES ('default/limited', 'v9 of a newer version', 1)",
				"INSERT INTO posthouse_templates (tenant, name, version, body, created_at) VALUES ('default', 'broken', 1, '${', 1)",
				"INSERT INTO posthouse_gates (tenant, channel, account, class, until_at, updated_at) VALUES ('default', 'generic', '', 'sulking', 1, 1)",
				"UPDATE posthouse_idempotency SET answer = '{' WHERE idem_key = 'spoilt-1'",
			} {
				do(query)
			}
			for i, draft := range spoiltDrafts {
				do(fmt.Sprintf("INSERT INTO posthouse_outbox (id, tenant, draft) VALUES ('row-%d', 'default', '%s')", i, draft))
			}
			do(`INSERT INTO posthouse_outbox (id, tenant, draft) VALUES ('row-good', 'default', '{"channel":"generic","to":[{"user":"u"}],"content":{"text":"hello"}}')`)
			resume(t, h, "generic")
			resume(t, h, "limited")
			fresh := h.Produce(t, house.Load{Messages: good})
			template := house.Text("generic", 1)
			template.Content, template.Template = nil, "broken"
			if _, err := h.Members[0].Client(t, 1).Messages.SendOnce(t.Context(), "template", template); err == nil {
				t.Error("a message was accepted by a template that cannot be read")
			}
			want := map[string]string{posthouse.DeliveryID(others[1], 1): "pending", posthouse.DeliveryID(others[2], 1): "pending"}
			for n, message := range messages {
				want[posthouse.DeliveryID(message, 1)] = spoiltRows[n%len(spoiltRows)].want
			}
			for _, message := range fresh {
				want[posthouse.DeliveryID(message, 1)] = "sent"
			}
			states := map[string]string{}
			house.Until(t, "all are where they should be", func() bool {
				states = statesOf(t, raw)
				return len(differing(states, want)) == 0 && count(t, raw, "SELECT COUNT(*) FROM posthouse_outbox WHERE error <> ''") == len(spoiltDrafts) &&
					count(t, raw, "SELECT COUNT(*) FROM posthouse_outbox WHERE id = 'row-good'") == 0
			})
			more := h.Produce(t, house.Load{Messages: 10, Prefix: "later"})
			for _, message := range more {
				want[posthouse.DeliveryID(message, 1)] = "sent"
			}
			house.Until(t, "the loops still turn", func() bool {
				states = statesOf(t, raw)
				return len(differing(states, want)) == 0
			})
			if log := h.Members[0].Log(); strings.Contains(log, "goroutine ") || h.Members[0].PID() != pid || dead(pid) {
				t.Errorf("the server has panicked:\n%s", log)
			}
			ready := readyz(t, h.Members[0].Addr, h.Key)
			for _, name := range []string{"broken", "newer"} {
				if !strings.Contains(ready, name) {
					t.Errorf("/readyz does not name the channel %s: %s", name, ready)
				}
			}
			kept := count(t, raw, "SELECT COUNT(*) FROM posthouse_outbox")
			house.Report(t, house.Row{
				Test: "E3", Database: string(db), What: fmt.Sprintf("rows spoilt in %d ways in the queue, messages, events, channels, limits, gates, templates, keys and the outbox", len(spoiltRows)+len(spoiltDrafts)+6),
				N: total + len(spoiltDrafts) + 6, Unit: "rows", Figure: fmt.Sprintf("%d deliveries in a wrong state, %d of %d drafts kept with their problem; all %d others sent", len(differing(states, want)), kept, len(spoiltDrafts), good+11),
				Bar: "set aside or left alone, none discarded, no loop stops", Pass: len(differing(states, want)) == 0 && kept == len(spoiltDrafts),
			})
		})
	}
}

// statesOf reads the state of every delivery from the tables.
func statesOf(t *testing.T, raw *sql.DB) map[string]string {
	t.Helper()
	rows, err := raw.QueryContext(t.Context(), `SELECT id, state FROM posthouse_queue UNION ALL SELECT id, state FROM posthouse_settled
		UNION ALL SELECT id, 'sent' FROM posthouse_sent UNION ALL SELECT id, 'pending' FROM posthouse_due`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	states := map[string]string{}
	for rows.Next() {
		var id, state string
		if err := rows.Scan(&id, &state); err != nil {
			t.Fatal(err)
		}
		states[id] = state
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return states
}

// differing lists the deliveries that are not in the state they should be in.
func differing(states, want map[string]string) (list []string) {
	for id, state := range want {
		if states[id] != state {
			list = append(list, fmt.Sprintf("%s is %q, want %s", id, states[id], state))
		}
	}
	return list
}

func count(t *testing.T, raw *sql.DB, query string) (n int) {
	t.Helper()
	if err := raw.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func readyz(t *testing.T, addr, key string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr+"/readyz", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
