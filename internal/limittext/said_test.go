package limittext

import (
	"testing"
	"time"

	"github.com/posthouse/posthouse"
)

func TestProblemsSayDurationsAndListsAsDocumentsDo(t *testing.T) {
	t.Parallel()
	for want, got := range map[string]string{
		"is 31d: want 1s to 30d":                            Said("is %s: want %s to %s", posthouse.Duration(31*day), posthouse.Duration(time.Second), posthouse.Duration(30*day)),
		"24h, 36h, 1m30s, 0s":                               Said("%s, %s, %v, %s", posthouse.Duration(day), 36*time.Hour, 90*time.Second, time.Duration(0)),
		`is "x": want one of sent, delivered, acknowledged`: Said("is %q: want one of %v", "x", []posthouse.Proof{posthouse.ProofSent, posthouse.ProofDelivered, posthouse.ProofAcknowledged}),
		"a, b and 3":                                        Said("%v and %d", []string{"a", "b"}, 3),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
