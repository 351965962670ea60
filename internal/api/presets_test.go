package api_test

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/simulator"
	"github.com/posthouse/posthouse/wire"
)

const botToken = "123456:ABC-DEF1234ghIkl-zyx57W2v1u123ew11"

// A channel is made of a preset and what it asks for, keeps its name and version, and sends.
func TestAChannelIsMadeOfAPreset(t *testing.T) {
	t.Parallel()
	sim := simulator.New(simulator.Options{})
	provider := httptest.NewServer(sim)
	t.Cleanup(provider.Close)
	h := open(t, func(o *server.Options) { o.AllowPrivate = true })

	found := read[list[wire.Preset]](t, h.must(200, "GET", "/v1/presets?search=telegram", ""))
	if len(found.Items) != 1 || found.Items[0].Name != "telegram" || found.Items[0].Text != "" || len(found.Items[0].Fields) != 1 {
		t.Fatalf("found %+v", found.Items)
	}
	if one := read[wire.Preset](t, h.must(200, "GET", "/v1/presets/telegram", "")); !strings.Contains(one.Text, "preset: telegram") || one.Evidence.Documented == 0 {
		t.Errorf("got %+v", one)
	}
	h.must(404, "GET", "/v1/presets/none", "")

	body := `{"preset":"telegram","config":{"token":"` + botToken + `","origin":"` + provider.URL + `/presets/telegram"}}`
	ch := read[posthouse.Channel](t, h.must(201, "PUT", "/v1/channels/alerts", body))
	if ch.Driver != "httpapi" || ch.Preset != "telegram" || ch.PresetVersion != 1 || len(ch.Limits) != 1 || strings.Contains(h.must(200, "GET", "/v1/channels/alerts", "").body, botToken) {
		t.Errorf("the channel is %+v", ch)
	}
	h.until(h.send("alerts", "-100200")[0], posthouse.Sent)
	if got := sim.Arrivals(simulator.Filter{Provider: "preset-telegram"}); len(got) != 1 || got[0].User != "-100200" || got[0].Text != "hello" {
		t.Errorf("arrived: %+v", got)
	}

	// What is not given stays: the secret too. As it is read it can be put back.
	h.must(200, "PUT", "/v1/channels/alerts", `{"preset":"telegram","tries":3}`)
	h.until(h.send("alerts", "-100201")[0], posthouse.Sent)
	again := read[posthouse.Channel](t, h.must(200, "PUT", "/v1/channels/alerts", h.must(200, "GET", "/v1/channels/alerts", "").body))
	if again.Preset != "telegram" || again.PresetVersion != 1 || again.Tries != 3 {
		t.Errorf("put back: %+v", again)
	}
	h.until(h.send("alerts", "-100202")[0], posthouse.Sent)
}

func TestPresetsNameWhatIsWrongWithTheirFields(t *testing.T) {
	t.Parallel()
	h := open(t)
	for name, c := range map[string]struct {
		body string
		want []string
	}{
		"no such preset": {`{"preset":"telegramm"}`, []string{"preset"}},
		"nothing given":  {`{"preset":"telegram"}`, []string{"config.token"}},
		"another field":  {`{"preset":"telegram","config":{"tokn":"x"}}`, []string{"config.tokn", "config.token"}},
		"a wrong form":   {`{"preset":"telegram","config":{"token":"x y"}}`, []string{"config.token"}},
		"no text":        {`{"preset":"telegram","config":{"token":7}}`, []string{"config.token", "config.token"}},
		"a wrong origin": {`{"preset":"telegram","config":{"token":"1:a","origin":"ftp://x"}}`, []string{"config.origin"}},
	} {
		r := h.do(request{method: "PUT", path: "/v1/channels/x", body: c.body})
		var got []string
		for _, p := range read[fault](t, r).Problems {
			got = append(got, p.Path)
		}
		if diff := cmp.Diff(c.want, got); r.status != 422 || diff != "" {
			t.Errorf("%s: %d %s (-want +got):\n%s", name, r.status, r.body, diff)
		}
	}
}

const gateway = `preset: gateway
version: %v
group: chat
title: Our gateway
title_zh: 自建网关
doc: Sends a text.
doc_zh: 发送文本。
fields: [{name: key, label: Key, label_zh: 密钥, secret: true, example: k-1}]
config: {url: "https://gateway.example.com/send", headers: {X-Key: "${secret.key}"}, body: '{"to": "${address}", "text": "${text}"}', codes: {HTTP_404: %c}}
`

const gatewayShapes = `preset: gateway
fields: {key: k-1}
send: {address: u1, text: hello}
shapes:
  - {name: sent, evidence: unverified, request: {url: "https://gateway.example.com/send", headers: {X-Key: k-1}, body: {to: u1, text: hello}}, answer: {status: 200}, want: {class: ok}}
  - {name: nobody, evidence: unverified, answer: {status: 404}, want: {class: %c}}
`

func gatewayFile(version, class string) string {
	put := strings.NewReplacer("%v", version, "%c", class)
	file, err := json.Marshal(wire.PresetFile{Text: put.Replace(gateway), Shapes: put.Replace(gatewayShapes)})
	if err != nil {
		panic(err)
	}
	return string(file)
}

// An installation adds presets of its own; a channel stays as it was made, and the difference to the latest version is shown.
func TestAnInstallationAddsPresetsOfItsOwn(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.must(200, "PUT", "/v1/presets/gateway", gatewayFile("1", "recipient"))
	h.must(201, "PUT", "/v1/channels/own", `{"preset":"gateway","config":{"key":"secret-key-1"}}`)
	h.must(409, "PUT", "/v1/presets/gateway", gatewayFile("1", "content"))
	if same := h.do(request{method: "PUT", path: "/v1/presets/gateway", body: gatewayFile("2", "content"), key: "send"}); same.status != 403 {
		t.Errorf("a key that is none of an administrator: %d", same.status)
	}
	h.must(200, "PUT", "/v1/presets/gateway", gatewayFile("2", "content"))
	state := read[wire.PresetState](t, h.must(200, "GET", "/v1/channels/own/preset", ""))
	want := wire.PresetState{Preset: "gateway", Version: 1, Latest: 2, Changes: []wire.PresetChange{{Field: "codes.HTTP_404", Was: "recipient", Is: "content"}}}
	if diff := cmp.Diff(want, state); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if ch := read[posthouse.Channel](t, h.must(200, "GET", "/v1/channels/own", "")); ch.PresetVersion != 1 || ch.Config["codes"].(map[string]any)["HTTP_404"] != "recipient" {
		t.Errorf("the channel has changed by itself: %+v", ch)
	}
	kept := read[posthouse.Channel](t, h.must(200, "PUT", "/v1/channels/own", `{"preset":"gateway","preset_version":1,"config":{"key":"secret-key-2"}}`))
	if kept.PresetVersion != 1 || kept.Config["codes"].(map[string]any)["HTTP_404"] != "recipient" {
		t.Errorf("a new secret has changed more: %+v", kept)
	}
	ch := read[posthouse.Channel](t, h.must(200, "PUT", "/v1/channels/own", `{"preset":"gateway"}`))
	if ch.PresetVersion != 2 || ch.Config["secrets"].(map[string]any)["key"] != channel.Mask {
		t.Errorf("after the upgrade: %+v", ch)
	}
	if audit := h.must(200, "GET", "/v1/audit", "").body; strings.Count(audit, `"presets.put"`) < 2 {
		t.Errorf("the audit log has not both: %s", audit)
	}
	if other := h.do(request{method: "GET", path: "/v1/presets/gateway", key: "other"}); other.status != 404 {
		t.Errorf("another tenant sees it: %d", other.status)
	}
	h.must(204, "DELETE", "/v1/presets/gateway", "")
	h.must(404, "DELETE", "/v1/presets/telegram", "")
	if gone := read[wire.PresetState](t, h.must(200, "GET", "/v1/channels/own/preset", "")); gone.Latest != 0 || gone.Version != 2 {
		t.Errorf("after it was deleted: %+v", gone)
	}
}

// A preset that does not do what its shapes say, or is another's, is refused with the line.
func TestAPresetIsTriedBeforeItIsStored(t *testing.T) {
	t.Parallel()
	h := open(t)
	for name, c := range map[string]struct{ from, to, at, says string }{
		"another field in the request": {`\"to\": \"${address}\"`, `\"user\": \"${address}\"`, "sent", "body.to is missing"},
		"an unknown key":               {`group: chat`, `grup: chat`, "grup", "line 3:"},
		"a function that is not there": {`${secret.key}`, `${sha1(secret.key)}`, "config.headers.X-Key", "line 9:"},
		"a path that is none":          {`codes: {HTTP_404: recipient}`, `id_path: code`, "config.id_path", "line 9:"},
		"the name of one that ships":   {`preset: gateway`, `preset: telegram`, "preset", "is \"telegram\""},
	} {
		file := strings.Replace(gatewayFile("1", "recipient"), c.from, c.to, 1)
		if strings.Contains(c.to, "telegram") {
			file = strings.ReplaceAll(gatewayFile("1", "recipient"), c.from, c.to)
		}
		r := h.do(request{method: "PUT", path: "/v1/presets/gateway", body: file})
		problems := read[fault](t, r).Problems
		if r.status != 422 || len(problems) == 0 || problems[0].Path != c.at || !strings.Contains(problems[0].Message, c.says) {
			t.Errorf("%s: %d %s", name, r.status, r.body)
		}
	}
}
