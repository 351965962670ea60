package difference

import (
	"slices"
	"testing"
)

func TestADifferenceHoldsBothTexts(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{{"", ""}, {"a", ""}, {"", "a\nb"}, {"a\nb\nc", "a\nc"}, {"a\nb\nc", "c\nb\na"}, {"a\na", "a\na\na"}} {
		var from, to, both []string
		for _, l := range Lines(c[0], c[1]) {
			if l.Mark != "+" {
				from = append(from, l.Line)
			}
			if l.Mark != "-" {
				to = append(to, l.Line)
			}
			if l.Mark == "" {
				both = append(both, l.Line)
			}
		}
		if !slices.Equal(from, linesOf(c[0])) || !slices.Equal(to, linesOf(c[1])) || c[0] == c[1] && !slices.Equal(both, from) {
			t.Errorf("%q → %q: %q, %q", c[0], c[1], from, to)
		}
	}
	if d := Lines("a\nb\nc", "a\nx\nc"); len(d) != 4 {
		t.Errorf("one line of three is changed: %v", d)
	}
}
