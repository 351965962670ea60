package senders

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/torture/internal/house"
	"github.com/posthouse/posthouse/wire"
)

// pair are two Alertmanagers of a cluster, which hear from each other too late: both tell of each alert.
type pair [2]string

// startPair starts a pair that posts to a front at a URL, with the token but for alerts that say wrong="yes", with the token of another front
// those that say way="night", and sends those that say app="yes" as an application of WeCom to a third.
func startPair(t *testing.T, program, address, token, night, app, secret string) (p pair) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "alertmanager.yml")
	config := fmt.Sprintf(`route:
  receiver: posthouse
  group_by: [alertname]
  group_wait: 10ms
  group_interval: 30s
  routes:
    - receiver: wrong
      matchers: [wrong="yes"]
    - receiver: app
      matchers: [app="yes"]
    - receiver: night
      matchers: [way="night"]
receivers:
  - name: posthouse
    webhook_configs:
      - url: %s
        send_resolved: true
        http_config: {authorization: {credentials: %s}}
  - name: wrong
    webhook_configs:
      - url: %s
        http_config: {authorization: {credentials: %s}}
  - name: night
    webhook_configs:
      - url: %s
        http_config: {authorization: {credentials: %s}}
  - name: app
    wechat_configs:
      - {api_url: %s/cgi-bin/, corp_id: ww1, api_secret: %s, agent_id: "1", to_user: "@all", message: '{{ .CommonLabels.alertname }}'}
`, address, token, address, strings.Repeat("0", 64), address, night, app, secret)
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	meet := [2]string{house.FreeAddr(t), house.FreeAddr(t)}
	for i := range p {
		p[i] = house.FreeAddr(t)
		run(t, program, "--config.file="+file, "--storage.path="+t.TempDir(), "--web.listen-address="+p[i], "--cluster.listen-address="+meet[i], "--cluster.peer="+meet[1-i],
			"--cluster.peer-timeout=1ms", "--cluster.gossip-interval=1h", "--cluster.pushpull-interval=1h", "--cluster.settle-timeout=1ms")
	}
	for _, addr := range p {
		house.Until(t, "Alertmanager is ready", func() bool {
			answer, err := http.Get("http://" + addr + "/-/ready")
			if err != nil {
				return false
			}
			answer.Body.Close()
			return answer.StatusCode == http.StatusOK
		})
	}
	return p
}

// tell has both know of an alert.
func (p pair) tell(t *testing.T, name string, labels ...string) {
	t.Helper()
	all := map[string]string{"alertname": name, "severity": "critical"}
	for i := 0; i+1 < len(labels); i += 2 {
		all[labels[i]] = labels[i+1]
	}
	now := time.Now()
	body, err := json.Marshal([]any{map[string]any{
		"labels": all, "annotations": map[string]string{"summary": name + " on host-1"}, "startsAt": now.Format(time.RFC3339Nano), "endsAt": now.Add(time.Hour).Format(time.RFC3339Nano),
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, addr := range p {
		answer, err := http.Post("http://"+addr+"/api/v2/alerts", "application/json", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		said, _ := io.ReadAll(answer.Body) // for the log alone
		if answer.Body.Close(); answer.StatusCode != http.StatusOK {
			t.Fatalf("Alertmanager takes no alert: %d %s", answer.StatusCode, said)
		}
	}
}

// metric is the sum of a metric of both, of lines that begin so.
func (p pair) metric(t *testing.T, begin string) (sum float64) {
	t.Helper()
	for _, addr := range p {
		answer, err := http.Get("http://" + addr + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			var n float64
			if rest, is := strings.CutPrefix(line, begin); is {
				if _, err := fmt.Sscan(rest[strings.LastIndexByte(rest, ' ')+1:], &n); err == nil {
					sum += n
				}
			}
		}
	}
	return sum
}

// night makes a front that leads to a route, whose second step is for whoever the first does not reach.
func (y *yard) night() wire.NewFront {
	y.Helper()
	_, err := y.api().Routes.Put(y.Context(), posthouse.Route{Name: "night", Steps: []posthouse.RouteStep{
		{Channels: []string{"out"}, To: []posthouse.Recipient{{User: "li"}}, Until: posthouse.ProofAcknowledged, Within: posthouse.Duration(time.Hour)},
		{Channels: []string{"out"}, To: []posthouse.Recipient{{User: "wang"}}},
	}})
	y.must(err)
	made, err := y.api().Fronts.Put(y.Context(), "night", wire.PutFront{Kind: "alertmanager", FrontSettings: posthouse.FrontSettings{Route: "night"}})
	y.must(err)
	return made
}

// Two real Alertmanagers of a cluster tell of the same alerts. Each alert is one message, whatever happens to the server meanwhile.
func TestAPairOfAlertmanagers(t *testing.T) {
	t.Parallel()
	program := dbtest.Program(t, "prometheus-alertmanager")
	if path := os.Getenv("POSTHOUSE_ALERTMANAGER"); path != "" { // another version
		program = path
	}
	y := openYard(t)
	f := y.front("alertmanager")
	way := lossyWay(y)
	app := y.front("wecom-app")
	night := y.night()
	p := startPair(t, program, way.URL+f.Path, f.Token, night.Token, way.URL+app.Path, app.Token)
	once := func(name string) {
		t.Helper()
		house.Until(t, "there is a message about "+name, func() bool { return len(y.messages("alertmanager", name)) > 0 })
	}

	p.tell(t, "Good")
	house.Until(t, "both have told", func() bool {
		n := y.outcomes(f.Name)
		return n[posthouse.FrontAccepted] == 1 && n[posthouse.FrontDuplicate] == 1
	})
	if m := y.messages("alertmanager", "Good"); len(m) != 1 || m[0].Priority != posthouse.High || m[0].Content.Title != "[Firing] Good" {
		t.Errorf("the messages are %+v", m)
	}

	p.tell(t, "Refused", "wrong", "yes")
	house.Until(t, "both were refused", func() bool {
		return p.metric(t, `alertmanager_notifications_failed_total{integration="webhook"`) >= 2
	})
	if m := y.messages("alertmanager", "Refused"); len(m) > 0 {
		t.Errorf("a wrong token has made messages: %+v", m)
	}

	p.tell(t, "ByTheApp", "app", "yes")
	house.Until(t, "both have sent it as an application", func() bool { return len(y.messages("wecom-app", "ByTheApp")) == 2 })

	p.tell(t, "Routed", "way", "night")
	house.Until(t, "both have told what follows the route", func() bool {
		n := y.outcomes(night.Name)
		return n[posthouse.FrontAccepted] == 1 && n[posthouse.FrontDuplicate] == 1
	})
	once("Routed")

	letGo := y.holdUp()
	p.tell(t, "Killed")
	p.tell(t, "KilledOnItsWay", "way", "night")
	y.heldUp()
	y.member().Kill(t)
	letGo()
	y.member().Start(t)
	once("Killed")
	once("KilledOnItsWay")

	way.lose.Store(2)
	p.tell(t, "Unanswered")
	house.Until(t, "both have come again", func() bool { return way.lost.Load() == 2 && y.outcomes(f.Name)[posthouse.FrontDuplicate] >= 4 })
	once("Unanswered")

	room := y.full()
	for n := 1; y.outcomes(f.Name)[posthouse.FrontUnavailable] == 0; n++ { // the first that fill it up, and one for which there is no room
		p.tell(t, fmt.Sprintf("Full%d.", n))
		house.Until(t, "it was taken, or not", func() bool {
			return len(y.messages("alertmanager", fmt.Sprintf("Full%d.", n))) > 0 || y.outcomes(f.Name)[posthouse.FrontUnavailable] > 0
		})
	}
	full := y.messages("alertmanager", "Full")
	room()
	house.Until(t, "what found no room has come again", func() bool { return len(y.messages("alertmanager", "Full")) > len(full) })

	seen := map[string]int{}
	for _, m := range y.messages("alertmanager", "") {
		if seen[m.Content.Title]++; seen[m.Content.Title] > 1 {
			t.Errorf("there are %d messages of %s", seen[m.Content.Title], m.Content.Title)
		}
	}
	for _, name := range []string{"Good", "Routed", "Killed", "KilledOnItsWay", "Unanswered"} {
		if seen["[Firing] "+name] != 1 {
			t.Errorf("there are %d messages about %s, want one", seen["[Firing] "+name], name)
		}
	}
}
