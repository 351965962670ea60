package client_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/wire"
)

// These walk over all calls, each over real HTTP: its result holds all that the server answered.

func TestSendingAndLooking(t *testing.T) {
	t.Parallel()
	h := open(t)
	ctx := t.Context()
	sent, err := h.Messages.Send(ctx, draft("out", "u1", "u2"), draft("later", "u1"))
	if err != nil || len(sent.Accepted) != 2 || sent.Replayed {
		t.Fatalf("Send: %+v, %v", sent, err)
	}
	first := sent.Accepted[0]
	for _, d := range first.Deliveries {
		h.until(d.ID, posthouse.Sent)
	}
	got, err := h.Messages.Get(ctx, first.ID)
	m := whole(h, got, err)
	if m.Recipients != 2 || m.Counts[posthouse.Sent] != 2 || len(m.Deliveries) != 2 {
		t.Errorf("Message: %+v", m)
	}
	page, err := h.Messages.Page(ctx, first.ID, "", 1)
	if page = whole(h, page, err); len(page.Deliveries) != 1 || page.Next == "" {
		t.Errorf("MessagePage: %d deliveries, next %q; want one of two", len(page.Deliveries), page.Next)
	}
	id := first.Deliveries[0].ID
	d, err := h.Deliveries.Get(ctx, id)
	whole(h, d, err)
	attempts, err := h.Deliveries.Attempts(ctx, id)
	if list := whole(h, attempts, err); len(list) != 1 || list[0].Class != posthouse.ClassOK {
		t.Errorf("Attempts: %+v", list)
	}
	events, err := h.Deliveries.Events(ctx, id)
	if list := whole(h, events, err); len(list) == 0 || list[0].Type != posthouse.EventAccept {
		t.Errorf("Events: %+v", list)
	}
	x, err := h.Deliveries.Explain(ctx, sent.Accepted[1].Deliveries[0].ID)
	if x = whole(h, x, err); !slices.ContainsFunc(x.Waits, func(w wire.Wait) bool { return w.Cause == "paused" }) {
		t.Errorf("Explain: %+v, want that its channel is paused", x)
	}
}

func TestSendJSONTakesBothForms(t *testing.T) {
	t.Parallel()
	h := open(t)
	one := `{"channel":"later","to":[{"user":"u1"}],"content":{"text":"hello"}}`
	for body, want := range map[string]int{one: 1, `{"messages":[` + one + `,` + one + `]}`: 2} {
		sent, err := h.Messages.SendJSON(t.Context(), "", []byte(body))
		if err != nil || len(sent.Accepted) != want || sent.Accepted[0].ID == "" {
			t.Errorf("SendJSON(%s): %+v, %v", body, sent, err)
		}
	}
}

func TestSendOnceIsAcceptedOnce(t *testing.T) {
	t.Parallel()
	h := open(t)
	first, err := h.Messages.SendOnce(t.Context(), "batch-7", draft("later", "u1"))
	if err != nil || first.Replayed {
		t.Fatalf("the first: %+v, %v", first, err)
	}
	again, err := h.Messages.SendOnce(t.Context(), "batch-7", draft("later", "u1"))
	if err != nil || !again.Replayed {
		t.Fatalf("the second: %+v, %v", again, err)
	}
	if diff := cmp.Diff(first.Accepted, again.Accepted); diff != "" {
		t.Errorf("the second answer is not the first one:\n%s", diff)
	}
	if _, err := h.Messages.SendOnce(t.Context(), "batch-7", draft("later", "u2")); posthouse.CodeOf(err) != posthouse.CodeKeyReused {
		t.Errorf("another message with the key: %v, want code key_reused", err)
	}
}

func TestSendOnceRefusesKeysThatNoHeaderCarries(t *testing.T) {
	t.Parallel()
	c, err := client.New(client.Options{URL: "http://127.0.0.1:1", Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"", "a\nb", "键", strings.Repeat("k", 256)} {
		if _, err := c.Messages.SendOnce(t.Context(), key, draft("out", "u")); posthouse.CodeOf(err) != posthouse.CodeInvalid {
			t.Errorf("key %.10q: %v, want code invalid", key, err)
		}
	}
}

func TestListsGoOnPageByPage(t *testing.T) {
	t.Parallel()
	h := open(t)
	for range 5 {
		h.send("later", "u1")
	}
	f := client.Filter{Channel: "later", Kind: "duty", Ref: "7", User: "u1", States: []posthouse.State{posthouse.Pending, posthouse.Sent}, Limit: 2}
	page, err := h.Deliveries.List(t.Context(), f)
	whole(h, page.Items, err)
	messages, err := h.Messages.List(t.Context(), f)
	whole(h, messages.Items, err)
	count := 0
	for d, err := range client.All(t.Context(), h.Deliveries.List, f) {
		if err != nil || d.State != posthouse.Pending {
			t.Fatalf("%+v, %v", d, err)
		}
		count++
	}
	if count != 5 {
		t.Errorf("All went over %d deliveries, want 5", count)
	}
	for _, err := range client.All(t.Context(), h.Messages.List, client.Filter{Cursor: "nonsense"}) {
		if posthouse.CodeOf(err) != posthouse.CodeInvalid {
			t.Errorf("a nonsense cursor: %v, want code invalid", err)
		}
	}
}

func TestCancelling(t *testing.T) {
	t.Parallel()
	h := open(t)
	got, err := h.Messages.Cancel(t.Context(), posthouse.MessageID(h.send("later", "u1")))
	if got = whole(h, got, err); got.Cancelled != 1 || got.Deliveries[0].State != posthouse.Cancelled {
		t.Errorf("Cancel: %+v", got)
	}
	h.send("later", "u2")
	got, err = h.Messages.CancelRef(t.Context(), "duty", "7")
	if got = whole(h, got, err); got.Cancelled != 1 {
		t.Errorf("CancelRef: %+v, want the one that was open", got)
	}
}

func TestReplayingAndResolving(t *testing.T) {
	t.Parallel()
	h := open(t)
	ctx := t.Context()
	refused, lost := h.send("out", "refused"), h.send("out", "lost")
	h.until(refused, posthouse.Failed)
	h.until(lost, posthouse.Unknown)

	d, err := h.Deliveries.Resolve(ctx, lost, wire.OutcomeSent)
	if d = whole(h, d, err); d.State != posthouse.Sent {
		t.Errorf("Resolve: %+v", d)
	}
	dry, err := h.Deliveries.ReplayAll(ctx, wire.ReplayAll{Channel: "out", States: []posthouse.State{posthouse.Failed}, DryRun: true, Max: 10})
	if dry = whole(h, dry, err); dry.Matched != 1 || dry.Replayed != 0 {
		t.Errorf("a dry run: %+v", dry)
	}
	one, err := h.Deliveries.Replay(ctx, refused, true)
	one = whole(h, one, err)
	h.until(one.ID, posthouse.Failed)
	all, err := h.Deliveries.ReplayAll(ctx, wire.ReplayAll{Kind: "duty", Ref: "7", ForceNew: true})
	if all = whole(h, all, err); all.Replayed != 2 {
		t.Errorf("ReplayAll: %+v, want the failed one and its replay", all)
	}
	if _, err := h.Deliveries.Replay(ctx, lost, false); posthouse.CodeOf(err) != posthouse.CodeConflict {
		t.Errorf("the replay of a sent one: %v, want code conflict", err)
	}
	if _, err := h.Deliveries.Get(ctx, "a/../b?c"); posthouse.CodeOf(err) != posthouse.CodeNotFound {
		t.Errorf("an odd id: %v, want code not_found", err)
	}
}

func TestChannels(t *testing.T) {
	t.Parallel()
	h := open(t)
	ctx := t.Context()
	ch, created, err := h.Channels.Put(ctx, posthouse.Channel{
		Name: "oa", Driver: "httpapi", Config: map[string]any{"url": "https://oa.example.com/send"},
		ChannelSettings: posthouse.ChannelSettings{Every: ptr(posthouse.Duration(60e9)), Tries: 3},
	})
	if ch = whole(h, ch, err); !created || ch.Tries != 3 {
		t.Errorf("PutChannel: created %t, %+v", created, ch)
	}
	ch, created, err = h.Channels.PutJSON(ctx, "oa", []byte(`{"driver":"discard"}`))
	if ch = whole(h, ch, err); created || ch.Driver != "discard" || ch.Version != 2 {
		t.Errorf("PutChannelJSON: created %t, %+v", created, ch)
	}
	ch, err = h.Channels.Get(ctx, "oa")
	whole(h, ch, err)
	ch, err = h.Channels.Pause(ctx, "oa", "they move house")
	if ch = whole(h, ch, err); !ch.Paused || ch.PauseReason != "they move house" {
		t.Errorf("PauseChannel: %+v", ch)
	}
	ch, err = h.Channels.Resume(ctx, "oa")
	if ch = whole(h, ch, err); ch.Paused {
		t.Errorf("ResumeChannel: %+v", ch)
	}
	test, err := h.Channels.Test(ctx, "out", wire.ChannelTest{To: posthouse.Recipient{User: "refused"}})
	if test = whole(h, test, err); test.OK || test.Code != "NO_SUCH_USER" {
		t.Errorf("TestChannel: %+v", test)
	}
	list, err := h.Channels.List(ctx)
	if list = whole(h, list, err); len(list) != 3 {
		t.Errorf("Channels: %d, want 3", len(list))
	}
	drivers, err := h.Channels.Drivers(ctx)
	whole(h, drivers, err)
	if err := h.Channels.Delete(ctx, "oa"); err != nil {
		t.Error(err)
	}
	if _, err := h.Channels.Get(ctx, "oa"); posthouse.CodeOf(err) != posthouse.CodeNotFound {
		t.Errorf("a deleted channel: %v, want code not_found", err)
	}
}

func TestTemplates(t *testing.T) {
	t.Parallel()
	h := open(t)
	ctx := t.Context()
	for _, text := range []string{"hello ${name}", "你好，${name}"} {
		stored, err := h.Templates.Put(ctx, posthouse.Template{Name: "greeting", Title: "Hi", Text: text})
		whole(h, stored, err)
	}
	first, err := h.Templates.Get(ctx, "greeting", 1)
	if first = whole(h, first, err); first.Text != "hello ${name}" {
		t.Errorf("version 1: %+v", first)
	}
	latest, err := h.Templates.Get(ctx, "greeting", 0)
	if latest = whole(h, latest, err); latest.Version != 2 || !slices.Equal(latest.Variables, []string{"name"}) {
		t.Errorf("the latest: %+v", latest)
	}
	preview, err := h.Templates.Preview(ctx, "greeting", wire.Preview{Payload: json.RawMessage(`{"name":"李娜"}`)})
	if preview = whole(h, preview, err); preview.Content.Text != "你好，李娜" || preview.Text.Characters != 5 {
		t.Errorf("PreviewTemplate: %+v", preview)
	}
	stored, err := h.Templates.Put(ctx, posthouse.Template{Name: "greeting", Text: "${name} ${remainMin}", ExternalID: "SE1001", Disabled: true})
	if stored = whole(h, stored, err); stored.ExternalID != "SE1001" || !stored.Disabled {
		t.Errorf("PutTemplate: %+v", stored)
	}
	past := &posthouse.Clock{Until: time.Unix(0, 0)}
	preview, err = h.Templates.Preview(ctx, "greeting", wire.Preview{Payload: json.RawMessage(`{"name":"李娜"}`), Clock: past, Channel: "out"})
	if preview = whole(h, preview, err); preview.Content.Text != "李娜 0" || preview.ExternalID != "SE1001" || !preview.Disabled || len(preview.Warnings) != 0 {
		t.Errorf("PreviewTemplate: %+v", preview)
	}
	test, err := h.Templates.Test(ctx, "greeting", wire.TemplateTest{
		Channel: "out", To: posthouse.Recipient{User: "u1"}, Payload: json.RawMessage(`{"name":"李娜"}`), Clock: past,
	})
	if test = whole(h, test, err); !test.OK {
		t.Errorf("TestTemplate: %+v", test)
	}
	list, err := h.Templates.List(ctx)
	whole(h, list, err)
	if err := h.Templates.Delete(ctx, "greeting"); err != nil {
		t.Error(err)
	}
}

func TestRosters(t *testing.T) {
	t.Parallel()
	h := open(t)
	ctx := t.Context()
	stored, err := h.Rosters.Put(ctx, posthouse.Roster{
		Name: "night", Days: map[string][]string{"1": {"u1"}, "2": {"u1"}}, Overrides: map[string][]string{"2020-10-01": {"u9"}}, HandOver: "08:30", TimeZone: "UTC",
	})
	whole(h, stored, err)
	found, err := h.Rosters.Get(ctx, "night")
	whole(h, found, err)
	check, err := h.Rosters.Check(ctx, "night")
	want := wire.RosterCheck{Name: "night", EmptyDays: []string{"3", "4", "5", "6", "7"}, Overlaps: map[string][]string{"u1": {"1", "2"}}, Past: []string{"2020-10-01"}}
	if diff := cmp.Diff(want, whole(h, check, err)); diff != "" {
		t.Errorf("CheckRoster:\n%s", diff)
	}
	duty, err := h.Rosters.OnDuty(ctx, "night")
	whole(h, duty, err)
	calendar, err := h.Rosters.Calendar(ctx, "night")
	if err != nil {
		t.Fatal(err)
	}
	dry, err := h.Rosters.ImportCalendar(ctx, "night", calendar, client.CalendarImport{DryRun: true, HandOver: "09:00", By: "summary", As: map[string]string{"u4": "u7", "x": "y"}, KeepUnknown: true})
	if dry = whole(h, dry, err); dry.HandOver != "09:00" {
		t.Errorf("a dry run: %+v", dry)
	}
	read, err := h.Rosters.ImportCalendar(ctx, "night", calendar, client.CalendarImport{})
	if read = whole(h, read, err); read.HandOver == "09:00" {
		t.Errorf("a dry run was stored: %+v", read)
	}
	imported, err := h.Rosters.Import(ctx, "night", []byte("day,user\n周五,u5\n"))
	if imported = whole(h, imported, err); imported.HandOver != "08:30" || !slices.Equal(imported.Days["5"], []string{"u5"}) {
		t.Errorf("ImportRoster: %+v", imported)
	}
	if csv, err := h.Rosters.Export(ctx, "night"); err != nil || string(csv) != "day,user\n5,u5\n" {
		t.Errorf("ExportRoster: %q, %v", csv, err)
	}
	list, err := h.Rosters.List(ctx)
	whole(h, list, err)
	if err := h.Rosters.Delete(ctx, "night"); err != nil {
		t.Error(err)
	}
}

func TestUsersAndKeys(t *testing.T) {
	t.Parallel()
	h := open(t)
	ctx := t.Context()
	n, err := h.Users.Put(ctx, posthouse.User{ID: "a/b c", Name: "李娜", Type: "branch", Addresses: map[string]string{"oa": "1001"}})
	whole(h, n, err)
	n, err = h.Users.Import(ctx, []byte("id,name,oa\nu2,Wang,1002\nu3,Zhao,1003\n"))
	if n = whole(h, n, err); n.Stored != 2 {
		t.Errorf("ImportUsers: %+v", n)
	}
	u, err := h.Users.Get(ctx, "a/b c")
	whole(h, u, err)
	count := 0
	for _, err := range client.All(ctx, h.Users.List, client.Filter{Limit: 2}) {
		if err != nil {
			t.Fatal(err)
		}
		count++
	}
	if count != 3 {
		t.Errorf("Users: %d, want 3", count)
	}
	if err := h.Users.Delete(ctx, "a/b c"); err != nil {
		t.Error(err)
	}

	key, err := h.Keys.Create(ctx, wire.Key{Name: "the branch's system", Scope: posthouse.ScopeSend})
	if key = whole(h, key, err); key.Secret == "" || key.Scope != posthouse.ScopeSend {
		t.Errorf("CreateKey: %+v", key)
	}
	if err := h.Keys.Revoke(ctx, key.ID); err != nil {
		t.Error(err)
	}
	keys, err := h.Keys.List(ctx)
	if keys = whole(h, keys, err); len(keys) != 2 || keys[1].RevokedAt.IsZero() {
		t.Errorf("Keys: %+v, want the first and the revoked one", keys)
	}
}

// TestNotices sends DUTY-1's request through the client.
func TestNotices(t *testing.T) {
	t.Parallel()
	h := open(t)
	ctx := t.Context()
	notice := wire.NewNotice{UserID: "u1", UserType: "分行", Platform: "天元", Content: "今晚值班"}
	var refused *posthouse.Error
	if _, err := h.Notices.Send(ctx, notice); !errors.As(err, &refused) || refused.Problems[0].Path != "platform" {
		t.Errorf("without a channel: %v, want a problem with the platform", err)
	}
	if _, _, err := h.Channels.Put(ctx, posthouse.Channel{Name: "tianyuan", Driver: "discard"}); err != nil {
		t.Fatal(err)
	}
	sent, err := h.Notices.Send(ctx, notice)
	if sent = whole(h, sent, err); sent.Status != "pending" {
		t.Errorf("SendNotice: %+v", sent)
	}
	found, err := h.Notices.Get(ctx, sent.ID)
	if found = whole(h, found, err); found.Content != "今晚值班" || found.Platform != "tianyuan" {
		t.Errorf("Notice: %+v", found)
	}
	list, err := h.Notices.List(ctx, client.NoticeFilter{Platform: "tianyuan", UserID: "u1"})
	if items := whole(h, list.Items, err); len(items) != 1 {
		t.Errorf("Notices: %+v", items)
	}
}

func TestHealthNeedsNoKey(t *testing.T) {
	t.Parallel()
	url, _ := served(t)
	c, err := client.New(client.Options{URL: url + "/"})
	if err != nil {
		t.Fatal(err)
	}
	health, err := c.Health(t.Context())
	if err != nil || health.Status != "ok" || health.Version != "v1.2.3" || health.Database != "sqlite" {
		t.Errorf("Health: %+v, %v", health, err)
	}
	if ready, err := c.Ready(t.Context()); err != nil || !ready.Ready {
		t.Errorf("Ready: %+v, %v", ready, err)
	}
	if _, err := c.Channels.List(t.Context()); posthouse.CodeOf(err) != posthouse.CodeUnauthorized {
		t.Errorf("Channels without a key: %v, want code unauthorized", err)
	}
}

func TestAServerThatIsNotReadyIsAnAnswer(t *testing.T) {
	t.Parallel()
	s := &script{answers: []answer{{status: 503, body: `{"ready":false,"checks":[{"name":"database","ok":false,"detail":"it does not answer"}]}`}}}
	got, err := s.client(t).Ready(t.Context())
	if err != nil || got.Ready || len(got.Checks) != 1 || len(s.calls) != 1 {
		t.Errorf("Ready: %+v, %v after %d calls", got, err, len(s.calls))
	}
}
