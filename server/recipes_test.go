package server_test

import (
	"encoding/json"
	"net"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/simulator"
	"github.com/posthouse/posthouse/wire"
)

// reached are the channels on which something came for a user, in their order.
func (s *scripted) reached(user string) (channels []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.came {
		if s.came[i].Recipient.User == user {
			channels = append(channels, s.came[i].Channel)
		}
	}
	return channels
}

// recipes stores those of the guide by the names that the test has for them, in the guide's order. The steps that quick names for a recipe
// wait a second in place of their time.
func (h *house) recipes(quick map[string][]int, names ...string) {
	h.Helper()
	text, err := os.ReadFile("../docs/guide/routes.md")
	h.must(err)
	_, rest, _ := strings.Cut(string(text), "\n## Recipes\n")
	rest, _, _ = strings.Cut(rest, "\n## ")
	found := regexp.MustCompile("(?s)```json\n(.*?)```").FindAllStringSubmatch(rest, -1)
	if len(found) != len(names) {
		h.Fatalf("the guide has %d recipes, and the test plays %d", len(found), len(names))
	}
	for i, name := range names {
		var r posthouse.Route
		h.must(json.Unmarshal([]byte(found[i][1]), &r))
		for _, place := range quick[name] {
			r.Steps[place].Within = posthouse.Duration(time.Second)
		}
		h.way(name, r)
		if r.Calendar != "" {
			r.Calendar = "never"
			h.way(name+" off", r)
		}
	}
}

// mailbox makes the channel mail, whose mails the simulator gets, with quiet hours.
func (h *house) mailbox(at string, quiet ...posthouse.QuietHours) {
	h.Helper()
	host, port, err := net.SplitHostPort(at)
	h.must(err)
	number, err := strconv.Atoi(port)
	h.must(err)
	s := atOnce(20 * time.Millisecond)
	s.QuietHours = quiet
	h.put(posthouse.Channel{Name: "mail", Driver: "email", ChannelSettings: s, Config: map[string]any{"host": host, "port": number, "tls": "opportunistic", "from": "desk@example.com"}})
}

// The recipes of the guide do what it says of them, as they stand there, with mails by SMTP and the other channels by a provider that answers as
// the test says.
func TestTheRecipesOfRoutesDoWhatTheGuideSays(t *testing.T) {
	ways(t, func(h *house, p *scripted) {
		at, err := h.sim.StartMail(h.Context(), "")
		h.must(err)
		h.mailbox(at)
		lost := channel.Result{Class: posthouse.ClassUnknown, Code: "LOST", Error: "no answer"}
		for _, name := range []string{"chat", "text", "voice", "text-other"} {
			h.put(posthouse.Channel{Name: name, Driver: "scripted", ChannelSettings: atOnce(20 * time.Millisecond)})
			p.answers(name, func(out channel.Outgoing) channel.Result {
				switch fails, how, _ := strings.Cut(out.Recipient.User, "@"); {
				case how != out.Channel:
				case strings.HasPrefix(fails, "lost"):
					return lost
				default:
					return refusal
				}
				return channel.Result{Class: posthouse.ClassOK}
			})
		}
		noon, night := time.Now().UTC().Hour()-13, time.Now().UTC().Hour()-2 // so many hours behind UTC it is one o'clock in the afternoon, or two at night
		zone := func(behind int) string {
			behind = (behind+36)%24 - 12
			return "Etc/GMT" + map[bool]string{true: "+", false: ""}[behind >= 0] + strconv.Itoa(behind)
		}
		_, err = h.api.Users.Put(h.Context(),
			posthouse.User{ID: "awake", TimeZone: zone(noon)}, posthouse.User{ID: "asleep", TimeZone: zone(night)}, posthouse.User{ID: "asleep too", TimeZone: zone(night)},
			posthouse.User{ID: "day", TimeZone: zone(noon)}, posthouse.User{ID: "night", TimeZone: zone(night)}, posthouse.User{ID: "off", TimeZone: zone(noon)},
			posthouse.User{ID: "texted", Addresses: map[string]string{"text": "13800138000"}}, posthouse.User{ID: "mailed", Addresses: map[string]string{"mail": "mailed@example.org"}},
			posthouse.User{ID: "ops1", Roles: []string{"ops"}}, posthouse.User{ID: "ops2", Roles: []string{"ops"}}, posthouse.User{ID: "asks", Roles: []string{"office"}})
		h.must(err)
		always := func(name string, users ...string) {
			h.roster(posthouse.Roster{Name: name, Days: weekdays(users, 1, 2, 3, 4, 5, 6, 7)})
		}
		always("night", "on duty")
		always("lead", "the lead")
		always("workdays", "work")
		h.roster(posthouse.Roster{Name: "never", Overrides: map[string][]string{"2026-01-01": {"work"}}})
		h.recipes(map[string][]int{"alert": {0, 1}, "password": {0}, "read": {0, 1}},
			"alert", "own", "mail", "password", "hours", "loud", "evacuation", "team", "read", "branch", "gateways")

		for name, t := range map[string]posthouse.Template{"long": {Title: "News of ${month}", Text: "All that was in ${month}"}, "short": {Text: "${month}: see your mail"}} {
			t.Name = name
			_, err := h.api.Templates.Put(h.Context(), t)
			h.must(err)
		}
		h.way("news", posthouse.Route{Steps: []posthouse.RouteStep{{Channels: []string{"mail", "text"}, Templates: map[string]string{"mail": "long", "text": "short"}}}})

		sends := func(route string, with posthouse.Draft, to ...posthouse.Recipient) (ids []string) {
			h.Helper()
			with.Route, with.To, with.Content = route, to, &posthouse.Content{Title: route, Text: "hello"}
			message := h.hand(with).ID
			for i := range max(1, len(to)) {
				ids = append(ids, posthouse.DeliveryID(message, i+1))
			}
			return ids
		}
		user := func(id string) posthouse.Recipient { return posthouse.Recipient{User: id} }
		mail := func(id, address string) posthouse.Recipient {
			return posthouse.Recipient{User: id, Address: address + "@example.org"}
		}
		const refused = "fail-recipient"
		mails := func(address string) (n int) {
			for _, a := range h.arrivals("mail", address+"@example.org") {
				if a.Answer == simulator.Accepted {
					n++
				}
			}
			return n
		}
		reach := func(who string, want ...string) {
			h.Helper()
			h.eventually(who+" is reached by "+strings.Join(want, ", "), func() bool { return slices.Equal(p.reached(who), want) })
		}
		acknowledge := func(id, by string) {
			h.Helper()
			_, err := h.api.Notifications.Acknowledge(h.Context(), id, wire.Ack{By: by})
			h.must(err)
			if n := h.turns(id, posthouse.NotificationAcknowledged); n.Ack.By != by {
				h.Errorf("%s acknowledged it, want %s", n.Ack.By, by)
			}
		}

		// Those that wait begin first.
		alert := sends("alert", posthouse.Draft{})
		read := sends("read", posthouse.Draft{}, mail("reads not", "reader"))
		password := sends("password", posthouse.Draft{Sensitive: true, ForgetAfter: posthouse.Duration(10 * time.Minute)}, user("late"), user("refused@text"), user("lost@text"))
		gateways := sends("gateways", posthouse.Draft{}, user("cheap"), user("down@text"), user("lost too@text"))
		team := sends("team", posthouse.Draft{})
		critical := sends("loud", posthouse.Draft{Payload: []byte(`{"severity": "critical"}`)}, user("woken"))

		own := sends("own", posthouse.Draft{}, user("texted"), user("mailed"))
		byMail := sends("mail", posthouse.Draft{}, mail("has mail", "fine"), mail("awake", refused), mail("asleep", refused))
		urgent := sends("mail", posthouse.Draft{Priority: posthouse.High}, mail("asleep too", refused))
		hours := sends("hours", posthouse.Draft{}, user("day"), user("night"))
		hours = append(hours, sends("hours off", posthouse.Draft{}, user("off"))...)
		minor := sends("loud", posthouse.Draft{Payload: []byte(`{"severity": "minor"}`)}, mail("not woken", "minor"))
		news := sends("news", posthouse.Draft{Payload: []byte(`{"month": "May"}`)}, mail("reader of news", "news"))
		sends("evacuation", posthouse.Draft{}, user("leaves@chat"))

		reach("woken", "voice")
		acknowledge(critical[0], "woken")
		reach("ops1", "chat")
		reach("ops2", "chat")
		acknowledge(team[0], "ops2")
		told := slices.Concat(own, byMail[:2], urgent, hours, minor, news, password, gateways[:2])
		for _, id := range told {
			h.turns(id, posthouse.NotificationTold)
		}
		h.turns(byMail[2], posthouse.NotificationNotTold)
		h.eventually("everything sounds", func() bool {
			got := p.reached("leaves@chat")
			slices.Sort(got)
			return slices.Equal(got, []string{"chat", "text", "voice"})
		})
		reach("the lead", "voice")
		acknowledge(alert[0], "the lead")
		if n := h.turns(read[0], posthouse.NotificationNotTold); n.Reason != "escalated" || n.ToldUser != "asks" {
			h.Errorf("what is not read is %s, told %q", n.Reason, n.ToldUser)
		}

		// Quiet hours come last, since they hold the channels of the others.
		now := time.Now().UTC()
		quiet := posthouse.QuietHours{From: now.Add(-2 * time.Hour).Format("15:04"), To: now.Add(3 * time.Hour).Format("15:04"), TimeZone: "UTC"}
		holds := func(q posthouse.QuietHours) {
			texts := atOnce(20 * time.Millisecond)
			texts.QuietHours = []posthouse.QuietHours{q}
			h.put(posthouse.Channel{Name: "text", Driver: "scripted", ChannelSettings: texts})
			h.mailbox(at, q)
		}
		holds(quiet)
		branch := sends("branch", posthouse.Draft{}, mail("branch", refused))
		alarm := sends("branch", posthouse.Draft{Critical: true}, mail("branch too", "alarmed"))
		h.turns(alarm[0], posthouse.NotificationTold)
		h.eventually("the notice waits for the end of quiet hours", func() bool {
			n, err := h.api.Notifications.Get(h.Context(), branch[0])
			h.must(err)
			return n.State == posthouse.NotificationWaiting && len(n.Deliveries) == 0 && n.NextAt.After(now.Add(2*time.Hour))
		})
		if got := p.reached("branch"); len(got) > 0 {
			h.Errorf("in quiet hours the branch is reached by %v", got)
		}
		quiet.Users = []string{"somebody else"} // not none: hours that come and go between two looks at them, which are seconds apart, are seen minutes later
		holds(quiet)
		h.turns(branch[0], posthouse.NotificationTold)

		for _, address := range []string{"mailed", "fine", "minor", "reader", "alarmed", "news"} { // some were told by another channel first
			h.eventually("a mail comes to "+address, func() bool { return mails(address) > 0 })
			if n := mails(address); n != 1 {
				h.Errorf("%s got %d mails, want one", address, n)
			}
		}
		h.eventually("the other texts come", func() bool { return len(p.reached("reader of news")) > 0 && len(p.reached("not woken")) > 0 })
		got := map[string][]string{}
		for _, who := range []string{
			"on duty", "the lead", "texted", "mailed", "has mail", "awake", "asleep", "asleep too", "late", "refused@text", "lost@text", "day", "night", "off",
			"woken", "not woken", "ops1", "ops2", "reads not", "asks", "cheap", "down@text", "lost too@text", "branch", "branch too", "reader of news",
		} {
			got[who] = p.reached(who)
		}
		want := map[string][]string{
			"on duty": {"chat", "voice"}, "the lead": {"voice"},
			"texted": {"text"}, "mailed": nil,
			"has mail": nil, "awake": {"text"}, "asleep": nil, "asleep too": {"text"},
			"late": {"text", "voice"}, "refused@text": {"text", "voice"}, "lost@text": {"text", "voice"},
			"day": {"chat"}, "night": {"voice"}, "off": {"voice"},
			"woken": {"voice"}, "not woken": {"chat"},
			"ops1": {"chat"}, "ops2": {"chat"},
			"reads not": {"text"}, "asks": {"chat"},
			"cheap": {"text"}, "down@text": {"text", "text-other"}, "lost too@text": {"text"},
			"branch": {"text"}, "branch too": nil, "reader of news": {"text"},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			h.Errorf("the channels on which each was reached (-want +got):\n%s", diff)
		}
		if m := h.arrivals("mail", "news@example.org")[0]; m.Title != "News of May" || m.Text != "All that was in May" {
			h.Errorf("the mail of a step with a template for each channel says %q: %q", m.Title, m.Text)
		}
		if list := p.texts("text"); !slices.Contains(list, "May: see your mail") {
			h.Errorf("by text came %q", list)
		}
		if n := mails(refused); n > 0 {
			h.Errorf("%d mails came to a mailbox that is not there", n)
		}
		if n, err := h.api.Notifications.Get(h.Context(), gateways[2]); err != nil || n.State != posthouse.NotificationWaiting {
			h.Errorf("where an answer was lost: %s, %v", n.State, err)
		}
	})
}
