package prove

import (
	"fmt"
	"strings"
)

// verdict is what a search has found, in a few words.
func (f *finding) verdict() string {
	if f.broken == nil {
		return "0 violations"
	}
	return "violated: " + f.broken.law
}

// story is a violation with its shortest schedule.
func (f *finding) story() string {
	var b strings.Builder
	fmt.Fprintf(&b, "scene %s: %s\n  is not so: %s\n  the shortest schedule that leads there:\n", f.scene.name, f.broken.law, f.broken.why)
	for i, words := range f.schedule {
		fmt.Fprintf(&b, "  %2d. %s\n", i+1, words)
	}
	return b.String()
}
