package state_test

import (
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/quiet"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// A repeat is not counted again, but where its worker was lost: that may have been after the start was stored and before the cap was asked, and
// a person would get more than the cap allows for each crash.
func TestACapIsAskedAgainWhereTheWorkerWasLost(t *testing.T) {
	t.Parallel()
	freed, ok := state.AfterResolve(posthouse.Delivery{State: posthouse.Quarantined, Attempts: 6, Tries: 5, ClaimLosses: 6, Reason: state.ReasonPoison}, false, true, state.ReasonRetry, time.Now())
	if !ok {
		t.Fatal("a person cannot let it out of quarantine")
	}
	caps := quiet.CapsOf([]posthouse.Cap{{Max: 1, Per: posthouse.Duration(time.Hour)}})
	for name, c := range map[string]struct {
		of    posthouse.Delivery
		asked bool
	}{
		"a first start":                           {posthouse.Delivery{}, true},
		"a repeat of an answer that never came":   {posthouse.Delivery{Attempts: 1, Reason: string(posthouse.ClassUnknown)}, false},
		"a repeat that a person wants":            {posthouse.Delivery{Attempts: 1, Reason: state.ReasonRetry}, false},
		"a repeat after a lost worker":            {posthouse.Delivery{Attempts: 1, ClaimLosses: 1, Reason: string(posthouse.ClassUnknown)}, true},
		"the same, which a person wants repeated": {posthouse.Delivery{Attempts: 1, ClaimLosses: 1, Reason: state.ReasonRetry}, true},
		"what a person lets out of quarantine":    {freed.After, true},
		"what a worker had not begun":             {posthouse.Delivery{ClaimLosses: 1, Reason: state.ReasonLeaseLost}, true},
	} {
		c.of.User = "ann"
		item := work.Item{Delivery: c.of, Message: &posthouse.Message{}}
		if got := len(state.CapsOf(state.Key{Tenant: "t", Channel: "c"}, caps, nil, &item)) == 1; got != c.asked {
			t.Errorf("%s: asked %t, want %t", name, got, c.asked)
		}
	}
}
