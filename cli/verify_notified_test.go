package cli

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/remind"
	"github.com/posthouse/posthouse/internal/secret"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/wire"
)

// document is what is stored of a notification.
type document map[string]any

func (d document) state(state string) {
	d["state"] = state
}

// notifiedEdits are what somebody can do behind a server's back to a notification that was acknowledged, is acknowledged and was told of, or waits, and
// the invariant that verify finds broken, empty for none.
var notifiedEdits = []struct {
	name, of, law string
	doc           func(document)
	set           string // of other columns
}{
	{name: "nothing", of: "acknowledged", set: "failures = failures"},
	{name: "nothing of a phone, whose channel keeps its number in its own way", of: "phone", set: "failures = failures"},
	{name: "an acknowledgement is taken away", of: "acknowledged", law: "I40", set: "state = 'waiting'", doc: func(d document) { d.state("waiting"); delete(d, "acknowledgement") }},
	{name: "and the row is said to be told", of: "acknowledged", law: "I38", set: "state = 'told'", doc: func(d document) { d.state("told"); delete(d, "acknowledgement") }},
	{name: "and to have failed", of: "acknowledged", law: "I40", set: "state = 'not_told'", doc: func(d document) {
		d.state("not_told")
		delete(d, "acknowledgement")
		d["reason"], d["closed"] = "cancelled", true
	}},
	{name: "an acknowledgement after a proof is taken away", of: "told", law: "I40", set: "state = 'told'", doc: func(d document) { d.state("told"); delete(d, "acknowledgement") }},
	{name: "another person acknowledged", of: "acknowledged", law: "I40", doc: func(d document) { d["acknowledgement"].(map[string]any)["by"] = "wang" }},
	{name: "it was acknowledged at another time", of: "acknowledged", law: "I40", doc: func(d document) { d["acknowledgement"].(map[string]any)["at"] = "2026-01-01T00:00:00Z" }},
	{name: "it was acknowledged in another way", of: "acknowledged", law: "I40", doc: func(d document) { d["acknowledgement"].(map[string]any)["via"] = "link" }},
	{name: "it was for somebody else", of: "acknowledged", law: "I40", doc: func(d document) { d["to"] = []any{map[string]any{"user": "wang"}} }},
	{name: "an acknowledgement that nobody gave", of: "waiting", law: "I40", set: "state = 'acknowledged', next_at = 0", doc: func(d document) {
		d.state("acknowledged")
		d["acknowledgement"] = map[string]any{"by": "wang", "via": "api", "at": time.Now().UTC().Format(time.RFC3339Nano)}
	}},
	{name: "a delivery of it went to somebody else", of: "told", law: "I38", doc: func(d document) { d["deliveries"].([]any)[0].(map[string]any)["user"] = "wang" }},
	{name: "its step came before its message", of: "told", law: "I38", doc: func(d document) { d["steps"].([]any)[0].(map[string]any)["at"] = "2026-01-01T00:00:00Z" }},
	{name: "somebody let it go after it began", of: "told", law: "I38", doc: func(d document) { d["resumed"] = map[string]any{"at": "2099-01-01T00:00:00Z", "epoch": 1} }},
	{name: "somebody let it go in another epoch", of: "told", doc: func(d document) { d["resumed"] = map[string]any{"at": "2099-01-01T00:00:00Z", "epoch": 9} }},
	{name: "the state in lists alone", of: "waiting", law: "I38", set: "state = 'not_told'"},
	{name: "nothing wakes it", of: "waiting", law: "I38", set: "next_at = 0"},
	{name: "its timer is set to zero", of: "waiting", law: "I38", set: "next_at = 0", doc: func(d document) { delete(d, "over") }},
	{name: "its timer is put off", of: "waiting", law: "I38", set: "next_at = next_at + 86400000000"},
	{name: "its own epoch holds it", of: "waiting", law: "I38", set: "held = 'epoch_hold', next_at = 0"},
	{name: "what an epoch holds goes on", of: "waiting", law: "I38", set: "held = 'epoch_hold'"},
	{name: "it was given up too early", of: "waiting", law: "I38", set: "state = 'not_told', next_at = 0", doc: func(d document) { d.state("not_told"); d["reason"] = "not_acknowledged" }},
	{name: "it was given up for a reason that does not show", of: "waiting", law: "I38", set: "state = 'not_told', next_at = 0", doc: func(d document) { d.state("not_told"); d["reason"] = "forgotten" }},
}

// posthouse verify finds what was changed of a notification behind its server's back, where nobody follows the feed.
func TestVerifyFindsEditsOfNotifications(t *testing.T) {
	t.Parallel()
	for name, dsn := range map[string]func(testing.TB) string{"sqlite": dbtest.SQLite, "postgres": dbtest.Postgres, "mariadb": dbtest.MariaDB} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := dsn(t)
			ids := notifies(t, at)
			db := dbtest.SQL(t, at)
			for _, e := range notifiedEdits {
				var doc, state string
				var next int64
				where := " WHERE type = 'notification' AND id = '" + ids[e.of] + "'"
				if err := db.QueryRowContext(t.Context(), "SELECT doc, state, next_at FROM posthouse_plans"+where).Scan(&doc, &state, &next); err != nil {
					t.Fatal(err)
				}
				change := func(set string) {
					if _, err := db.ExecContext(t.Context(), "UPDATE posthouse_plans SET "+set+where); err != nil {
						t.Fatalf("%s: %v", e.name, err)
					}
				}
				changed := document{}
				if err := json.Unmarshal([]byte(doc), &changed); err != nil {
					t.Fatal(err)
				}
				if e.doc != nil {
					e.doc(changed)
				}
				text, err := json.Marshal(changed)
				if err != nil || strings.ContainsAny(string(text), `'\`) {
					t.Fatalf("%s, %v: it cannot be written without escapes", text, err)
				}
				change(strings.Trim("doc = '"+string(text)+"', "+e.set, ", "))
				out, code := ran(t, []string{"POSTHOUSE_DSN=" + at}, "verify", "--sometimes", "none", "--at-rest")
				if want := map[bool]int{true: 1, false: 0}[e.law != ""]; code != want || e.law != "" && !strings.Contains(out, "VIOLATED  "+e.law) {
					t.Errorf("%s: got exit code %d, want %d and %q\n%s", e.name, code, want, e.law, out)
				}
				change(fmt.Sprintf("held = '', doc = '%s', state = '%s', next_at = %d", doc, state, next))
			}
		})
	}
}

// notifies makes a database with a notification that was acknowledged before its second step, one that was told and then acknowledged, one that
// waits for that, and one to the number of a phone that was ended.
func notifies(t *testing.T, dsn string) (ids map[string]string) {
	t.Helper()
	key := secret.FormatKey(secret.NewKey())
	s := notifying(t, key, dsn)
	c, err := client.New(client.Options{URL: s.URL(), Key: key})
	if err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, _, err = c.Channels.Put(t.Context(), posthouse.Channel{Name: "a", Driver: "discard"})
	must(err)
	_, _, err = c.Channels.Put(t.Context(), posthouse.Channel{Name: "phones", Driver: "pull"})
	must(err)
	hour := posthouse.Duration(time.Hour)
	for name, until := range map[string]posthouse.Proof{"acked": posthouse.ProofAcknowledged, "plain": posthouse.ProofSent} {
		_, err = c.Routes.Put(t.Context(), posthouse.Route{Name: name, Steps: []posthouse.RouteStep{{Channels: []string{"a"}, Until: until, Within: hour}, {Channels: []string{"a"}, Until: until, Within: hour}}})
		must(err)
	}
	_, err = c.Routes.Put(t.Context(), posthouse.Route{Name: "called", Steps: []posthouse.RouteStep{{Channels: []string{"phones"}, Within: hour}}})
	must(err)
	called, err := c.Messages.Send(t.Context(), posthouse.Draft{Route: "called", To: []posthouse.Recipient{{Address: "138 0013 8000"}}, Content: &posthouse.Content{Text: "hello"}})
	must(err)
	ids = map[string]string{"phone": posthouse.DeliveryID(called.Accepted[0].ID, 1)}
	for of, way := range map[string]string{"acknowledged": "acked", "waiting": "acked", "told": "plain"} {
		sent, err := c.Messages.Send(t.Context(), posthouse.Draft{Route: way, To: []posthouse.Recipient{{User: "li"}}, Content: &posthouse.Content{Text: "hello"}})
		must(err)
		ids[of] = posthouse.DeliveryID(sent.Accepted[0].ID, 1)
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	waits := func(id string, state posthouse.State) {
		for {
			n, err := c.Notifications.Get(t.Context(), id)
			must(err)
			if len(n.Deliveries) == 1 && n.Deliveries[0].State == state {
				return
			}
			<-tick.C
		}
	}
	for of, id := range ids {
		waits(id, map[bool]posthouse.State{true: posthouse.Pending, false: posthouse.Sent}[of == "phone"])
	}
	_, err = c.Notifications.End(t.Context(), ids["phone"])
	must(err)
	waits(ids["phone"], posthouse.Cancelled)
	for _, of := range []string{"acknowledged", "told"} {
		_, err = c.Notifications.Acknowledge(t.Context(), ids[of], wire.Ack{By: "li"})
		must(err)
	}
	must(errors.Join(s.Stop(context.WithoutCancel(t.Context()))))
	return ids
}

// notifying is a server on a database.
func notifying(t *testing.T, key, dsn string) *server.Server {
	t.Helper()
	s, err := server.New(t.Context(), server.Options{DSN: dsn, Addr: "127.0.0.1:0", AdminKey: key, Keyring: "test:" + base64.StdEncoding.EncodeToString([]byte("the 32 bytes of a key for tests.")), Log: slog.New(slog.DiscardHandler), Output: io.Discard})
	if err == nil {
		err = s.Start(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// posthouse migrate new-epoch says how many notifications and reminders it holds, which a person lets go on.
func TestANewEpochNamesWhatItHolds(t *testing.T) {
	t.Parallel()
	at := dbtest.SQLite(t)
	waits := notifies(t, at)["waiting"]
	comes(t, at, "daily-report")
	run := func(want string, environ []string, args ...string) {
		t.Helper()
		if out, code := ran(t, environ, args...); code != 0 || !strings.Contains(out, want) {
			t.Errorf("%v: got exit code %d, want %q\n%s", args, code, want, out)
		}
	}
	offline := []string{"POSTHOUSE_DSN=" + at}
	run("1 reminder is held: look at posthouse remind list --held", offline, "migrate", "new-epoch", "--yes")
	run("", offline, "verify", "--sometimes", "none")
	for _, want := range []string{"1 held since the database was restored, and no step begins", "1 held since the database was restored, and nothing is sent"} {
		if out, _ := ran(t, offline, "doctor"); !strings.Contains(out, want) {
			t.Errorf("the doctor does not say %q:\n%s", want, out)
		}
	}
	key := secret.FormatKey(secret.NewKey())
	s := notifying(t, key, at)
	t.Cleanup(func() {
		if err := s.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	online := []string{"POSTHOUSE_URL=" + s.URL(), "POSTHOUSE_API_KEY=" + key}
	run("epoch_hold", online, "notification", "list", "--held")
	run("epoch_hold", online, "notification", "show", waits)
	run(waits+": goes on", online, "notification", "resume", "--all")
	run("", online, "notification", "resume", "--all")
	run("next step", online, "notification", "show", waits)
	run("epoch_hold", online, "remind", "list", "--held")
	run("may have been sent", online, "remind", "show", "daily-report")
	run("0 of 1 that came", online, "remind", "resume", "--all")
	run("", online, "remind", "resume", "--all")
}

// comes stores a reminder whose slot has come, and which nobody has sent.
func comes(t *testing.T, at, id string) {
	t.Helper()
	now := time.Now()
	r, problems := remind.New(posthouse.Reminder{
		ID: id, Tenant: posthouse.DefaultTenant, Repeat: &posthouse.Repeat{From: now, Every: posthouse.Duration(24 * time.Hour)},
		Draft: posthouse.Draft{Channel: "out", To: []posthouse.Recipient{{User: "li"}}, Content: &posthouse.Content{Text: "x"}},
	}, now, time.UTC)
	s, err := store.Open(t.Context(), store.Options{DSN: at})
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	defer s.Close()
	out, err := s.Submissions.Accept(t.Context(), now, []*work.Submission{{Tenant: r.Tenant, ID: posthouse.NewID(), Plans: []work.Plan{remind.Plan(r)}}})
	if err != nil || out[0].Err != nil {
		t.Fatal(err, out[0].Err)
	}
}
