package pull

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/state"
)

// A channel that is resumed after it was looked at, and before the agent stands in a line, is not missed.
func TestAnAgentThatHasEnteredHearsOfChannels(t *testing.T) {
	d := newLines()
	w := d.enter()
	d.wakeAll()
	d.queue(w, []state.Key{{Tenant: "t", Channel: "sms"}})
	select {
	case <-w.wake:
	default:
		t.Error("it was not woken")
	}
	if d.leave(w); d.waiting() != 0 || len(d.awaited()) != 0 {
		t.Error("it has left and is still at the desk")
	}
}

func TestAnAgentHasTheUsualLimitsWhereNothingIsSaid(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff(posthouse.AgentLimits(), limitsOf(&posthouse.Agent{})); diff != "" {
		t.Errorf("limits (-want +got):\n%s", diff)
	}
}
