package limittext_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/limittext"
)

func TestABudgetIsReadAsItIsWritten(t *testing.T) {
	t.Parallel()
	whole := &posthouse.Budget{Max: 20000, Per: "month", TimeZone: "Asia/Shanghai", WhenSpent: "high_priority", Reserve: 2000, WarnAt: 0.5}
	for text, want := range map[string]*posthouse.Budget{
		"":                          nil,
		"20000/month":               {Max: 20000, Per: "month"},
		"500/day@UTC":               {Max: 500, Per: "day", TimeZone: "UTC"},
		limittext.BudgetText(whole): whole,
		"20000/month@Asia/Shanghai/when_spent=high_priority/reserve=2000/warn_at=0.5": whole, // the zone may stand before the options
	} {
		got, err := limittext.Budget(text)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%q: %v (-want +got):\n%s", text, err, diff)
		}
	}
	for _, text := range []string{"5", "5/week", "a/day", "5/day/foo=1", "5/day/when_spent=x", "5/day/reserve=x", "1.5/day"} {
		if got, err := limittext.Budget(text); err == nil {
			t.Errorf("%q is read as %+v", text, got)
		}
	}
}
