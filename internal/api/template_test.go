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
