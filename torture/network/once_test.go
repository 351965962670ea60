package network

import (
	"fmt"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/torture/internal/house"
)

// peers end connections in the ways that make an HTTP client send again by itself.
var peers = []struct {
	name  string
	serve func(v *visit)
	// silent says that the peer leaves requests without an answer: they are unknown. Where it closes a
	// connection just as the next request is written, that one is unknown too, and never comes.
	silent bool
}{
	{"closes after reading every second request", func(v *visit) {
		for v.read() && v.requests%2 == 1 {
			v.say(fine)
		}
	}, true},
	{"resets after reading every third request", func(v *visit) {
		for v.read() {
			if v.requests%3 == 0 {
				v.reset()
				return
			}
			v.say(fine)
		}
	}, true},
	{"closes after each answer without a word", func(v *visit) {
		if v.read() {
			v.say(fine)
		}
	}, false},
	{"resets after each answer", func(v *visit) {
		if v.read() {
			v.say(fine)
			v.reset()
		}
	}, false},
}

// TestB4OneSendIsAtMostOneArrival talks to peers that close connections which are used again, with
// the headers that make Go's own client repeat a POST.
func TestB4OneSendIsAtMostOneArrival(t *testing.T) {
	t.Parallel()
	h := house.Open(t, house.Options{DSN: house.SQLite.DSN(t)})
	for i, peer := range peers {
		for j, header := range keyHeaders[:2] {
			e := listen(t, "127.0.0.1:0", peer.serve)
			ch := h.Channel(fmt.Sprintf("once-%d-%d", i, j))
			ch.Config["url"], ch.Config["idempotency_header"] = e.URL, header
			ch.OnUnknown, ch.MaxInflight = posthouse.Hold, 4
			h.PutChannel(t, ch)
			accepted := h.Produce(t, house.Load{
				Messages: house.Size(30, 2000), Prefix: ch.Name, Draft: func(n int) posthouse.Draft { return house.Text(ch.Name, n) },
			})
			h.Settle(t, posthouse.Unknown)
			states := statesOf(t, h)
			sent, unknown := 0, 0
			for _, id := range accepted {
				switch states[posthouse.DeliveryID(id, 1)] {
				case posthouse.Sent:
					sent++
				case posthouse.Unknown:
					unknown++
				}
			}
			requests, most := e.counts()
			pass := most <= 1 && sent+unknown == len(accepted) && sent <= requests && (unknown > 0 || !peer.silent)
			house.Report(t, house.Row{
				Test: "B4", What: "a peer that " + peer.name + ", " + header, N: len(accepted), Unit: "sends",
				Figure: fmt.Sprintf("%d arrivals, at most %d a send; %d sent, %d unknown", requests, most, sent, unknown),
				Bar:    "one send, at most one arrival", Bound: house.Bound(len(accepted)), Pass: pass,
			})
		}
	}
}

// TestB4ARedirectIsNoSuccess answers with each redirect to a page that would say 200.
func TestB4ARedirectIsNoSuccess(t *testing.T) {
	t.Parallel()
	h := house.Open(t, house.Options{DSN: house.SQLite.DSN(t), Env: unhurried})
	followed, sent := 0, 0
	statuses := []int{301, 302, 303, 307, 308}
	for _, driver := range []string{"httpapi", "webhook"} {
		for _, status := range statuses {
			e := listen(t, "127.0.0.1:0", func(v *visit) {
				for v.read() {
					v.say(fmt.Sprintf("HTTP/1.1 %d Elsewhere\r\nLocation: /login\r\nContent-Length: 0\r\n\r\n", status))
				}
			})
			ch := drivers[driver](h, fmt.Sprintf("%s-%d", driver, status), e.URL+"/send")
			h.PutChannel(t, ch)
			id, err := h.Send(t, ch.Name, house.Text(ch.Name, 1), false)
			if err != nil {
				t.Fatal(err)
			}
			a := firstAttempt(t, h, posthouse.DeliveryID(id, 1))
			if a.Class != posthouse.ClassAccount || a.Code != fmt.Sprintf("HTTP_%d", status) {
				t.Errorf("%s, HTTP %d: class %q and code %q, want account and HTTP_%[2]d", driver, status, a.Class, a.Code)
			}
			if a.To == posthouse.Sent {
				sent++
			}
			followed += e.visits("/login")
		}
	}
	house.Report(t, house.Row{
		Test: "B4", What: "redirects to a page that answers 200", N: 2 * len(statuses), Unit: "sends",
		Figure: fmt.Sprintf("%d followed, %d counted as sent", followed, sent), Bar: "none followed, none sent", Pass: followed == 0 && sent == 0,
	})
}

// drivers make a channel of each driver that speaks HTTP. Nothing is tried a second time.
var drivers = map[string]func(h *house.House, name, url string) posthouse.Channel{
	"httpapi": func(h *house.House, name, url string) posthouse.Channel {
		ch := h.Channel(name)
		ch.Config["url"], ch.Config["idempotency_header"] = url, "Idempotency-Key"
		return once(ch)
	},
	"webhook": func(h *house.House, name, url string) posthouse.Channel {
		ch := h.Channel(name)
		ch.Driver, ch.Config = "webhook", map[string]any{"url": url, "secret": "whsec_cG9zdGhvdXNlcG9zdGhvdXNlcG9zdGhvdXNl"}
		return once(ch)
	},
}

// unhurried lets servers begin up to 10 s after their claim: what they come to later they give back.
var unhurried = []string{"POSTHOUSE_LEASE_MARGIN=10s"}

func once(ch posthouse.Channel) posthouse.Channel {
	ch.OnUnknown, ch.Tries = posthouse.Hold, 1
	return house.Patient(ch)
}

// firstAttempt waits until a delivery's first attempt has ended.
func firstAttempt(t *testing.T, h *house.House, delivery string) posthouse.Attempt {
	t.Helper()
	c := h.Members[0].Client(t, 3)
	var first posthouse.Attempt
	house.Until(t, "the attempt's end", func() bool {
		list, err := c.Deliveries.Attempts(t.Context(), delivery)
		if err != nil {
			t.Fatal(err)
		}
		if len(list) > 0 {
			first = list[0]
		}
		return first.To != ""
	})
	return first
}
