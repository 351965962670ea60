package httpapi

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/render"
)

func filled(t *testing.T, text string, place render.Place) string {
	t.Helper()
	syn := syntax{place: place, secrets: map[string]string{"key": "SECabc", "path": "a/b?c=d"}, values: map[string]string{"id": "app", "none": ""}}
	parsed, err := parseTemplate("body", text, syn)
	if err != nil {
		t.Fatal(err)
	}
	s := &scope{
		outs: []channel.Outgoing{{Recipient: posthouse.Recipient{Address: "u1"}, Content: posthouse.Content{Text: `say "hi"`}, Payload: json.RawMessage(`{"n":7}`)}},
		now:  time.Unix(1700000000, 0), uuid: "8a4f", token: "T",
	}
	out, err := parsed.render(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// The sums are those that other implementations give: sha256sum, md5sum and openssl dgst -hmac.
func TestFunctionsOfPlaceholders(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		place      render.Place
		text, want string
	}{
		{render.Plain, `${hex(sha256("abc"))}`, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
		{render.Plain, `${hex(md5("a", "b", "c"))}`, "900150983cd24fb0d6963f7d28e17f72"},
		{render.Plain, `${hex(hmac_sha256("key", "The quick brown fox jumps over the lazy dog"))}`, "f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8"},
		{render.Plain, `Basic ${base64(value.id, ":", secret.key)}`, "Basic YXBwOlNFQ2FiYw=="},
		{render.Plain, `${urlencode("a b&c")} ${now} ${now_ms} ${now_s} ${uuid}`, "a+b%26c 1700000000 1700000000000 1700000000 8a4f"},
		{render.Plain, `${join( "x}", json(text) , "\n" )}`, "x}\"say \\\"hi\\\"\"\n"},
		{render.JSONValue, `{"c": "${join("{\"text\":", json(text), "}")}", "n": ${join(payload.n, "")}}`, `{"c": "{\"text\":\"say \\\"hi\\\"\"}", "n": "7"}`},
		{render.URLPath, `https://h/${raw(secret.path)}&s=${base64(sha256("abc"))}`, "https://h/a/b?c=d&s=ungWv48Bz%2BpBQUDeXa4iI7ADYaOWF3qctBD%2FYfIAFa0%3D"},
		{render.Plain, `${lines(value.none, "a", "", value.id)}|${lines("", "")}`, "a\napp|"},
		{render.URLPath, `https://h/${secret.path}`, "https://h/a%2Fb%3Fc=d"},
	} {
		if got := filled(t, c.text, c.place); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.text, got, c.want)
		}
	}
}

func TestFunctionsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		`${sha265("x")}`:         "did you mean sha256",
		`${sha256("x")}`:         "put hex(…) or base64(…) around it",
		`${join("a", md5("x"))}`: "put hex(…) or base64(…) around it",
		`${json(md5("x"))}`:      "takes a text",
		`${hex(sha256("x")}`:     "no closing parenthesis",
		`${hex("x") y}`:          "stands behind the end",
		`${hex()}`:               "an argument is missing",
		`${hex("x",)}`:           "an argument is missing",
		`${hmac_sha256("k")}`:    "at least 2",
		`${raw(text)}`:           "takes a secret or a value alone",
		`${hex(raw(secret.k))}`:  "takes a secret or a value alone",
		`${hex("\q")}`:           "no closing quote",
		`${hex(usr)}`:            "did you mean",
		`${hex(secret.none)}`:    `no "none" among the secrets`,
		`${token}`:               "token_url is missing",
		`${report.x}`:            "no placeholder",
		"${" + strings.Repeat("hex(", 10) + `"x"` + strings.Repeat(")", 10) + "}": "more than 8 deep",
		`${hex("x"` + strings.Repeat(`,"x"`, 16) + `)}`:                           "at most 16",
	} {
		_, err := parseTemplate("body", text, syntax{secrets: map[string]string{"k": "v"}})
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: error %v, want it to say %q", text, err, says)
		}
	}
}

func rehearse(t *testing.T, raw map[string]any) *Rehearsal {
	t.Helper()
	config, problems := Type().Validate(raw)
	if len(problems) > 0 {
		t.Fatalf("problems: %+v", problems)
	}
	r, err := Rehearse(config)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestTheTableOfCodesReadsTextsStatusesAndPaths(t *testing.T) {
	t.Parallel()
	r := rehearse(t, map[string]any{
		"url": "https://h/", "success_path": "$.code", "success_values": []any{"0"}, "message_path": "$.msg", "id_path": "$.id",
		"codes": map[string]any{
			"310000": "account", "310000 keywords not in content": "content", "* quota": "account 1h", "1": "rate 10m",
			"$.errors.to": "recipient", "$.state=3": "content", "HTTP_400 no_service": "account", "HTTP_400": "request",
		},
	})
	for _, c := range []struct {
		status int
		body   string
		class  posthouse.Class
		code   string
		after  time.Duration
	}{
		{200, `{"code":0,"id":"m"}`, "ok", "0", 0},
		{200, `{"code":310000,"msg":"sign not match"}`, "account", "310000", 0},
		{200, `{"code":310000,"msg":"Keywords not in content, more: x"}`, "content", "310000", 0},
		{200, `{"code":77,"msg":"daily Quota exceeded"}`, "account", "77", time.Hour},
		{200, `{"code":1}`, "rate", "1", 10 * time.Minute},
		{200, `{"code":77,"errors":{"to":"unknown"}}`, "recipient", "77", 0},
		{200, `{"code":77,"errors":{"to":""}}`, "transient", "77", 0},
		{200, `{"code":0,"state":3}`, "content", "0", 0},
		{400, "no_service", "account", "HTTP_400", 0},
		{400, "what", "request", "HTTP_400", 0},
	} {
		got := r.Results(make([]channel.Outgoing, 1), Answer{Status: c.status, Body: []byte(c.body)})[0]
		if got.Class != c.class || got.Code != c.code || got.After != c.after {
			t.Errorf("%s: got %s, %s, after %s; want %s, %s, %s", c.body, got.Class, got.Code, got.After, c.class, c.code, c.after)
		}
	}
}

func TestResultsAreKeyedByRecipient(t *testing.T) {
	t.Parallel()
	outs := []channel.Outgoing{outTo("a"), outTo("b"), outTo("c")}
	for name, c := range map[string]struct {
		raw  map[string]any
		body string
		want []posthouse.Class
	}{
		"a map below a name that nobody knows": {map[string]any{
			"results_path": "$.data.*", "result_recipient": "key", "result_code": "$", "result_success": []any{"online", "offline"},
			"codes": map[string]any{"ignore": "recipient"},
		}, `{"code":0,"data":{"T_7":{"a":"online","b":"ignore"}}}`, []posthouse.Class{"ok", "recipient", "unknown"}},
		"lists of the failed": {map[string]any{
			"failed": map[string]any{"$.invalid": "recipient", "$.slow": "rate 1m"},
		}, `{"code":0,"invalid":["A"],"slow":"b,x"}`, []posthouse.Class{"recipient", "rate", "ok"}},
		"nobody failed": {map[string]any{
			"failed": map[string]any{"$.invalid": "recipient"},
		}, `{"code":0,"invalid":""}`, []posthouse.Class{"ok", "ok", "ok"}},
	} {
		raw := map[string]any{"url": "https://h/", "batch": 3, "body": `{"to":${addresses}}`, "success_path": "$.code", "success_values": []any{"0"}}
		for k, v := range c.raw {
			raw[k] = v
		}
		var got []posthouse.Class
		for _, r := range rehearse(t, raw).Results(outs, Answer{Status: 200, Body: []byte(c.body)}) {
			got = append(got, r.Class)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func outTo(address string) channel.Outgoing {
	return channel.Outgoing{Recipient: posthouse.Recipient{Address: address}}
}

// withReceipts is a channel whose provider signs what it brings.
func withReceipts(more map[string]any) map[string]any {
	raw := map[string]any{
		"url": "https://h/", "body": `{"to":"${address}"}`, "id_path": "$.id", "secrets": map[string]any{"back": "k"},
		"receipt_id": "$.msg", "receipt_state": "$.st", "receipt_delivered": []any{"DELIVRD"}, "receipt_failed": []any{"UNDELIV"},
		"receipt_code": "$.err", "receipt_signature": "${header.X-Sign}", "receipt_expects": "${hex(hmac_sha256(secret.back, body))}", "receipt_answer": "ok",
	}
	for k, v := range more {
		raw[k] = v
	}
	return raw
}

func TestReceiptsByConfiguration(t *testing.T) {
	t.Parallel()
	const body = `[{"msg":"1","st":"delivrd"},{"msg":"2","st":"UNDELIV","err":"27"},{"msg":"3","st":"ENROUTE"}]`
	r := rehearse(t, withReceipts(nil))
	signed := channel.Callback{Method: "POST", Body: []byte(body), Header: http.Header{"X-Sign": {filledHMAC(t, body)}}}
	heard, err := r.Receive(signed)
	if err != nil {
		t.Fatal(err)
	}
	want := []channel.Report{
		{Ref: "1", Receipt: channel.Receipt{Known: true, Delivered: true}},
		{Ref: "2", Receipt: channel.Receipt{Known: true, Code: "27", Error: "the provider did not deliver it: UNDELIV"}},
	}
	if diff := cmp.Diff(want, heard.Reports); diff != "" || heard.Answer != "ok" {
		t.Errorf("answer %q (-want +got):\n%s", heard.Answer, diff)
	}
	for name, c := range map[string]channel.Callback{
		"no signature": {Method: "POST", Body: []byte(body)},
		"another body": {Method: "POST", Body: []byte(strings.Replace(body, "UNDELIV", "DELIVRD", 1)), Header: signed.Header},
		"an empty one": {Method: "POST", Body: []byte(body), Header: http.Header{"X-Sign": {""}}},
		"no JSON":      {Method: "POST", Body: []byte("x"), Header: signed.Header},
		"a look at it": {Method: "GET"},
	} {
		if _, err := r.Receive(c); err == nil {
			t.Errorf("%s: it was taken", name)
		}
	}
}

func filledHMAC(t *testing.T, body string) string {
	t.Helper()
	return filled(t, `${hex(hmac_sha256("k", `+string(render.JSONValue.Append(nil, body))+`))}`, render.Plain)
}

func TestReceiptsInLinesAndForms(t *testing.T) {
	t.Parallel()
	each := map[string]any{"receipt_signature": "${report.sign}", "receipt_expects": `${hex(md5(report.msg, secret.back))}`, "receipt_encoding": "json_lines"}
	lines := rehearse(t, withReceipts(each))
	one := `{"msg":"1","st":"DELIVRD","sign":"` + filled(t, `${hex(md5("1", "k"))}`, render.Plain) + `"}`
	if heard, err := lines.Receive(channel.Callback{Method: "POST", Body: []byte(one + "\n" + one + "\n")}); err != nil || len(heard.Reports) != 2 {
		t.Errorf("lines: %+v, %v", heard, err)
	}
	if _, err := lines.Receive(channel.Callback{Method: "POST", Body: []byte(one + "\n" + strings.Replace(one, `"1"`, `"2"`, 1))}); err == nil {
		t.Error("a line with another's signature was taken")
	}
	form := rehearse(t, withReceipts(map[string]any{"receipt_encoding": "form", "receipt_signature": "", "receipt_expects": "", "receipt_echo": "echo", "receipt_failed": []any{"*"}}))
	heard, err := form.Receive(channel.Callback{Method: "POST", Body: []byte("msg=7&st=gone&err=30003")})
	want := []channel.Report{{Ref: "7", Receipt: channel.Receipt{Known: true, Code: "30003", Error: "the provider did not deliver it: gone"}}}
	if diff := cmp.Diff(want, heard.Reports); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if heard, err := form.Receive(channel.Callback{Method: "GET", Query: url.Values{"echo": {"hello"}}}); err != nil || heard.Answer != "hello" {
		t.Errorf("echo: %+v, %v", heard, err)
	}
	within := rehearse(t, withReceipts(map[string]any{"receipt_encoding": "form", "receipt_path": "$.list", "receipt_signature": "", "receipt_expects": ""}))
	heard, err = within.Receive(channel.Callback{Method: "POST", Body: []byte("list=" + url.QueryEscape(`[{"msg":"8","st":"DELIVRD"}]`))})
	if err != nil || len(heard.Reports) != 1 || heard.Reports[0].Ref != "8" {
		t.Errorf("JSON in a form: %+v, %v", heard, err)
	}
	deep := rehearse(t, withReceipts(map[string]any{"receipt_path": "$.entry.*.changes.*.statuses", "receipt_signature": "", "receipt_expects": ""}))
	heard, err = deep.Receive(channel.Callback{Method: "POST", Body: []byte(`{"entry":[{"changes":[{"statuses":[{"msg":"1","st":"DELIVRD"}]},{}]},{"changes":[{"statuses":[{"msg":"2","st":"DELIVRD"}]}]}]}`)})
	if err != nil || len(heard.Reports) != 2 {
		t.Errorf("deep: %+v, %v", heard, err)
	}
}

func TestAbilitiesNameWhatIsWrong(t *testing.T) {
	t.Parallel()
	token := map[string]any{"token_url": "https://h/token", "token_path": "$.t"}
	for name, c := range map[string]struct {
		raw  map[string]any
		want string
	}{
		"a body within itself":          {map[string]any{"body": `{"sign":"${hex(md5(body))}"}`}, "config.body"},
		"a wait that is none":           {map[string]any{"codes": map[string]any{"1": "rate soon"}}, "config.codes.1"},
		"a path that is none":           {map[string]any{"codes": map[string]any{"$..x": "rate"}}, "config.codes.$..x"},
		"a list of the failed by code":  {map[string]any{"failed": map[string]any{"1": "recipient"}}, "config.failed.1"},
		"a token that is nowhere":       {map[string]any{"token_path": "$.t"}, "config.token_path"},
		"no path of the token":          {map[string]any{"token_url": "https://h/"}, "config.token_path"},
		"a recipient in a token's body": {mixed(token, map[string]any{"token_body": `{"a":"${address}"}`}), "config.token_body"},
		"a token within itself":         {mixed(token, map[string]any{"token_body": `{"a":"${token}"}`}), "config.token_body"},
		"a body of a GET":               {mixed(token, map[string]any{"token_body": `{}`, "token_method": "GET"}), "config.token_body"},
		"a class there is not":          {mixed(token, map[string]any{"token_codes": map[string]any{"1": "retry"}}), "config.token_codes.1"},
		"receipts without an id":        {map[string]any{"receipt_state": "$.s"}, "config.receipt_state"},
		"receipts of nothing":           {withReceipts(map[string]any{"id_path": ""}), "config.receipt_id"},
		"half a signature":              {withReceipts(map[string]any{"receipt_expects": ""}), "config.receipt_signature"},
		"a signature of nothing":        {withReceipts(map[string]any{"receipt_expects": "${secret.back}"}), "config.receipt_expects"},
		"a message's name in a receipt": {withReceipts(map[string]any{"receipt_expects": "${text}"}), "config.receipt_expects"},
		"states without words":          {withReceipts(map[string]any{"receipt_delivered": []any{}, "receipt_failed": []any{}}), "config.receipt_delivered"},
	} {
		raw := mixed(map[string]any{"url": "https://h/"}, c.raw)
		_, problems := Type().Validate(raw)
		var got []string
		for _, p := range problems {
			got = append(got, p.Path)
		}
		if diff := cmp.Diff([]string{c.want}, got); diff != "" {
			t.Errorf("%s: %+v (-want +got):\n%s", name, problems, diff)
		}
	}
}

func mixed(a, b map[string]any) map[string]any {
	out := map[string]any{}
	for _, m := range []map[string]any{a, b} {
		for k, v := range m {
			out[k] = v
		}
	}
	return out
}

// A signature may be one of the body, as it is sent.
func TestAURLSignsTheBody(t *testing.T) {
	t.Parallel()
	r := rehearse(t, map[string]any{"url": `https://h/?s=${hex(md5("POST", body, secret.k))}`, "secrets": map[string]any{"k": "K"}, "body": `{"to":"${address}"}`})
	got, err := r.Request([]channel.Outgoing{outTo("a")}, Moment{})
	if want := filled(t, `${hex(md5("POST{\"to\":\"a\"}K"))}`, render.Plain); err != nil || got.URL.Query().Get("s") != want {
		t.Errorf("got %s, %v, want %s", got.URL, err, want)
	}
}
