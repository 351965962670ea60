package client_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/server"
)

const adminKey = "ph_aaaaaaaaaaaa_bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

// serve starts a server on a fresh SQLite file in a folder; stop ends it.
func serve(folder string) (c *client.Client, stop func() error, err error) {
	ctx := context.Background()
	s, err := server.New(ctx, server.Options{
		DSN: "sqlite:" + folder + "/posthouse.db", Addr: "127.0.0.1:0", AdminKey: adminKey, Output: io.Discard, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, nil, err
	}
	if err := s.Start(ctx); err != nil {
		return nil, nil, errors.Join(err, s.Stop(ctx))
	}
	transport := &http.Transport{}
	stop = func() error {
		transport.CloseIdleConnections()
		return s.Stop(ctx)
	}
	c, err = client.New(client.Options{URL: s.URL(), Key: adminKey, HTTP: &http.Client{Transport: transport}})
	return c, stop, err
}

func open(t *testing.T) *client.Client {
	t.Helper()
	c, stop, err := serve(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// must returns a value, or ends the test.
func must[T any](t *testing.T) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func draft(users ...string) posthouse.Draft {
	d := posthouse.Draft{Channel: "oa", Kind: "order", Ref: "7", Content: &posthouse.Content{Text: "hello"}}
	for _, u := range users {
		d.To = append(d.To, posthouse.Recipient{User: u})
	}
	return d
}

// paused opens a house whose channel oa sends nothing.
func paused(t *testing.T) *client.Client {
	t.Helper()
	c := open(t)
	if _, created, err := c.PutChannel(t.Context(), posthouse.Channel{Name: "oa", Driver: "discard"}); err != nil || !created {
		t.Fatal(created, err)
	}
	if ch := must[posthouse.Channel](t)(c.PauseChannel(t.Context(), "oa", "test")); !ch.Paused || ch.PauseReason != "test" {
		t.Fatalf("got %+v, want it paused", ch)
	}
	return c
}

func TestMessagesAreSentOnceListedAndCancelled(t *testing.T) {
	t.Parallel()
	ctx, c := t.Context(), paused(t)
	first := must[client.Sent](t)(c.SendOnce(ctx, "k", draft("u1", "u2"), draft("u3")))
	if len(first.Accepted) != 2 || first.Replayed || len(first.Accepted[0].Deliveries) != 2 {
		t.Fatalf("got %+v", first)
	}
	again := must[client.Sent](t)(c.SendOnce(ctx, "k", draft("u1", "u2"), draft("u3")))
	if diff := cmp.Diff(first.Accepted, again.Accepted); !again.Replayed || diff != "" {
		t.Errorf("sent again, replayed %t (-first +again):\n%s", again.Replayed, diff)
	}
	if _, err := c.SendOnce(ctx, "k", draft("u4")); posthouse.CodeOf(err) != posthouse.CodeKeyReused {
		t.Errorf("another body with the key: got %v", err)
	}
	one := must[client.Sent](t)(c.SendJSON(ctx, "", []byte(`{"channel":"oa","to":[{"user":"u5"}],"content":{"text":"x"}}`)))
	if len(one.Accepted) != 1 {
		t.Errorf("got %+v, want one", one)
	}
	m := must[client.Message](t)(c.Message(ctx, first.Accepted[0].ID))
	if m.Recipients != 2 || m.Counts[posthouse.Pending] != 2 || len(m.Deliveries) != 2 {
		t.Errorf("got %+v", m)
	}
	if page := must[client.Message](t)(c.MessagePage(ctx, m.ID, "", 1)); len(page.Deliveries) != 1 || page.Next == "" {
		t.Errorf("a page of 1: got %+v", page)
	}
	got := must[client.Cancelled](t)(c.Cancel(ctx, m.ID))
	if got.Cancelled != 2 || got.Deliveries[0].Result != "cancelled" {
		t.Errorf("cancel: got %+v", got)
	}
	if got := must[client.Cancelled](t)(c.CancelRef(ctx, "order", "7")); got.Cancelled != 1 {
		t.Errorf("cancel by kind and ref: got %+v", got)
	}
}

func TestAllGoesThroughEveryPage(t *testing.T) {
	t.Parallel()
	ctx, c := t.Context(), paused(t)
	must[client.Sent](t)(c.Send(ctx, draft("u1", "u2", "u3", "u4", "u5")))
	var users []string
	for d, err := range client.All(ctx, c.Deliveries, client.Filter{Channel: "oa", States: []posthouse.State{posthouse.Pending, posthouse.Sent}, Limit: 2}) {
		if err != nil {
			t.Fatal(err)
		}
		users = append(users, d.User)
	}
	if got, want := strings.Join(users, " "), "u5 u4 u3 u2 u1"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	failures := 0
	for _, err := range client.All(ctx, c.Deliveries, client.Filter{Cursor: "guessed"}) {
		if posthouse.CodeOf(err) != posthouse.CodeInvalid {
			t.Errorf("a guessed cursor: got %v", err)
		}
		failures++
	}
	if failures != 1 {
		t.Errorf("got %d errors, want one and the end", failures)
	}
}

func TestADeliveryIsLookedAtAndSentAgain(t *testing.T) {
	t.Parallel()
	ctx, c := t.Context(), paused(t)
	id := must[client.Sent](t)(c.Send(ctx, draft("u1"))).Accepted[0].Deliveries[0].ID
	if d := must[posthouse.Delivery](t)(c.Delivery(ctx, id)); d.User != "u1" || d.State != posthouse.Pending {
		t.Errorf("got %+v", d)
	}
	if x := must[client.Explanation](t)(c.Explain(ctx, id)); len(x.Waits) != 1 || x.Waits[0].Cause != "paused" {
		t.Errorf("got %+v", x)
	}
	if list := must[[]posthouse.Event](t)(c.Events(ctx, id)); len(list) != 1 {
		t.Errorf("got events %+v", list)
	}
	if list := must[[]posthouse.Attempt](t)(c.Attempts(ctx, id)); len(list) != 0 {
		t.Errorf("got attempts %+v", list)
	}
	if _, err := c.Replay(ctx, id, true); posthouse.CodeOf(err) != posthouse.CodeConflict {
		t.Errorf("replay of what is pending: got %v", err)
	}
	if _, err := c.Resolve(ctx, id, client.OutcomeSent); posthouse.CodeOf(err) != posthouse.CodeConflict {
		t.Errorf("resolve of what is pending: got %v", err)
	}
	if r := must[client.Replays](t)(c.ReplayAll(ctx, client.ReplayRequest{Channel: "oa", DryRun: true})); r.Matched != 0 || !r.DryRun {
		t.Errorf("got %+v", r)
	}
	if _, err := c.Delivery(ctx, "a/../b?c"); posthouse.CodeOf(err) != posthouse.CodeNotFound {
		t.Errorf("an odd id: got %v, want not_found", err)
	}
}

func TestSettingsAreStoredAndRead(t *testing.T) {
	t.Parallel()
	ctx, c := t.Context(), open(t)
	ch, created, err := c.PutChannelJSON(ctx, "oa", []byte(`{"driver":"discard","tries":3}`))
	if err != nil || !created || ch.Tries != 3 {
		t.Errorf("got %+v, %t, %v", ch, created, err)
	}
	ch.Tries = 4
	if ch, created, err = c.PutChannel(ctx, ch); err != nil || created || ch.Tries != 4 {
		t.Errorf("put back: got %+v, %t, %v", ch, created, err)
	}
	if list := must[[]posthouse.Channel](t)(c.Channels(ctx)); len(list) != 1 {
		t.Errorf("got %d channels", len(list))
	}
	if r := must[client.ChannelTestResult](t)(c.TestChannel(ctx, "oa", client.ChannelTest{To: &posthouse.Recipient{User: "u"}})); !r.OK {
		t.Errorf("test: got %+v", r)
	}
	must[posthouse.Channel](t)(c.ResumeChannel(ctx, "oa"))
	if err := c.DeleteChannel(ctx, "oa"); err != nil {
		t.Error(err)
	}
	if list := must[[]client.Driver](t)(c.Drivers(ctx)); len(list) == 0 || list[0].Fields == nil {
		t.Errorf("got drivers %+v", list)
	}

	tpl := must[posthouse.Template](t)(c.PutTemplate(ctx, posthouse.Template{Name: "hi", Text: "hi ${name}"}))
	if got := must[posthouse.Template](t)(c.Template(ctx, "hi", 1)); got.Text != tpl.Text {
		t.Errorf("got %+v", got)
	}
	if p := must[client.Preview](t)(c.PreviewTemplate(ctx, "hi", client.TemplatePreview{Payload: []byte(`{"name":"天元"}`)})); p.Content.Text != "hi 天元" || p.Text.Characters != 5 {
		t.Errorf("got %+v", p)
	}
	if len(must[[]posthouse.Template](t)(c.Templates(ctx))) != 1 || c.DeleteTemplate(ctx, "hi") != nil {
		t.Error("the template is not listed or can not be deleted")
	}

	made := must[client.NewKey](t)(c.CreateKey(ctx, "job", posthouse.ScopeSend))
	if len(must[[]posthouse.Key](t)(c.Keys(ctx))) != 2 || c.RevokeKey(ctx, made.ID) != nil || made.Secret == "" {
		t.Errorf("the key %+v is not listed or can not be revoked", made)
	}
}

func TestTheDirectoryIsStoredAndRead(t *testing.T) {
	t.Parallel()
	ctx, c := t.Context(), open(t)
	want := posthouse.Roster{Tenant: "default", Name: "duty", Days: map[string][]string{"1": {"u1"}}, HandOver: "08:30"}
	got := must[posthouse.Roster](t)(c.PutRoster(ctx, want))
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(posthouse.Roster{}, "UpdatedAt"), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	csv := must[[]byte](t)(c.ExportRoster(ctx, "duty"))
	if got := must[posthouse.Roster](t)(c.ImportRoster(ctx, "duty", csv)); got.HandOver != "08:30" || len(got.Days["1"]) != 1 {
		t.Errorf("through CSV: got %+v", got)
	}
	must[posthouse.Roster](t)(c.Roster(ctx, "duty"))
	if check := must[client.RosterCheck](t)(c.CheckRoster(ctx, "duty")); len(check.EmptyDays) != 6 {
		t.Errorf("got %+v", check)
	}
	if d := must[client.Duty](t)(c.OnDuty(ctx, "duty")); d.Roster != "duty" || d.At.IsZero() {
		t.Errorf("got %+v", d)
	}
	if len(must[[]posthouse.Roster](t)(c.Rosters(ctx))) != 1 || c.DeleteRoster(ctx, "duty") != nil {
		t.Error("the roster is not listed or can not be deleted")
	}

	if n := must[client.Imported](t)(c.PutUsers(ctx, posthouse.User{ID: "u1", Addresses: map[string]string{"oa": "a1"}})); n.Stored != 1 {
		t.Errorf("got %+v", n)
	}
	if n := must[client.Imported](t)(c.ImportUsers(ctx, []byte("id,oa\nu2,a2\nu3,a3\n"))); n.Stored != 2 {
		t.Errorf("got %+v", n)
	}
	n := 0
	for _, err := range client.All(ctx, c.Users, client.Filter{Limit: 2}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 3 || must[posthouse.User](t)(c.User(ctx, "u2")).Addresses["oa"] != "a2" || c.DeleteUser(ctx, "u2") != nil {
		t.Errorf("got %d users, want 3", n)
	}
}

func TestNoticesAndHealth(t *testing.T) {
	t.Parallel()
	ctx, c := t.Context(), open(t)
	if _, _, err := c.PutChannel(ctx, posthouse.Channel{Name: "tianyuan", Driver: "discard"}); err != nil {
		t.Fatal(err)
	}
	sent := must[client.NoticeSent](t)(c.SendNotice(ctx, client.NoticeDraft{UserID: "u", UserType: "分行", Platform: "天元", Content: "x"}))
	if n := must[client.Notice](t)(c.Notice(ctx, sent.ID)); n.UserID != "u" || n.Status != "pending" || n.CreateTime.IsZero() {
		t.Errorf("got %+v", n)
	}
	if page := must[client.Page[client.Notice]](t)(c.Notices(ctx, client.NoticeFilter{UserID: "u", Platform: "天元", Status: "pending"})); len(page.Items) != 1 {
		t.Errorf("got %+v", page)
	}
	if h := must[client.Health](t)(c.Health(ctx)); h.Status != "ok" || h.Database != "sqlite" {
		t.Errorf("got %+v", h)
	}
	if r := must[client.Readiness](t)(c.Ready(ctx)); !r.Ready || len(r.Checks) == 0 {
		t.Errorf("got %+v", r)
	}
	s := &script{answers: []answer{{status: 503, body: `{"ready":false,"checks":[{"name":"database","ok":false}]}`}}}
	if r := must[client.Readiness](t)(s.client(t).Ready(ctx)); r.Ready || len(r.Checks) != 1 {
		t.Errorf("not ready: got %+v", r)
	}
}

// house is a server for the examples.
func house() (*client.Client, func()) {
	folder, err := os.MkdirTemp("", "posthouse-example")
	if err != nil {
		panic(err)
	}
	c, stop, err := serve(folder)
	if err != nil {
		panic(err)
	}
	return c, func() {
		if err := errors.Join(stop(), os.RemoveAll(folder)); err != nil {
			panic(err)
		}
	}
}
