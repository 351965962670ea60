package verify_test

import (
	"slices"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/verify"
)

// inTurn is the log of two messages of one line: when each was accepted and due, started, and settled, in seconds; -1 is never.
func inTurn(steps ...[4]int) func(func(posthouse.Event, error) bool) {
	begin := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	at := func(s int) time.Time { return begin.Add(time.Duration(s) * time.Second) }
	var events []posthouse.Event
	for i, s := range steps {
		message := posthouse.FirstID(begin.Add(time.Duration(i) * time.Millisecond))
		id := posthouse.DeliveryID(message, 1)
		list := []posthouse.Event{{Type: posthouse.EventAccept, To: posthouse.Pending, At: at(s[0]), Due: at(s[1]), Owner: "line/c/L"}}
		if s[2] >= 0 {
			list = append(list, posthouse.Event{Type: posthouse.EventAdmit, From: posthouse.Pending, To: posthouse.Pending, At: at(s[2]), Due: at(s[1]), Owner: "line/c/L"},
				posthouse.Event{Type: posthouse.EventStart, From: posthouse.Pending, To: posthouse.Sending, At: at(s[2]), Token: 1, Attempt: 1, Owner: "p", LeaseUntil: at(s[2] + 60), Due: at(s[1])})
		}
		if s[3] >= 0 {
			list = append(list, posthouse.Event{Type: posthouse.EventSent, From: posthouse.Sending, To: posthouse.Sent, At: at(s[3]), Token: 1, Attempt: 1, Owner: "p", Class: posthouse.ClassOK})
		}
		for v := range list {
			list[v].Delivery, list[v].Message, list[v].Tenant, list[v].Version = id, message, "t", int64(v+1)
		}
		events = append(events, list...)
	}
	return func(yield func(posthouse.Event, error) bool) {
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func TestLinesGoOneAfterTheOther(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		steps [][4]int
		want  []string
	}{
		{"in order", [][4]int{{0, 0, 1, 2}, {0, 0, 2, 3}}, nil},
		{"by due time", [][4]int{{0, 60, 61, 62}, {1, 1, 2, 3}}, nil},
		{"the second while the first is under way", [][4]int{{0, 0, 1, 5}, {0, 0, 2, 3}}, []string{"I24"}},
		{"the second before the first is settled", [][4]int{{0, 0, 1, -1}, {0, 0, 2, 3}}, []string{"I4", "I24"}}, // the first is still being sent
		{"what was due later first", [][4]int{{0, 0, 30, 31}, {0, 9, 20, 21}}, []string{"I24"}},
		{"one that was accepted late", [][4]int{{18, 0, 30, 31}, {0, 9, 20, 21}}, nil},
		{"one waits behind one that waits for its turn", [][4]int{{0, 0, -1, -1}, {0, 0, 1, 2}}, []string{"I4"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, err := verify.Check(t.Context(), verify.Inputs{Events: inTurn(c.steps...), AtRest: true, Sometimes: []string{"none"}})
			if err != nil {
				t.Fatal(err)
			}
			if got := broken(r); !slices.Equal(got, c.want) {
				t.Errorf("%v are violated, want %v", got, c.want)
			}
		})
	}
}
