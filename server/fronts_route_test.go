package server_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/builtin"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/wire"
)

// leads makes a front whose messages follow a route.
func (h *house) leads(kind, way string, change ...func(*wire.PutFront)) wire.NewFront {
	h.Helper()
	return h.front(kind, append([]func(*wire.PutFront){func(in *wire.PutFront) { in.Channel, in.Route, in.To = "", way, nil }}, change...)...)
}

// duties are rosters by which somebody is on duty each day.
func (h *house) duties(names map[string]string) {
	h.Helper()
	for name, user := range names {
		days := map[string][]string{}
		for _, d := range []string{"1", "2", "3", "4", "5", "6", "7"} {
			days[d] = []string{user}
		}
		_, err := h.api.Rosters.Put(h.Context(), posthouse.Roster{Name: name, TimeZone: "UTC", Days: days})
		h.must(err)
	}
}

// lastNotices are the notifications of the tenant default, the newest first.
func (h *house) lastNotices() []posthouse.Notification {
	h.Helper()
	page, err := h.api.Notifications.List(h.Context(), "", client.Filter{})
	h.must(err)
	return page.Items
}

// callsAt waits until so many calls are kept at a front.
func (h *house) callsAt(front string, n int) (calls []posthouse.FrontCall) {
	h.Helper()
	h.eventually("the calls are kept", func() bool {
		var err error
		calls, err = h.api.Fronts.Calls(h.Context(), front)
		h.must(err)
		return len(calls) == n
	})
	return calls
}

var hour = posthouse.Duration(time.Hour)

func roster(name string) []posthouse.Recipient { return []posthouse.Recipient{{Roster: name}} }

// An alert follows its route: where a step fails, the next one tells those it names. The alert of a pair is told once.
func TestAnAlertFollowsARoute(t *testing.T) {
	ways(t, func(h *house, p *scripted) {
		h.duties(map[string]string{"night": "li", "lead": "wang"})
		p.says("a", refusal)
		h.way("night", posthouse.Route{Steps: []posthouse.RouteStep{{Channels: []string{"a"}, To: roster("night")}, {Channels: []string{"b"}, To: roster("lead")}}})
		f := h.leads("alertmanager", "night")
		body := groupOf(alertOf("firing", "Disk", "critical", 1), alertOf("resolved", "Disk", "warning", 2))
		for i, text := range []string{body, body, groupOf(alertOf("resolved", "Disk", "warning", 2), alertOf("firing", "Disk", "critical", 1))} {
			if status, said := h.knock("POST", f.Path+"/"+f.Token, text); status != 200 {
				h.Fatalf("%d: %d %s", i, status, said)
			}
		}
		list := h.lastNotices()
		if len(list) != 1 || list[0].Route != "night" || len(list[0].To) != 0 || list[0].Kind != "alertmanager" {
			h.Fatalf("the notifications are %+v, want one", list)
		}
		n := h.turns(list[0].ID, posthouse.NotificationTold)
		if a, b := p.on("a"), p.on("b"); !slices.Equal(a, []string{"li"}) || !slices.Equal(b, []string{"wang"}) {
			h.Errorf("the steps told %v and %v", a, b)
		}
		m, err := h.api.Messages.Get(h.Context(), n.Message)
		if err != nil || m.Priority != posthouse.High || m.Content.Title != "[Firing, Resolved] Disk" || m.Source != "front alertmanager" || strings.Contains(m.Content.Text, "Acknowledge") {
			h.Errorf("the message is %+v, %v", m, err)
		}
		var outcomes []posthouse.FrontOutcome
		for _, c := range h.callsAt(f.Name, 3) {
			if outcomes = append(outcomes, c.Outcome); !slices.Equal(c.Messages, []string{n.Message}) {
				h.Errorf("a call names the messages %v", c.Messages)
			}
		}
		if want := []posthouse.FrontOutcome{posthouse.FrontDuplicate, posthouse.FrontDuplicate, posthouse.FrontAccepted}; !slices.Equal(outcomes, want) {
			h.Errorf("the outcomes are %v, want %v", outcomes, want)
		}
		if n := h.metric(`posthouse_front_messages_total{front="alertmanager",kind="alertmanager"}`); n != 1 {
			h.Errorf("%v messages are counted, want one", n)
		}
	})
}

// A line of the table leads to a route, and another to a channel; what one call brings goes both ways.
func TestLabelsLeadToARoute(t *testing.T) {
	ways(t, func(h *house, p *scripted) {
		h.way("night", posthouse.Route{Steps: []posthouse.RouteStep{step("a")}})
		f := h.front("alertmanager", func(in *wire.PutFront) {
			in.Each = "alert"
			in.Match = []posthouse.FrontMatch{{If: map[string]string{"severity": "critical"}, Route: "night"}, {If: map[string]string{"severity": "page"}, Channel: "b"}}
		})
		body := groupOf(alertOf("firing", "Disk", "critical", 1), alertOf("firing", "Disk", "info", 2), alertOf("firing", "Disk", "page", 3), alertOf("firing", "Disk", "critical", 4))
		for range 2 {
			if status, said := h.knock("POST", f.Path+"/"+f.Token, body); status != 200 {
				h.Fatalf("%d %s", status, said)
			}
		}
		h.eventually("all are told, once", func() bool {
			return slices.Equal(p.on("a"), []string{"u1", "u1"}) && slices.Equal(p.on("b"), []string{"u1"})
		})
		if n := len(h.lastNotices()); n != 2 {
			h.Errorf("there are %d notifications, want two", n)
		}
		calls := h.callsAt(f.Name, 2)
		if len(calls[1].Messages) != 4 || !slices.Equal(calls[0].Messages, calls[1].Messages) || calls[0].Outcome != posthouse.FrontDuplicate {
			h.Errorf("the calls are %+v", calls)
		}
	})
}

// A front's digest gathers what goes through its channel; a line that leads to a route has none of it. A digest that was deleted loses no alert.
func TestADigestGathersAlerts(t *testing.T) {
	ways(t, func(h *house, p *scripted) {
		h.way("night", posthouse.Route{Steps: []posthouse.RouteStep{step("b")}})
		h.digests(posthouse.Digest{Name: "alerts", Window: hour, Max: 2})
		f := h.front("alertmanager", func(in *wire.PutFront) {
			in.Channel, in.Each, in.Digest = "a", "alert", "alerts"
			in.Match = []posthouse.FrontMatch{{If: map[string]string{"severity": "critical"}, Route: "night"}}
		})
		body := groupOf(alertOf("firing", "Disk", "info", 1), alertOf("firing", "Disk", "critical", 2), alertOf("firing", "Disk", "info", 3))
		for range 2 {
			if status, said := h.knock("POST", f.Path+"/"+f.Token, body); status != 200 {
				h.Fatalf("%d %s", status, said)
			}
		}
		h.eventually("two are one post, and one follows the route", func() bool {
			return slices.Equal(p.on("a"), []string{"u1"}) && slices.Equal(p.on("b"), []string{"u1"})
		})
		page, err := h.api.Collections.List(h.Context(), "", client.Filter{})
		h.must(err)
		if len(page.Items) != 1 || len(page.Items[0].Members) != 2 {
			h.Errorf("the collections are %+v, want one of two", page.Items)
		}
		h.must(h.api.Digests.Delete(h.Context(), "alerts"))
		if status, said := h.knock("POST", f.Path+"/"+f.Token, groupOf(alertOf("firing", "Net", "info", 4))); status != 503 {
			h.Errorf("without its digest: %d %s, want the sender to come again", status, said)
		}
	})
}

// No alert is lost to what is wrong with a route: its sender cannot mend that. A step that cannot send is passed over, and one whose template
// does not fit tells the front's own text.
func TestWhatIsWrongWithARouteLosesNoAlert(t *testing.T) {
	ways(t, func(h *house, p *scripted) {
		_, err := h.api.Templates.Put(h.Context(), posthouse.Template{Name: "team", Text: "${labels.team} on duty"})
		h.must(err)
		h.put(posthouse.Channel{Name: "gone", Driver: "discard"})
		h.duties(map[string]string{"lead": "wang"})
		h.way("night", posthouse.Route{Steps: []posthouse.RouteStep{{Channels: []string{"gone"}, To: roster("lead")}, {Channels: []string{"a"}, To: roster("lead"), Template: "team"}}})
		h.must(h.api.Channels.Delete(h.Context(), "gone"))
		f := h.leads("alertmanager", "night")
		knock := func(body string) (int, string) { return h.knock("POST", f.Path+"/"+f.Token, body) }
		h.eventually("the channel is gone for all", func() bool {
			_, err := h.api.Messages.Send(h.Context(), posthouse.Draft{Channel: "gone", To: []posthouse.Recipient{{User: "u1"}}, Content: &posthouse.Content{Text: "x"}})
			return err != nil
		})
		if status, said := knock(groupOf(alertOf("firing", "Disk", "critical", 1))); status != 200 {
			h.Fatalf("%d %s", status, said)
		}
		n := h.turns(h.lastNotices()[0].ID, posthouse.NotificationTold)
		if len(n.Steps) != 2 || n.Steps[0].Skipped != "refused" || !strings.Contains(n.Steps[0].Detail, `there is no channel "gone"`) || !strings.Contains(n.Steps[1].Detail, "the template team does not fit") {
			h.Errorf("the steps are %+v", n.Steps)
		}
		with := alertOf("firing", "Disk", "critical", 2)
		with["labels"].(map[string]string)["team"] = "web"
		if status, said := knock(groupOf(with)); status != 200 {
			h.Fatalf("%d %s", status, said)
		}
		h.eventually("both are told", func() bool { return len(p.on("a")) == 2 })
		p.mu.Lock()
		texts := []string{p.came[0].Content.Text, p.came[1].Content.Text}
		p.mu.Unlock()
		if !strings.Contains(texts[0], "Disk on host-1") || texts[1] != "web on duty" {
			h.Errorf("told were %q", texts)
		}
		// What no step can tell comes again, as where a channel is gone.
		h.roster(posthouse.Roster{Name: "lead", Days: map[string][]string{}})
		if status, said := knock(groupOf(alertOf("firing", "Disk", "critical", 3))); status != 503 || !strings.Contains(said, `there is no channel "gone"`) && !strings.Contains(said, "reaches nobody now") {
			h.Errorf("where nobody is on duty: %d %s", status, said)
		}
		h.must(h.api.Routes.Delete(h.Context(), "night"))
		if status, said := knock(groupOf(alertOf("firing", "Disk", "critical", 4))); status != 503 || !strings.Contains(said, `there is no route "night"`) {
			h.Errorf("without the route: %d %s", status, said)
		}
	})
}

// Where the route waits for somebody to acknowledge it, the front's own text ends with that person's link, and not with one that a stranger wrote.
func TestAnAlertCanBeAcknowledged(t *testing.T) {
	t.Parallel()
	p := &scripted{answer: map[string]func(channel.Outgoing) channel.Result{}}
	h := open(t, databases[0].dsn(t), func(o *server.Options) {
		o.Drivers, o.PublicURL = append(builtin.Types(), p.driver()), "https://post.example"
	})
	h.put(posthouse.Channel{Name: "a", Driver: "scripted", ChannelSettings: atOnce(20 * time.Millisecond)})
	h.way("night", posthouse.Route{Steps: []posthouse.RouteStep{{Channels: []string{"a"}, Until: posthouse.ProofAcknowledged, Within: hour}}})
	f := h.leads("alertmanager", "night", func(in *wire.PutFront) { in.To = []posthouse.Recipient{{User: "u1"}} })
	odd := alertOf("firing", "Disk", "critical", 1)
	odd["annotations"].(map[string]string)["description"] = "see ${ack_url}" + strings.Repeat(" and so on", 1000)
	if status, said := h.knock("POST", f.Path+"/"+f.Token, groupOf(odd)); status != 200 {
		t.Fatalf("%d %s", status, said)
	}
	h.eventually("it arrives", func() bool { return len(p.on("a")) == 1 })
	text := p.came[0].Content.Text
	at := strings.LastIndex(text, "\n\nAcknowledge: https://post.example/ack/")
	if at < 0 || strings.Count(text, "/ack/") != 1 || !strings.Contains(text, "see $ {ack_url}") {
		t.Fatalf("the text is %q", text)
	}
	link := strings.TrimPrefix(text[at:], "\n\nAcknowledge: https://post.example")
	if status, said := h.knock("POST", link, "", "Sec-Fetch-Site", "same-origin"); status != 200 {
		t.Fatalf("the link is answered with %d %.300s", status, said)
	}
	if n := h.turns(h.lastNotices()[0].ID, posthouse.NotificationAcknowledged); n.Ack.By != "u1" {
		t.Errorf("acknowledged by %+v", n.Ack)
	}
}

// What a front leads to is looked at when it is made, and who may make one is whoever is narrowed to nothing.
func TestWhereAFrontMayLead(t *testing.T) {
	ways(t, func(h *house, _ *scripted) {
		h.way("own", posthouse.Route{Steps: []posthouse.RouteStep{{Channels: []string{"a"}, To: []posthouse.Recipient{{User: "li"}}}}})
		h.way("open", posthouse.Route{Steps: []posthouse.RouteStep{{Channels: []string{"a"}, To: []posthouse.Recipient{{User: "li"}}}, step("b")}})
		h.digests(posthouse.Digest{Name: "alerts", Window: hour})
		to := []posthouse.Recipient{{User: "u1"}}
		if1 := map[string]string{"team": "db"}
		for name, c := range map[string]struct {
			s     posthouse.FrontSettings
			paths []string
		}{
			"a route that names all":  {posthouse.FrontSettings{Route: "own"}, nil},
			"and recipients":          {posthouse.FrontSettings{Route: "open", To: to}, nil},
			"neither":                 {posthouse.FrontSettings{To: to}, []string{"channel"}},
			"both":                    {posthouse.FrontSettings{Channel: "a", Route: "own", To: to}, []string{"route"}},
			"no such route":           {posthouse.FrontSettings{Route: "none", To: to}, []string{"route"}},
			"a step names nobody":     {posthouse.FrontSettings{Route: "open"}, []string{"to"}},
			"a channel needs some":    {posthouse.FrontSettings{Channel: "a"}, []string{"to"}},
			"a line leads to a route": {posthouse.FrontSettings{Channel: "a", To: to, Match: []posthouse.FrontMatch{{If: if1, Route: "own"}}}, nil},
			"a line leads off it":     {posthouse.FrontSettings{Route: "own", Match: []posthouse.FrontMatch{{If: if1, Channel: "a"}}}, []string{"match[0].to"}},
			"a line of both":          {posthouse.FrontSettings{Channel: "a", To: to, Match: []posthouse.FrontMatch{{If: if1, Channel: "a", Route: "own"}}}, []string{"match[0].route"}},
			"a digest":                {posthouse.FrontSettings{Channel: "a", To: to, Digest: "alerts"}, nil},
			"beside a line's route":   {posthouse.FrontSettings{Channel: "a", To: to, Digest: "alerts", Match: []posthouse.FrontMatch{{If: if1, Route: "own"}}}, nil},
			"no such digest":          {posthouse.FrontSettings{Channel: "a", To: to, Digest: "none"}, []string{"digest"}},
			"a digest and a route":    {posthouse.FrontSettings{Route: "own", Digest: "alerts"}, []string{"digest"}},
			"a line to nowhere":       {posthouse.FrontSettings{Channel: "a", To: to, Match: []posthouse.FrontMatch{{If: if1, Route: "none"}}}, []string{"match[0].route"}},
		} {
			_, err := h.api.Fronts.Put(h.Context(), "f", wire.PutFront{Kind: "alertmanager", FrontSettings: c.s})
			var paths []string
			var coded *posthouse.Error
			if errors.As(err, &coded) {
				for _, p := range coded.Problems {
					paths = append(paths, p.Path)
				}
			}
			if !slices.Equal(paths, c.paths) || (err == nil) != (c.paths == nil) {
				h.Errorf("%s: got %v, want problems at %v", name, err, c.paths)
			}
		}
		for name, limits := range map[string]posthouse.KeyLimits{"some channels": {Channels: []string{"a"}}, "some kinds": {Kinds: []string{"alertmanager"}}, "some actions": {Actions: []string{"routes.put", "fronts.*"}}} {
			made, err := h.api.Keys.Create(h.Context(), wire.Key{Name: strings.ReplaceAll(name, " ", "-"), Scope: posthouse.ScopeAdmin, KeyLimits: limits})
			h.must(err)
			narrow, err := client.New(client.Options{URL: h.url, Key: made.Secret, Tries: 1})
			h.must(err)
			if _, err := narrow.Fronts.Put(h.Context(), "g", wire.PutFront{Kind: "alertmanager", FrontSettings: posthouse.FrontSettings{Route: "own"}}); posthouse.CodeOf(err) != posthouse.CodeForbidden {
				h.Errorf("a key for %s: %v, want it to be forbidden", name, err)
			}
		}
	})
}

// A front may call nobody's whole group, by whatever way.
func TestAFrontCallsNobodysGroup(t *testing.T) {
	ways(t, func(h *house, _ *scripted) {
		h.put(posthouse.Channel{Name: "all", Driver: "wecom", Config: map[string]any{"url": h.sim.URL() + "/wecom", "corp_id": "corp", "agent_id": 7, "secret": "s", "everyone": true}})
		everybody := []posthouse.Recipient{{User: "@all"}}
		h.way("all", posthouse.Route{Steps: []posthouse.RouteStep{step("a"), {Channels: []string{"all"}, To: everybody}}})
		f := h.leads("alertmanager", "all", func(in *wire.PutFront) { in.To = []posthouse.Recipient{{User: "u1"}} })
		if status, said := h.knock("POST", f.Path+"/"+f.Token, groupOf(alertOf("firing", "Disk", "critical", 1))); status != 503 || !strings.Contains(said, "mention_all") {
			h.Errorf("got %d %s, want it to come again until the route is mended", status, said)
		}
		if n := len(h.lastNotices()); n != 0 {
			h.Errorf("there are %d notifications", n)
		}
	})
}

// A client of SMSGate whose texts follow a route is told whether the person behind the number was.
func TestATextFollowsARoute(t *testing.T) {
	ways(t, func(h *house, p *scripted) {
		p.says("a", refusal)
		h.way("texts", posthouse.Route{Steps: []posthouse.RouteStep{step("a"), {Channels: []string{"b"}, Until: posthouse.ProofAcknowledged, Within: hour}}})
		s := smsgate{h, h.leads("smsgate", "texts").Token}
		const text = `{"id":"order-1","textMessage":{"text":"Your parcel is here"},"phoneNumbers":["13800138000","13900139000"]}`
		for range 2 {
			if status, made := s.ask("POST", "messages", text); status != 202 || made.ID != "order-1" || made.State != "Pending" {
				h.Fatalf("got %d %+v", status, made)
			}
		}
		if status, made := s.ask("POST", "messages", strings.Replace(text, "is here", "was here", 1)); status != 409 {
			h.Errorf("another of the id: %d %+v", status, made)
		}
		list := h.lastNotices()
		if len(list) != 2 {
			h.Fatalf("there are %d notifications, want one a number", len(list))
		}
		var state textState
		for _, id := range []string{"order-1", list[0].Message} {
			h.eventually("both are being told", func() bool {
				_, state = s.ask("GET", "messages/"+id, "")
				return state.State == "Processed"
			})
			if state.ID != "order-1" || len(state.Recipients) != 2 || state.Recipients[0].PhoneNumber != "+8613800138000" {
				h.Errorf("%s: %+v", id, state)
			}
		}
		_, err := h.api.Notifications.AcknowledgeMessage(h.Context(), list[0].Message, wire.Ack{By: "a call"})
		h.must(err)
		if _, state = s.ask("GET", "messages/order-1", ""); state.State != "Delivered" {
			h.Errorf("after they have said so: %+v", state)
		}
		if status, _ := s.ask("GET", "messages/"+posthouse.NewID(), ""); status != 404 {
			h.Errorf("no message: %d", status)
		}
		made, err := h.api.Fronts.Put(h.Context(), "other", wire.PutFront{Kind: "smsgate", FrontSettings: posthouse.FrontSettings{Route: "texts"}})
		h.must(err)
		for _, id := range []string{"order-1", list[0].Message} {
			if status, _ := (smsgate{h, made.Token}).ask("GET", "messages/"+id, ""); status != 404 {
				h.Errorf("another front is answered with %d", status)
			}
		}
	})
}

// A mail that follows a route is its text: what is attached is named, and is nothing to acknowledge.
func TestAMailFollowsARoute(t *testing.T) {
	t.Parallel()
	h := open(t, databases[0].dsn(t))
	h.put(posthouse.Channel{Name: "mail", Driver: "email", Config: map[string]any{"host": "127.0.0.1", "port": 2525, "from": "ops@example.com"}})
	h.way("night", posthouse.Route{Steps: []posthouse.RouteStep{step("mail")}})
	f := h.leads("mail", "night", func(in *wire.PutFront) { in.To = []posthouse.Recipient{{Address: "li@example.com"}} })
	body := "From: disks@example.com\r\nTo: ops@example.com\r\nSubject: Disk\r\nMessage-ID: <1@example.com>\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n" +
		"--x\r\nContent-Type: text/plain\r\n\r\nfull\r\n--x\r\nContent-Type: text/plain\r\nContent-Disposition: attachment; filename=df.txt\r\n\r\n91%\r\n--x--\r\n"
	for range 2 {
		if status, said := h.knock("POST", f.Path+"/"+f.Token, body, "Content-Type", "message/rfc822"); status != 200 {
			t.Fatalf("%d %s", status, said)
		}
	}
	list := h.lastNotices()
	if len(list) != 1 {
		t.Fatalf("there are %d notifications, want one", len(list))
	}
	m, err := h.api.Messages.Get(h.Context(), list[0].Message)
	if want := "full\n\nLeft out, since a route tells a text: df.txt (3 bytes)"; err != nil || m.Content.Text != want || m.Content.Title != "Disk" {
		t.Errorf("the message is %+v, %v", m.Content, err)
	}
	if why := h.callsAt("mail", 2)[1].Reason; !strings.Contains(why, "df.txt is left out") {
		t.Errorf("the call says %q", why)
	}
}

// A client of message-pusher asks by the uuid that it was told how far its message is, with the token that all others need too.
func TestAMessagePusherIsAskedForAState(t *testing.T) {
	ways(t, func(h *house, p *scripted) {
		h.way("night", posthouse.Route{Steps: []posthouse.RouteStep{{Channels: []string{"b"}, Until: posthouse.ProofAcknowledged, Within: hour}}})
		f := h.front("message-pusher", func(in *wire.PutFront) {
			in.Channel = "a"
			in.Match = []posthouse.FrontMatch{{If: map[string]string{"user": "night"}, Route: "night"}}
		})
		push := func(user string) string {
			h.Helper()
			status, said := h.knock("POST", f.Path+"/push/"+user, `{"title":"Disk","content":"full","token":"`+f.Token+`"}`)
			var out struct{ UUID string }
			if err := json.Unmarshal([]byte(said), &out); err != nil || status != 200 || out.UUID == "" {
				h.Fatalf("%d %s", status, said)
			}
			return out.UUID
		}
		stands := func(uuid string, want string) {
			h.Helper()
			h.eventually("it stands as "+want, func() bool {
				status, said := h.knock("GET", f.Path+"/api/message/status/"+uuid, "", "Authorization", f.Token)
				return status == 200 && said == `{"message":"","status":`+want+`,"success":true}`
			})
		}
		stands(push("root"), "2")
		p.says("a", refusal)
		stands(push("root"), "3")
		routed := push("night")
		stands(routed, "1")
		_, err := h.api.Notifications.AcknowledgeMessage(h.Context(), routed, wire.Ack{By: "li"})
		h.must(err)
		stands(routed, "2")
		for name, c := range map[string]struct {
			path, token string
			status      int
		}{"no token": {routed, "", 401}, "no message": {posthouse.NewID(), f.Token, 200}} {
			if status, said := h.knock("GET", f.Path+"/api/message/status/"+c.path, "", "Authorization", c.token); status != c.status || !strings.Contains(said, `"success":false`) {
				h.Errorf("%s: %d %s", name, status, said)
			}
		}
	})
}

// lastCall waits until so many calls are kept at a front, and returns the last.
func (h *house) lastCall(f wire.NewFront, n int) posthouse.FrontCall {
	h.Helper()
	return h.callsAt(f.Name, n)[0]
}

// What is resolved ends what its firing began: no further step begins, and whoever was told hears of the end once, by the channel by which they were
// told. What fires anew is told anew.
func TestWhatIsResolvedGoesNoFurther(t *testing.T) {
	ways(t, func(h *house, p *scripted) {
		heard := h.listener()
		lead := []posthouse.Recipient{{User: "lead"}}
		h.way("night", posthouse.Route{Steps: []posthouse.RouteStep{{Channels: []string{"a"}, Until: posthouse.ProofAcknowledged, Within: hour}, {Channels: []string{"b"}, To: lead, Until: posthouse.ProofAcknowledged, Within: hour}}})
		f := h.leads("alertmanager", "night", func(in *wire.PutFront) { in.To = []posthouse.Recipient{{User: "u1"}, {User: "u2"}} })
		calls := 0
		knock := func(alerts ...map[string]any) {
			h.Helper()
			if status, said := h.knock("POST", f.Path+"/"+f.Token, groupOf(alerts...)); status != 200 {
				h.Fatalf("%d %s", status, said)
			}
			calls++
		}
		is := func(n *posthouse.Notification, state posthouse.NotificationState, reason string) {
			h.Helper()
			if got := h.turns(n.ID, state); got.Reason != reason || got.ResolvedAt.IsZero() || !got.NextAt.IsZero() || got.Step != 1 {
				h.Errorf("the notification is %+v, want %s %s", got, state, reason)
			}
		}
		knock(alertOf("resolved", "Disk", "critical", 1)) // what never fired ends nothing, and tells nobody
		if c := h.lastCall(f, calls); c.Outcome != posthouse.FrontIgnored || len(h.lastNotices()) != 0 {
			h.Errorf("before it fired: %+v", c)
		}
		for range 3 { // a storm of one key is one notification for each
			knock(alertOf("firing", "Disk", "critical", 1))
		}
		h.eventually("both are called", func() bool { return len(p.on("a")) == 2 })
		list := h.lastNotices()
		if len(list) != 2 {
			h.Fatalf("there are %d notifications, want one for each", len(list))
		}
		_, err := h.api.Notifications.Acknowledge(h.Context(), list[1].ID, wire.Ack{By: "u1"})
		h.must(err)
		for range 2 { // both of a pair say so
			knock(alertOf("resolved", "Disk", "critical", 1))
		}
		is(&list[0], posthouse.NotificationNotTold, "resolved")
		is(&list[1], posthouse.NotificationAcknowledged, "")
		h.eventually("both hear of the end", func() bool { return len(p.on("a")) == 4 })
		p.mu.Lock()
		last := p.came[3].Content
		p.mu.Unlock()
		if last.Title != "[Resolved] Disk" || strings.Contains(last.Text, "cknowledge") {
			h.Errorf("they are told %+v", last)
		}
		if c := h.lastCall(f, calls); c.Outcome != posthouse.FrontDuplicate {
			h.Errorf("the second of the pair: %+v", c)
		}
		if got, e := h.decided(heard, 2); !slices.Equal(got, []string{"notification.acknowledged u1  ", "notification.not_told u2  resolved"}) {
			h.Errorf("followers are told %q, %+v", got, e)
		}
		knock(alertOf("firing", "Disk", "critical", 1)) // the other of the pair is late
		if n := len(h.lastNotices()); n != 2 {
			h.Errorf("what is over is told once more: %d notifications", n)
		}
		anew := alertOf("firing", "Disk", "critical", 1)
		anew["startsAt"] = "2026-11-27T06:00:00Z"
		knock(anew)
		h.eventually("both are called anew", func() bool { return len(p.on("a")) == 6 })
		knock(alertOf("resolved", "Disk", "critical", 1)) // what is said of the first comes once more, and is none of the second's
		if list = h.lastNotices(); len(list) != 4 || list[0].State != posthouse.NotificationWaiting || list[1].State != posthouse.NotificationWaiting {
			h.Errorf("the second is %+v", list[:2])
		}
		if len(p.on("b")) != 0 {
			h.Errorf("the second step called %v", p.on("b"))
		}
	})
}

// With one message for each alert, what is resolved ends that alert's alone.
func TestOneAlertOfAGroupIsResolved(t *testing.T) {
	ways(t, func(h *house, p *scripted) {
		h.way("night", posthouse.Route{Steps: []posthouse.RouteStep{{Channels: []string{"a"}, Until: posthouse.ProofAcknowledged, Within: hour}}})
		f := h.leads("alertmanager", "night", func(in *wire.PutFront) { in.To, in.Each = []posthouse.Recipient{{User: "u1"}}, "alert" })
		for _, body := range []string{
			groupOf(alertOf("firing", "Disk", "critical", 1), alertOf("firing", "Disk", "critical", 2)),
			groupOf(alertOf("firing", "Disk", "critical", 1), alertOf("resolved", "Disk", "critical", 2)),
		} {
			if status, said := h.knock("POST", f.Path+"/"+f.Token, body); status != 200 {
				h.Fatalf("%d %s", status, said)
			}
			want := len(h.lastNotices())
			h.eventually("who is meant is called", func() bool { return len(p.on("a")) >= want })
		}
		states := map[string]int{}
		for _, n := range h.lastNotices() {
			states[string(n.State)+" "+n.Reason]++
		}
		if states["waiting "] != 1 || states["not_told resolved"] != 1 {
			h.Errorf("they are %v, want one to wait", states)
		}
	})
}
