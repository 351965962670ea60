package pacer

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// line is a channel of which some accounts have called.
type line struct {
	Channel
	of      *state.Channel
	stirred []posthouse.Rate
}

func (l line) Of() *state.Channel                 { return l.of }
func (l line) Stirred(time.Time) []posthouse.Rate { return l.stirred }

// kept is what was handed in to be kept, each time by itself.
type kept struct {
	writes [][]work.RateMinute
	err    error
}

func (k *kept) AddRates(_ context.Context, _ time.Time, list []work.RateMinute) error {
	k.writes = append(k.writes, list)
	return k.err
}

// The accounts of all channels are kept in one write, under a number that is this process's and not another's; where none has called, nothing
// is written, and what the database does not take is left out.
func TestWhatHasCalledIsKeptInOneWrite(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	k := &kept{}
	p := &Pacer{Kept: k, Owner: "host-1", Log: slog.New(slog.DiscardHandler)}
	of := func(channel string, accounts ...string) Channel {
		l := line{of: &state.Channel{Key: state.Key{Tenant: "t", Channel: channel}}}
		for _, a := range accounts {
			l.stirred = append(l.stirred, posthouse.Rate{Account: a, Rate: 5})
		}
		return l
	}
	p.keep(t.Context(), at, []Channel{of("asleep"), of("idle")})
	if len(k.writes) > 0 {
		t.Errorf("of accounts that made no call %v was written", k.writes)
	}
	k.err = errors.New("away")
	p.keep(t.Context(), at, []Channel{of("a", "x", "y"), of("asleep"), of("b", "")})
	row := func(channel, account string) work.RateMinute {
		return work.RateMinute{At: at, Tenant: "t", Channel: channel, Process: number("host-1"), Rate: posthouse.Rate{Account: account, Rate: 5}}
	}
	if diff := cmp.Diff([][]work.RateMinute{{row("a", "x"), row("a", "y"), row("b", "")}}, k.writes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if number("host-1") == number("host-2") {
		t.Error("two processes have one number")
	}
}
