package verify

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
)

// stamp is the form of times in excerpts.
const stamp = "2006-01-02 15:04:05.000000"

func stampText(t time.Time) string { return t.UTC().Format(stamp) }

func stateText(s posthouse.State) string { return cmp.Or(string(s), "nothing") }

// eventText is an event as a line of an excerpt.
func eventText(e *posthouse.Event) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  event %d %s", stampText(e.At), e.Version, e.Type)
	if e.From != "" {
		fmt.Fprintf(&b, ", %s → %s", e.From, e.To)
	} else {
		fmt.Fprintf(&b, " → %s", e.To)
	}
	fmt.Fprintf(&b, ", token %d", e.Token)
	for _, part := range []struct{ name, value string }{
		{"attempt", number(e.Attempt)}, {"owner", e.Owner}, {"lease until", moment(e.LeaseUntil)}, {"due", moment(e.Due)},
		{"deadline", moment(e.Deadline)}, {"tries", number(e.Tries)}, {"class", string(e.Class)}, {"code", e.Code}, {"reason", e.Reason},
	} {
		if part.value != "" {
			fmt.Fprintf(&b, ", %s %s", part.name, part.value)
		}
	}
	return b.String()
}

func number(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("15:04:05.000000")
}
