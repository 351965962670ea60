package api_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
)

// cancelled is the answer to a cancel.
type cancelled struct {
	Cancelled    int `json:"cancelled"`
	TooLate      int `json:"too_late"`
	AlreadyFinal int `json:"already_final"`
	Deliveries   []struct{ Delivery, User, Result, State string }
}

func TestCancelTellsWhatCameInTime(t *testing.T) {
	t.Parallel()
	h := with(t)
	ids := h.send("out", "slow", "refused")
	<-h.provider.began
	h.until(ids[1], posthouse.Failed)
	path := "/v1/messages/" + posthouse.MessageID(ids[0]) + "/cancel"
	late := read[cancelled](t, h.must(200, "POST", path, ""))
	if late.TooLate != 1 || late.AlreadyFinal != 1 || late.Cancelled != 0 {
		t.Errorf("got %+v, want one too late and one already final", late)
	}
	h.provider.letGo()
	h.until(ids[0], posthouse.Sent)

	waiting := h.send("later", "u1", "u2")
	got := read[cancelled](t, h.must(200, "POST", "/v1/messages/"+posthouse.MessageID(waiting[0])+"/cancel", ""))
	if got.Cancelled != 2 || got.Deliveries[0].Result != "cancelled" || got.Deliveries[0].State != "cancelled" {
		t.Errorf("got %+v, want both cancelled", got)
	}
	if again := read[cancelled](t, h.must(200, "POST", "/v1/messages/"+posthouse.MessageID(waiting[0])+"/cancel", "")); again.AlreadyFinal != 2 {
		t.Errorf("got %+v, want both already final", again)
	}
	h.must(404, "POST", "/v1/messages/"+posthouse.NewID()+"/cancel", "")
}

func TestCancelByKindAndRefTakesAllThatIsOpen(t *testing.T) {
	t.Parallel()
	h := with(t)
	for _, ref := range []string{"7", "7", "8"} {
		h.must(202, "POST", "/v1/messages", fmt.Sprintf(`{"channel":"later","to":[{"user":"u"}],"content":{"text":"x"},"kind":"order","ref":%q}`, ref))
	}
	if got := read[cancelled](t, h.must(200, "POST", "/v1/messages/cancel", `{"kind":"order","ref":"7"}`)); got.Cancelled != 2 {
		t.Errorf("got %+v, want 2 cancelled", got)
	}
	if got := read[cancelled](t, h.must(200, "POST", "/v1/messages/cancel", `{"kind":"order","ref":"7"}`)); got.Cancelled != 0 || got.Deliveries == nil {
		t.Errorf("got %+v, want none left, as an empty list", got)
	}
	open := read[list[any]](t, h.must(200, "GET", "/v1/deliveries?state=pending", ""))
	if len(open.Items) != 1 {
		t.Errorf("%d are open, want the one of ref 8", len(open.Items))
	}
}

// replay is the answer to a replay.
type replay struct {
	Of, ID, Code, Reason string
}

func TestAReplayIsANewDelivery(t *testing.T) {
	t.Parallel()
	h := with(t)
	id := h.send("out", "refused")[0]
	h.until(id, posthouse.Failed)
	made := read[replay](t, h.must(200, "POST", "/v1/deliveries/"+id+"/replay", `{"force_new":true}`))
	if made.Of != id || made.ID == "" || made.ID == id {
		t.Fatalf("got %+v, want a new delivery of %s", made, id)
	}
	if again := h.until(made.ID, posthouse.Failed); again.ReplayOf != id || again.IdemKey == id {
		t.Errorf("got %+v, want a replay of %s with a key of its own", again, id)
	}
	sent := h.send("out", "u")[0]
	h.until(sent, posthouse.Sent)
	if got := read[fault](t, h.must(409, "POST", "/v1/deliveries/"+sent+"/replay", "")); got.Code != posthouse.CodeConflict || !strings.Contains(got.Detail, "sent") {
		t.Errorf("got %+v, want a conflict that names the state", got)
	}
	h.must(404, "POST", "/v1/deliveries/"+posthouse.NewID()+"/replay", "")
}

func TestAReplayByFilterCountsFirst(t *testing.T) {
	t.Parallel()
	h := with(t)
	ids := h.send("out", "refused1", "refused2", "refused3", "u")
	for _, id := range ids[:3] {
		h.until(id, posthouse.Failed)
	}
	h.must(200, "POST", "/v1/channels/out/pause", `{}`)
	type replays struct {
		Matched, Replayed int
		DryRun            bool `json:"dry_run"`
		Replays           []replay
	}
	for _, test := range []struct {
		body string
		want replays
	}{
		{`{"channel":"out","dry_run":true}`, replays{Matched: 3, DryRun: true, Replays: []replay{}}},
		{`{"channel":"out","dry_run":true,"max":2}`, replays{Matched: 2, DryRun: true, Replays: []replay{}}},
		{`{"channel":"out","states":["expired"],"dry_run":true}`, replays{DryRun: true, Replays: []replay{}}},
		{`{"user":"refused2","since":"2020-01-01T00:00:00Z","dry_run":true}`, replays{Matched: 1, DryRun: true, Replays: []replay{}}},
		{`{"channel":"later"}`, replays{Replays: []replay{}}},
	} {
		if diff := cmp.Diff(test.want, read[replays](t, h.must(200, "POST", "/v1/deliveries/replay", test.body))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.body, diff)
		}
	}
	got := read[replays](t, h.must(200, "POST", "/v1/deliveries/replay", `{"channel":"out","states":["failed"]}`))
	var of []string
	for _, r := range got.Replays {
		of = append(of, r.Of)
	}
	slices.Sort(of)
	if diff := cmp.Diff(ids[:3], of); got.Replayed != 3 || diff != "" {
		t.Errorf("got %+v (-want +got of):\n%s", got, diff)
	}
}

func TestResolveIsAPersonsWord(t *testing.T) {
	t.Parallel()
	h := with(t)
	for outcome, want := range map[string]posthouse.State{"sent": posthouse.Sent, "not_sent": posthouse.Failed, "retry": posthouse.Unknown} {
		id := h.send("out", "lost")[0]
		h.until(id, posthouse.Unknown)
		got := read[posthouse.Delivery](t, h.must(200, "POST", "/v1/deliveries/"+id+"/resolve", fmt.Sprintf(`{"outcome":%q}`, outcome)))
		if outcome == "retry" {
			if got.State != posthouse.Pending {
				t.Errorf("%s: got %s, want pending", outcome, got.State)
			}
			if again := h.until(id, posthouse.Unknown); again.Attempts != 2 {
				t.Errorf("%s: got %d attempts, want 2", outcome, again.Attempts)
			}
			continue
		}
		if got.State != want {
			t.Errorf("%s: got %s, want %s", outcome, got.State, want)
		}
		if f := read[fault](t, h.must(409, "POST", "/v1/deliveries/"+id+"/resolve", `{"outcome":"sent"}`)); f.Code != posthouse.CodeConflict {
			t.Errorf("%s: resolving again got %+v, want a conflict", outcome, f)
		}
	}
}

func TestADeliveryTellsItsStory(t *testing.T) {
	t.Parallel()
	h := with(t)
	id := h.send("out", "refused")[0]
	h.until(id, posthouse.Failed)
	attempts := read[list[posthouse.Attempt]](t, h.must(200, "GET", "/v1/deliveries/"+id+"/attempts", "")).Items
	if len(attempts) != 1 || attempts[0].Class != posthouse.ClassRecipient || attempts[0].Code != "NO_SUCH_USER" || attempts[0].Response != "no" {
		t.Errorf("attempts: got %+v", attempts)
	}
	events := read[list[posthouse.Event]](t, h.must(200, "GET", "/v1/deliveries/"+id+"/events", "")).Items
	var path []posthouse.State
	for _, e := range events {
		path = append(path, e.To)
	}
	if want := []posthouse.State{posthouse.Pending, posthouse.Sending, posthouse.Failed}; !slices.Equal(slices.Compact(path), want) {
		t.Errorf("events go through %v, want %v", path, want)
	}
	why := h.must(200, "GET", "/v1/deliveries/"+id+"/explain", "").body
	if !strings.Contains(why, "nobody of that name") || !strings.Contains(why, `"waits":[]`) {
		t.Errorf("explain: got %s", why)
	}
	waiting := h.send("later", "u")[0]
	if why := h.must(200, "GET", "/v1/deliveries/"+waiting+"/explain", "").body; !strings.Contains(why, `"cause":"paused","detail":"the channel is paused: for the test"`) {
		t.Errorf("explain of a paused channel: got %s", why)
	}
	if got := h.must(200, "GET", "/v1/deliveries/"+waiting+"/attempts", "").body; got != "{\"items\":[]}\n" {
		t.Errorf("attempts of what has not begun: got %s", got)
	}
	for _, part := range []string{"", "/attempts", "/events", "/explain"} {
		for _, none := range []string{posthouse.NewID(), posthouse.DeliveryID(posthouse.NewID(), 1), "x", "%00", strings.Repeat("x", 2000)} {
			h.must(404, "GET", "/v1/deliveries/"+none+part, "")
		}
	}
}

func TestAMessageShowsAllOfItself(t *testing.T) {
	t.Parallel()
	h := with(t)
	h.must(200, "PUT", "/v1/templates/hello", `{"title":"T","text":"hello ${name}"}`)
	accepted := read[posthouse.Accepted](t, h.must(202, "POST", "/v1/messages", `{"channel":"later","to":[{"user":"u1","type":"branch"},{"address":"a2"},{"user":"u1"}],
		"template":"hello","payload":{"name":"天元"},"kind":"k","ref":"r","priority":"low","source":"s","dedup_key":"d","on_unknown":"assume_sent",
		"not_before":"2026-01-02T03:04:05+08:00","deadline":"2199-01-02T03:04:05Z"}`))
	type shown struct {
		posthouse.Message
		Recipients int
		Counts     map[posthouse.State]int
		Deliveries []posthouse.Delivery
		Next       string
	}
	got := read[shown](t, h.must(200, "GET", "/v1/messages/"+accepted.ID+"?limit=1", ""))
	if !reflect.DeepEqual(got.Content, posthouse.Content{Title: "T", Text: "hello 天元"}) || got.Kind != "k" || got.Priority != posthouse.Low || string(got.Payload) != `{"name":"天元"}` {
		t.Errorf("got %+v", got.Message)
	}
	if got.Recipients != 2 || got.Counts[posthouse.Pending] != 2 || len(got.Deliveries) != 1 || got.Next == "" {
		t.Errorf("got %d recipients, counts %v, %d deliveries, next %q", got.Recipients, got.Counts, len(got.Deliveries), got.Next)
	}
	second := read[shown](t, h.must(200, "GET", "/v1/messages/"+accepted.ID+"?limit=1&cursor="+got.Next, ""))
	if len(second.Deliveries) != 1 || second.Next != "" || second.Deliveries[0].Address != "a2" || second.Deliveries[0].OnUnknown != posthouse.AssumeSent {
		t.Errorf("the second page: got %+v", second.Deliveries)
	}
}
