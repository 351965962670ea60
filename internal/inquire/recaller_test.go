package inquire

import (
	"context"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
)

// What a lookup finds out hours later was sent by the call before it: its age counts from there, and so does with whom it went.
func TestWhatIsRecalledIsAsOldAsTheCallThatSentIt(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)
	pages := map[string][]posthouse.Event{
		"": {
			{Type: posthouse.EventStart, At: began.Add(-time.Second)},
			{Type: posthouse.EventSent, At: began, Ref: "m-1", Code: channel.CodeShared},
		},
		"next": {
			{Type: posthouse.EventEvidence, At: began.Add(9 * time.Hour), Ref: "m-1"},
			{Type: posthouse.EventReceipt, At: began.Add(10 * time.Hour), Ref: "m-1"},
		},
	}
	r := Recaller{History: func(_ context.Context, _, _, cursor string, _ int) ([]posthouse.Event, string, error) {
		if cursor == "" {
			return pages[cursor], "next", nil
		}
		return pages[cursor], "", nil
	}}
	sent, err := r.sending(t.Context(), &posthouse.Delivery{ID: "d", ProviderRef: "m-1"})
	if err != nil || !sent.At.Equal(began) || sent.Code != channel.CodeShared {
		t.Errorf("it was sent at %s with the code %q, %v; want %s and %q", sent.At, sent.Code, err, began, channel.CodeShared)
	}
}

// One call that has told several messages is taken back where all that it has told is to be: the people of a route have a message each.
func TestAWholeSharedCallIsTakenBack(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]bool{
		"0": true, channel.SharedCode(3): true, channel.SharedCode(4): false, channel.CodeShared: false, // the last is of a program of before
	} {
		if got := whole(make([]posthouse.Delivery, 3), code); got != want {
			t.Errorf("three deliveries of a call with the code %q: %v, want %v", code, got, want)
		}
	}
}
