package reading

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
)

func TestAttemptsAreReadFromTheLog(t *testing.T) {
	t.Parallel()
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	events := []posthouse.Event{
		{Type: posthouse.EventAccept, To: posthouse.Pending, At: at(0)},
		{Type: posthouse.EventStart, From: posthouse.Pending, To: posthouse.Sending, At: at(1), Attempt: 1, Token: 1, Owner: "w1"},
		{Type: posthouse.EventCancelRequest, From: posthouse.Sending, To: posthouse.Sending, At: at(2)},
		{Type: posthouse.EventAmbiguous, From: posthouse.Sending, To: posthouse.Unknown, At: at(3), Class: posthouse.ClassUnknown, Code: "API_TIMEOUT", Account: "a1", Tries: 1},
		{Type: posthouse.EventResend, From: posthouse.Unknown, To: posthouse.Pending, At: at(3)},
		{Type: posthouse.EventClaim, From: posthouse.Pending, To: posthouse.Sending, At: at(4), Token: 2},
		{Type: posthouse.EventRelease, From: posthouse.Sending, To: posthouse.Pending, At: at(5), Token: 2},
		{Type: posthouse.EventStart, From: posthouse.Pending, To: posthouse.Sending, At: at(6), Attempt: 2, Token: 3, Owner: "w2", Tries: 1},
		{Type: posthouse.EventLeaseLost, From: posthouse.Sending, To: posthouse.Unknown, At: at(9)},
		{Type: posthouse.EventResend, From: posthouse.Unknown, To: posthouse.Pending, At: at(9)},
		{Type: posthouse.EventStart, From: posthouse.Pending, To: posthouse.Sending, At: at(10), Attempt: 3, Token: 4, Owner: "w3", Tries: 1},
	}
	want := []posthouse.Attempt{
		{Number: 1, Channel: "c", Account: "a1", Token: 1, Owner: "w1", StartedAt: at(1), FinishedAt: at(3), Duration: 2 * time.Second,
			Class: posthouse.ClassUnknown, Code: "API_TIMEOUT", Tries: 1, From: posthouse.Pending, To: posthouse.Unknown},
		{Number: 2, Channel: "c", Token: 3, Owner: "w2", StartedAt: at(6), FinishedAt: at(9), Duration: 3 * time.Second,
			Class: posthouse.ClassUnknown, From: posthouse.Pending, To: posthouse.Unknown},
		{Number: 3, Channel: "c", Token: 4, Owner: "w3", StartedAt: at(10), Tries: 1, From: posthouse.Pending},
	}
	if diff := cmp.Diff(want, AttemptsOf("c", events)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
