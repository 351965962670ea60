package engine

import (
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// What a new epoch holds was not tried here: nobody should look for an attempt that there never was.
func TestWhatAnEpochHoldsIsNotCalledAnAttempt(t *testing.T) {
	t.Parallel()
	of := func(d posthouse.Delivery) string {
		d.ID, d.State, d.OnUnknown, d.UpdatedAt = posthouse.DeliveryID(posthouse.NewID(), 1), posthouse.Unknown, posthouse.Hold, time.Now()
		return (&Explainer{}).Explain(t.Context(), d).Summary
	}
	held := of(posthouse.Delivery{Reason: work.ReasonEpochHold})
	if strings.Contains(held, "An attempt began") || !strings.Contains(held, "after 0 attempts") || !strings.Contains(held, "new epoch") {
		t.Errorf("held by an epoch: %s", held)
	}
	if lost := of(posthouse.Delivery{Reason: "lease_lost", Attempts: 1}); !strings.Contains(lost, "An attempt began") {
		t.Errorf("after an attempt: %s", lost)
	}
}
