package upgrade

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/store/schema"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/simulator"
	"github.com/posthouse/posthouse/torture/internal/house"
	"github.com/posthouse/posthouse/torture/internal/overlay"
	"github.com/posthouse/posthouse/wire"
	"github.com/posthouse/posthouse/workflow"
)

var update = flag.Bool("update", false, "make the fixtures anew")

// folderOf is where the fixture of a database lies that a program of some version of the schema has left: the database, the keys of its servers, and
// what the client, the provider and the faults noted.
func folderOf(version string, db house.Database) string {
	return filepath.Join("testdata", version, string(db))
}

// versions are those of which there are fixtures.
func versions(t *testing.T) (list []string) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join("testdata", "[0-9]*"))
	if err != nil || len(found) < 2 {
		t.Fatalf("the fixtures are %v, %v", found, err)
	}
	for _, folder := range found {
		list = append(list, filepath.Base(folder))
	}
	return list
}

var journals = []string{"client.jsonl", "sink.jsonl", "faults.jsonl"}

// empty are the tables of which the fixture of a database holds nothing.
var empty = map[house.Database][]string{
	house.SQLite: {"posthouse_feed_inbox"}, // the one process that writes gives the places itself
}

const (
	later   = "later"   // the kind of messages that wait for next year
	fetched = "fetched" // the kind of messages that a phone fetches
	mailed  = 2000      // the people of the campaign

	smsUser, smsPassword = "phones", "a long password of the SMS front"
)

// leave makes a database with everything under way in it, and kills its server.
func leave(t *testing.T, db house.Database) {
	dsn := db.DSN(t)
	h := house.Open(t, house.Options{DSN: dsn, Binary: overlay.Build(t, hasty...), Env: []string{
		"POSTHOUSE_BASIC_AUTH_USERNAME=" + smsUser, "POSTHOUSE_BASIC_AUTH_PASSWORD=" + smsPassword, "POSTHOUSE_SMS_TIMEOUT=2s", "POSTHOUSE_CHAIN=1s",
	}})
	c := h.Members[0].Client(t, 3)
	fill(t, h, c)
	fillSince(t, h, c)
	tables := dbtest.SQL(t, dsn)
	rare(t, h, c, tables, db)
	aged(t, tables, db)
	h.Members[0].Kill(t)
	h.Members = nil
	h.Add(t, "").Start(t) // from here on by the program as it is
	c = h.Members[0].Client(t, 3)
	texts(t, h)
	notices(t, h, c)
	refuse := simulator.Fault{Kind: simulator.RateLimited, Recipient: "refused-*", RetryAfter: 3600}
	h.Provider.Behave(t, "generic", simulator.Behaviour{Faults: []simulator.Fault{refuse}})
	fronts(t, h, c)
	told(t, h, c, "sms", "oa", "refused")
	for _, list := range []struct {
		prefix string
		n      int
		draft  func(n int) posthouse.Draft
	}{
		{"sent", 30, func(n int) posthouse.Draft { return house.Text("generic", n) }},
		{"many", 3, func(n int) posthouse.Draft {
			d := house.Text("generic", n)
			d.To = []posthouse.Recipient{{User: "a"}, {User: "b"}, {User: "c"}}
			return d
		}},
		{"desk", 6, func(n int) posthouse.Draft { return house.Text("desk", n) }},
		{"secret", 3, func(n int) posthouse.Draft {
			d := house.Text("desk", n)
			d.Content.Text, d.Sensitive = "the code is 4711", true
			return d
		}},
		{"line", 4, func(n int) posthouse.Draft { d := house.Text("desk", n); d.OrderingKey = "orders"; return d }},
		{"dedup", 2, func(n int) posthouse.Draft {
			d := house.Text("generic", n)
			d.DedupKey, d.DedupWindow = fmt.Sprint("once-", n), posthouse.Duration(24*time.Hour)
			return d
		}},
		{"later", 5, func(n int) posthouse.Draft {
			d := house.Text("generic", n)
			d.Kind, d.NotBefore = later, time.Now().AddDate(0, 0, 365)
			return d
		}},
		{"refused", 2, func(n int) posthouse.Draft {
			d := house.Text("refused", n)
			d.To[0].User, d.Kind = fmt.Sprint("refused-", n), later
			return d
		}},
		{"phone", 8, func(n int) posthouse.Draft {
			return posthouse.Draft{Channel: "phones", To: []posthouse.Recipient{{Address: fmt.Sprintf("+86139000010%02d", n)}}, Content: &posthouse.Content{Text: "hello"}, Kind: fetched, Ref: "8"}
		}},
	} {
		h.Produce(t, house.Load{Messages: list.n, Prefix: list.prefix, Producers: 4, Draft: list.draft})
	}
	arrived := func(n int) func() bool { return func() bool { return len(h.Provider.Arrivals(t)) >= n } }
	house.Until(t, "the first ones to arrive", arrived(30))
	fetch(t, h, c)
	before := len(h.Provider.Arrivals(t))
	slow := simulator.Fault{Kind: simulator.Latency, Latency: posthouse.Duration(100 * time.Millisecond)}
	h.Provider.Behave(t, "generic", simulator.Behaviour{Faults: []simulator.Fault{slow}})
	h.Campaign(t, wire.CampaignDraft{Name: "spring", Channel: "generic", Content: &posthouse.Content{Text: "hello"}, OnUnknown: posthouse.Hold, SegmentSize: 100}, mailed)
	house.Until(t, "a part of the campaign to arrive", arrived(before+mailed/10))
	for what, table := range map[string]string{"what is counted by the minute to be written": "posthouse_totals", "the provider to refuse a channel": "posthouse_gates"} {
		house.Until(t, what, func() bool { return rowsIn(t, tables, table) > 0 })
	}
	// From here on the provider says nothing: what is under way then is so when the server is killed.
	h.Provider.Behave(t, "generic", simulator.Behaviour{Faults: []simulator.Fault{house.Share(simulator.Hang, 1)}})
	before = len(h.Provider.Arrivals(t))
	read := unread(t, tables, db)
	h.Produce(t, house.Load{Messages: 10, Prefix: "hanging"})
	house.Until(t, "calls to hang", arrived(before+10))
	if spring, err := c.Campaigns.Get(t.Context(), "spring"); err != nil || spring.State.Final() || spring.Progress.Unsent < mailed/10 {
		t.Fatalf("the campaign is %+v, %v: want it half sent", spring, err)
	}
	h.Members[0].Kill(t)
	read()
	checkFull(t, h, db)
	have, _, err := h.Store(t).Schema.Schema(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	folder := folderOf(fmt.Sprintf("%04d", have), db)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	dump(t, db, dsn, folder)
	for i, from := range []string{h.Told, h.Provider.Journal, h.Faults} {
		copied(t, from, filepath.Join(folder, journals[i]))
	}
	copied(t, h.Keyring(), filepath.Join(folder, "keys"))
}

func copied(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// fill makes what people set up.
func fill(t *testing.T, h *house.House, c *client.Client) {
	t.Helper()
	ctx := t.Context()
	h.PutChannel(t, h.Channel("generic"))
	h.PutChannel(t, h.Channel("desk"))
	phones := posthouse.Channel{Name: "phones", Driver: "pull"}
	phones.OnUnknown, phones.Timeout = posthouse.Hold, posthouse.Duration(2*time.Second)
	h.PutChannel(t, phones)
	h.PutChannel(t, h.Channel("oa"))
	h.PutChannel(t, h.Channel("refused"))
	accounts := h.Channel("branches")
	accounts.Accounts, accounts.Rate = true, &posthouse.RateSettings{Base: 100}
	h.PutChannel(t, accounts)
	var all []error
	note := func(what string, err error) {
		if err != nil {
			all = append(all, fmt.Errorf("%s: %w", what, err))
		}
	}
	_, err := c.Channels.Pause(ctx, "desk", "nobody is there")
	note("pause", err)
	_, _, err = c.Accounts.Put(ctx, "branches", posthouse.Account{Name: "east"})
	note("account", err)
	_, err = c.Templates.Put(ctx, posthouse.Template{Name: "greeting", Title: "greeting", Text: "hello ${name}"})
	note("template", err)
	_, err = c.Rosters.Put(ctx, posthouse.Roster{Name: "night", Days: map[string][]string{"1": {"u1"}, "2": {"u2"}}, HandOver: "08:30", TimeZone: "UTC"})
	note("roster", err)
	_, err = c.Users.Put(ctx, posthouse.User{ID: "li.na", Name: "李娜", Roles: []string{"planner"}, Addresses: map[string]string{"desk": "1001"}})
	note("user", err)
	_, err = c.Keys.Create(ctx, wire.Key{Name: "the branch's system", Scope: posthouse.ScopeSend})
	note("key", err)
	_, err = c.Tenants.Put(ctx, "branch", wire.PutTenant{})
	note("tenant", err)
	_, err = c.People.Put(ctx, "li.na@127.0.0.1", wire.PutPerson{Roles: map[string]posthouse.Role{"default": posthouse.RoleAdmin}})
	note("person", err)
	_, err = c.Suppressions.Add(ctx, wire.SuppressionDraft{Address: "o2", Reason: "asked by telephone"})
	note("suppression", err)
	_, err = c.Callbacks.Create(ctx, "generic", "")
	note("callback", err)
	_, err = c.Subscriptions.Create(ctx, wire.NewSubscription{URL: "http://127.0.0.1:9/hook", Types: []string{"delivery.sent"}})
	note("subscription", err)
	_, err = c.Media.Add(ctx, "notice.txt", "file", strings.NewReader("the notice"))
	note("media", err)
	_, err = c.Routes.Put(ctx, posthouse.Route{Name: "night", Steps: []posthouse.RouteStep{
		{Channels: []string{"generic"}, Until: posthouse.ProofAcknowledged, Within: posthouse.Duration(30 * 24 * time.Hour)},
	}})
	if err != nil {
		t.Fatal(err)
	}
	routed := house.Text("generic", 1)
	routed.Channel, routed.Route, routed.DedupKey = "", "night", ""
	if _, err := c.Messages.Send(ctx, routed); err != nil {
		t.Fatal(err)
	}
	_, err = c.Reminders.Create(ctx, posthouse.Reminder{Draft: house.Text("generic", 1), Countdown: &posthouse.Countdown{To: time.Now().AddDate(9, 0, 0)}})
	note("reminder", err)
	_, err = c.Tasks.Tell(ctx, workflow.Event{Type: workflow.TaskCreated, Task: "1001", Created: &workflow.Task{
		Name: "Imaging", Creator: "zhang.san", Nodes: []workflow.Node{{ID: "8881", Name: "Receive", Users: []string{"zhang.san"}}},
	}})
	note("task", err)
	if err := errors.Join(all...); err != nil {
		t.Fatal(err)
	}
}

// texts are what senders and phones of the SMS front have left: a template, a default text, tasks that wait, one that a phone holds and one that it has reported.
func texts(t *testing.T, h *house.House) {
	t.Helper()
	ask := func(method, path, body string, out any) { call(t, h, method, path, body, out) }
	var anything any
	ask(http.MethodPost, "/api/v1/admin/template", `{"template_name": "code", "template_content": "the code is {code}"}`, &anything)
	ask(http.MethodPost, "/api/v1/admin/default-sms", `{"phone_number": "13900000900", "content": "it has come"}`, &anything)
	for n := range 6 {
		ask(http.MethodPost, "/api/v1/sms/send", fmt.Sprintf(`{"phone_number": "139000009%02d", "content": "hello", "source": "crm"}`, n), &anything)
	}
	var held []struct {
		Task string `json:"task_id"`
	}
	ask(http.MethodGet, "/api/v1/sms/tasks/pending?app_id=app-1&limit=2", "", &struct {
		Data any `json:"data"`
	}{&held})
	if len(held) == 0 {
		t.Fatal("the app got no task")
	}
	ask(http.MethodPost, "/api/v1/sms/report", fmt.Sprintf(`{"task_id": %q, "app_id": "app-1", "status": 3}`, held[0].Task), &anything)
}

// call is a call as a phone or a sender makes it.
func call(t *testing.T, h *house.House, method, path, body string, out any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://"+h.Members[0].Addr+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.SetBasicAuth(smsUser, smsPassword)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(out); err != nil || resp.StatusCode >= 300 {
		t.Fatalf("%s %s: %s, %v", method, path, resp.Status, err)
	}
}

// fronts are a front and what came at it, which waits on a channel whose provider refuses.
func fronts(t *testing.T, h *house.House, c *client.Client) {
	t.Helper()
	front, err := c.Fronts.Put(t.Context(), "disks", wire.PutFront{Kind: "gotify", FrontSettings: posthouse.FrontSettings{
		Channel: "refused", To: []posthouse.Recipient{{User: "refused-disk"}}, MessageKind: later,
	}})
	if err != nil {
		t.Fatal(err)
	}
	var anything any
	call(t, h, http.MethodPost, "/in/gotify/message?token="+front.Token, `{"title": "Disk", "message": "full"}`, &anything)
}

// told notes in the client's journal what was handed in otherwise than by its own calls.
func told(t *testing.T, h *house.House, c *client.Client, channels ...string) {
	t.Helper()
	for _, channel := range channels {
		page, err := c.Messages.List(t.Context(), client.Filter{Channel: channel, Limit: 100})
		if err != nil || len(page.Items) == 0 {
			t.Fatalf("%d messages of channel %s, %v", len(page.Items), channel, err)
		}
		for _, m := range page.Items {
			h.Tell(t, house.Told{At: time.Now(), Asked: m.CreatedAt, Op: "send", Answer: "accepted", Status: http.StatusAccepted, Message: m.ID})
		}
	}
}

// notices are jobs of the notification document on a channel that is paused: one that waits and has a number, and one that was cancelled.
func notices(t *testing.T, h *house.House, c *client.Client) {
	t.Helper()
	_, err := c.Templates.Install(t.Context())
	if err == nil {
		_, err = c.Channels.Pause(t.Context(), "oa", "nobody is there")
	}
	number := int64(4711)
	for i, id := range []string{"2001", "2002"} {
		job := client.JobDraft{BizID: id, UserIDs: []string{"li.na"}, Payload: json.RawMessage(`{"taskName": "Imaging", "taskCode": "T1", "creatorName": "li.na", "createTime": "2026-08-02 13:15:00"}`)}
		if i == 0 {
			job.Number = &number
		}
		if err == nil {
			_, err = c.Jobs.Enqueue(t.Context(), job)
		}
	}
	if err == nil {
		_, err = c.Jobs.Update(t.Context(), client.JobStatus{BizIDs: []string{"2002"}, Status: 3, Operator: "li.na"})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// fetch is a phone that fetches some messages, starts one, reports none, and is never heard of again.
func fetch(t *testing.T, h *house.House, c *client.Client) {
	t.Helper()
	made, err := c.Agents.Add(t.Context(), posthouse.Agent{ID: "phone-1", Channels: []string{"phones"}, Limits: []posthouse.Limit{}})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(what string, in, out any) {
		body, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+h.Members[0].Addr+"/v1/agents/phone-1/"+what, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+made.Secret)
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if err := json.NewDecoder(resp.Body).Decode(out); err != nil || resp.StatusCode >= 300 {
			t.Fatalf("%s: %s, %v", what, resp.Status, err)
		}
	}
	var got struct {
		Handouts []posthouse.Handout `json:"handouts"`
	}
	ask("claims", map[string]any{"claim_id": posthouse.NewID(), "max": 3, "wait": "2s"}, &got)
	if len(got.Handouts) == 0 {
		t.Fatal("the phone got nothing")
	}
	first := map[string]any{"delivery": got.Handouts[0].Delivery, "token": got.Handouts[0].Token}
	var started any
	ask("start", map[string]any{"handouts": []any{first}}, &started)
}

// checkFull fails where a table is empty that is not among those that may be.
func checkFull(t *testing.T, h *house.House, of house.Database) {
	t.Helper()
	db := h.Store(t).DB
	parts, err := db.Catalogue(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var bare []string
	for _, p := range parts {
		if p.Kind != "table" || !strings.HasPrefix(p.Name, "posthouse_") {
			continue
		}
		n, _, err := sqldb.First(db.Reads(t.Context()), sqldb.Number, "SELECT COUNT(*) FROM "+p.Name)
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 != slices.Contains(empty[of], p.Name) {
			bare = append(bare, fmt.Sprintf("%s has %d", p.Name, n))
		}
	}
	if len(bare) > 0 {
		t.Errorf("rows: %v. Fill what is bare; what must be stands in empty", bare)
	}
}

// What earlier programs have left is upgraded by a later one, and nothing of it is lost: what was open is sent, what was sealed is opened, the campaign
// goes on, and the checker holds over both lives.
func TestWhatEarlierProgramsHaveLeftIsUpgraded(t *testing.T) {
	t.Parallel()
	later := ""
	if !*update {
		later = next(t)
	}
	for _, db := range house.Databases {
		t.Run(string(db), func(t *testing.T) {
			t.Parallel()
			if *update {
				leave(t, db)
				return
			}
			for _, version := range versions(t) {
				t.Run(version, func(t *testing.T) {
					t.Parallel()
					upgraded(t, version, db, later)
				})
			}
		})
	}
}

func upgraded(t *testing.T, version string, db house.Database, newer string) {
	folder := folderOf(version, db)
	keys, err := os.ReadFile(filepath.Join(folder, "keys"))
	if err != nil {
		t.Fatal(err)
	}
	dsn := restored(t, db, folder)
	h := house.Open(t, house.Options{DSN: dsn, Members: -1, Keyring: string(keys), Env: []string{"POSTHOUSE_KEEP=876000h"}})
	for i, to := range []string{h.Told, h.Provider.Journal, h.Faults} {
		appended(t, filepath.Join(folder, journals[i]), to)
	}
	suits(t, h)
	m := h.Add(t, newer)
	m.Start(t)
	c := m.Client(t, 3)
	for _, name := range []string{"generic", "desk", "oa"} { // the provider of today has another address
		h.PutChannel(t, h.Channel(name))
	}
	for _, name := range []string{"desk", "oa"} {
		if _, err := c.Channels.Resume(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	house.Until(t, "what waits for next year, and for a phone, to be withdrawn", func() bool {
		open := 0
		for _, of := range []client.Filter{{Kind: later}, {Kind: fetched}, {Channel: "sms"}} {
			of.States, of.Limit = []posthouse.State{posthouse.Pending, posthouse.Sending}, 100
			page, err := c.Deliveries.List(t.Context(), of)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range page.Items {
				if _, err := c.Messages.Cancel(t.Context(), d.Message); err != nil && posthouse.CodeOf(err) != posthouse.CodeConflict {
					t.Fatal(err)
				}
			}
			open += len(page.Items)
		}
		return open == 0
	})
	h.Reached(t, "spring", mailed)
	if version >= firstSince {
		checkSince(t, h, c)
	}
	accepted := h.Produce(t, house.Load{Messages: 20, Prefix: "after"})
	h.Settle(t, posthouse.Unknown)
	h.Judge(t)
	if len(accepted) != 20 {
		t.Errorf("%d messages were accepted after the upgrade, want 20", len(accepted))
	}
	if log := m.Log(); strings.Contains(log, "level=ERROR") {
		t.Errorf("the upgraded server says:\n%s", log)
	}
}

// suits fails where the fixture is not what its version's catalogue says: a migration was changed since.
func suits(t *testing.T, h *house.House) {
	t.Helper()
	s := h.Store(t)
	drift, err := schema.Of(s.DB).Drift(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := drift.Err(); err != nil {
		t.Fatalf("a migration was changed that this database was made with: %v", err)
	}
	if i := slices.IndexFunc(drift.Besides, func(part string) bool { return strings.HasPrefix(part, "table") }); i >= 0 {
		t.Fatalf("a migration was changed that this database was made with: there is a %s besides", drift.Besides[i])
	}
}

func appended(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(to, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.Write(text)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}
