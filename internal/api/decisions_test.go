package api_test

import (
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// ended is a decision about many when it has ended.
func (h *house) ended(id string) (d wire.Decision) {
	h.Helper()
	for d.State = wire.DecisionRunning; d.State == wire.DecisionRunning; {
		d = read[wire.Decision](h, h.must(200, "GET", "/v1/decisions/"+id, ""))
	}
	return d
}

// A decision about many is counted, confirmed, and goes on by itself; one confirmation begins one decision, and what changes after
// the count is left alone.
func TestADecisionAboutManyGoesOnByItself(t *testing.T) {
	t.Parallel()
	h := with(t)
	failed := []string{h.send("out", "refused")[0], h.send("out", "refused")[0]}
	for _, id := range failed {
		h.until(id, posthouse.Failed)
	}
	stopped := read[wire.Stopped](h, h.must(200, "GET", "/v1/deliveries/stopped?state=failed", ""))
	if len(stopped.Groups) != 1 || stopped.Groups[0].N != 2 || stopped.Groups[0].Channel != "out" || stopped.Groups[0].Reason == "" || stopped.More {
		t.Errorf("what failed is %+v", stopped)
	}
	if other := read[wire.Stopped](h, h.do(request{method: "GET", path: "/v1/deliveries/stopped?state=failed", key: "other"})); other.Looked != 0 {
		t.Errorf("another tenant counts %+v", other)
	}
	const filter = `"outcome":"replay","channel":"out","states":["failed"]`
	count := read[wire.Decision](h, h.must(200, "POST", "/v1/decisions", `{`+filter+`,"dry_run":true}`))
	if count.Matched != 2 || count.ID != "" || count.Confirm == "" {
		t.Fatalf("the count is %+v", count)
	}
	late := h.send("out", "refused")[0]
	h.until(late, posthouse.Failed)
	for body, want := range map[string]int{
		`{` + filter + `}`:                                                           422,
		`{` + filter + `,"confirm":"2-1-x"}`:                                         422,
		`{` + filter + `,"confirm":"9` + count.Confirm + `"}`:                        409,
		`{"outcome":"replay","channel":"other","confirm":"` + count.Confirm + `"}`:   409,
		`{"outcome":"replay","dry_run":true}`:                                        422,
		`{"outcome":"replay","channel":"out","states":["unknown"],"dry_run":true}`:   422,
		`{"outcome":"sent","channel":"out","states":["quarantined"],"dry_run":true}`: 422,
		`{"outcome":"perhaps","channel":"out","dry_run":true}`:                       422,
		`{"outcome":"retry","channel":"out","force_new":true,"dry_run":true}`:        422,
	} {
		if got := h.do(request{method: "POST", path: "/v1/decisions", body: body}); got.status != want {
			t.Errorf("%s: got %d %s, want %d", body, got.status, got.body, want)
		}
	}
	confirmed := `{` + filter + `,"confirm":"` + count.Confirm + `"}`
	first := read[wire.Decision](h, h.must(202, "POST", "/v1/decisions", confirmed))
	done := h.ended(first.ID)
	if done.State != wire.DecisionDone || done.Matched != 2 || done.Done != 2 || done.Left != 0 {
		t.Errorf("the decision ended as %+v", done)
	}
	if again := read[wire.Decision](h, h.must(202, "POST", "/v1/decisions", confirmed)); again.ID != first.ID || again.Done != 2 {
		t.Errorf("the same confirmation begins %+v", again)
	}
	for _, id := range append(failed, late) {
		n := 0
		for _, d := range read[list[posthouse.Delivery]](h, h.must(200, "GET", "/v1/deliveries?limit=1000", "")).Items {
			if d.ReplayOf == id {
				n++
			}
		}
		if want := map[bool]int{true: 0, false: 1}[id == late]; n != want {
			t.Errorf("%s is sent again %d times, want %d", id, n, want)
		}
	}
	if got := read[wire.Decision](h, h.must(200, "POST", "/v1/decisions/"+first.ID+"/stop", "")); got.State != wire.DecisionDone {
		t.Errorf("stopping what is done makes it %s", got.State)
	}
	if list := h.must(200, "GET", "/v1/decisions", "").body; !strings.Contains(list, first.ID) {
		t.Errorf("the list is %s", list)
	}
	if log := h.must(200, "GET", "/v1/audit?target="+first.ID, "").body; !strings.Contains(log, `"affected":2`) {
		t.Errorf("the audit log has %s", log)
	}
}

// decided is a decision about all of a channel that has ended.
func (h *house) decided(outcome wire.Outcome, states string) wire.Decision {
	h.Helper()
	body := `{"outcome":"` + string(outcome) + `","channel":"out","states":[` + states + `]`
	count := read[wire.Decision](h, h.must(200, "POST", "/v1/decisions", body+`,"dry_run":true}`))
	return h.ended(read[wire.Decision](h, h.must(202, "POST", "/v1/decisions", body+`,"confirm":"`+count.Confirm+`"}`)).ID)
}

// undone is the undo of a decision when it has ended.
func (h *house) undone(id string) wire.Decision {
	h.Helper()
	return h.ended(read[wire.Decision](h, h.must(202, "POST", "/v1/decisions/"+id+"/undo", "")).ID)
}

// What a decision let go again waits for a person once more, as long as it has not begun; what begins after that is not touched by the same undo.
func TestARetryOfManyIsTakenBack(t *testing.T) {
	t.Parallel()
	h := with(t)
	ids := h.send("out", "lost1", "lost2", "lost3")
	for _, id := range ids {
		h.until(id, posthouse.Unknown)
	}
	h.must(200, "POST", "/v1/channels/out/pause", `{"reason":"for the test"}`)
	h.must(200, "POST", "/v1/deliveries/"+ids[2]+"/resolve", `{"outcome":"retry"}`) // by itself, before
	of := h.decided(wire.OutcomeRetry, `"unknown"`)
	if of.Done != 2 || !of.Undoable || of.UndoneBy != "" {
		t.Fatalf("the decision is %+v", of)
	}
	h.must(404, "POST", "/v1/decisions/"+posthouse.NewID()+"/undo", "")
	undo := h.undone(of.ID)
	if undo.Outcome != wire.OutcomeUndo || undo.Undoes != of.ID || undo.Matched != 2 || undo.Done != 2 || undo.Left != 0 || undo.Channel != "out" || undo.Undoable {
		t.Errorf("the undo ended as %+v", undo)
	}
	for i, want := range []posthouse.State{posthouse.Unknown, posthouse.Unknown, posthouse.Pending} {
		d := read[posthouse.Delivery](h, h.must(200, "GET", "/v1/deliveries/"+ids[i], ""))
		if d.State != want || want == posthouse.Unknown && (d.OnUnknown != posthouse.Hold || d.Reason != "operator_undo" || !d.DueAt.IsZero()) {
			t.Errorf("%s is %s by %s under %s, want %s", ids[i], d.State, d.Reason, d.OnUnknown, want)
		}
	}
	if again := h.undone(of.ID); again.ID != undo.ID || again.Done != 2 {
		t.Errorf("asked again the undo is %+v", again)
	}
	if of := h.ended(of.ID); of.Undoable || of.UndoneBy != undo.ID || of.Done != 2 {
		t.Errorf("the decision stands as %+v", of)
	}
	if got := h.must(409, "POST", "/v1/decisions/"+undo.ID+"/undo", "").body; !strings.Contains(got, "decide anew") {
		t.Errorf("an undo of an undo: %s", got)
	}
	sent := h.decided(wire.OutcomeSent, `"unknown"`)
	if got := h.must(409, "POST", "/v1/decisions/"+sent.ID+"/undo", "").body; sent.Undoable || !strings.Contains(got, "count as arrived") {
		t.Errorf("a decision that they arrived: %+v, %s", sent, got)
	}
	if log := h.must(200, "GET", "/v1/audit?action=decisions.undo&target="+of.ID, "").body; !strings.Contains(log, `"affected":2`) {
		t.Errorf("the audit log has %s", log)
	}
}

// New deliveries of a replay are cancelled, and those that they were made of can be sent again.
func TestAReplayOfManyIsTakenBack(t *testing.T) {
	t.Parallel()
	h := with(t)
	failed := h.send("out", "refused", "refused2")
	for _, id := range failed {
		h.until(id, posthouse.Failed)
	}
	h.must(200, "POST", "/v1/channels/out/pause", `{"reason":"for the test"}`)
	made := func() (states map[string][]posthouse.State) {
		states = map[string][]posthouse.State{}
		for _, d := range read[list[posthouse.Delivery]](h, h.must(200, "GET", "/v1/deliveries?limit=1000", "")).Items {
			if d.ReplayOf != "" {
				states[d.ReplayOf] = append(states[d.ReplayOf], d.State)
			}
		}
		return states
	}
	of := h.decided(wire.OutcomeReplay, `"failed"`)
	undo := h.undone(of.ID)
	if of.Done != 2 || undo.Done != 2 || undo.Left != 0 || undo.Matched != 2 {
		t.Errorf("of %+v the undo took back %+v", of, undo)
	}
	for _, id := range failed {
		if got := made()[id]; len(got) != 1 || got[0] != posthouse.Cancelled {
			t.Errorf("the replay of %s is %s", id, got)
		}
	}
	if second := h.decided(wire.OutcomeReplay, `"failed"`); second.Done != 2 {
		t.Errorf("after the undo, %d are sent again", second.Done)
	}
	if again := h.undone(of.ID); again.ID != undo.ID {
		t.Errorf("the undo of the first is made anew: %+v", again)
	}
	for _, id := range failed {
		if got := made()[id]; len(got) != 2 {
			t.Errorf("the replays of %s are %s", id, got)
		}
	}
}
