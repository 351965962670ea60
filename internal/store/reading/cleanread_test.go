package reading

import (
	"strings"
	"testing"
)

// A planner that is told that a state equals a text expects next to no rows, and sorts all that are in range.
func TestWhereManyWaitTheOtherStatesAreLeftOut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		clean clean
		want  string
	}{
		{clean{pending: true, crowded: true}, " NOT IN ('sending', 'sent')"},
		{clean{pending: true}, " IN ('pending')"},
		{clean{pending: true, sending: true}, " IN ('pending', 'sending')"},
		{clean{pending: true, sending: true, sent: true}, ""},
	} {
		if got := c.clean.stages(); !strings.HasSuffix(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%+v: got %q, want it to end in %q", c.clean, got, c.want)
		}
	}
}
