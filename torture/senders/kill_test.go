package senders

import (
	"cmp"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/posthouse/posthouse/torture/internal/house"
)

// call is a request of a sender, in which TOKEN stands for the token.
type call struct {
	kind, method, path, body, header, value string

	status int // of the answer to one that was taken; 0 for 200
}

var calls = []call{
	{kind: "alertmanager", path: "/TOKEN", body: `{"version":"4","groupKey":"x","status":"firing","alerts":[{"status":"firing","labels":{"alertname":"Kept"},"startsAt":"2026-11-27T05:00:00Z","fingerprint":"1"}]}`},
	{kind: "grafana", path: "/TOKEN", body: `{"version":"1","groupKey":"x","status":"firing","alerts":[{"status":"firing","labels":{"alertname":"Kept"},"startsAt":"2026-11-27T05:00:00Z","fingerprint":"1"}]}`},
	{kind: "dingtalk", path: "/robot/send?access_token=TOKEN", body: `{"msgtype":"text","text":{"content":"Kept"}}`},
	{kind: "wecom", path: "/cgi-bin/webhook/send?key=TOKEN", body: `{"msgtype":"text","text":{"content":"Kept"}}`},
	{kind: "wecom-app", path: "/cgi-bin/message/send?access_token=TOKEN", body: `{"touser":"li.na","msgtype":"text","agentid":1,"text":{"content":"Kept"}}`},
	{kind: "feishu", path: "/open-apis/bot/v2/hook/TOKEN", body: `{"msg_type":"text","content":{"text":"Kept"}}`},
	{kind: "gotify", path: "/message?token=TOKEN", body: `{"message":"Kept"}`},
	{kind: "ntfy", path: "/disks", body: "Kept", header: "Authorization", value: "Bearer TOKEN"},
	{kind: "bark", method: http.MethodGet, path: "/TOKEN/Disk/Kept"},
	{kind: "serverchan", method: http.MethodGet, path: "/TOKEN.send?title=Disk&desp=Kept"},
	{kind: "message-pusher", path: "/push/root", body: `{"title":"Disk","content":"Kept","token":"TOKEN"}`},
	{kind: "pushplus", path: "/send", body: `{"title":"Disk","content":"Kept","token":"TOKEN"}`},
	{kind: "smsgate", path: "/3rdparty/v1/messages", body: `{"id":"kept","textMessage":{"text":"Kept"},"phoneNumbers":["13800138000"]}`, header: "Authorization", value: "Bearer TOKEN", status: http.StatusAccepted},
	{kind: "mail", path: "/TOKEN", body: "Message-ID: <1@db1>\r\nSubject: Disk\r\n\r\nKept\r\n"},
	{kind: "json", path: "/TOKEN", body: `{"title":"Disk","message":"Kept"}`},
}

// at makes the request of a call at a server.
func (c call) at(t *testing.T, addr, token string) *http.Request {
	t.Helper()
	fill := func(text string) string { return strings.ReplaceAll(text, "TOKEN", token) }
	method := http.MethodPost
	if c.method != "" {
		method = c.method
	}
	r, err := http.NewRequestWithContext(t.Context(), method, "http://"+addr+"/in/"+c.kind+fill(c.path), strings.NewReader(fill(c.body)))
	if err != nil {
		t.Fatal(err)
	}
	r.GetBody = nil // nothing repeats it but its sender
	if c.header != "" {
		r.Header.Set(c.header, fill(c.value))
	}
	return r
}

// A server that is killed between a request and its commit has told nobody that it was taken, whatever the sender's form. When the
// sender comes again there is one message.
func TestAKillBeforeTheCommitIsNoAnswer(t *testing.T) {
	t.Parallel()
	y := openYard(t)
	kinds, err := y.api().Fronts.Kinds(t.Context())
	y.must(err)
	known := map[string]bool{}
	for _, k := range kinds {
		known[k.Kind] = true
	}
	tokens := map[string]string{}
	for _, c := range calls {
		tokens[c.kind] = y.frontOf(c.kind).Token
		delete(known, c.kind)
	}
	if len(known) > 0 {
		t.Errorf("no request is known of the kinds %v", known)
	}

	letGo := y.holdUp()
	var all sync.WaitGroup
	for _, c := range calls {
		r := c.at(t, y.member().Addr, tokens[c.kind])
		all.Go(func() {
			caller := http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // on a connection of its own, which nobody repeats
			answer, err := caller.Do(r)
			if err == nil {
				said, _ := io.ReadAll(answer.Body) // for the log alone
				answer.Body.Close()
				t.Errorf("%s: got %d %s from a server that has committed nothing", c.kind, answer.StatusCode, said)
			}
		})
	}
	house.Until(t, "all stand before their commit", func() bool { return y.member().Metric(t, "posthouse_front_commits_waiting") == float64(len(calls)) })
	y.heldUp()
	y.member().Kill(t)
	all.Wait()
	letGo()
	y.member().Start(t)
	if n := y.member().Metric(t, "posthouse_front_commits_waiting"); n != 0 {
		t.Errorf("%v calls wait for their commit in a server that nobody has asked", n)
	}
	for _, c := range calls {
		if n := len(y.messages(c.kind, "Kept")); n > 0 {
			t.Errorf("%s: there are %d messages that nobody was told of", c.kind, n)
		}
		answer, err := http.DefaultClient.Do(c.at(t, y.member().Addr, tokens[c.kind]))
		y.must(err)
		said, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		y.must(err)
		if answer.StatusCode != cmp.Or(c.status, http.StatusOK) {
			t.Errorf("%s: got %d %s when it came again", c.kind, answer.StatusCode, said)
		}
		if n := len(y.messages(c.kind, "Kept")); n != 1 {
			t.Errorf("%s: there are %d messages, want one", c.kind, n)
		}
	}
}
