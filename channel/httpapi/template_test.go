package httpapi

import (
	"encoding/json"
	"encoding/xml"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/render"
)

func example() *scope {
	return &scope{
		now: time.UnixMilli(1790000000123), separator: "|",
		outs: []channel.Outgoing{{
			Channel: "oa", Message: "m1", Delivery: "d1", IdemKey: "k1", Kind: "duty", Ref: "r1", Template: "notice", Attempt: 2,
			Recipient: posthouse.Recipient{User: "u1", Address: "a/1", Type: "branch"},
			Content:   posthouse.Content{Title: `<"值班">`, Text: "a\n\"b\" & ${secret.k} ${user}\\"},
			Payload:   json.RawMessage(`{"name":"王 \"芳\"","n":12.50,"list":[{"id":"x"}],"none":null}`),
		}, {
			IdemKey: "k2", Delivery: "d2", Recipient: posthouse.Recipient{Address: `a"2`},
		}},
	}
}

func fill(t *testing.T, text string, syn syntax, s *scope) string {
	t.Helper()
	parsed, err := parseTemplate("body", text, syn)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	got, err := parsed.render(s)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return string(got)
}

func TestValuesAreEscapedForWhereTheyStand(t *testing.T) {
	t.Parallel()
	secrets := map[string]string{"k": `se"cret&`}
	for _, is := range []struct{ encoding, text, want string }{
		{"json", `{"t":"${text}"}`, `{"t":"a\n\"b\" & ${secret.k} ${user}\\"}`},
		{"json", `{"t":${text},"n":${payload.n},"o":${payload.list}}`, `{"t":"a\n\"b\" & ${secret.k} ${user}\\","n":12.50,"o":[{"id":"x"}]}`},
		{"json", `{"a":${attempt},"b":"${attempt}","ms":${now_ms},"s":${now_s}}`, `{"a":2,"b":"2","ms":1790000000123,"s":1790000000}`},
		{"json", `{"u":${users},"a":${addresses},"j":"${addresses}"}`, `{"u":["u1","a\"2"],"a":["a/1","a\"2"],"j":"a/1|a\"2"}`},
		{"json", `{"x":"\"${user}\"","p":"${payload.name}","k":"${secret.k}","e":"\\${user}"}`, `{"x":"\"u1\"","p":"王 \"芳\"","k":"se\"cret&","e":"\\u1"}`},
		{"json", `{"p":"${payload}","l":${payload.list[0].id},"n":"${payload.none}"}`, `{"p":"{\"name\":\"王 \\\"芳\\\"\",\"n\":12.50,\"list\":[{\"id\":\"x\"}],\"none\":null}","l":"x","n":""}`},
		{"form", `t=${title}&k=${secret.k}&u=${users}`, `t=%3C%22%E5%80%BC%E7%8F%AD%22%3E&k=se%22cret%26&u=u1%7Ca%222`},
		{"xml", `<t a="${title}">${text}</t>`, `<t a="&lt;&#34;值班&#34;&gt;">a` + "\n" + `&#34;b&#34; &amp; ${secret.k} ${user}\</t>`},
		{"text", `${title}: ${text} $${user} $ {user} $`, `<"值班">: a` + "\n" + `"b" & ${secret.k} ${user}\ ${user} $ {user} $`},
		{"text", `${kind} ${ref} ${message} ${delivery} ${channel} ${template} ${type} ${deliveries} ${idempotency_keys}`, `duty r1 m1 d1 oa notice branch d1|d2 k1|k2`},
	} {
		if got := fill(t, is.text, syntax{place: placeOf[is.encoding], secrets: secrets}, example()); got != is.want {
			t.Errorf("%s: %s\n got %s\nwant %s", is.encoding, is.text, got, is.want)
		}
	}
	if got := fill(t, "https://h/${address}/x?u=${address}&k=${secret.k}", syntax{place: render.URLPath, secrets: secrets}, example()); got != "https://h/a%2F1/x?u=a%2F1&k=se%22cret%26" {
		t.Errorf("URL: %s", got)
	}
}

func TestTemplatesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		"${user":            "no closing brace",
		"${usr}":            "did you mean",
		"${}":               "no placeholder of this name",
		"${payload.}":       "not well formed",
		"${payload[x]}":     "index",
		"${secret.missing}": `no "missing" among the secrets`,
		"${ user }":         "no placeholder of this name",
	} {
		_, err := parseTemplate("body", text, syntax{})
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: error %v, want it to say %q", text, err, says)
		}
	}
}

func TestMissingPayloadValueIsAnError(t *testing.T) {
	t.Parallel()
	for _, payload := range []string{"", `{"other":1}`, `[]`, `{"order":`} {
		parsed, err := parseTemplate("body", "${payload.order}", syntax{place: placeOf["json"], secrets: nil})
		if err != nil {
			t.Fatal(err)
		}
		s := example()
		s.outs[0].Payload = json.RawMessage(payload)
		if got, err := parsed.render(s); err == nil || !strings.Contains(err.Error(), "payload.order") {
			t.Errorf("payload %q gives %q, %v", payload, got, err)
		}
	}
}

func TestKeyOfABatchIsTheSameInAnyOrder(t *testing.T) {
	t.Parallel()
	s := example()
	one := s.key()
	s.outs[0], s.outs[1] = s.outs[1], s.outs[0]
	if other := s.key(); other != one || len(one) != 32 {
		t.Errorf("keys %q and %q", one, other)
	}
	s.outs = s.outs[:1]
	if got := s.key(); got != "k2" {
		t.Errorf("the key of one = %q, want its own", got)
	}
}

// FuzzValues wants every value to come back out as it went in, whatever it holds.
func FuzzValues(f *testing.F) {
	f.Add("plain", "值班")
	f.Add(`"},{"x":"`, "${user} ${secret.k}")
	f.Add("a&b=c?d#e/../", "\x00\x1b\r\n\u2028<>&'\"\\")
	f.Fuzz(func(t *testing.T, title, body string) {
		s := example()
		s.outs[0].Content = posthouse.Content{Title: title, Text: body}
		valid := [2]string{strings.ToValidUTF8(title, "\uFFFD"), strings.ToValidUTF8(body, "\uFFFD")}

		var fromJSON struct{ A, B string }
		if err := json.Unmarshal([]byte(fill(t, `{"A":"${title}","B":${text}}`, syntax{place: placeOf["json"], secrets: nil}, s)), &fromJSON); err != nil {
			t.Fatalf("JSON: %v", err)
		}
		// A run of broken bytes may become one replacement or several.
		if squeeze(fromJSON.A) != squeeze(valid[0]) || squeeze(fromJSON.B) != squeeze(valid[1]) {
			t.Errorf("JSON: %q, want %q", fromJSON, valid)
		}
		form, err := url.ParseQuery(fill(t, "a=${title}&b=${text}", syntax{place: placeOf["form"], secrets: nil}, s))
		if err != nil || form.Get("a") != title || form.Get("b") != body || len(form) != 2 {
			t.Errorf("form: %q, %v", form, err)
		}
		var fromXML struct {
			XMLName xml.Name `xml:"m"`
			A       string   `xml:"a,attr"`
			B       string   `xml:"b"`
		}
		if err := xml.Unmarshal([]byte(fill(t, `<m a="${title}"><b>${text}</b></m>`, syntax{place: placeOf["xml"], secrets: nil}, s)), &fromXML); err != nil {
			t.Errorf("XML: %v", err)
		}
		target, err := url.Parse(fill(t, "https://h/x/${title}/y?t=${text}", syntax{place: render.URLPath}, s))
		if err != nil || target.Host != "h" || target.Query().Get("t") != body || target.Path != "/x/"+title+"/y" {
			t.Errorf("URL: %v, %v", target, err)
		}
	})
}

func squeeze(s string) string {
	for strings.Contains(s, "\uFFFD\uFFFD") {
		s = strings.ReplaceAll(s, "\uFFFD\uFFFD", "\uFFFD")
	}
	return s
}
