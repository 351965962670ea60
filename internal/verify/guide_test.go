package verify_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/posthouse/posthouse/internal/verify"
)

// The guide says of each invariant and each rare thing what the checker says of it.
func TestTheGuideNamesEveryLaw(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("../../docs/guide/verify.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for _, law := range verify.Laws() {
		needs := strings.Join(law.Needs, ", ")
		if law.Missing != "" {
			needs = "not applicable: " + law.Missing
		}
		rows = append(rows, fmt.Sprintf("| %s | %s | %s | %s |", law.ID, law.Name, law.Means, needs))
	}
	for _, s := range verify.SometimesList() {
		means := s.Means
		if s.Skipped != "" {
			means += " (not looked for: " + s.Skipped + ")"
		}
		rows = append(rows, fmt.Sprintf("| `%s` | %s |", s.Name, means))
	}
	for _, row := range rows {
		if !strings.Contains(string(guide), row+"\n") {
			t.Errorf("docs/guide/verify.md has no row\n%s", row)
		}
	}
}
