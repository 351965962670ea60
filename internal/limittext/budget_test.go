package limittext_test

import (
	"strings"
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
	for text, want := range map[string]string{
		"5": `names no period`, "5/week": `the period "week"`, "a/day": `begins with "a"`, "1.5/day": `begins with "1.5"`, "5/day@": "behind @", "5/day/foo=1": `the option "foo=1"`,
		"5/day/when_spent=x": `when_spent "x"`, "5/day/when_spent=": `when_spent ""`, "5/day/reserve=x": `reserve "x"`, "5/day@UTC/warn_at=x": `warn_at "x"`,
	} {
		if got, err := limittext.Budget(text); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "such as ") {
			t.Errorf("%q is read as %+v: %v, want %s and an example", text, got, err, want)
		}
	}
}
