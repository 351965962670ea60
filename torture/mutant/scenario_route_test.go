package mutant

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/simulator"
	"github.com/posthouse/posthouse/torture/internal/house"
	"github.com/posthouse/posthouse/torture/internal/overlay"
	"github.com/posthouse/posthouse/wire"
)

// doubtIsFailure begins the next step when the one before is in doubt.
var doubtIsFailure = []overlay.Edit{{
	File: "internal/route/advance.go",
	Old:  "case d.State == posthouse.Unknown && n.Follows.OnUnknown == posthouse.UnknownFallBack:",
	New:  "case d.State == posthouse.Unknown:",
}}

// nothingWithdrawn leaves what has not started of a notification when somebody acknowledges it.
var nothingWithdrawn = []overlay.Edit{{
	File: "internal/route/advance.go",
	Old: `n.State, n.Reason, n.NextAt = posthouse.NotificationAcknowledged, "", time.Time{}
		return open(ReasonTold, none)`,
	New: `n.State, n.Reason, n.NextAt = posthouse.NotificationAcknowledged, "", time.Time{}
		return withdraw`,
}}

// ackTakenOver has the last of several acknowledgements stand, and not the first.
var ackTakenOver = []overlay.Edit{{
	File: "internal/route/law.go",
	Old:  "if err != nil || n.Ack != nil {\n		return p, withdraw, false, err",
	New:  "if err != nil {\n		return p, withdraw, false, err",
}}

// endedInName ends the notifications of what is over, and leaves what they had under way.
var endedInName = []overlay.Edit{{
	File: "internal/route/resolve.go",
	Old:  "	withdraw = n.settle(now)",
	New:  "	n.settle(now)",
}}

// deafToSuccess writes that something was sent and does not tell the notification.
var deafToSuccess = []overlay.Edit{{
	File: "internal/route/law.go",
	Old:  "	if !news {",
	New:  "	if !news || after[0].State == posthouse.Sent {",
}}

// routesInDoubt sends messages by a route whose first step loses a third of all answers, and leaves what is in doubt to a person.
var routesInDoubt = scenario{fault: "a third of all answers lost, under a route of two steps", db: house.SQLite, play: func(r *rig) *house.House {
	h := r.open(house.Options{}, func(ch *posthouse.Channel) { ch.OnUnknown = posthouse.Hold })
	h.Provider.Behave(r, "generic", simulator.Behaviour{Faults: []simulator.Fault{house.Share(simulator.CutAfter, 0.3)}})
	r.route(h, posthouse.RouteStep{}, false)
	h.Settle(r, posthouse.Unknown)
	house.Pause(r.Context(), 1500*time.Millisecond) // the next step would begin later than the checker allows a commit to take
	h.Settle(r, posthouse.Unknown)
	return h
}}

// acknowledged has messages acknowledged whose second step waits for its channel, which is opened afterwards.
var acknowledged = scenario{fault: "no fault: messages are acknowledged while their next step waits", db: house.SQLite, play: func(r *rig) *house.House {
	h := r.open(house.Options{}, nil)
	api := h.Members[0].Client(r, 3)
	for _, id := range r.route(h, posthouse.RouteStep{Until: posthouse.ProofAcknowledged, Within: posthouse.Duration(time.Second)}, true) {
		var n posthouse.Notification
		house.Until(r, "the second step of "+id, func() bool {
			list, err := api.Notifications.Of(r.Context(), id)
			if err == nil && len(list) == 1 {
				n = list[0]
			}
			return n.Step == 2
		})
		for _, by := range []string{"u", "v"} {
			if _, err := api.Notifications.Acknowledge(r.Context(), n.ID, wire.Ack{By: by}); err != nil {
				r.Fatal(err)
			}
		}
	}
	house.Pause(r.Context(), 1500*time.Millisecond)
	if _, err := api.Channels.Resume(r.Context(), "second"); err != nil {
		r.Fatal(err)
	}
	h.Settle(r)
	return h
}}

// resolved has alerts fire whose steps wait for their channels, which are opened once they are over: nobody is told, so that nobody hears of the end.
var resolved = scenario{fault: "no fault: alerts are over while their next step waits", db: house.SQLite, play: func(r *rig) *house.House {
	h := r.open(house.Options{}, nil)
	api := h.Members[0].Client(r, 3)
	r.night(h, posthouse.RouteStep{Until: posthouse.ProofAcknowledged, Within: posthouse.Duration(time.Second)}, true)
	if _, err := api.Channels.Pause(r.Context(), "generic", "not yet"); err != nil {
		r.Fatal(err)
	}
	f, err := api.Fronts.Put(r.Context(), "alerts", wire.PutFront{Kind: "alertmanager", FrontSettings: posthouse.FrontSettings{Route: "night", To: []posthouse.Recipient{{User: "u"}}}})
	if err != nil {
		r.Fatal(err)
	}
	say := func(status string) {
		for n := range 30 {
			alert := fmt.Sprintf(`{"status":%q,"labels":{"alertname":"Disk","n":"%d"},"annotations":{},"startsAt":"2026-01-01T00:00:00Z","fingerprint":"%016d"}`, status, n, n)
			body := fmt.Sprintf(`{"version":"4","groupKey":"{}/{n=%d}","status":%q,"receiver":"p","groupLabels":{},"commonLabels":{},"commonAnnotations":{},"alerts":[%s]}`, n, status, alert)
			r.post("http://"+h.Members[0].Addr+f.Path+"/"+f.Token, body)
		}
	}
	say("firing")
	house.Until(r, "the second steps", func() bool {
		page, err := api.Notifications.List(r.Context(), "", client.Filter{Limit: 100})
		return err == nil && len(page.Items) == 30 && !slices.ContainsFunc(page.Items, func(n posthouse.Notification) bool { return n.Step != 2 })
	})
	say("resolved")
	house.Pause(r.Context(), 1500*time.Millisecond)
	for _, name := range []string{"generic", "second"} {
		if _, err := api.Channels.Resume(r.Context(), name); err != nil {
			r.Fatal(err)
		}
	}
	h.Settle(r)
	return h
}}

// post hands something to a front.
func (r *rig) post(url, body string) {
	r.Helper()
	req, err := http.NewRequestWithContext(r.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		r.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.Fatal(err)
	}
	defer resp.Body.Close()
	if said, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusOK {
		r.Fatalf("the front says %s: %s", resp.Status, said)
	}
}

// route sends messages by a route of two steps, each on a channel of its own, of which the second may be paused.
func (r *rig) route(h *house.House, first posthouse.RouteStep, paused bool) map[int]string {
	r.Helper()
	r.night(h, first, paused)
	return h.Produce(r, house.Load{Messages: 60, Draft: func(n int) posthouse.Draft {
		d := house.Text("", n)
		d.Route = "night"
		return d
	}})
}

// night makes the route of two steps.
func (r *rig) night(h *house.House, first posthouse.RouteStep, paused bool) {
	r.Helper()
	h.PutChannel(r, h.Channel("second"))
	api := h.Members[0].Client(r, 3)
	if paused {
		if _, err := api.Channels.Pause(r.Context(), "second", "not yet"); err != nil {
			r.Fatal(err)
		}
	}
	first.Channels = []string{"generic"}
	if _, err := api.Routes.Put(r.Context(), posthouse.Route{Name: "night", Steps: []posthouse.RouteStep{first, {Channels: []string{"second"}}}}); err != nil {
		r.Fatal(err)
	}
}
