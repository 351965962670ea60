package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
)

func keyed(path, key, body string) request {
	return request{method: "POST", path: path, body: body, header: http.Header{"Idempotency-Key": {key}}}
}

const hello = `{"channel":"later","to":[{"user":"u1"},{"user":"u2"}],"content":{"text":"hello"},"priority":"high"}`

func TestARepeatedKeyGetsTheFirstAnswer(t *testing.T) {
	t.Parallel()
	h := with(t)
	first := h.do(keyed("/v1/messages", "k", hello))
	if first.status != 202 || first.header.Get("Idempotent-Replay") != "" {
		t.Fatalf("got %d %s %s", first.status, first.header, first.body)
	}
	for name, body := range map[string]string{
		"the same":    hello,
		"white space": strings.ReplaceAll(hello, ",", " ,\r\n\t"),
		"order":       `{"priority":"high","content":{"text":"hel\u006co"},"to":[{"user":"u1"},{"user":"u2"}],"channel":"later"}`,
	} {
		got := h.do(keyed("/v1/messages", "k", body))
		if got.status != 202 || got.body != first.body || got.header.Get("Idempotent-Replay") != "true" {
			t.Errorf("%s: got %d %s %s, want the first answer", name, got.status, got.header, got.body)
		}
	}
	for name, body := range map[string]string{
		"another text":            strings.Replace(hello, "hello", "bye", 1),
		"another order of a list": `{"channel":"later","to":[{"user":"u2"},{"user":"u1"}],"content":{"text":"hello"},"priority":"high"}`,
		"a field more":            strings.Replace(hello, "{", `{"kind":"k",`, 1),
	} {
		got := h.do(keyed("/v1/messages", "k", body))
		if f := read[fault](t, got); got.status != 422 || f.Code != posthouse.CodeKeyReused {
			t.Errorf("%s: got %d %s, want 422 key_reused", name, got.status, got.body)
		}
	}
	if n := len(read[list[any]](t, h.must(200, "GET", "/v1/messages", "")).Items); n != 1 {
		t.Errorf("%d messages are stored, want 1", n)
	}
}

func TestAKeyIsOfOneAddress(t *testing.T) {
	t.Parallel()
	h := with(t)
	h.must(201, "PUT", "/v1/channels/tianyuan", `{"driver":"discard"}`)
	notice := `{"userId":"u","userType":"branch","platform":"tianyuan","messageContent":"x"}`
	first := h.do(keyed("/v1/notices", "k", notice))
	if got := h.do(keyed("/v1/messages", "k", hello)); got.status != 202 || got.header.Get("Idempotent-Replay") != "" {
		t.Errorf("the key of a notice holds for a message: %d %s", got.status, got.body)
	}
	if got := h.do(keyed("/v1/notices", "k", notice)); got.status != first.status || got.body != first.body || got.header.Get("Idempotent-Replay") != "true" {
		t.Errorf("got %d %s, want %d %s again", got.status, got.body, first.status, first.body)
	}
}

func TestManyAtOnceWithOneKeyMakeOneMessage(t *testing.T) {
	t.Parallel()
	h := with(t)
	const callers = 64
	replies := make([]reply, callers)
	errs := make([]error, callers)
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() { replies[i], errs[i] = h.try(keyed("/v1/messages", "k", hello)) })
	}
	all.Wait()
	fresh := 0
	for i, r := range replies {
		if errs[i] != nil || r.status != 202 || r.body != replies[0].body {
			t.Errorf("caller %d: got %d %s %v, want %s", i, r.status, r.body, errs[i], replies[0].body)
		}
		if r.header.Get("Idempotent-Replay") == "" {
			fresh++
		}
	}
	if n := len(read[list[any]](t, h.must(200, "GET", "/v1/messages", "")).Items); n != 1 || fresh != 1 {
		t.Errorf("%d messages, %d first answers; want 1 and 1", n, fresh)
	}
}

func TestARefusedRequestDoesNotUseItsKey(t *testing.T) {
	t.Parallel()
	h := with(t)
	if got := h.do(keyed("/v1/messages", "k", `{}`)); got.status != 422 {
		t.Fatalf("got %d %s", got.status, got.body)
	}
	if got := h.do(keyed("/v1/messages", "k", hello)); got.status != 202 || got.header.Get("Idempotent-Replay") != "" {
		t.Errorf("got %d %s %s, want a first answer", got.status, got.header, got.body)
	}
}

func TestKeysThatCannotBeKept(t *testing.T) {
	t.Parallel()
	h := with(t)
	for name, test := range map[string]struct {
		keys []string
		want string
	}{
		"empty":     {[]string{""}, "has 0 bytes: want 1 to 255"},
		"long":      {[]string{strings.Repeat("k", 256)}, "has 256 bytes: want 1 to 255"},
		"not ASCII": {[]string{"驿"}, "holds characters beyond printable ASCII"},
		"two":       {[]string{"a", "b"}, "stands 2 times: once is allowed"},
	} {
		got := h.do(request{method: "POST", path: "/v1/messages", body: hello, header: http.Header{"Idempotency-Key": test.keys}})
		want := []posthouse.Problem{{Path: "header.Idempotency-Key", Message: test.want}}
		if diff := cmp.Diff(want, read[fault](t, got).Problems); diff != "" || got.status != 422 {
			t.Errorf("%s: got %d (-want +got):\n%s", name, got.status, diff)
		}
	}
	if got := h.do(keyed("/v1/messages", strings.Repeat("k", 255), hello)); got.status != 202 {
		t.Errorf("255 bytes: got %d %s, want 202", got.status, got.body)
	}
}

func TestADedupKeyNamesTheMessageThatStandsAlready(t *testing.T) {
	t.Parallel()
	h := with(t)
	draft := strings.Replace(hello, "{", `{"dedup_key":"d",`, 1)
	first := read[posthouse.Accepted](t, h.must(202, "POST", "/v1/messages", draft))
	second := read[posthouse.Accepted](t, h.must(200, "POST", "/v1/messages", draft))
	want := first
	want.DuplicateOf = first.ID
	if diff := cmp.Diff(want, second); diff != "" {
		t.Errorf("the second answer (-want +got):\n%s", diff)
	}
	many := read[struct{ Messages []posthouse.Accepted }](t, h.must(202, "POST", "/v1/messages", fmt.Sprintf(`{"messages":[%s,%s]}`, draft, hello))).Messages
	if many[0].DuplicateOf != first.ID || many[1].DuplicateOf != "" {
		t.Errorf("got %+v, want the first to be a duplicate of %s", many, first.ID)
	}
}
