package duty

import (
	"slices"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

func TestEveryStateHasAWordOfTheNoticesDocument(t *testing.T) {
	t.Parallel()
	tests := []struct {
		state posthouse.State
		tries int
		want  string
	}{
		{posthouse.Pending, 0, "pending"},
		{posthouse.Pending, 1, "failure"},
		{posthouse.Sending, 0, "pending"},
		{posthouse.Sending, 2, "pending"},
		{posthouse.Unknown, 0, "failure"},
		{posthouse.Unknown, 1, "failure"},
		{posthouse.Quarantined, 0, "quarantined"},
		{posthouse.Sent, 0, "success"},
		{posthouse.Sent, 2, "success"},
		{posthouse.Delivered, 0, "success"},
		{posthouse.Undelivered, 0, "undelivered"},
		{posthouse.Failed, 3, "stopped"},
		{posthouse.Cancelled, 0, "cancelled"},
		{posthouse.Expired, 0, "expired"},
		{posthouse.Suppressed, 0, "suppressed"},
	}
	var seen []posthouse.State
	for _, test := range tests {
		d := posthouse.Delivery{State: test.state, Tries: test.tries}
		got := status(&d)
		if got != test.want {
			t.Errorf("%s after %d tries reads %q, want %q", test.state, test.tries, got, test.want)
		}
		for _, word := range []string{"pending", "success", "failure", "stopped", got} {
			states, tried := statesOf(word)
			listed := slices.Contains(states, test.state) && (test.state != posthouse.Pending || tried != work.TriedBefore && test.tries == 0 || tried != work.NeverTried && test.tries > 0)
			if listed != (word == got) {
				t.Errorf("a list of status %s has %s after %d tries: %v", word, test.state, test.tries, listed)
			}
		}
		seen = append(seen, test.state)
	}
	for _, s := range posthouse.States() {
		if !slices.Contains(seen, s) {
			t.Errorf("the state %s has no case", s)
		}
	}
}
