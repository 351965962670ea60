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
