package server_test

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/builtin"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/wire"
)

// scripted is a provider that answers on each channel as the test says, and remembers what came.
type scripted struct {
	mu     sync.Mutex
	answer map[string]func(channel.Outgoing) channel.Result
	came   []channel.Outgoing
}

func (s *scripted) Send(_ context.Context, out channel.Outgoing) channel.Result {
	s.mu.Lock()
	s.came = append(s.came, out)
	answer := s.answer[out.Channel]
	s.mu.Unlock()
	if answer == nil {
		return channel.Result{Class: posthouse.ClassOK}
	}
	return answer(out)
}

// says sets how a channel answers.
func (s *scripted) says(name string, answer channel.Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer[name] = func(channel.Outgoing) channel.Result { return answer }
}

// answers sets what a channel answers.
func (s *scripted) answers(name string, answer func(channel.Outgoing) channel.Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer[name] = answer
}

// on are the users to whom something came on a channel, in their order.
func (s *scripted) on(name string) (users []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.came {
		if s.came[i].Channel == name {
			users = append(users, s.came[i].Recipient.User)
		}
	}
	return users
}

// texts are what came on a channel, in their order.
func (s *scripted) texts(name string) (list []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.came {
		if s.came[i].Channel == name {
			list = append(list, s.came[i].Content.Text)
		}
	}
	return list
}

func (s *scripted) driver() channel.Type {
	return channel.Type{
		Name: "scripted", Title: "Scripted", TitleZH: "脚本", Doc: "Answers as the test says.", DocZH: "按测试应答。", MaxBatch: 1,
		Content: func(_ channel.Config, c posthouse.Content) []posthouse.Problem {
			return channel.WithinBytes("text", c.Text, longest)
		},
		Open: func(channel.Config, channel.Env) (channel.Driver, error) { return s, nil },
	}
}

// longest is how many bytes the scripted provider takes.
const longest = 4000

var refusal = channel.Result{Class: posthouse.ClassRecipient, Code: "NO", Error: "refused for good"}

// ways runs a test in a house on each database, with channels a, b and c of a scripted provider.
func ways(t *testing.T, test func(h *house, p *scripted), with ...func(*server.Options)) {
	waysAt(t, "", test, with...)
}

// waysAt is ways in houses that make links to a public address.
func waysAt(t *testing.T, address string, test func(h *house, p *scripted), with ...func(*server.Options)) {
	t.Parallel()
	for _, d := range databases {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			p := &scripted{answer: map[string]func(channel.Outgoing) channel.Result{}}
			h := open(t, d.dsn(t), append(with, func(o *server.Options) { o.Drivers, o.PublicURL = append(builtin.Types(), p.driver()), address })...)
			for _, name := range []string{"a", "b", "c"} {
				h.put(posthouse.Channel{Name: name, Driver: "scripted", ChannelSettings: atOnce(20 * time.Millisecond)})
			}
			test(h, p)
		})
	}
}

// way stores a route.
func (h *house) way(name string, r posthouse.Route) {
	h.Helper()
	r.Name = name
	_, err := h.api.Routes.Put(h.Context(), r)
	h.must(err)
}

// routes hands in a message that follows a route, and returns its notifications.
func (h *house) routes(name string, users ...string) (message string, list []posthouse.Notification) {
	h.Helper()
	d := posthouse.Draft{Route: name, Content: &posthouse.Content{Text: "hello"}}
	for _, u := range users {
		d.To = append(d.To, posthouse.Recipient{User: u})
	}
	sent, err := h.api.Messages.Send(h.Context(), d)
	h.must(err)
	list, err = h.api.Notifications.Of(h.Context(), sent.Accepted[0].ID)
	h.must(err)
	return sent.Accepted[0].ID, list
}

// turns waits until a notification is in a state.
func (h *house) turns(id string, state posthouse.NotificationState) (n posthouse.Notification) {
	h.Helper()
	h.eventually("the notification "+id+" is "+string(state), func() bool {
		var err error
		n, err = h.api.Notifications.Get(h.Context(), id)
		h.must(err)
		return n.State == state
	})
	return n
}

// decided are the next events of notifications among those that were heard, as type, user, channel and reason.
func (h *house) decided(heard chan posthouse.FeedEvent, n int) (list []string, last *posthouse.FeedEvent) {
	h.Helper()
	for len(list) < n {
		e := <-heard
		if e.Notification == nil {
			continue
		}
		if e.Message != posthouse.MessageID(e.Notification.ID) || e.At.IsZero() || e.Version != 0 || e.Notification.Recipients != len(e.Notification.To) {
			h.Errorf("told %+v of %+v", e, e.Notification)
		}
		list, last = append(list, strings.Join([]string{e.Type(), e.User, e.Channel, e.Notification.Reason}, " ")), &e
	}
	slices.Sort(list)
	return list, last
}

func (h *house) pauses(name string) {
	h.Helper()
	_, err := h.api.Channels.Pause(h.Context(), name, "not now")
	h.must(err)
}

func (h *house) resumes(name string) {
	h.Helper()
	_, err := h.api.Channels.Resume(h.Context(), name)
	h.must(err)
}

func step(channels ...string) posthouse.RouteStep { return posthouse.RouteStep{Channels: channels} }

func TestARouteGoesOnWhereAStepFails(t *testing.T) {
	ways(t, func(h *house, p *scripted) {
		p.says("a", refusal)
		heard := h.listener()
		h.way("w", posthouse.Route{Steps: []posthouse.RouteStep{step("a"), step("b"), step("c")}})
		message, list := h.routes("w", "u1", "u2")
		if len(list) != 2 {
			h.Fatalf("it has %d notifications, want one for each of two people", len(list))
		}
		for i, user := range []string{"u1", "u2"} {
			n := h.turns(list[i].ID, posthouse.NotificationTold)
			got := []string{}
			for _, d := range n.Deliveries {
				got = append(got, d.Channel+" "+d.User+" "+string(d.State))
			}
			if diff := cmp.Diff([]string{"a " + user + " failed", "b " + user + " sent"}, got); diff != "" {
				h.Errorf("the deliveries (-want +got):\n%s", diff)
			}
			d := h.delivery(n.ToldBy)
			if m, err := h.api.Messages.Get(h.Context(), d.Message); err != nil || m.Step != 2 || m.FallbackOf != n.Deliveries[0].ID || m.Notification != n.ID {
				h.Errorf("its message: %+v, %v", m.Message, err)
			}
		}
		if len(p.on("c")) > 0 {
			h.Error("the third step began after the second had told")
		}
		if got, _ := h.decided(heard, 2); !slices.Equal(got, []string{"notification.told u1 b ", "notification.told u2 b "}) {
			h.Errorf("those who follow were told %q", got)
		}
		m, err := h.api.Messages.Get(h.Context(), message)
		if err != nil || m.Route != "w" || m.Recipients != 2 || m.Content.Text != "hello" || len(m.Notifications) != 2 {
			h.Errorf("the message: %+v, %v", m, err)
		}
	})
}

func TestNobodyIsToldForAReason(t *testing.T) {
	ways(t, func(h *house, p *scripted) {
		p.says("a", refusal)
		p.says("b", refusal)
		url, posts := subscriber(h.T)
		_, err := h.api.Subscriptions.Create(h.Context(), wire.NewSubscription{URL: url, Types: []string{"notification.not_told"}, Channels: []string{"a", "b"}})
		h.must(err)
		h.way("w", posthouse.Route{Steps: []posthouse.RouteStep{step("a"), step("b")}})
		_, list := h.routes("w", "u1")
		n := h.turns(list[0].ID, posthouse.NotificationNotTold)
		if n.Reason != "failed" || n.Step != 2 {
			h.Errorf("got the reason %q at step %d", n.Reason, n.Step)
		}
		page, err := h.api.Notifications.List(h.Context(), posthouse.NotificationNotTold, client.Filter{})
		if err != nil || len(page.Items) != 1 || page.Items[0].ID != n.ID {
			h.Errorf("those not told: %+v, %v", page, err)
		}
		hour := time.Hour
		for _, c := range []struct {
			f    client.Filter
			want int
		}{
			{client.Filter{Person: "u1"}, 1}, {client.Filter{Person: "u2"}, 0}, {client.Filter{Route: "w"}, 1}, {client.Filter{Route: "v"}, 0},
			{client.Filter{Person: "u1", Route: "w", Since: n.CreatedAt.Add(-hour), Until: n.CreatedAt.Add(hour)}, 1}, {client.Filter{Until: n.CreatedAt.Add(-hour)}, 0},
			{client.Filter{Since: n.CreatedAt.Add(hour)}, 0}, {client.Filter{Kind: "none"}, 0}, {client.Filter{Ref: "none"}, 0}, {client.Filter{Kind: "none", Ref: "none"}, 0},
		} {
			if page, err := h.api.Notifications.List(h.Context(), "", c.f); err != nil || len(page.Items) != c.want {
				h.Errorf("narrowed by %+v: %+v, %v, want %d", c.f, page, err, c.want)
			}
		}
		e := (<-posts).event(h.T)
		if told := e.Notification; e.Type() != "notification.not_told" || told.ID != n.ID || told.Version != n.Version || told.Reason != "failed" || told.From != posthouse.NotificationWaiting ||
			told.Step != 2 || !slices.Equal(told.Channels, []string{"a", "b"}) || told.To[0].User != "u1" || e.User != "u1" {
			h.Errorf("the subscriber was told %+v of %+v", e, told)
		}
	})
}

func TestAnUnknownWaitsUnlessTheRouteFallsBack(t *testing.T) {
	ways(t, func(h *house, p *scripted) {
		p.says("a", channel.Result{Class: posthouse.ClassUnknown, Error: "no answer"})
		steps := []posthouse.RouteStep{{Channels: []string{"a"}, Within: posthouse.Duration(time.Second)}, step("b")}
		h.way("waits", posthouse.Route{Steps: steps})
		h.way("otp", posthouse.Route{Steps: steps, OnUnknown: posthouse.UnknownFallBack})
		hold := posthouse.Draft{Route: "waits", Content: &posthouse.Content{Text: "x"}, To: []posthouse.Recipient{{User: "u1"}}, OnUnknown: posthouse.Hold}
		fall, ack := hold, hold
		fall.Route, ack.Route = "otp", "known"
		until := step("a")
		until.Until, until.Within = posthouse.ProofAcknowledged, posthouse.Duration(time.Second)
		lead := step("c")
		lead.To = []posthouse.Recipient{{User: "lead"}}
		h.way("known", posthouse.Route{Steps: []posthouse.RouteStep{until, lead}})
		sent, err := h.api.Messages.Send(h.Context(), hold, fall, ack)
		h.must(err)
		h.eventually("the lead is called, though the first step's answer was lost", func() bool { return len(p.on("c")) == 1 })
		h.turns(posthouse.DeliveryID(sent.Accepted[1].ID, 1), posthouse.NotificationTold)
		waits := h.turns(posthouse.DeliveryID(sent.Accepted[0].ID, 1), posthouse.NotificationWaiting)
		h.eventually("its delivery is unknown", func() bool {
			waits, err = h.api.Notifications.Get(h.Context(), waits.ID)
			h.must(err)
			return len(waits.Deliveries) == 1 && waits.Deliveries[0].State == posthouse.Unknown
		})
		if got := len(p.on("b")); got != 1 {
			h.Errorf("%d came by the second step, want that of the route that falls back alone", got)
		}
		_, err = h.api.Deliveries.Resolve(h.Context(), waits.Deliveries[0].ID, "sent")
		h.must(err)
		h.turns(waits.ID, posthouse.NotificationTold)
	})
}

func TestAnAcknowledgementEndsTheSteps(t *testing.T) {
	ways(t, func(h *house, p *scripted) {
		heard := h.listener()
		h.pauses("b")
		soon := posthouse.Duration(time.Second)
		h.way("night", posthouse.Route{Steps: []posthouse.RouteStep{
			{Channels: []string{"a"}, Until: posthouse.ProofAcknowledged, Within: soon},
			{Channels: []string{"b"}, Until: posthouse.ProofAcknowledged, Within: posthouse.Duration(time.Hour)},
		}})
		message, list := h.routes("night", "u1")
		h.eventually("the second step has begun", func() bool {
			n, err := h.api.Notifications.Get(h.Context(), list[0].ID)
			h.must(err)
			return len(n.Deliveries) == 2
		})
		acked, err := h.api.Notifications.AcknowledgeMessage(h.Context(), message, wire.Ack{By: "u1", Evidence: []byte(`{"ip":"10.0.0.1"}`)})
		h.must(err)
		n := acked[0]
		if n.State != posthouse.NotificationAcknowledged || n.Ack == nil || n.Ack.By != "u1" || n.Ack.Via != posthouse.AckAPI {
			h.Errorf("acknowledged: %+v", n)
		}
		if d := h.delivery(n.Deliveries[1].ID); d.State != posthouse.Cancelled || d.Reason != "told" {
			h.Errorf("what waited is %s (%s), want it cancelled since somebody is told", d.State, d.Reason)
		}
		again, err := h.api.Notifications.Acknowledge(h.Context(), n.ID, wire.Ack{By: "u2"})
		if err != nil || again.Ack.By != "u1" {
			h.Errorf("the second word: %+v, %v", again.Ack, err)
		}
		got, last := h.decided(heard, 1) // what its withdrawal has told of its delivery does not drown it
		if ack := last.Notification.Ack; got[0] != "notification.acknowledged u1  " || ack == nil || ack.By != "u1" || ack.Via != posthouse.AckAPI || ack.Evidence != nil {
			h.Errorf("those who follow were told %q, %+v", got, ack)
		}
		h.resumes("b")
		if got := p.on("b"); len(got) > 0 {
			h.Errorf("%v came after the acknowledgement", got)
		}
	})
}

func TestAStepThatDoesNotStartInTimeIsSteppedOver(t *testing.T) {
	ways(t, func(h *house, p *scripted) {
		h.pauses("a")
		h.way("w", posthouse.Route{Steps: []posthouse.RouteStep{{Channels: []string{"a"}, Within: posthouse.Duration(time.Second)}, step("b")}})
		_, list := h.routes("w", "u1")
		n := h.turns(list[0].ID, posthouse.NotificationTold)
		if d := h.delivery(n.Deliveries[0].ID); d.State != posthouse.Cancelled || d.Reason != "step_over" {
			h.Errorf("the first step's delivery is %s (%s)", d.State, d.Reason)
		}
		alone := step("a")
		alone.Within = posthouse.Duration(time.Second)
		h.way("alone", posthouse.Route{Steps: []posthouse.RouteStep{alone}})
		_, list = h.routes("alone", "u2")
		if n := h.turns(list[0].ID, posthouse.NotificationNotTold); n.Reason != "not_delivered" {
			h.Errorf("what never began is not told since %q: no person has cancelled it", n.Reason)
		}
		h.resumes("a")
		if got := p.on("a"); len(got) > 0 {
			h.Errorf("%v came by the step that was over", got)
		}
	})
}

// A process that stood still may start what a step has no time for any more before its planner looks: that is withdrawn at its start, and the
// next step begins.
func TestWhatStartsAfterItsStepIsOverIsWithdrawn(t *testing.T) {
	t.Parallel()
	for _, d := range databases {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			dsn := d.dsn(t)
			p := &scripted{answer: map[string]func(channel.Outgoing) channel.Result{}}
			h := open(t, dsn, func(o *server.Options) { o.Drivers = append(builtin.Types(), p.driver()) })
			for _, name := range []string{"a", "b"} {
				h.put(posthouse.Channel{Name: name, Driver: "scripted", ChannelSettings: atOnce(20 * time.Millisecond)})
			}
			h.pauses("a")
			h.way("w", posthouse.Route{Steps: []posthouse.RouteStep{{Channels: []string{"a"}, Within: posthouse.Duration(2 * time.Second)}, step("b")}})
			message, list := h.routes("w", "u1")
			var began posthouse.NotificationDelivery
			var at time.Time
			h.eventually("the first step has begun", func() bool {
				n, err := h.api.Notifications.Get(t.Context(), list[0].ID)
				h.must(err)
				if len(n.Deliveries) > 0 {
					began, at = n.Deliveries[0], n.Steps[0].At
				}
				return began.ID != ""
			})
			m, err := h.api.Messages.Get(t.Context(), posthouse.MessageID(began.ID))
			h.must(err)
			if until := m.StepUntil; m.Notification != list[0].ID || !until.Equal(at.Add(2*time.Second).Truncate(time.Microsecond)) {
				t.Errorf("the step of %s began at %v and has time until %v, want two seconds", message, at, until)
			}
			plannerSleeps(t, dsn, &list[0])
			h.eventually("the step's time is over", func() bool { return time.Now().After(m.StepUntil.Add(100 * time.Millisecond)) })
			h.resumes("a")
			h.turns(list[0].ID, posthouse.NotificationTold)
			if d := h.delivery(began.ID); d.State != posthouse.Cancelled || d.Reason != "step_over" || d.Attempts != 0 {
				t.Errorf("the first step's delivery is %s (%s) after %d attempts", d.State, d.Reason, d.Attempts)
			}
			if a, b := p.on("a"), p.on("b"); len(a) != 0 || !slices.Equal(b, []string{"u1"}) {
				t.Errorf("a sent to %v and b to %v, want the second step alone", a, b)
			}
		})
	}
}

// plannerSleeps has nobody look at a notification for an hour.
func plannerSleeps(t *testing.T, dsn string, n *posthouse.Notification) {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{DSN: dsn})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Plans.Notification(t.Context(), time.Now(), n.Tenant, n.ID, func(p work.Plan, now time.Time) (work.Plan, work.Withdrawal, bool, error) {
		p.NextAt = now.Add(time.Hour)
		return p, work.Withdrawal{}, true, nil
	}); err != nil {
		t.Fatal(err)
	}
}

// Where nobody is there for any step, nothing is begun anew: it would find nobody again.
func TestNobodyIsLookedForTwiceAtOnce(t *testing.T) {
	ways(t, func(h *house, _ *scripted) {
		h.roster(posthouse.Roster{Name: "empty", Days: map[string][]string{}})
		h.way("w", posthouse.Route{Repeat: 3, Steps: []posthouse.RouteStep{
			{Channels: []string{"a"}, To: []posthouse.Recipient{{Roster: "empty"}}, Until: posthouse.ProofAcknowledged, Within: posthouse.Duration(time.Hour)},
		}})
		_, list := h.routes("w", "u1")
		if n := h.turns(list[0].ID, posthouse.NotificationNotTold); n.Reason != "nobody" || len(n.Steps) != 1 {
			h.Errorf("got the reason %q after %d steps", n.Reason, len(n.Steps))
		}
	})
}

func TestAllStepsBeginAtOnce(t *testing.T) {
	ways(t, func(h *house, p *scripted) {
		p.says("a", refusal)
		for _, name := range []string{"short", "long"} {
			_, err := h.api.Templates.Put(h.Context(), posthouse.Template{Name: name, Text: name + " of step ${step}"})
			h.must(err)
		}
		both := step("b", "c")
		both.Template, both.Templates = "long", map[string]string{"c": "short"}
		h.way("all", posthouse.Route{Kind: posthouse.RouteAll, Steps: []posthouse.RouteStep{step("a"), both}})
		_, list := h.routes("all", "u1")
		h.turns(list[0].ID, posthouse.NotificationTold)
		h.eventually("all have ended", func() bool {
			n, err := h.api.Notifications.Get(h.Context(), list[0].ID)
			h.must(err)
			states := map[posthouse.State]int{}
			for _, d := range n.Deliveries {
				states[d.State]++
			}
			return cmp.Equal(states, map[posthouse.State]int{posthouse.Failed: 1, posthouse.Sent: 2})
		})
		for name, want := range map[string]string{"a": "hello", "b": "long of step 2", "c": "short of step 2"} {
			if got := p.texts(name); !slices.Equal(got, []string{want}) {
				t.Errorf("on %s came %q, want %q", name, got, want)
			}
		}
		both.Templates = map[string]string{"d": "short"}
		_, err := h.api.Routes.Put(h.Context(), posthouse.Route{Name: "all", Steps: []posthouse.RouteStep{both}})
		if err == nil || !strings.Contains(err.Error(), `steps[0].templates["d"]: names a channel that is none of the step's`) {
			t.Errorf("a template of a channel that the step does not have: got %v", err)
		}
	})
}

func TestAnyOfARosterMayAcknowledge(t *testing.T) {
	ways(t, func(h *house, p *scripted) {
		h.roster(posthouse.Roster{Name: "empty", Days: map[string][]string{}})
		h.way("duty", posthouse.Route{For: posthouse.RouteAny, Steps: []posthouse.RouteStep{
			{Channels: []string{"c"}, To: []posthouse.Recipient{{Roster: "empty"}}},
			{Channels: []string{"a"}, When: `kind == "never"`},
			{Channels: []string{"b"}, Until: posthouse.ProofAcknowledged, Within: posthouse.Duration(time.Hour)},
		}})
		_, list := h.routes("duty", "u1", "u2")
		if len(list) != 1 || len(list[0].To) != 2 {
			h.Fatalf("the notifications: %+v, want one for both", list)
		}
		h.eventually("both are told", func() bool {
			got := p.on("b")
			slices.Sort(got)
			return slices.Equal(got, []string{"u1", "u2"})
		})
		n, err := h.api.Notifications.Acknowledge(h.Context(), list[0].ID, wire.Ack{By: "u2"})
		h.must(err)
		want := []posthouse.NotificationStep{{Step: 1, Round: 1, Skipped: "nobody"}, {Step: 2, Round: 1, Skipped: "condition"}, {Step: 3, Round: 1}}
		if diff := cmp.Diff(want, n.Steps, cmpopts.IgnoreFields(posthouse.NotificationStep{}, "At", "Detail")); diff != "" {
			h.Errorf("the steps (-want +got):\n%s", diff)
		}
	})
}

// A link in the text acknowledges by its button alone: who looks at it, such as the preview of a chat, acknowledges nothing.
func TestALinkAcknowledgesByItsButton(t *testing.T) {
	waysAt(t, "https://post.example", func(h *house, p *scripted) {
		called := atOnce(20 * time.Millisecond)
		called.Title = "Robot of the night"
		h.put(posthouse.Channel{Name: "a", Driver: "scripted", ChannelSettings: called})
		h.way("night", posthouse.Route{Steps: []posthouse.RouteStep{{Channels: []string{"a"}, Until: posthouse.ProofAcknowledged, Within: posthouse.Duration(time.Hour)}}})
		sent, err := h.api.Messages.Send(h.Context(), posthouse.Draft{Route: "night", Source: "billing", Kind: "disk", Ref: "<b>7</b>", To: []posthouse.Recipient{{User: "u1"}}, Content: &posthouse.Content{Text: "full: ${ack_url}"}})
		h.must(err)
		id := posthouse.DeliveryID(sent.Accepted[0].ID, 1)
		h.eventually("it arrives", func() bool { return len(p.on("a")) == 1 })
		link, found := strings.CutPrefix(p.came[0].Content.Text, "full: https://post.example")
		if !found {
			h.Fatalf("the text is %q", p.came[0].Content.Text)
		}
		ask := func(method, path, language string) (int, string) {
			h.Helper()
			req, err := http.NewRequestWithContext(h.Context(), method, h.url+path, http.NoBody)
			h.must(err)
			req.Header.Set("Accept-Language", language)
			res, err := http.DefaultClient.Do(req)
			h.must(err)
			defer res.Body.Close()
			text, err := io.ReadAll(res.Body)
			h.must(err)
			return res.StatusCode, string(text)
		}
		for method, want := range map[string]string{http.MethodGet: "我已知晓", http.MethodHead: ""} {
			if status, page := ask(method, link, "zh-CN,zh;q=0.9,en;q=0.8"); status != http.StatusOK || !strings.Contains(page, want) || strings.Contains(page, "<b>") {
				h.Errorf("%s: got %d %s", method, status, page)
			}
		}
		// It has no title: the page says the first words of the text that the link was in, by which channel that came, and from which system.
		for language, wants := range map[string][]string{"zh": {"内容", "full:", "发送", "Robot of the night", "来源", "billing"}, "en": {"Text", "Sent", "From"}} {
			_, page := ask(http.MethodGet, link, language)
			for _, want := range wants {
				if !strings.Contains(page, want) || strings.Contains(page, "post.example") {
					h.Errorf("the page lacks %q, or has a link: %s", want, page)
				}
			}
		}
		if n := h.turns(id, posthouse.NotificationWaiting); n.Ack != nil {
			h.Errorf("a look has acknowledged: %+v", n.Ack)
		}
		for _, bad := range []string{link[:len(link)-2], "/ack/", "/ack/x", link + "A"} {
			if status, page := ask(http.MethodPost, bad, "en"); status != http.StatusNotFound || !strings.Contains(page, "not valid") {
				h.Errorf("%s: got %d %s", bad, status, page)
			}
		}
		_, err = h.api.Users.Put(h.Context(), posthouse.User{ID: "u1", Name: "张三"})
		h.must(err)
		if status, page := ask(http.MethodPost, link, "en-US"); status != http.StatusOK || !strings.Contains(page, "Acknowledged by") || !strings.Contains(page, "张三 (u1)") {
			h.Errorf("the button: got %d %s", status, page)
		}
		n := h.turns(id, posthouse.NotificationAcknowledged)
		if n.Ack.By != "u1" || n.Ack.Via != posthouse.AckLink || !strings.Contains(string(n.Ack.Evidence), "127.0.0.1") {
			h.Errorf("the acknowledgement: %+v %s", n.Ack, n.Ack.Evidence)
		}
		if status, page := ask(http.MethodGet, link, "zh"); status != http.StatusOK || !strings.Contains(page, "已确认") || strings.Contains(page, "<form") {
			h.Errorf("afterwards: got %d %s", status, page)
		}
		sent, err = h.api.Messages.Send(h.Context(), posthouse.Draft{Route: "night", To: []posthouse.Recipient{{User: "u2"}}, Content: &posthouse.Content{Text: "full: ${ack_url}"}})
		h.must(err)
		h.eventually("it arrives", func() bool { return len(p.on("a")) == 2 })
		id = posthouse.DeliveryID(sent.Accepted[0].ID, 1)
		if n, err = h.api.Notifications.End(h.Context(), id); err != nil || n.Reason != "cancelled" {
			h.Fatalf("it is ended: %+v, %v", n, err)
		}
		link = strings.TrimPrefix(p.texts("a")[1], "full: https://post.example")
		if status, page := ask(http.MethodGet, link, "zh"); status != http.StatusOK || !strings.Contains(page, "已经取消") || !strings.Contains(page, "<form") {
			h.Errorf("of one that was cancelled: got %d %s", status, page)
		}
		if status, page := ask(http.MethodPost, link, "en"); status != http.StatusOK || !strings.Contains(page, "Acknowledged by") {
			h.Errorf("the button of one that was cancelled: got %d %s", status, page)
		}
		h.turns(id, posthouse.NotificationAcknowledged)
		h.way("short", posthouse.Route{Steps: []posthouse.RouteStep{{Channels: []string{"a"}, Until: posthouse.ProofAcknowledged, Within: posthouse.Duration(time.Second)}}})
		sent, err = h.api.Messages.Send(h.Context(), posthouse.Draft{Route: "short", To: []posthouse.Recipient{{User: "u4"}}, Content: &posthouse.Content{Text: "full: ${ack_url}"}})
		h.must(err)
		h.turns(posthouse.DeliveryID(sent.Accepted[0].ID, 1), posthouse.NotificationNotTold)
		if status, page := ask(http.MethodGet, strings.TrimPrefix(p.texts("a")[2], "full: https://post.example"), "en"); status != http.StatusOK || !strings.Contains(page, "All steps have passed") || !strings.Contains(page, "<form") {
			h.Errorf("of one whose steps have passed: got %d %s", status, page)
		}
		sent, err = h.api.Messages.Send(h.Context(), posthouse.Draft{Route: "night", To: []posthouse.Recipient{{User: "u3"}}, Content: &posthouse.Content{Text: "full: ${ack_url}"}})
		h.must(err)
		h.eventually("it arrives", func() bool { return len(p.on("a")) == 4 })
		id = posthouse.DeliveryID(sent.Accepted[0].ID, 1)
		if n, err = h.api.Notifications.RevokeLinks(h.Context(), id); err != nil || n.LinksRevokedAt.IsZero() || n.State != posthouse.NotificationWaiting {
			h.Fatalf("its links are revoked: %+v, %v", n, err)
		}
		link = strings.TrimPrefix(p.texts("a")[3], "full: https://post.example")
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			if status, page := ask(method, link, "en"); status != http.StatusNotFound || !strings.Contains(page, "not valid") {
				h.Errorf("%s of a link that was revoked: got %d %s", method, status, page)
			}
		}
		if n = h.turns(id, posthouse.NotificationWaiting); n.Ack != nil {
			h.Errorf("a link that was revoked has acknowledged: %+v", n.Ack)
		}
		_, err = h.api.Messages.Send(h.Context(), posthouse.Draft{Route: "night", Sensitive: true, ForgetAfter: posthouse.Duration(time.Hour), To: []posthouse.Recipient{{User: "u4"}}, Content: &posthouse.Content{Text: "code 4711 ${ack_url}"}})
		h.must(err)
		h.eventually("it arrives", func() bool { return len(p.on("a")) == 5 })
		link = strings.TrimPrefix(p.texts("a")[4], "code 4711 https://post.example")
		if status, page := ask(http.MethodGet, link, "en"); status != http.StatusOK || strings.Contains(page, "4711") || !strings.Contains(page, "Robot of the night") {
			h.Errorf("of a sensitive message: got %d %s, want its way alone", status, page)
		}
	})
}

// A message whose route names all recipients needs none, and its notification is that of whoever was told.
func TestARouteMayNameAllRecipients(t *testing.T) {
	ways(t, func(h *house, p *scripted) {
		own := []posthouse.Recipient{{User: "u1"}, {User: "u2"}}
		h.way("own", posthouse.Route{Steps: []posthouse.RouteStep{{Channels: []string{"a"}, To: own, Until: posthouse.ProofAcknowledged, Within: posthouse.Duration(time.Hour)}}})
		h.way("open", posthouse.Route{Steps: []posthouse.RouteStep{{Channels: []string{"a"}, To: own}, step("b")}})
		if _, err := h.api.Messages.Send(h.Context(), posthouse.Draft{Route: "open", Content: &posthouse.Content{Text: "x"}}); posthouse.CodeOf(err) != posthouse.CodeInvalid || !strings.Contains(err.Error(), "to: is required: step 2 of the route open") {
			h.Errorf("a step without any: %v", err)
		}
		message, list := h.routes("own")
		if len(list) != 1 || list[0].To == nil || len(list[0].To) != 0 {
			h.Fatalf("the notifications are %+v, want one", list)
		}
		h.eventually("both are told", func() bool { return len(p.on("a")) == 2 })
		for user, want := range map[string]int{"u3": 0, "u2": 1} {
			acked, err := h.api.Notifications.AcknowledgeMessage(h.Context(), message, wire.Ack{By: user, User: user})
			if len(acked) != want || (err == nil) != (want > 0) {
				h.Errorf("%s acknowledges %d, %v", user, len(acked), err)
			}
		}
	})
}

func TestALinkNeedsTheServersAddress(t *testing.T) {
	ways(t, func(h *house, _ *scripted) {
		h.way("w", posthouse.Route{Steps: []posthouse.RouteStep{step("a")}})
		_, err := h.api.Messages.Send(h.Context(), posthouse.Draft{Route: "w", To: []posthouse.Recipient{{User: "u1"}}, Content: &posthouse.Content{Text: "${ack_url}"}})
		if posthouse.CodeOf(err) != posthouse.CodeInvalid || !strings.Contains(err.Error(), "public_url") {
			h.Errorf("got %v, want a refusal that names public_url", err)
		}
	})
}

func TestAStormIsOneNotificationWhileItIsOpen(t *testing.T) {
	ways(t, func(h *house, p *scripted) {
		h.way("w", posthouse.Route{Steps: []posthouse.RouteStep{{Channels: []string{"a"}, Until: posthouse.ProofAcknowledged, Within: posthouse.Duration(time.Hour)}}})
		alert := posthouse.Draft{
			Route: "w", To: []posthouse.Recipient{{User: "u1"}, {User: "u2"}}, Content: &posthouse.Content{Text: "disk full"},
			DedupKey: "disk-7", DedupWindow: posthouse.Duration(time.Microsecond),
		}
		sent := make([]posthouse.Accepted, 8)
		var all sync.WaitGroup
		for i := range sent {
			all.Go(func() { sent[i] = h.hand(alert) })
		}
		all.Wait()
		first := sent[slices.IndexFunc(sent, func(a posthouse.Accepted) bool { return a.DuplicateOf == "" })]
		for _, a := range sent {
			if a.ID != first.ID {
				t.Errorf("a second message of the storm has the id %s, want %s", a.ID, first.ID)
			}
		}
		other := alert
		other.DedupKey = "disk-8"
		if got := h.hand(other); got.DuplicateOf != "" {
			t.Errorf("another key is a duplicate of %s", got.DuplicateOf)
		}
		for i, user := range []string{"u1", "u2"} { // it is open until the last of both is decided
			if got := h.hand(alert); got.DuplicateOf != first.ID {
				t.Errorf("with %d acknowledged: got %+v, want a duplicate of %s", i, got, first.ID)
			}
			_, err := h.api.Notifications.AcknowledgeMessage(h.Context(), first.ID, wire.Ack{User: user, By: user})
			h.must(err)
		}
		if n := h.metric(`posthouse_acknowledge_duration_seconds_count{via="api"}`); n != 2 {
			t.Errorf("the metrics count %v acknowledgements, want 2", n)
		}
		again := h.hand(alert)
		if again.DuplicateOf != "" || again.ID == first.ID {
			t.Errorf("when all is acknowledged: got %+v, want a new message", again)
		}
		list, err := h.api.Notifications.List(h.Context(), posthouse.NotificationAcknowledged, client.Filter{})
		h.must(err)
		if len(list.Items) != 2 {
			t.Errorf("%d notifications are acknowledged, want those of two people", len(list.Items))
		}
	})
}

func TestADedupKeyOfARouteHoldsForItsWindow(t *testing.T) {
	ways(t, func(h *house, p *scripted) {
		h.way("w", posthouse.Route{Steps: []posthouse.RouteStep{step("a")}})
		otp := posthouse.Draft{Route: "w", To: []posthouse.Recipient{{User: "u1"}}, Content: &posthouse.Content{Text: "hello"}, DedupKey: "k"}
		first := h.hand(otp)
		h.turns(posthouse.DeliveryID(first.ID, 1), posthouse.NotificationTold)
		if got := h.hand(otp); got.DuplicateOf != first.ID {
			t.Errorf("got %+v, want a duplicate of %s for seven days", got, first.ID)
		}
	})
}

func TestAStormInTheOutboxIsOneNotification(t *testing.T) {
	ways(t, func(h *house, p *scripted) {
		h.way("w", posthouse.Route{Steps: []posthouse.RouteStep{{Channels: []string{"a"}, Until: posthouse.ProofAcknowledged, Within: posthouse.Duration(time.Hour)}}})
		alert := posthouse.Draft{Route: "w", To: []posthouse.Recipient{{User: "u1"}}, Content: &posthouse.Content{Text: "disk full"}, DedupKey: "disk-7"}
		_, err := h.business().Enqueue(h.Context(), h.db, alert, alert)
		h.must(err)
		h.insertRow(`{"route": "w", "to": [{"user": "u1"}], "content": {"text": "disk full"}, "dedup_key": "disk-7"}`)
		h.outboxIsEmpty()
		if n := h.number("SELECT COUNT(*) FROM posthouse_plans WHERE type = 'notification'"); n != 1 {
			t.Errorf("%d notifications were made, want 1", n)
		}
	})
}

func TestACancelByRefEndsNotifications(t *testing.T) {
	ways(t, func(h *house, p *scripted) {
		h.pauses("a")
		h.way("w", posthouse.Route{Steps: []posthouse.RouteStep{step("a"), step("b")}})
		sent := h.hand(posthouse.Draft{Route: "w", Kind: "order", Ref: "7", To: []posthouse.Recipient{{User: "u1"}}, Content: &posthouse.Content{Text: "hello"}})
		id := posthouse.DeliveryID(sent.ID, 1)
		h.eventually("its first step waits", func() bool {
			n, err := h.api.Notifications.Get(h.Context(), id)
			h.must(err)
			return len(n.Deliveries) == 1
		})
		out, err := h.api.Messages.CancelRef(h.Context(), "order", "7")
		h.must(err)
		if out.Cancelled != 1 || len(out.Deliveries) != 1 {
			t.Errorf("got %+v, want one delivery that is cancelled", out)
		}
		n, err := h.api.Notifications.Get(h.Context(), id)
		h.must(err)
		if n.State != posthouse.NotificationNotTold || n.Reason != "cancelled" {
			t.Errorf("the notification is %s, %s; want not told, since it was cancelled", n.State, n.Reason)
		}
	})
}

func TestASensitiveMessageFollowsARoute(t *testing.T) {
	ways(t, func(h *house, p *scripted) {
		p.says("a", refusal)
		h.way("otp", posthouse.Route{OnUnknown: posthouse.UnknownFallBack, Steps: []posthouse.RouteStep{step("a"), step("b")}})
		d := posthouse.Draft{
			Route: "otp", To: []posthouse.Recipient{{User: "u1"}}, Content: &posthouse.Content{Text: "your code is 482913"},
			Sensitive: true, ForgetAfter: posthouse.Duration(10 * time.Minute),
		}
		_, err := h.api.Routes.Preview(h.Context(), "otp", d)
		h.must(err)
		sent := h.hand(d)
		n := h.turns(posthouse.DeliveryID(sent.ID, 1), posthouse.NotificationTold)
		if n.ToldBy == "" || len(p.on("b")) != 1 {
			t.Errorf("got %+v, want it told by the second step", n)
		}
		for i := range p.came {
			if p.came[i].Content.Text != d.Content.Text {
				t.Errorf("the provider of %s was given %q", p.came[i].Channel, p.came[i].Content.Text)
			}
		}
		if n := h.number("SELECT COUNT(*) FROM posthouse_plans WHERE doc LIKE '%482913%'") + h.number("SELECT COUNT(*) FROM posthouse_messages WHERE content LIKE '%482913%' OR payload LIKE '%482913%'"); n != 0 {
			t.Errorf("%d rows hold the code", n)
		}
		m, err := h.api.Messages.Get(h.Context(), sent.ID)
		h.must(err)
		if !m.Sensitive || m.Content.Text != "" {
			t.Errorf("it is shown as %+v, want it sensitive and without its text", m.Message)
		}
		h.pauses("a") // its content is gone before the next step comes
		sent = h.hand(d)
		id := posthouse.DeliveryID(sent.ID, 1)
		h.eventually("its first step waits", func() bool {
			n, err := h.api.Notifications.Get(h.Context(), id)
			h.must(err)
			return len(n.Deliveries) == 1
		})
		_, err = h.db.ExecContext(h.Context(), "DELETE FROM posthouse_sealed WHERE message = '"+sent.ID+"'")
		h.must(err)
		h.resumes("a")
		if n := h.turns(id, posthouse.NotificationNotTold); n.Reason != "forgotten" {
			t.Errorf("the reason is %q, want forgotten", n.Reason)
		}
	})
}
