package smsgate

import (
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
)

func TestEveryStateHasAWordOfTheOriginals(t *testing.T) {
	t.Parallel()
	want := map[posthouse.State]string{
		posthouse.Pending: pending, posthouse.Sending: processed, posthouse.Unknown: processed, posthouse.Sent: sent, posthouse.Delivered: delivered, posthouse.Quarantined: failed,
		posthouse.Undelivered: failed, posthouse.Failed: failed, posthouse.Cancelled: failed, posthouse.Expired: failed, posthouse.Suppressed: failed,
	}
	for _, s := range posthouse.States() {
		if got := stateOf(s); got != want[s] {
			t.Errorf("%s: got %s, want %s", s, got, want[s])
		}
	}
}

func TestAMessageIsAsFarAsTheLastOfItsNumbers(t *testing.T) {
	t.Parallel()
	for states, want := range map[string]string{
		"": pending, "Delivered Pending": pending, "Sent Processed Failed": processed, "Delivered Sent": sent, "Delivered Failed": delivered, "Failed Failed": failed,
	} {
		var list []recipient
		for s := range strings.FieldsSeq(states) {
			list = append(list, recipient{State: s})
		}
		if got := whole(list); got != want {
			t.Errorf("%q: got %s, want %s", states, got, want)
		}
	}
}
