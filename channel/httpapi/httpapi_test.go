package httpapi_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/channeltest"
	"github.com/posthouse/posthouse/channel/httpapi"
)

func open(t testing.TB, raw map[string]any, env channel.Env) channel.Driver {
	t.Helper()
	config, problems := httpapi.Type().Validate(raw)
	if len(problems) > 0 {
		t.Fatalf("problems: %+v", problems)
	}
	env.Network.AllowPrivate = true
	d, err := httpapi.Type().Open(config, env)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.(io.Closer).Close() })
	return d
}

func outgoing(n int) channel.Outgoing {
	return channel.Outgoing{
		Channel: "tianyuan", Message: "m1", Delivery: fmt.Sprintf("d%d", n), IdemKey: fmt.Sprintf("k%d", n), Attempt: 1,
		Recipient: posthouse.Recipient{User: fmt.Sprintf("u%d", n), Address: fmt.Sprintf("a%d", n)},
		Content:   posthouse.Content{Title: "值班提醒", Text: "您好"},
	}
}

// answered is one answer and what must be made of it.
type answered struct {
	name   string
	status int
	header string // of Retry-After
	body   string
	want   channel.Result // without excerpts
}

func (is answered) check(t *testing.T, config map[string]any, env channel.Env) {
	t.Helper()
	p := channeltest.NewProvider(t, func(w http.ResponseWriter, _ *http.Request) {
		if is.header != "" {
			w.Header().Set("Retry-After", is.header)
		}
		w.WriteHeader(is.status)
		io.WriteString(w, is.body)
	})
	raw := maps.Clone(config)
	raw["url"] = p.URL
	got := open(t, raw, env).Send(t.Context(), outgoing(1))
	got.Request, got.Response = "", ""
	got.Error = strings.ReplaceAll(got.Error, strings.TrimPrefix(p.URL, "http://"), "host")
	if diff := cmp.Diff(is.want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestJSONAnswers(t *testing.T) {
	t.Parallel()
	config := map[string]any{
		"body": `{"to":"${address}"}`, "success_path": "$.code", "success_values": []any{"0", "ok"}, "id_path": "$.result.ids[0]",
		"message_path": "$.message", "retry_after_path": "$.wait",
		"codes": map[string]any{"1001": "recipient", "45009": "rate", "77": "ok", "HTTP_404": "recipient", "5": "content", "9": "account"},
	}
	for _, is := range []answered{
		{"accepted", 200, "", `{"code":0,"result":{"ids":["m-9"]}}`, channel.Result{Class: "ok", Code: "0", Ref: "m-9"}},
		{"accepted as text", 201, "", `{"code":"ok","message":"fine"}`, channel.Result{Class: "ok", Code: "ok"}},
		{"a listed code", 200, "", `{"code":1001,"message":"no such user"}`, channel.Result{Class: "recipient", Code: "1001", Error: "no such user"}},
		{"a listed code that means accepted", 200, "", `{"code":77,"result":{"ids":[5]}}`, channel.Result{Class: "ok", Code: "77", Ref: "5"}},
		{"a code that is not listed", 200, "", `{"code":3}`, channel.Result{Class: "transient", Code: "3", Error: "the provider refused it with code 3"}},
		{"a wait in the body", 200, "", `{"code":45009,"wait":30}`, channel.Result{Class: "rate", Code: "45009", After: 30 * time.Second, Error: "the provider refused it with code 45009"}},
		{"a wait in the header", 429, "7", `{}`, channel.Result{Class: "rate", Code: "HTTP_429", After: 7 * time.Second, Error: "host answered HTTP 429 Too Many Requests"}},
		{"no code in it", 200, "", `{"status":"done"}`, channel.Result{Class: "unknown", Error: "the provider's answer could not be read, so it may have accepted"}},
		{"null for a code", 200, "", `{"code":null,"message":null,"result":null,"wait":null}`, channel.Result{Class: "unknown", Error: "the provider's answer could not be read, so it may have accepted"}},
		{"null for all but the code", 200, "", `{"code":0,"message":null,"result":{"ids":[null]},"wait":null}`, channel.Result{Class: "ok", Code: "0"}},
		{"null with another status", 500, "", `{"code":null,"message":null}`, channel.Result{Class: "unknown", Code: "HTTP_500", Error: "host answered HTTP 500 Internal Server Error"}},
		{"not JSON", 200, "", `OK`, channel.Result{Class: "unknown", Error: "the provider's answer could not be read, so it may have accepted"}},
		{"empty", 200, "", ``, channel.Result{Class: "unknown", Error: "the provider's answer could not be read, so it may have accepted"}},
		{"a listed code with another status", 500, "", `{"code":5,"message":"bad word"}`, channel.Result{Class: "content", Code: "5", Error: "bad word"}},
		{"success with another status", 500, "", `{"code":0}`, channel.Result{Class: "unknown", Code: "HTTP_500", Error: "host answered HTTP 500 Internal Server Error"}},
		{"a listed status", 404, "", ``, channel.Result{Class: "recipient", Code: "HTTP_404", Error: "host answered HTTP 404 Not Found"}},
		{"a redirect", 301, "", ``, channel.Result{Class: "account", Code: "HTTP_301", Error: "host answered with a redirect, HTTP 301, which is not followed: check the URL"}},
		{"lines and secrets in its message", 400, "", `{"code":9,"message":"token=abc\nfor 13812345678"}`, channel.Result{Class: "account", Code: "9", Error: "token=******** for 138****5678"}},
	} {
		t.Run(is.name, func(t *testing.T) { t.Parallel(); is.check(t, config, channel.Env{}) })
	}
}

// A null says neither success nor an error, wherever it stands.
func TestANullIsAsIfItWereNotThere(t *testing.T) {
	t.Parallel()
	apart := map[string]any{"body": `{}`, "success_path": "$.success", "success_values": []any{"true"}, "code_path": "$.errCode"}
	spoken := map[string]any{"encoding": "text", "body": "x", "success_text": "ACCEPTED", "code_path": "$.errCode"}
	whole := map[string]any{"body": `{}`, "success_path": "$", "success_values": []any{"0"}}
	unread := channel.Result{Class: "unknown", Error: "the provider's answer could not be read, so it may have accepted"}
	for _, is := range []struct {
		config map[string]any
		body   string
		want   channel.Result
	}{
		{apart, `{"success":null,"errCode":null}`, unread},
		{apart, `{"success":true,"errCode":null}`, channel.Result{Class: "ok"}},
		{apart, `{"success":null,"errCode":"E1"}`, channel.Result{Class: "transient", Code: "E1", Error: "the provider refused it with code E1"}},
		{spoken, `{"errCode":null}`, unread},
		{spoken, `{"errCode":"E1"}`, channel.Result{Class: "transient", Code: "E1", Error: "the provider refused it with code E1"}},
		{whole, " null\n", unread},
	} {
		t.Run(is.body, func(t *testing.T) {
			t.Parallel()
			answered{"", 200, "", is.body, is.want}.check(t, is.config, channel.Env{})
		})
	}
}

func TestTextAnswers(t *testing.T) {
	t.Parallel()
	config := map[string]any{
		"encoding": "text", "body": "${text}", "success_text": "ACCEPTED", "id_path": `/ACCEPTED (\w+)/`, "code_path": `/ERR-(\d+)/`,
		"message_path": `/ERR-\d+ (.*)/`, "codes": map[string]any{"7": "content"}, "other_codes": "request",
	}
	for _, is := range []answered{
		{"accepted", 200, "", "ACCEPTED 17", channel.Result{Class: "ok", Ref: "17"}},
		{"refused", 200, "", "ERR-7 too long", channel.Result{Class: "content", Code: "7", Error: "too long"}},
		{"refused otherwise", 200, "", "ERR-8", channel.Result{Class: "request", Code: "8", Error: "the provider refused it with code 8"}},
		{"neither", 200, "", "come back later", channel.Result{Class: "unknown", Error: "the provider's answer could not be read, so it may have accepted"}},
	} {
		t.Run(is.name, func(t *testing.T) { t.Parallel(); is.check(t, config, channel.Env{}) })
	}
}

func TestAnswersWithoutRules(t *testing.T) {
	t.Parallel()
	for _, is := range []answered{
		{"any 2xx is accepted", 204, "", "", channel.Result{Class: "ok"}},
		{"a server error that was promised to be harmless", 502, "", "", channel.Result{Class: "transient", Code: "HTTP_502", Error: "host answered HTTP 502 Bad Gateway"}},
	} {
		t.Run(is.name, func(t *testing.T) {
			t.Parallel()
			is.check(t, map[string]any{"server_errors": "transient"}, channel.Env{})
		})
	}
}

func TestTheChannelsCodesOverrideTheDrivers(t *testing.T) {
	t.Parallel()
	env := channel.Env{Codes: map[string]posthouse.Class{"1": posthouse.ClassRate, "HTTP_500": posthouse.ClassTransient}}
	config := map[string]any{"success_path": "$.c", "success_values": []any{"0"}, "codes": map[string]any{"1": "content"}}
	answered{"", 200, "", `{"c":1}`, channel.Result{Class: "rate", Code: "1", Error: "the provider refused it with code 1"}}.check(t, config, env)
	answered{"", 500, "", ``, channel.Result{Class: "transient", Code: "HTTP_500", Error: "host answered HTTP 500 Internal Server Error"}}.check(t, config, env)
}

func TestRequestIsWhatWasConfigured(t *testing.T) {
	t.Parallel()
	p := channeltest.NewProvider(t, channeltest.Reply(200, "{}"))
	d := open(t, map[string]any{
		"url": p.URL + "/v1/${channel}/${address}?u=${user}", "method": "PUT",
		"headers":            map[string]any{"x-token": "${secret.t}", "X-Message": "${message}", "Accept": "application/json"},
		"secrets":            map[string]any{"t": "hunter22"},
		"body":               `{"title":"${title}","text":${text}}`,
		"idempotency_header": "Idempotency-Key", "idempotency_window": "1h",
	}, channel.Env{})
	out := outgoing(1)
	out.Recipient.Address = "张 三/1"
	if r := d.Send(t.Context(), out); r.Class != posthouse.ClassOK || strings.Contains(r.Request, "hunter22") {
		t.Fatalf("result = %+v", r)
	}
	a := p.Arrivals()[0]
	got := []string{a.Method, a.Target, a.Header.Get("X-Token"), a.Header.Get("X-Message"), a.Header.Get("Accept"), a.Header.Get("Content-Type"), a.Header.Get("Idempotency-Key"), string(a.Body)}
	want := []string{"PUT", "/v1/tianyuan/%E5%BC%A0%20%E4%B8%89%2F1?u=u1", "hunter22", "m1", "application/json", "application/json; charset=utf-8", "k1", `{"title":"值班提醒","text":"您好"}`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWhatCannotBeFilledIsNotSent(t *testing.T) {
	t.Parallel()
	p := channeltest.NewProvider(t, channeltest.Reply(200, "{}"))
	for name, is := range map[string]struct {
		config map[string]any
		change func(*channel.Outgoing)
		want   posthouse.Class
		says   string
	}{
		"a payload value that is missing": {map[string]any{"url": p.URL, "body": `{"a":"${payload.order}"}`}, func(*channel.Outgoing) {}, "content", "payload.order"},
		"a path that would climb":         {map[string]any{"url": p.URL + "/users/${address}/send"}, func(o *channel.Outgoing) { o.Recipient.Address = ".." }, "content", "path"},
		"a line break in a header":        {map[string]any{"url": p.URL, "headers": map[string]any{"X-T": "${title}"}}, func(o *channel.Outgoing) { o.Content.Title = "a\r\nB: c" }, "request", "X-T"},
	} {
		out := outgoing(1)
		is.change(&out)
		r := open(t, is.config, channel.Env{}).Send(t.Context(), out)
		if r.Class != is.want || r.Code != channel.CodeRequest || !strings.Contains(r.Error, is.says) {
			t.Errorf("%s: result = %+v", name, r)
		}
	}
	if n := len(p.Arrivals()); n != 0 {
		t.Errorf("%d requests arrived, want none", n)
	}
}

func TestBatchWithAResultForEach(t *testing.T) {
	t.Parallel()
	config := map[string]any{
		"body": `{"to":${addresses}}`, "batch": 10, "success_path": "$.code", "success_values": []any{"0"},
		"results_path": "$.list", "result_recipient": "$.to", "result_code": "$.code", "result_message": "$.why", "result_id": "$.id",
		"retry_after_path": "$.wait", "codes": map[string]any{"1001": "recipient", "45009": "rate"},
	}
	const unmentioned = "the provider's answer does not mention this recipient"
	const unlisted = "the provider's answer lists no results, so it may have accepted"
	all := func(r channel.Result) []channel.Result { return []channel.Result{r, r, r} }
	tooFast := all(channel.Result{Class: "rate", Code: "45009", After: 5 * time.Second, Error: "the provider refused it with code 45009"})
	for name, is := range map[string]struct {
		status int
		body   string
		want   []channel.Result
	}{
		"by address, user, delivery": {200, `{"code":0,"list":[{"to":"u2","code":1001,"why":"gone"},{"to":"a1","code":0,"id":"m1"},{"to":"d3","code":8}]}`, []channel.Result{
			{Class: "ok", Code: "0", Ref: "m1"}, {Class: "recipient", Code: "1001", Error: "gone"}, {Class: "transient", Code: "8", Error: "the provider refused it with code 8"},
		}},
		"one is not mentioned": {200, `{"list":[{"to":"a1","code":0},{"to":"a3"},{"code":0},"x",null]}`, []channel.Result{
			{Class: "ok", Code: "0"}, {Class: "unknown", Error: unmentioned}, {Class: "unknown", Error: "the provider's answer has no code for this recipient"},
		}},
		"a null for a code": {200, `{"code":0,"list":[{"to":"a1","code":null},{"to":"a2","code":0,"id":null},{"to":null,"code":0}]}`, []channel.Result{
			{Class: "unknown", Error: "the provider's answer has no code for this recipient"}, {Class: "ok", Code: "0"}, {Class: "unknown", Error: unmentioned},
		}},
		"all refused, with an empty list":    {200, `{"code":45009,"wait":5,"list":[ ]}`, tooFast},
		"all refused, with null for a list":  {200, `{"code":45009,"wait":5,"list":null}`, tooFast},
		"refused, with results all the same": {200, `{"code":45009,"wait":5,"list":[null]}`, all(channel.Result{Class: "unknown", Error: unmentioned})},
		"accepted, with an empty list":       {200, `{"code":0,"list":[]}`, all(channel.Result{Class: "unknown", Error: unlisted})},
		"an empty list and nothing else":     {200, `{"list":[]}`, all(channel.Result{Class: "unknown", Error: "the provider's answer could not be read, so it may have accepted"})},
		"all refused": {200, `{"code":1001}`, []channel.Result{
			{Class: "recipient", Code: "1001", Error: "the provider refused it with code 1001"}, {Class: "recipient", Code: "1001", Error: "the provider refused it with code 1001"}, {Class: "recipient", Code: "1001", Error: "the provider refused it with code 1001"},
		}},
		"accepted without a list": {200, `{"code":0}`, []channel.Result{
			{Class: "unknown", Error: "the provider's answer lists no results, so it may have accepted"}, {Class: "unknown", Error: "the provider's answer lists no results, so it may have accepted"}, {Class: "unknown", Error: "the provider's answer lists no results, so it may have accepted"},
		}},
		"a list with another status": {500, `{"list":[{"to":"a1","code":0}]}`, []channel.Result{
			{Class: "unknown", Code: "HTTP_500", Error: "host answered HTTP 500 Internal Server Error"}, {Class: "unknown", Code: "HTTP_500", Error: "host answered HTTP 500 Internal Server Error"}, {Class: "unknown", Code: "HTTP_500", Error: "host answered HTTP 500 Internal Server Error"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := channeltest.NewProvider(t, channeltest.Reply(is.status, is.body))
			raw := maps.Clone(config)
			raw["url"] = p.URL
			d := open(t, raw, channel.Env{})
			got := d.(channel.BatchDriver).SendBatch(t.Context(), []channel.Outgoing{outgoing(1), outgoing(2), outgoing(3)})
			for i := range got {
				got[i].Request, got[i].Response = "", ""
				got[i].Error = strings.ReplaceAll(got[i].Error, strings.TrimPrefix(p.URL, "http://"), "host")
			}
			if diff := cmp.Diff(is.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if a := p.Arrivals(); len(a) != 1 || string(a[0].Body) != `{"to":["a1","a2","a3"]}` {
				t.Errorf("arrived: %+v", a)
			}
		})
	}
}

func TestConfigurationNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	for name, is := range map[string]struct {
		config map[string]any
		want   []string
	}{
		"texts that cannot be read": {map[string]any{"url": "https://h/${usr}", "body": `{"a":"${text"}`, "headers": map[string]any{"X": "${secret.k}", "Y Z": "1"}},
			[]string{"config.body", "config.headers.X", "config.headers.Y Z", "config.url"}},
		"a placeholder in the host":       {map[string]any{"url": "https://${address}/"}, []string{"config.url"}},
		"a body that is not JSON":         {map[string]any{"body": `{"a":${text}`}, []string{"config.body"}},
		"a GET with a body":               {map[string]any{"method": "GET", "body": `{}`}, []string{"config.body"}},
		"paths that cannot be read":       {map[string]any{"success_path": "code", "success_values": []any{"0"}, "id_path": "/(/", "code_path": "$..x"}, []string{"config.code_path", "config.id_path", "config.success_path"}},
		"success without its values":      {map[string]any{"success_path": "$.code"}, []string{"config.success_values"}},
		"values without their place":      {map[string]any{"success_values": []any{"0"}}, []string{"config.success_path"}},
		"two ways to say success":         {map[string]any{"success_path": "$.code", "success_values": []any{"0"}, "success_text": "ok"}, []string{"config.success_text"}},
		"a class there is not":            {map[string]any{"codes": map[string]any{"1": "retry"}}, []string{"config.codes.1"}},
		"one recipient's name in a batch": {map[string]any{"batch": 2, "body": `{"a":"${address}"}`, "url": "https://h/${user}"}, []string{"config.url", "config.body"}},
		"a batch out of bounds":           {map[string]any{"batch": 5000}, []string{"config.batch"}},
		"results that cannot be told":     {map[string]any{"results_path": "$.r"}, []string{"config.result_recipient", "config.result_code"}},
		"results that are not there":      {map[string]any{"result_code": "$.c"}, []string{"config.result_code"}},
		"a promise nobody keeps":          {map[string]any{"idempotency_window": "1h", "body": `{}`}, []string{"config.idempotency_window"}},
		"a promise no batch keeps":        {map[string]any{"idempotency_window": "1h", "idempotency_header": "X-Key", "batch": 2, "body": `{"a":${users}}`}, []string{"config.idempotency_window"}},
		"a header that is none":           {map[string]any{"idempotency_header": "X Key"}, []string{"config.idempotency_header"}},
	} {
		raw := map[string]any{"url": "https://h/send"}
		maps.Copy(raw, is.config)
		_, problems := httpapi.Type().Validate(raw)
		var got []string
		for _, p := range problems {
			got = append(got, p.Path)
		}
		if diff := cmp.Diff(is.want, got); diff != "" {
			t.Errorf("%s: %+v (-want +got):\n%s", name, problems, diff)
		}
	}
}

func TestTypeAnswersFromTheConfiguration(t *testing.T) {
	t.Parallel()
	config, problems := httpapi.Type().Validate(map[string]any{
		"url": "https://h/", "batch": 50, "idempotency_window": "10m", "body": `{"to":${addresses},"keys":${idempotency_keys}}`,
	})
	if len(problems) > 0 {
		t.Fatalf("problems: %+v", problems)
	}
	if size, window := httpapi.Type().BatchSize(config), httpapi.Type().IdempotencyWindow(config); size != 50 || window != 10*time.Minute {
		t.Errorf("batch %d, window %s; want 50, 10m", size, window)
	}
}

// A house's own gateway takes configuration only (DUTY-12).
func Example() {
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Printf("%s %s %s\n", r.Method, r.URL, body)
		io.WriteString(w, `{"returnCode":"E4001","returnMsg":"用户不存在"}`)
	}))
	defer gateway.Close()

	config, problems := httpapi.Type().Validate(map[string]any{
		"url":            gateway.URL + "/tianyuan/message/send",
		"headers":        map[string]any{"X-App-Key": "${secret.app}"},
		"secrets":        map[string]any{"app": "b3f09c55"},
		"body":           `{"receiver": "${user}", "content": "${text}", "bizNo": "${idempotency_key}"}`,
		"success_path":   "$.returnCode",
		"success_values": []any{"0000"},
		"message_path":   "$.returnMsg",
		"codes":          map[string]any{"E4001": "recipient", "E4290": "rate"},
	})
	if len(problems) > 0 {
		fmt.Println(problems)
		return
	}
	driver, _ := httpapi.Type().Open(config, channel.Env{Network: channel.Network{AllowPrivate: true}})
	result := driver.Send(context.Background(), channel.Outgoing{
		IdemKey:   "01K6",
		Recipient: posthouse.Recipient{User: "u1001"},
		Content:   posthouse.Content{Text: "今晚您值班"},
	})
	fmt.Printf("%s, %s: %s\n", result.Class, result.Code, result.Error)
	// Output:
	// POST /tianyuan/message/send {"receiver": "u1001", "content": "今晚您值班", "bizNo": "01K6"}
	// recipient, E4001: 用户不存在
}

func BenchmarkSend(b *testing.B) {
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		io.WriteString(w, `{"code":0,"message":"ok","msgid":"m-1"}`)
	}))
	defer gateway.Close()
	d := open(b, map[string]any{
		"url": gateway.URL, "headers": map[string]any{"X-App-Key": "b3f09c55"},
		"body":         `{"to":"${address}","title":"${title}","text":"${text}","key":"${idempotency_key}"}`,
		"success_path": "$.code", "success_values": []any{"0"}, "id_path": "$.msgid",
	}, channel.Env{})
	out := outgoing(1)
	out.Content.Text = strings.Repeat("Please call back. ", 12)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if r := d.Send(context.Background(), out); r.Class != posthouse.ClassOK {
				b.Error(r)
			}
		}
	})
}
