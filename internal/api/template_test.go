package api_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/server"
)

// narrow is a provider that takes titles of 5 bytes, and remembers what it was sent.
type narrow struct {
	mu   sync.Mutex
	sent []channel.Outgoing
}

func (n *narrow) Send(_ context.Context, out channel.Outgoing) channel.Result {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.sent = append(n.sent, out)
	return channel.Result{Class: posthouse.ClassOK, Ref: "r1"}
}

func (n *narrow) Fit(c posthouse.Content) []posthouse.Problem {
	if len(c.Title) <= 5 {
		return nil
	}
	return []posthouse.Problem{{Path: "title", Message: "is too long"}}
}

// narrowly is a house with the channel thin to a narrow provider, whose users need addresses.
func narrowly(t *testing.T) (*house, *narrow) {
	t.Helper()
	n := &narrow{}
	h := open(t, func(o *server.Options) {
		o.PlatformURL = "https://platform.example/"
		o.Drivers = append(o.Drivers, channel.Type{
			Name: "narrow", Title: "Narrow", TitleZH: "窄", Doc: "Takes short titles.", DocZH: "只接受短标题。", MaxBatch: 1, OwnAddresses: true,
			Open: func(channel.Config, channel.Env) (channel.Driver, error) { return n, nil },
		})
	})
	h.must(201, "PUT", "/v1/channels/thin", `{"driver":"narrow"}`)
	return h, n
}

// FLOW-10: the id at the provider, and a template that is switched off.
func TestATemplateHasAnExternalIDAndCanBeDisabled(t *testing.T) {
	t.Parallel()
	h, _ := narrowly(t)
	stored := read[posthouse.Template](t, h.must(200, "PUT", "/v1/templates/created", `{"text":"new","external_id":"SE1001","disabled":true}`))
	if stored.ExternalID != "SE1001" || !stored.Disabled || stored.Version != 1 {
		t.Errorf("stored %+v", stored)
	}
	draft := `{"channel":"thin","kind":"created","to":[{"user":"u1"}]}`
	refused := read[fault](t, h.must(422, "POST", "/v1/messages", draft))
	if len(refused.Problems) != 1 || !strings.Contains(refused.Problems[0].Message, `"created" is disabled`) {
		t.Errorf("problems %+v", refused.Problems)
	}
	if got := h.must(200, "POST", "/v1/templates/created/preview", `{}`).body; !strings.Contains(got, `"external_id":"SE1001","disabled":true`) {
		t.Errorf("preview %s", got)
	}
	enabled := read[posthouse.Template](t, h.must(200, "PUT", "/v1/templates/created", `{"text":"new","external_id":"SE1001"}`))
	if enabled.Version != 1 || enabled.Disabled {
		t.Errorf("enabled %+v, want the version that there was", enabled)
	}
	accepted := read[posthouse.Accepted](t, h.must(202, "POST", "/v1/messages", draft))
	if got := h.must(200, "GET", "/v1/messages/"+accepted.ID, "").body; !strings.Contains(got, `"external_template_id":"SE1001"`) {
		t.Errorf("message %s", got)
	}
	h.must(422, "PUT", "/v1/templates/created", `{"text":"new","external_id":"a\nb"}`)
}

func TestAPreviewCountsAndWarns(t *testing.T) {
	t.Parallel()
	h, n := narrowly(t)
	h.must(200, "PUT", "/v1/templates/late", `{"title":"over by ${overtime}","text":"see ${platformUrl}"}`)
	type view struct {
		Content  posthouse.Content
		Payload  json.RawMessage
		Problems []posthouse.Problem
		Warnings []posthouse.Problem
	}
	got := read[view](t, h.must(200, "POST", "/v1/templates/late/preview", `{"channel":"thin","clock":{"since":"2999-01-01T00:00:00Z"},"payload":{"maxDuration":5}}`))
	want := view{
		Content:  posthouse.Content{Title: "over by 0", Text: "see https://platform.example/"},
		Payload:  json.RawMessage(`{"maxDuration":0,"originalMaxDuration":5,"overtime":0,"platformUrl":"https://platform.example/"}`),
		Problems: []posthouse.Problem{}, Warnings: []posthouse.Problem{{Path: "title", Message: "is too long"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("preview (-want +got):\n%s", diff)
	}
	short := read[view](t, h.must(200, "POST", "/v1/templates/late/preview", `{"title":"x","text":"y","channel":"thin"}`))
	if len(short.Warnings) != 0 {
		t.Errorf("warnings %v of a title that fits", short.Warnings)
	}
	missing := read[view](t, h.must(200, "POST", "/v1/templates/late/preview", `{}`))
	if len(missing.Problems) != 1 || missing.Problems[0].Path != "payload.overtime" {
		t.Errorf("problems %v, want what the clock would give", missing.Problems)
	}
	h.must(404, "POST", "/v1/templates/late/preview", `{"channel":"none"}`)
	if len(n.sent) != 0 {
		t.Error("a preview was sent")
	}
}

func TestATemplateIsTestedByReallySendingIt(t *testing.T) {
	t.Parallel()
	h, n := narrowly(t)
	h.must(200, "PUT", "/v1/templates/done", `{"title":"T","text":"${name} ${remainMin}","external_id":"SE1002","disabled":true}`)
	h.must(200, "PUT", "/v1/users", `{"users":[{"id":"u1","addresses":{"thin":"li.na"}}]}`)
	test := func(status int, body string) string {
		t.Helper()
		return h.must(status, "POST", "/v1/templates/done/test", body).body
	}
	got := test(200, `{"channel":"thin","to":{"user":"u1"},"payload":{"name":"李娜"},"clock":{"until":"2020-01-01T00:00:00Z"}}`)
	if !strings.Contains(got, `"ok":true`) || !strings.Contains(got, `"provider_ref":"r1"`) {
		t.Errorf("answer %s", got)
	}
	if len(n.sent) != 1 {
		t.Fatalf("%d sends, want 1", len(n.sent))
	}
	out := n.sent[0]
	if out.Content.Text != "李娜 0" || out.Recipient.Address != "li.na" || out.Template != "done" || out.TemplateID != "SE1002" ||
		string(out.Payload) != `{"name":"李娜","remainMin":0}` {
		t.Errorf("sent %+v with %s", out, out.Payload)
	}
	for body, path := range map[string]string{
		`{"channel":"thin","to":{"user":"u1"}}`: "payload.name",
		`{"to":{"user":"u1"},"payload":{}}`:     "channel",
		`{"channel":"thin","payload":{}}`:       "to",
	} {
		if got := test(422, body); !strings.Contains(got, `"path":"`+path+`"`) {
			t.Errorf("%s: got %s, want a problem of %s", body, got, path)
		}
	}
	test(404, `{"channel":"none","to":{"user":"u1"},"payload":{"name":"x"},"clock":{"until":"2020-01-01T00:00:00Z"}}`)
	h.must(404, "POST", "/v1/templates/none/test", `{"channel":"thin","to":{"user":"u1"}}`)
	if len(n.sent) != 1 {
		t.Errorf("%d sends, want the one", len(n.sent))
	}
}

// A template carries what only the provider knows, with placeholders in its strings; what is wrong with it is said when it is stored.
func TestATemplateCarriesACard(t *testing.T) {
	t.Parallel()
	h, n := narrowly(t)
	stored := read[posthouse.Template](t, h.must(200, "PUT", "/v1/templates/card", `{"text":"x","type":"template","extra":{ "main_title": {"title": "${of.name}"}, "${n}": [1.50, "{n}"] },"texts":{"en":{"text":"y","extra":{"a":"${en}"}}}}`))
	if string(stored.Extra) != `{"main_title":{"title":"${of.name}"},"${n}":[1.50,"{n}"]}` || string(stored.Texts["en"].Extra) != `{"a":"${en}"}` {
		t.Errorf("stored %+v", stored)
	}
	if diff := cmp.Diff([]string{"of.name", "n", "en"}, stored.Variables); diff != "" {
		t.Errorf("variables (-want +got):\n%s", diff)
	}
	got := h.must(200, "POST", "/v1/templates/card/preview", `{"payload":{"of":{"name":"a\"b"},"n":7,"en":"e"}}`).body
	if !strings.Contains(got, `"content":{"type":"template","text":"x","extra":{"main_title":{"title":"a\"b"},"${n}":[1.50,"7"]}}`) {
		t.Errorf("preview %s", got)
	}
	if got := h.must(200, "POST", "/v1/templates/none/preview", `{"text":"x","type":"card","extra":{"url":"${u}"}}`).body; !strings.Contains(got, `"extra":{"url":"${u}"}`) || !strings.Contains(got, `"path":"payload.u"`) {
		t.Errorf("preview of what is not stored: %s", got)
	}
	h.must(200, "POST", "/v1/templates/card/test", `{"channel":"thin","to":{"user":"u1","address":"a"},"payload":{"of":{"name":"li"},"n":7,"en":"e"}}`)
	if len(n.sent) != 1 || string(n.sent[0].Content.Extra) != `{"main_title":{"title":"li"},"${n}":[1.50,"7"]}` {
		t.Errorf("sent %+v", n.sent)
	}
	for body, want := range map[string]string{
		`{"text":"x","type":"image"}`:                                      `"path":"type"`,
		`{"type":"card","extra":{"url":"x"}}`:                              `"path":"text"`,
		`{"text":"x","type":"letter"}`:                                     `"path":"type"`,
		`{"text":"x","type":"template"}`:                                   `"path":"extra"`,
		`{"text":"x","type":"news","extra":null}`:                          `"path":"extra"`,
		`{"text":"x","extra":[1]}`:                                         `"path":"extra"`,
		`{"text":"x","extra":{"a":"${ b"}}`:                                `"path":"extra"`,
		`{"text":"x","extra":{"b":"\u0000"}}`:                              `"path":"extra.b"`,
		`{"text":"x","extra":{"a":"` + strings.Repeat("a", 64<<10) + `"}}`: `"path":"extra"`,
		`{"text":"x","texts":{"en":{"text":"x","extra":{"a":"${ b"}}}}`:    `"path":"texts.en.extra"`,
		`{"text":"x","texts":{"en":{"text":"x","extra":"${b}"}}}`:          `"path":"texts.en.extra"`,
	} {
		if got := h.must(422, "PUT", "/v1/templates/wrong", body).body; !strings.Contains(got, want) {
			t.Errorf("%.80s: %s", body, got)
		}
	}
	h.must(200, "PUT", "/v1/templates/wordless", `{"type":"template","extra":{"a":"b"},"texts":{"en":{"text":"","extra":{"a":"c"}}}}`)
	// What a payload makes of it is bounded as a content's own is.
	h.must(200, "PUT", "/v1/templates/long", `{"text":"x","type":"card","extra":{"a":"${a}${a}"}}`)
	long := h.must(422, "POST", "/v1/messages", `{"channel":"thin","template":"long","to":[{"user":"u1","address":"a"}],"payload":{"a":"`+strings.Repeat("a", 40<<10)+`"}}`).body
	if !strings.Contains(long, `"path":"template"`) || !strings.Contains(long, "at most 65536 are allowed") {
		t.Errorf("a card of 80 KiB: %s", long)
	}
}
