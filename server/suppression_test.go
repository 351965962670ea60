package server_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/wire"
)

// suppressed are the suppressions of an address, all where it is empty, without their times.
func (h *house) suppressed(address string) []posthouse.Suppression {
	h.Helper()
	page, err := h.api.Suppressions.List(h.Context(), "", address, client.Filter{})
	h.must(err)
	for i := range page.Items {
		page.Items[i].CreatedAt = time.Time{}
	}
	return page.Items
}

// announces has WeChat tell that somebody follows an account, or has left it.
func (h *house) announces(path, openid, event string) {
	h.Helper()
	body := "<xml><FromUserName>" + openid + "</FromUserName><MsgType>event</MsgType><Event>" + event + "</Event></xml>"
	if status, said := h.calls(http.MethodPost, path+"?"+signedQuery(callbackToken, openid+event, time.Now()), body); status != 200 {
		h.Fatalf("%s: got %d %q", event, status, said)
	}
}

// I22: what is handed in after a suppression was answered is not sent; people change the list one by one, by files and page by
// page, and providers by what they tell.
func TestSuppressionsHoldFromTheirAnswerOn(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		h.mp("mp", nil)
		path := h.hook("mp", "")
		_, err := h.api.Suppressions.Add(h.Context(), wire.SuppressionDraft{Address: " o1 ", Reason: "asked by telephone"})
		h.must(err)
		sent := h.followers("mp", "o1", "o2")
		h.eventually("the others are sent to", func() bool { return h.delivery(sent["o2"]).State == posthouse.Sent })
		h.eventually("it is suppressed", func() bool { return h.delivery(sent["o1"]).State == posthouse.Suppressed })
		explained, err := h.api.Deliveries.Explain(h.Context(), sent["o1"])
		h.must(err)
		if !strings.Contains(explained.Summary, "suppressed (asked by telephone)") {
			h.Errorf("it is explained by %q", explained.Summary)
		}
		for range 2 { // it comes twice
			h.announces(path, "o3", "unsubscribe")
		}
		told := []posthouse.Suppression{{Address: "o3", Channel: "mp", Reason: "unsubscribe", Source: posthouse.SuppressedByCallback}}
		if diff := cmp.Diff(told, h.suppressed("o3")); diff != "" {
			h.Errorf("after an opt-out (-want +got):\n%s", diff)
		}
		h.must(h.api.Suppressions.Delete(h.Context(), "mp", "o3"))
		file := "openid,reason,until,channel\no4,left,,mp\no5,,2040-01-01T00:00:00Z,\no6,,yesterday,\no7,,,nowhere\n,,,\no4,again,,mp\n"
		tried := func(replaced int64) {
			h.Helper()
			before := h.suppressed("")
			would, err := h.api.Suppressions.TryImport(h.Context(), client.Part{}, wire.SuppressionDraft{Reason: "by file"}, strings.NewReader(file))
			h.must(err)
			if !would.DryRun || would.Stored != 3 || would.Refused != 3 || would.Replaced != replaced || len(would.Would) != 3 || would.Would[1].Reason != "by file" {
				h.Errorf("the trial: %+v", would)
			}
			if diff := cmp.Diff(before, h.suppressed("")); diff != "" {
				h.Errorf("the trial has stored something (-before +after):\n%s", diff)
			}
		}
		tried(0)
		done, err := h.api.Suppressions.Import(h.Context(), client.Part{}, wire.SuppressionDraft{Reason: "by file"}, strings.NewReader(file))
		h.must(err)
		tried(3)
		if done.Stored != 3 || done.Refused != 3 || done.First[0].Line != 4 || !strings.Contains(done.First[0].Reason, "until: is") || !strings.Contains(done.First[1].Reason, `no channel "nowhere"`) {
			h.Errorf("the import: %+v", done)
		}
		want := []posthouse.Suppression{
			{Address: "o1", Reason: "asked by telephone", Source: posthouse.SuppressedByPerson},
			{Address: "o4", Channel: "mp", Reason: "again", Source: posthouse.SuppressedByImport},
			{Address: "o5", Reason: "by file", Source: posthouse.SuppressedByImport, Until: time.Date(2040, 1, 1, 0, 0, 0, 0, time.UTC)},
		}
		if diff := cmp.Diff(want, h.suppressed(""), cmpopts.EquateApproxTime(0)); diff != "" {
			h.Errorf("the list (-want +got):\n%s", diff)
		}
		var paged []posthouse.Suppression
		for f := (client.Filter{Limit: 1}); ; {
			page, err := h.api.Suppressions.List(h.Context(), "", "", f)
			h.must(err)
			paged = append(paged, page.Items...)
			if f.Cursor = page.Next; f.Cursor == "" {
				break
			}
		}
		if len(paged) != 3 {
			h.Errorf("by pages: %+v", paged)
		}
		h.must(h.api.Suppressions.Delete(h.Context(), "", "o1"))
		id := h.followers("mp", "o1")["o1"]
		h.eventually("it is sent to again", func() bool { return h.delivery(id).State == posthouse.Sent })
		if err := h.api.Suppressions.Delete(h.Context(), "", "o1"); posthouse.CodeOf(err) != posthouse.CodeNotFound {
			h.Errorf("a second removal: %v", err)
		}
	})
}

// What is suppressed in all channels is so in those that are made later too, however they write an address, and is one line of the list.
func TestSuppressionsOfAllChannelsHoldInThoseThatComeLater(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		for _, address := range []string{"U90", "13800138009"} {
			_, err := h.api.Suppressions.Add(h.Context(), wire.SuppressionDraft{Address: address})
			h.must(err)
		}
		h.wecom()
		h.put(posthouse.Channel{Name: "plain", Driver: "discard"})
		h.put(posthouse.Channel{Name: "sms", Driver: "sms", Config: map[string]any{
			"provider": "aliyun", "url": h.sim.URL() + "/sms/aliyun", "access_key": "k", "secret": "s", "sign": "驿站", "template_id": "SMS_1",
		}})
		for channel, address := range map[string]string{"wecom": "u90", "plain": "13800138009", "sms": "+8613800138009"} {
			sent := h.hand(posthouse.Draft{Channel: channel, To: []posthouse.Recipient{{Address: address}}, Content: &posthouse.Content{Text: "hello"}, Payload: []byte(`{"code":"1"}`)})
			h.eventually(address+" of "+channel+" is suppressed", func() bool { return h.delivery(sent.Deliveries[0].ID).State == posthouse.Suppressed })
		}
		if got := h.suppressed(""); len(got) != 2 {
			h.Errorf("the list has %+v, want a line for each", got)
		}
		h.must(h.api.Suppressions.Delete(h.Context(), "", "u90"))
		h.must(h.api.Suppressions.Delete(h.Context(), "", "138 0013 8009"))
		if got := h.suppressed(""); len(got) != 0 {
			h.Errorf("after both were removed the list has %+v", got)
		}
	})
}

// A person who comes back, as the provider tells it, is sent to again; what a person has stored stays.
func TestAnOptInEndsAnOptOutAndNothingElse(t *testing.T) {
	h := open(t, dbtest.SQLite(t))
	h.mp("mp", nil)
	path := h.hook("mp", "")
	_, err := h.api.Suppressions.Add(t.Context(), wire.SuppressionDraft{Address: "o2", Channel: "mp"})
	h.must(err)
	h.announces(path, "o1", "unsubscribe")
	if n := len(h.suppressed("o1")); n != 1 {
		t.Errorf("%d suppressions after an opt-out", n)
	}
	h.announces(path, "o1", "subscribe")
	h.announces(path, "o2", "subscribe")
	if a, b := len(h.suppressed("o1")), len(h.suppressed("o2")); a != 0 || b != 1 {
		t.Errorf("%d and %d suppressions are left, want 0 and 1", a, b)
	}
	for name, draft := range map[string]wire.SuppressionDraft{
		"address: is required": {}, "channel: there is no channel": {Address: "o", Channel: "x"}, "until: is": {Address: "o", Until: time.Unix(1, 0)},
		"address: holds characters": {Address: "a\nb"}, "reason: ": {Address: "o", Reason: strings.Repeat("x", 300)},
	} {
		if _, err := h.api.Suppressions.Add(t.Context(), draft); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("want an error that says %q, got %v", name, err)
		}
	}
}
