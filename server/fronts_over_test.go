package server_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/builtin"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/wire"
)

// cut is a group of which the sender has left some alerts out.
func cut(t *testing.T, body, status string, left int) string {
	t.Helper()
	var all map[string]any
	if err := json.Unmarshal([]byte(body), &all); err != nil {
		t.Fatal(err)
	}
	all["status"], all["truncatedAlerts"] = status, left
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// untilKnown is a route whose one step waits for somebody to acknowledge it.
func untilKnown(name string) posthouse.Route {
	return posthouse.Route{Steps: []posthouse.RouteStep{{Channels: []string{name}, Until: posthouse.ProofAcknowledged, Within: hour}}}
}

// A group that its sender cuts short is over where its status is resolved, and begins nothing. The call counts those alone that it kept from going on.
func TestAGroupThatIsCutShortIsResolved(t *testing.T) {
	ways(t, func(h *house, p *scripted) {
		h.way("night", untilKnown("a"))
		f := h.leads("alertmanager", "night", func(in *wire.PutFront) { in.To = []posthouse.Recipient{{User: "u1"}, {User: "u2"}} })
		knock := func(body string) {
			h.Helper()
			if status, said := h.knock("POST", f.Path+"/"+f.Token, body); status != 200 {
				h.Fatalf("%d %s", status, said)
			}
		}
		knock(cut(h.T, groupOf(alertOf("firing", "Disk", "critical", 1)), "firing", 3))
		h.eventually("both are called", func() bool { return len(p.on("a")) == 2 })
		list := h.lastNotices()
		_, err := h.api.Notifications.Acknowledge(h.Context(), list[1].ID, wire.Ack{By: "u1"})
		h.must(err)
		knock(cut(h.T, groupOf(alertOf("resolved", "Disk", "critical", 1)), "resolved", 3))
		if n := h.turns(list[0].ID, posthouse.NotificationNotTold); n.Reason != "resolved" {
			h.Errorf("the notification is %+v, want it resolved", n)
		}
		if n := len(h.lastNotices()); n != 2 {
			h.Errorf("the end of the group began a route: there are %d notifications", n)
		}
		if c := h.lastCall(f, 2); !strings.Contains(c.Reason, "1 notifications go no further") || !strings.Contains(c.Reason, "taken for resolved too") {
			h.Errorf("the call says %q", c.Reason)
		}
	})
}

// With one message for each alert, what the sender left out keeps no alert from being over.
func TestAnAlertOfAGroupThatIsCutShortIsResolved(t *testing.T) {
	ways(t, func(h *house, p *scripted) {
		h.way("night", untilKnown("a"))
		f := h.leads("alertmanager", "night", func(in *wire.PutFront) { in.To, in.Each = []posthouse.Recipient{{User: "u1"}}, "alert" })
		for _, status := range []string{"firing", "resolved"} {
			if got, said := h.knock("POST", f.Path+"/"+f.Token, cut(h.T, groupOf(alertOf(status, "Disk", "critical", 1)), "firing", 3)); got != 200 {
				h.Fatalf("%d %s", got, said)
			}
		}
		list := h.lastNotices()
		if len(list) != 1 || list[0].Reason != "resolved" {
			h.Errorf("the notifications are %+v, want one that is resolved", list)
		}
	})
}

// The page of a link of what is resolved says so, and since when. Whoever has read it may still say so.
func TestTheLinkOfWhatIsResolvedSaysSo(t *testing.T) {
	t.Parallel()
	p := &scripted{answer: map[string]func(channel.Outgoing) channel.Result{}}
	h := open(t, databases[0].dsn(t), func(o *server.Options) {
		o.Drivers, o.PublicURL = append(builtin.Types(), p.driver()), "https://post.example"
	})
	h.put(posthouse.Channel{Name: "a", Driver: "scripted", ChannelSettings: atOnce(20 * time.Millisecond)})
	h.way("night", untilKnown("a"))
	f := h.leads("alertmanager", "night", func(in *wire.PutFront) { in.To = []posthouse.Recipient{{User: "u1"}} })
	knock := func(status string) {
		h.Helper()
		if got, said := h.knock("POST", f.Path+"/"+f.Token, groupOf(alertOf(status, "Disk", "critical", 1))); got != 200 {
			t.Fatalf("%d %s", got, said)
		}
	}
	knock("firing")
	h.eventually("it arrives", func() bool { return len(p.on("a")) == 1 })
	text := p.texts("a")[0]
	link := text[strings.LastIndex(text, "/ack/"):]
	knock("resolved")
	n := h.lastNotices()[0]
	since := n.ResolvedAt.In(time.FixedZone("the server's", 8*60*60)).Format("2006-01-02 15:04:05")
	for language, words := range map[string][]string{"zh": {"已恢复，无需再处理", "恢复时间", since, "<form"}, "en": {"This is over", "Over since", since, "<form"}} {
		status, page := h.knock("GET", link, "", "Accept-Language", language)
		if i := slices.IndexFunc(words, func(word string) bool { return !strings.Contains(page, word) }); status != http.StatusOK || i >= 0 {
			t.Errorf("%s: %d without %q: %s", language, status, words[max(i, 0)], page)
		}
	}
	if status, page := h.knock("POST", link, "", "Sec-Fetch-Site", "same-origin", "Accept-Language", "en"); status != http.StatusOK || !strings.Contains(page, "Acknowledged by") || !strings.Contains(page, "Over since") {
		t.Errorf("the button: %d %s", status, page)
	}
	h.turns(n.ID, posthouse.NotificationAcknowledged)
	h.hand(posthouse.Draft{Route: "night", To: []posthouse.Recipient{{User: "u1"}}, Content: &posthouse.Content{Text: "see ${ack_url}"}})
	h.eventually("another one arrives", func() bool {
		i := slices.IndexFunc(p.texts("a"), func(text string) bool { return strings.HasPrefix(text, "see ") })
		if i >= 0 {
			text = p.texts("a")[i]
		}
		return i >= 0
	})
	ended, err := h.api.Notifications.End(t.Context(), h.lastNotices()[0].ID)
	h.must(err)
	since = ended.UpdatedAt.In(time.FixedZone("the server's", 8*60*60)).Format("2006-01-02 15:04:05")
	if status, page := h.knock("GET", text[strings.LastIndex(text, "/ack/"):], "", "Accept-Language", "zh"); status != http.StatusOK || !strings.Contains(page, "结束时间") || !strings.Contains(page, since) || !strings.Contains(page, "<form") {
		t.Errorf("of one that a person has ended: %d without %s: %s", status, since, page)
	}
}

// A group is one notification for as long as it goes on: that a part of it is resolved begins no route again, and neither does what is said once more.
// An alert that nobody knows yet is news, and so is what was left out. Once the group is over, what fires is told.
func TestAPartOfAGroupBeginsNothing(t *testing.T) {
	ways(t, func(h *house, p *scripted) {
		for way, until := range map[string]posthouse.Proof{"knowngroup": posthouse.ProofAcknowledged, "knownalert": posthouse.ProofAcknowledged, "sentgroup": posthouse.ProofSent} {
			h.way(way, posthouse.Route{Steps: []posthouse.RouteStep{{Channels: []string{"a"}, Until: until, Within: hour}}})
		}
		on := func(n int) map[string]any { return alertOf("firing", "Disk", "critical", n) }
		off := func(n int) map[string]any { return alertOf("resolved", "Disk", "critical", n) }
		anew := on(1)
		anew["startsAt"] = "2026-11-27T06:00:00Z"
		type said struct {
			name string
			body string
			want int // how many messages there are then
		}
		tells := func(way, each string, acknowledge bool, calls ...said) {
			h.Helper()
			f := h.leads("alertmanager", way+each, func(in *wire.PutFront) {
				in.To, in.Each, in.MessageKind, in.DedupWindow = []posthouse.Recipient{{User: "u1"}, {User: "u2"}}, each, way+each, posthouse.Duration(time.Millisecond)
			})
			defer func() { h.must(h.api.Fronts.Delete(h.Context(), f.Name)) }()
			begun := map[string]bool{}
			for _, c := range calls {
				if status, said := h.knock("POST", f.Path+"/"+f.Token, c.body); status != 200 {
					h.Fatalf("%s: %d %s", c.name, status, said)
				}
				for _, n := range h.lastNotices() {
					if n.Kind != way+each || begun[n.ID] {
						continue
					}
					begun[n.ID] = true
					h.eventually("it is sent", func() bool {
						n, err := h.api.Notifications.Get(h.Context(), n.ID)
						h.must(err)
						return len(n.Deliveries) == 1 && n.Deliveries[0].State == posthouse.Sent
					})
					if acknowledge && n.To[0].User == "u1" { // the other one's goes on
						_, err := h.api.Notifications.Acknowledge(h.Context(), n.ID, wire.Ack{By: "u1"})
						h.must(err)
					}
				}
				if len(begun) != 2*c.want {
					h.Errorf("%s, %s %s: %d notifications, want those of %d messages", way, each, c.name, len(begun), c.want)
				}
			}
		}
		group := []said{
			{"it fires", groupOf(on(1), on(2)), 1},
			{"a part is resolved", groupOf(on(1), off(2)), 1},
			{"the rest is said once more", groupOf(on(1)), 1},
			{"it grows", groupOf(on(1), on(3)), 2},
			{"what it grew by is resolved", groupOf(on(1), off(3)), 2},
			{"some are left out", cut(h.T, groupOf(on(1)), "firing", 3), 3},
			{"the same are left out", cut(h.T, groupOf(on(1)), "firing", 3), 3},
			{"fewer are left out", cut(h.T, groupOf(off(1)), "firing", 2), 3},
			{"it is over", groupOf(off(1)), 3},
			{"it fires anew", groupOf(anew), 4},
		}
		tells("known", "group", true, group...)
		tells("known", "alert", true, said{"two fire", groupOf(on(1), on(2)), 2}, said{"one is resolved", groupOf(on(1), off(2)), 2}, said{"one is said once more", groupOf(on(1)), 2}, said{"a third", groupOf(on(1), on(3)), 3})
		tells("sent", "group", false, group[0], group[1], said{"it is reminded of", groupOf(on(1)), 2})
	})
}
