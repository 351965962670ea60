package remote

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/wire"
)

func TestAStoryIsToldInTheOrderThingsHappened(t *testing.T) {
	t.Parallel()
	at := func(s int) time.Time { return time.Date(2026, 10, 1, 8, 30, s, 0, time.UTC) }
	s := wire.Story{
		Received: []wire.Line{{At: at(0), SourceIP: "10.0.0.7", Status: 200}},
		Events: []posthouse.Event{
			{At: at(0), Type: posthouse.EventAccept, To: posthouse.Pending},
			{At: at(1), Type: posthouse.EventClaim, To: posthouse.Sending, Owner: "agent/phone-1"},
			{At: at(3), Type: posthouse.EventRetry, To: posthouse.Pending, Owner: "agent/phone-1", Code: "NO_SIGNAL", Error: "no signal"},
			{At: at(9), Type: posthouse.EventStart, To: posthouse.Sending, Owner: "host-1234"},
		},
		HandedOut: []wire.Line{{At: at(1), Agent: "phone-1", Token: 1}},
		Reported: []wire.Line{
			{At: at(3), Agent: "phone-1", Outcome: "not_sent", Answer: "done", Error: "no signal"},
			{At: at(5), Agent: "phone-1", Outcome: "not_sent", Answer: "stale"},
		},
	}
	want := [][3]string{
		{"request", "10.0.0.7", "answered 200"},
		{"accept", "", "→ pending"},
		{"claim", "phone-1", "→ sending"},
		{"handed out", "phone-1", "token 1"},
		{"retry", "phone-1", "→ pending, NO_SIGNAL, no signal"},
		{"report not_sent", "phone-1", "done, no signal"},
		{"report not_sent", "phone-1", "stale"},
		{"start", "", "→ sending"}, // a process of the server is no agent
	}
	var got [][3]string
	for _, m := range moments(&shell.Shell{}, s) {
		got = append(got, [3]string{m.what, m.who, m.detail})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestOnlyWhatAnAgentHoldsIsHeldByOne(t *testing.T) {
	t.Parallel()
	until := time.Date(2026, 10, 1, 8, 30, 0, 0, time.Local)
	for name, test := range map[string]struct {
		d    posthouse.Delivery
		want string
	}{
		"handed out":          {posthouse.Delivery{State: posthouse.Sending, LeaseOwner: "agent/phone-1", LeaseUntil: until}, "phone-1 until 2026-10-01 08:30:00 +00:00"},
		"reported":            {posthouse.Delivery{State: posthouse.Sent, LeaseOwner: "agent/phone-1"}, ""},
		"sent by the server":  {posthouse.Delivery{State: posthouse.Sending, LeaseOwner: "host-1234", LeaseUntil: until}, ""},
		"waiting for a phone": {posthouse.Delivery{State: posthouse.Pending}, ""},
	} {
		if got := holder(&shell.Shell{}, test.d); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}
