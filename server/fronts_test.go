package server_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/wire"
)

// front makes a front for the channel out, whose messages are for the user u1, and returns it with its token.
func (h *house) front(kind string, change ...func(*wire.PutFront)) wire.NewFront {
	h.Helper()
	if _, err := h.api.Channels.Get(h.Context(), "out"); err != nil {
		h.put(posthouse.Channel{Name: "out", Driver: "discard"})
	}
	in := wire.PutFront{Kind: kind, FrontSettings: posthouse.FrontSettings{Channel: "out", To: []posthouse.Recipient{{User: "u1"}}}}
	for _, c := range change {
		c(&in)
	}
	made, err := h.api.Fronts.Put(h.Context(), kind, in)
	h.must(err)
	if made.Token == "" {
		h.Fatalf("the front %s has no token", kind)
	}
	return made
}

// knock calls an address of the server and returns status and body.
func (h *house) knock(method, address, body string, headers ...string) (int, string) {
	h.Helper()
	r, err := http.NewRequestWithContext(h.Context(), method, h.url+address, strings.NewReader(body))
	h.must(err)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w, err := http.DefaultClient.Do(r)
	h.must(err)
	defer w.Body.Close()
	text, err := io.ReadAll(w.Body)
	h.must(err)
	return w.StatusCode, string(text)
}

// lastMessages are the messages of the tenant default, the newest first.
func (h *house) lastMessages() []wire.Message {
	h.Helper()
	page, err := h.api.Messages.List(h.Context(), client.Filter{})
	h.must(err)
	return page.Items
}

// alert is one alert as Alertmanager posts it.
func alertOf(status, name, severity string, n int) map[string]any {
	return map[string]any{
		"status": status, "labels": map[string]string{"alertname": name, "severity": severity, "instance": fmt.Sprint("host-", n)},
		"annotations": map[string]string{"summary": fmt.Sprintf("%s on host-%d", name, n), "runbook_url": "https://runbooks.example.com/" + name},
		"startsAt":    "2026-11-27T05:00:00Z", "endsAt": "0001-01-01T00:00:00Z", "generatorURL": "http://prometheus.example.com/graph", "fingerprint": fmt.Sprintf("%s-%d", name, n),
	}
}

func groupOf(alerts ...map[string]any) string {
	text, _ := json.Marshal(map[string]any{
		"version": "4", "groupKey": `{}:{alertname="Disk"}`, "truncatedAlerts": 0, "status": "firing", "receiver": "posthouse", "externalURL": "http://alertmanager.example.com",
		"groupLabels": map[string]string{"alertname": "Disk"}, "commonLabels": map[string]string{"alertname": "Disk"}, "commonAnnotations": map[string]string{}, "alerts": alerts,
	}) // texts: cannot fail
	return string(text)
}

// A group of alerts is one message, taken once however often and by whichever of a pair it is sent.
// A request to the path that an original has is answered with the front to make. Each form that has such a path is found by it.
func TestPathsOfOtherProgramsLeadToTheirFronts(t *testing.T) {
	ways(t, func(h *house, _ *scripted) {
		for path, want := range map[string]string{
			"/message?token=x": "which is of Gotify: make a front for its senders by posthouse front add gotify", "/alerts/publish": "posthouse front add ntfy",
			"/push": "posthouse front add bark", "/SCT1.send": "posthouse front add serverchan", "/push/me": "posthouse front add message-pusher", "/send": "posthouse front add pushplus",
			"/3rdparty/v1/messages": "posthouse front add smsgate", "/api/v2/alerts": "posthouse front add alertmanager", "/alertmanager/": "posthouse front add alertmanager",
			"/robot/send": "front add dingtalk, or a channel of the driver dingtalk_robot", "/cgi-bin/webhook/send": "front add wecom, or a channel of the driver wecom_robot",
			"/open-apis/bot/v2/hook/x": "posthouse front add feishu", "/cgi-bin/gettoken": "front add wecom-app, or a channel of the driver wecom",
			"/api/v1/sms/send": "basic_auth_username and basic_auth_password open it", "/sms/send": "SMS front door", "/v1/send": "; /openapi.json lists", "/webhook": "POST /v1/messages", "/nothing": "; /openapi.json lists",
		} {
			if status, said := h.knock("POST", path, "{}"); status != 404 || !strings.Contains(said, want) || strings.HasPrefix(want, ";") && strings.Contains(said, "which is of") {
				h.Errorf("%s: %d %s, want %q", path, status, said, want)
			}
		}
	})
}

func TestAGroupOfAlertsIsOneMessage(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		f := h.front("alertmanager")
		body := groupOf(alertOf("firing", "Disk", "critical", 1), alertOf("resolved", "Disk", "warning", 2))
		turned := groupOf(alertOf("resolved", "Disk", "warning", 2), alertOf("firing", "Disk", "critical", 1))
		for i, text := range []string{body, body, turned} {
			if status, said := h.knock("POST", f.Path+"/"+f.Token, text); status != 200 {
				h.Fatalf("%d: %d %s", i, status, said)
			}
		}
		list := h.lastMessages()
		if len(list) != 1 {
			h.Fatalf("there are %d messages, want one", len(list))
		}
		m := list[0]
		if m.Priority != posthouse.High || m.Content.Title != "[Firing, Resolved] Disk" || m.Kind != "alertmanager" || m.Source != "front alertmanager" {
			h.Errorf("the message is %+v", m)
		}
		for _, want := range []string{"Firing · Disk on host-1", "severity=critical · instance=host-1", "Runbook: https://runbooks.example.com/Disk", "Silence: http://alertmanager.example.com/#/silences/new?filter=%7B", "Resolved · Disk on host-2"} {
			if !strings.Contains(m.Content.Text, want) {
				h.Errorf("the text lacks %q:\n%s", want, m.Content.Text)
			}
		}
		for line, want := range map[string]float64{
			`posthouse_front_requests_total{front="alertmanager",kind="alertmanager",outcome="accepted"}`: 1, `posthouse_front_requests_total{front="alertmanager",kind="alertmanager",outcome="duplicate"}`: 2,
			`posthouse_front_messages_total{front="alertmanager",kind="alertmanager"}`: 1,
		} {
			if n := h.metric(line); n != want {
				h.Errorf("%s is %v, want %v", line, n, want)
			}
		}
		// Another alert makes it another thing to tell.
		if status, said := h.knock("POST", f.Path, groupOf(alertOf("resolved", "Disk", "critical", 1)), "Authorization", "Bearer "+f.Token); status != 200 {
			h.Fatalf("%d %s", status, said)
		}
		if list := h.lastMessages(); len(list) != 2 || list[0].Priority != posthouse.Normal || list[0].Ref != m.Ref {
			h.Errorf("after it was resolved: %+v", list)
		}
		var calls []posthouse.FrontCall
		h.eventually("the calls are kept", func() bool {
			var err error
			calls, err = h.api.Fronts.Calls(h.Context(), f.Name)
			h.must(err)
			return len(calls) == 4
		})
		var outcomes []posthouse.FrontOutcome
		for _, c := range calls {
			outcomes = append(outcomes, c.Outcome)
			if strings.Contains(c.Shown, "host-1") || !strings.Contains(c.Shown, `"alertname": "***"`) {
				h.Errorf("what is shown of a body: %s", c.Shown)
			}
		}
		if want := []posthouse.FrontOutcome{posthouse.FrontAccepted, posthouse.FrontDuplicate, posthouse.FrontDuplicate, posthouse.FrontAccepted}; !slices.Equal(outcomes, want) {
			h.Errorf("the outcomes are %v, want %v", outcomes, want)
		}
		whole, err := h.api.Fronts.Reveal(h.Context(), f.Name, calls[3].ID, "a test")
		h.must(err)
		if whole.Body != body {
			h.Errorf("revealed: %s", whole.Body)
		}
		if slices.Contains(h.column("SELECT token FROM posthouse_fronts"), f.Token) || strings.Contains(h.log.tail(10_000), f.Token) {
			h.Errorf("the token stands in the database or in the log")
		}
	})
}

// Alerts may each have a message of their own, and labels lead to other channels.
func TestAlertsHaveMessagesOfTheirOwnAndWaysOfTheirOwn(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.SQLite(t))
	h.put(posthouse.Channel{Name: "db", Driver: "discard"})
	_, err := h.api.Rosters.Put(h.Context(), posthouse.Roster{Name: "dba", TimeZone: "UTC", Days: map[string][]string{"1": {"li"}, "2": {"li"}, "3": {"li"}, "4": {"li"}, "5": {"li"}, "6": {"li"}, "7": {"li"}}})
	h.must(err)
	f := h.front("alertmanager", func(in *wire.PutFront) {
		in.Each, in.Language = "alert", "zh"
		in.Priorities = map[string]posthouse.Priority{"warning": posthouse.High}
		in.Match = []posthouse.FrontMatch{{If: map[string]string{"instance": "host-2"}, Channel: "db", To: []posthouse.Recipient{{Roster: "dba"}}}}
	})
	if status, said := h.knock("POST", f.Path+"/"+f.Token, groupOf(alertOf("firing", "Disk", "warning", 1), alertOf("firing", "Disk", "info", 2))); status != 200 {
		t.Fatalf("%d %s", status, said)
	}
	list := h.lastMessages()
	if len(list) != 2 || list[0].Channel != "db" || list[0].Priority != posthouse.Low || list[1].Channel != "out" || list[1].Priority != posthouse.High || list[1].Content.Title != "[告警] Disk" {
		t.Fatalf("the messages are %+v", list)
	}
	if to := h.sentTo(list[0].ID); !slices.Equal(to, []string{"li"}) {
		t.Errorf("it is for %v, want who is on duty", to)
	}
}

// sentTo are the users of a message's deliveries.
func (h *house) sentTo(message string) (users []string) {
	h.Helper()
	m, err := h.api.Messages.Get(h.Context(), message)
	h.must(err)
	for _, d := range m.Deliveries {
		users = append(users, d.User)
	}
	return users
}

// An alert that a template does not fit is told in the front's own words, and the call names it.
func TestATemplateThatFailsLosesNoAlert(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.SQLite(t))
	_, err := h.api.Templates.Put(h.Context(), posthouse.Template{Name: "alert", Title: "${alertname}", Text: "${labels.team}: ${annotations.summary}"})
	h.must(err)
	f := h.front("alertmanager", func(in *wire.PutFront) { in.Each, in.Template = "alert", "alert" })
	with := alertOf("firing", "Disk", "warning", 1)
	with["labels"].(map[string]string)["team"] = "web"
	if status, said := h.knock("POST", f.Path+"/"+f.Token, groupOf(with, alertOf("firing", "Disk", "warning", 2))); status != 200 {
		t.Fatalf("%d %s", status, said)
	}
	list := h.lastMessages()
	if len(list) != 2 || list[1].Content.Text != "web: Disk on host-1" || !strings.Contains(list[0].Content.Text, "Disk on host-2") {
		t.Fatalf("the messages are %+v", list)
	}
	h.eventually("the call says which", func() bool {
		calls, err := h.api.Fronts.Calls(h.Context(), f.Name)
		h.must(err)
		return len(calls) == 1 && strings.Contains(calls[0].Reason, "message 2 is told without the template alert") && strings.Contains(calls[0].Reason, "labels.team")
	})
}

// What cannot be taken is told in plain text: what is to come again with 503 and nothing else.
func TestWhatAFrontRefuses(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.SQLite(t))
	f := h.front("alertmanager")
	good := groupOf(alertOf("firing", "Disk", "critical", 1))
	odd := alertOf("firing", "Di\x00sk<@all>\x1b[31m", "critical", 3)
	odd["annotations"].(map[string]string)["description"] = strings.Repeat("长", 400_000)
	many := make([]map[string]any, 10_000)
	for i := range many {
		many[i] = alertOf("firing", "Disk", "critical", i)
		many[i]["annotations"].(map[string]string)["description"] = strings.Repeat("full ", 90)
	}
	for name, c := range map[string]struct {
		method, path, body string
		status             int
		says               string
	}{
		"no token":           {"POST", f.Path, good, 401, "the token is not known"},
		"a wrong token":      {"POST", f.Path + "/" + strings.Repeat("0", 64), good, 401, "the token is not known"},
		"a token cut short":  {"POST", f.Path + "/" + f.Token[:63], good, 401, "the token is not known"},
		"of another kind":    {"POST", "/in/grafana/" + f.Token, good, 401, "the token is not known"},
		"no such kind":       {"POST", "/in/nobody/" + f.Token, good, 404, "there is no front of this kind"},
		"another method":     {"GET", f.Path + "/" + f.Token, "", 400, "want POST"},
		"broken":             {"POST", f.Path + "/" + f.Token, `{"version":"4",`, 400, "no JSON"},
		"another version":    {"POST", f.Path + "/" + f.Token, `{"version":"3"}`, 400, `the version is "3"`},
		"too large":          {"POST", f.Path + "/" + f.Token, strings.Repeat(" ", 9<<20), 413, "larger than"},
		"nothing to tell":    {"POST", f.Path + "/" + f.Token, groupOf(), 200, ""},
		"odd and very long":  {"POST", f.Path + "/" + f.Token, groupOf(odd), 200, ""},
		"ten thousand of it": {"POST", f.Path + "/" + f.Token, groupOf(many...), 200, ""},
	} {
		if status, said := h.knock(c.method, c.path, c.body); status != c.status || !strings.Contains(said, c.says) {
			t.Errorf("%s: got %d %q, want %d %q", name, status, said, c.status, c.says)
		}
	}
	for _, m := range h.lastMessages() {
		if strings.ContainsAny(m.Content.Text+m.Content.Title, "\x00\x1b") || strings.Contains(m.Content.Text, "<@") || len(m.Content.Text) > 4000 {
			t.Errorf("a message reads %.200q …, %d bytes", m.Content.Text, len(m.Content.Text))
		}
	}
	if !slices.ContainsFunc(h.lastMessages(), func(m wire.Message) bool { return strings.HasSuffix(m.Content.Text, "…\n\n… and 9990 more") }) {
		t.Error("no message that is cut counts the alerts that it does not tell")
	}
	h.must(h.api.Channels.Delete(h.Context(), "out"))
	h.eventually("what cannot be committed is to come again", func() bool {
		status, said := h.knock("POST", f.Path+"/"+f.Token, groupOf(alertOf("firing", "Disk", "critical", 7)))
		return status == 503 && strings.Contains(said, `there is no channel "out"`)
	})
}

// A full queue is nothing to give up on: Alertmanager comes again after 503, and never after 429.
func TestAFullQueueIsNoReasonToGiveUp(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.SQLite(t))
	h.put(posthouse.Channel{Name: "out", Driver: "discard"})
	_, err := h.api.Channels.Pause(h.Context(), "out", "")
	h.must(err)
	_, err = h.api.Tenants.Put(h.Context(), "default", wire.PutTenant{Quota: posthouse.Quota{Open: 1}})
	h.must(err)
	f := h.front("alertmanager")
	var last int
	h.eventually("the quota holds", func() bool {
		last, _ = h.knock("POST", f.Path+"/"+f.Token, groupOf(alertOf("firing", "Disk", "critical", h.count("posthouse_messages"))))
		return last != 200
	})
	if last != 503 {
		t.Errorf("got %d, want 503", last)
	}
}

// The token of a front ends when another takes its place, and with the front.
func TestATokenEnds(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.SQLite(t))
	f := h.front("alertmanager")
	again, err := h.api.Fronts.Put(h.Context(), f.Name, wire.PutFront{Kind: f.Kind, FrontSettings: f.FrontSettings})
	h.must(err)
	if again.Token != "" || again.CreatedAt != f.CreatedAt {
		t.Errorf("put again: %+v", again)
	}
	if _, err := h.api.Fronts.Put(h.Context(), f.Name, wire.PutFront{Kind: "grafana", FrontSettings: f.FrontSettings}); posthouse.CodeOf(err) != posthouse.CodeConflict {
		t.Errorf("another kind: %v", err)
	}
	call := func(token string) int {
		status, _ := h.knock("POST", f.Path+"/"+token, groupOf())
		return status
	}
	if got := call(f.Token); got != 200 {
		t.Fatalf("got %d", got)
	}
	other, err := h.api.Fronts.Rotate(h.Context(), f.Name)
	h.must(err)
	h.eventually("the old token ends", func() bool { return call(f.Token) == 401 })
	if got := call(other.Token); got != 200 {
		t.Errorf("the new token: %d", got)
	}
	h.must(h.api.Fronts.Delete(h.Context(), f.Name))
	h.eventually("the front is gone", func() bool { return call(other.Token) == 401 })
}

// Grafana can sign: with its secret, which is the token, and the time.
func TestGrafanaSigns(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.SQLite(t))
	f := h.front("grafana", func(in *wire.PutFront) { in.Signed = true })
	body := strings.Replace(groupOf(alertOf("firing", "Disk", "critical", 1)), `"version":"4"`, `"version":"1","orgId":1,"title":"x"`, 1)
	sign := func(secret, before string) string {
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte(before + body))
		return hex.EncodeToString(mac.Sum(nil))
	}
	for name, c := range map[string]struct {
		headers []string
		status  int
	}{
		"none":        {nil, 401},
		"wrong":       {[]string{"X-Grafana-Alerting-Signature", sign("x", "")}, 401},
		"right":       {[]string{"X-Grafana-Alerting-Signature", sign(f.Token, "")}, 200},
		"of 1970":     {[]string{"X-Grafana-Alerting-Signature", sign(f.Token, "1:"), "X-Grafana-Alerting-Timestamp", "1"}, 401},
		"no moment":   {[]string{"X-Grafana-Alerting-Signature", sign(f.Token, "x:"), "X-Grafana-Alerting-Timestamp", "x"}, 401},
		"of the body": {[]string{"X-Grafana-Alerting-Signature", strings.Repeat("0", 64)}, 401},
	} {
		if status, said := h.knock("PUT", f.Path+"/"+f.Token, body, c.headers...); status != c.status {
			t.Errorf("%s: got %d %s, want %d", name, status, said, c.status)
		}
	}
	if n := len(h.lastMessages()); n != 1 {
		t.Errorf("there are %d messages, want one", n)
	}
}

// A message may name rosters and roles instead of users: whoever is on duty when it is accepted.
func TestAMessageNamesRostersAndRoles(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		h.put(posthouse.Channel{Name: "out", Driver: "discard"})
		days := map[string][]string{}
		for i := range 7 {
			days[fmt.Sprint(i+1)] = []string{"li", "wang"}
		}
		_, err := h.api.Rosters.Put(h.Context(), posthouse.Roster{Name: "sre", TimeZone: "UTC", Days: days})
		h.must(err)
		_, err = h.api.Users.Put(h.Context(), posthouse.User{ID: "zhao", Roles: []string{"dba"}}, posthouse.User{ID: "li", Roles: []string{"dba"}})
		h.must(err)
		send := func(to ...posthouse.Recipient) (client.Sent, error) {
			return h.api.Messages.Send(h.Context(), posthouse.Draft{Channel: "out", To: to, Content: &posthouse.Content{Text: "x"}})
		}
		done, err := send(posthouse.Recipient{Roster: "sre"}, posthouse.Recipient{Role: "dba"}, posthouse.Recipient{User: "sun"})
		h.must(err)
		var users []string
		for _, d := range done.Accepted[0].Deliveries {
			users = append(users, d.User)
		}
		if want := []string{"li", "wang", "zhao", "sun"}; !slices.Equal(users, want) {
			h.Errorf("it is for %v, want %v", users, want)
		}
		for path, to := range map[string]posthouse.Recipient{
			"to[0].roster": {Roster: "none"}, "to[0].role": {Role: "none"}, "to[0]": {User: "li", Roster: "sre"},
		} {
			if _, err := send(to); posthouse.CodeOf(err) != posthouse.CodeInvalid || !strings.Contains(err.Error(), path+":") {
				h.Errorf("%+v: %v, want a problem at %s", to, err, path)
			}
		}
	})
}
