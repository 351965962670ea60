package server_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/builtin"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/wire"
)

// Whoever's message is under way when its alert is resolved hears of the end once it has arrived, and so does whoever's is unknown; whoever's fails does
// not. Nobody hears twice of one end, by however many notifications they were told.
func TestWhoIsUnderWayHearsOfTheEnd(t *testing.T) {
	ways(t, func(h *house, p *scripted) {
		settings := atOnce(0)
		settings.OnUnknown = posthouse.Hold
		h.put(posthouse.Channel{Name: "a", Driver: "scripted", ChannelSettings: settings})
		h.way("night", untilKnown("a"))
		f := h.leads("alertmanager", "night", func(in *wire.PutFront) {
			in.To = []posthouse.Recipient{{User: "slow"}, {User: "doubt"}, {User: "failed"}, {User: "told"}}
		})
		under, arrives := make(chan bool, 10), make(chan bool)
		p.answers("a", func(out channel.Outgoing) channel.Result {
			firing := strings.HasPrefix(out.Content.Title, "[Firing")
			switch {
			case firing && out.Recipient.User == "slow":
				under <- true
				<-arrives
			case firing && out.Recipient.User == "doubt":
				return channel.Result{Class: posthouse.ClassUnknown}
			case firing && out.Recipient.User == "failed":
				return refusal
			}
			return channel.Result{Class: posthouse.ClassOK}
		})
		knock := func(alerts ...map[string]any) {
			h.Helper()
			if status, said := h.knock("POST", f.Path+"/"+f.Token, groupOf(alerts...)); status != 200 {
				h.Fatalf("%d %s", status, said)
			}
		}
		knock(alertOf("firing", "Disk", "critical", 1))
		<-under
		knock(alertOf("firing", "Disk", "critical", 1), alertOf("firing", "Disk", "critical", 2)) // each is told by two notifications
		<-under
		settled := func(want map[string]posthouse.State) func() bool {
			return func() bool {
				n := 0
				for _, one := range h.lastNotices() {
					for _, d := range one.Deliveries {
						if want[d.User] == d.State {
							n++
						}
					}
				}
				return n == 2*len(want)
			}
		}
		h.eventually("the others' are decided", settled(map[string]posthouse.State{"doubt": posthouse.Unknown, "failed": posthouse.Failed, "told": posthouse.Sent}))
		ends := func() (users []string) {
			p.mu.Lock()
			defer p.mu.Unlock()
			for i := range p.came {
				if strings.HasPrefix(p.came[i].Content.Title, "[Resolved") {
					users = append(users, p.came[i].Recipient.User)
				}
			}
			slices.Sort(users)
			return users
		}
		for range 2 { // both of a pair say so
			knock(alertOf("resolved", "Disk", "critical", 1), alertOf("resolved", "Disk", "critical", 2))
		}
		h.eventually("those who may have got it hear of the end", func() bool { return slices.Equal(ends(), []string{"doubt", "told"}) })
		arrives <- true
		arrives <- true
		h.eventually("so does whoever's was under way", func() bool { return slices.Equal(ends(), []string{"doubt", "slow", "told"}) })
		h.eventually("each notification says who hears", func() bool {
			heard := 0
			for _, n := range h.lastNotices() {
				for _, e := range n.Ends {
					if e.Reached == "a" && e.Channel == "a" && e.Skipped == "" {
						heard++
					}
				}
			}
			return heard == 6
		})
		h.eventually("nothing waits", settled(map[string]posthouse.State{"slow": posthouse.Sent, "told": posthouse.Sent}))
		if got := ends(); len(got) != 3 {
			h.Errorf("they hear more than once: %v", got)
		}
	})
}

// Nobody is called for what is over: who was reached by a call hears by another channel of the route, and where it has none, not at all.
func TestNobodyIsCalledForWhatIsOver(t *testing.T) {
	t.Parallel()
	p := &scripted{answer: map[string]func(channel.Outgoing) channel.Result{}}
	calls := p.driver()
	calls.Name, calls.Calls = "phone", func(channel.Config) bool { return true }
	h := open(t, databases[0].dsn(t), func(o *server.Options) { o.Drivers = append(builtin.Types(), p.driver(), calls) })
	h.put(posthouse.Channel{Name: "call", Driver: "phone", ChannelSettings: atOnce(0)})
	h.put(posthouse.Channel{Name: "chat", Driver: "scripted", ChannelSettings: atOnce(0)})
	for name, way := range map[string]struct {
		steps  []posthouse.RouteStep
		calls  int
		chats  int
		reason string
	}{
		"both":  {[]posthouse.RouteStep{{Channels: []string{"call"}, Until: posthouse.ProofAcknowledged, Within: hour}, {Channels: []string{"chat"}}}, 1, 1, ""},
		"alone": {[]posthouse.RouteStep{{Channels: []string{"call"}, Until: posthouse.ProofAcknowledged, Within: hour}}, 1, 0, "call"},
	} {
		p.mu.Lock()
		p.came = nil
		p.mu.Unlock()
		h.way(name, posthouse.Route{Steps: way.steps})
		f := h.leads("alertmanager", name, func(in *wire.PutFront) { in.To, in.MessageKind = []posthouse.Recipient{{User: "u1"}}, name })
		knock := func(status string) {
			h.Helper()
			if got, said := h.knock("POST", f.Path+"/"+f.Token, groupOf(alertOf(status, "Disk", "critical", 1))); got != 200 {
				t.Fatalf("%d %s", got, said)
			}
		}
		knock("firing")
		h.eventually("u1 is called", func() bool { return len(p.on("call")) == 1 })
		knock("resolved")
		var n posthouse.Notification
		h.eventually("the notification says who hears", func() bool { n = h.lastNotices()[0]; return len(n.Ends) == 1 })
		h.eventually("what is to be told is told", func() bool { return len(p.on("chat")) == way.chats })
		if e := n.Ends[0]; e.User != "u1" || e.Reached != "call" || e.Skipped != way.reason || len(p.on("call")) != way.calls {
			t.Errorf("%s: %+v, and %d calls", name, e, len(p.on("call")))
		}
		h.must(h.api.Fronts.Delete(h.Context(), f.Name))
	}
}

// A group of Grafana's, as its webhook is documented, goes through its life: it fires, is said once more, resolves in part, grows, and resolves cut
// short. https://grafana.com/docs/grafana/latest/alerting/configure-notifications/manage-contact-points/integrations/webhook-notifier/
func TestAGroupOfGrafanaThroughItsLife(t *testing.T) {
	ways(t, func(h *house, p *scripted) {
		h.way("night", untilKnown("a"))
		f := h.leads("grafana", "night", func(in *wire.PutFront) { in.To = []posthouse.Recipient{{User: "u1"}} })
		alert := func(status, zone string) string {
			return `{"status":"` + status + `","labels":{"alertname":"High memory usage","team":"blue","zone":"` + zone + `"},"annotations":{"description":"The system has high memory usage","runbook_url":"https://myrunbook.com/runbook/1234","summary":"This alert was triggered for ` + zone + `"},
				"startsAt":"2021-10-12T09:51:03.157076+02:00","endsAt":"0001-01-01T00:00:00Z","generatorURL":"https://play.grafana.org/alerting/1afz29v7z/edit","fingerprint":"` + zone + `","silenceURL":"https://play.grafana.org/alerting/silence/new","dashboardURL":"","panelURL":"","values":{"B":44.23943737541908,"C":1}}`
		}
		for _, c := range []struct {
			name, status, left string
			alerts             []string
			began, waits       int
		}{
			{"it fires", "firing", "0", []string{alert("firing", "us-1"), alert("firing", "us-2")}, 1, 1},
			{"it is said once more", "firing", "0", []string{alert("firing", "us-1"), alert("firing", "us-2")}, 1, 1},
			{"a part resolves", "firing", "0", []string{alert("firing", "us-1"), alert("resolved", "us-2")}, 1, 1},
			{"it grows", "firing", "0", []string{alert("firing", "us-1"), alert("firing", "us-3")}, 2, 2},
			{"it resolves, cut short", "resolved", "2", []string{alert("resolved", "us-1")}, 2, 0},
		} {
			body := `{"receiver":"My Super Webhook","status":"` + c.status + `","orgId":1,"alerts":[` + strings.Join(c.alerts, ",") + `],"groupLabels":{},"commonLabels":{"team":"blue"},"commonAnnotations":{},"externalURL":"https://play.grafana.org/",
				"version":"1","groupKey":"{}:{}","truncatedAlerts":` + c.left + `,"title":"[FIRING:2]","state":"alerting","message":"**Firing**"}`
			if status, said := h.knock("POST", f.Path+"/"+f.Token, body); status != 200 {
				h.Fatalf("%s: %d %s", c.name, status, said)
			}
			list, waits := h.lastNotices(), 0
			for i := range list {
				if list[i].State == posthouse.NotificationWaiting {
					waits++
				}
			}
			if len(list) != c.began || waits != c.waits {
				h.Errorf("%s: %d notifications, of which %d wait, want %d and %d", c.name, len(list), waits, c.began, c.waits)
			}
			h.eventually("what began is sent", func() bool { return len(p.on("a")) >= c.began })
		}
		h.eventually("u1 hears of the end", func() bool {
			texts := p.texts("a")
			return len(texts) == 3 && strings.Contains(texts[2], "The sender left out 2 more alerts.")
		})
	})
}
