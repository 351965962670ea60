package callback

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// deaf is a feed that nobody follows.
type deaf struct{}

func (deaf) Tell(context.Context, time.Time, []work.Told) (int, error) { return 0, nil }

// A press that does not count, or of a card whose matter is over, gets an answer of its own. Each other one gets the usual answer.
func TestAPressIsAnswered(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]struct {
		over bool
		err  error
	}{
		"":        {},
		"over":    {over: true},
		"refused": {err: posthouse.Errorf(posthouse.CodeForbidden, "the card was sent to somebody else")},
	} {
		d, err := New(Options{
			Addresses: &addresses{}, Book: &ledger{}, Feed: deaf{}, Log: slog.New(slog.DiscardHandler),
			Channel: func(string, string) *state.Channel { return nil },
			Again:   func(context.Context, string, string, []string) error { return nil },
			Pressed: func(context.Context, string, *posthouse.FeedEvent) (bool, error) { return c.over, c.err },
		})
		if err != nil {
			t.Fatal(err)
		}
		got, err := d.tell(t.Context(), work.CallbackAddress{Tenant: "t", Channel: "c"}, []channel.Event{{Once: "1", Refusal: "refused", Over: "over"}}, time.Now())
		if err != nil || got != want {
			t.Errorf("it is answered with %q, %v, want %q", got, err, want)
		}
	}
}
