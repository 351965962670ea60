package house

import (
	"fmt"
	"strings"
	"testing"

	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/wire"
)

// Campaign makes a campaign of n people by the first member, and starts it.
func (h *House) Campaign(t testing.TB, draft wire.CampaignDraft, n int) {
	t.Helper()
	var people strings.Builder
	people.WriteString("user\n")
	for i := range n {
		fmt.Fprintf(&people, "u%d\n", i)
	}
	c := h.Members[0].Client(t, 3)
	_, err := c.Campaigns.Create(t.Context(), draft)
	if err == nil {
		_, err = c.Campaigns.Import(t.Context(), draft.Name, client.Part{Final: true}, strings.NewReader(people.String()))
	}
	if err == nil {
		_, err = c.Campaigns.Start(t.Context(), draft.Name, false)
	}
	if err != nil {
		t.Fatalf("start a campaign: %v", err)
	}
}

// Reached waits until so many members of a campaign are settled, or it has ended, and repairs it meanwhile.
func (h *House) Reached(t testing.TB, name string, settled int64) {
	t.Helper()
	c := h.Members[0].Client(t, 1)
	var last wire.Campaign
	err := waitFor(t.Context(), patience, func() bool {
		_, _ = c.Campaigns.Repair(t.Context(), name) // one that has ended needs none
		got, err := c.Campaigns.Get(t.Context(), name)
		if err != nil {
			return false // the process is away
		}
		last = got
		return got.State.Final() || got.Progress.Members-got.Progress.Unsent-got.Progress.Started >= settled
	})
	if err != nil {
		t.Fatalf("the campaign stands at %+v: %v\n%s", last, err, h.logs())
	}
}
