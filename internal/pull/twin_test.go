package pull

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/content"
	"github.com/posthouse/posthouse/internal/life"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/metrics"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/suppress"
	"github.com/posthouse/posthouse/internal/work"
)

// twinStore is a database in which the same claim is written by another call between two looks.
type twinStore struct {
	looks, written int
}

func (s *twinStore) Ready(_ context.Context, _ time.Time, lanes []work.Lane) ([]bool, error) {
	return []bool{true}, nil
}

func (s *twinStore) HandOut(context.Context, time.Time, work.HandOut) (work.HandedOut, error) {
	s.looks++
	return work.HandedOut{Repeated: s.looks == s.written}, nil
}

func (s *twinStore) Record(context.Context, time.Time, func(time.Time) []work.Change) ([]string, error) {
	return nil, nil
}

func (s *twinStore) Agent(context.Context, string, string) (posthouse.Agent, error) {
	return posthouse.Agent{}, nil
}

// nobody is suppressed.
type nobody struct{}

func (nobody) Suppressed(context.Context, time.Time, string, string, []string) (map[string]string, error) {
	return nil, nil
}

// usedUp is a limiter whose permits somebody else has.
type usedUp struct{}

func (usedUp) Take(context.Context, []limit.Bound, int) (limit.Grant, error) {
	return limit.Grant{Wait: 4 * time.Second}, nil
}

func (usedUp) Each(context.Context, []limit.Ask) ([]limit.Grant, error) { return nil, nil }

func (usedUp) Refund(context.Context, limit.Grant, int) error { return nil }

// oneChannel is a pulled channel that is open.
type oneChannel struct{ open *state.Channel }

func (c oneChannel) Channel(string, string) *state.Channel { return c.open }
func (c oneChannel) Settings(state.Key) *state.Settings    { return &c.open.Settings }

func deskOver(s *twinStore, l *life.Life) Pull {
	return New(Options{
		HandOuts: s, Contents: &content.Contents{}, Limiter: usedUp{}, Sieve: &suppress.Sieve{Asked: nobody{}, Now: time.Now}, Life: l, Log: slog.New(slog.DiscardHandler), Metrics: metrics.New(prometheus.NewRegistry()),
		Channels: oneChannel{&state.Channel{Key: state.Key{Tenant: "t", Channel: "sms"}, Settings: state.Settings{Pulled: true}}},
	})
}

func claimAt(t *testing.T, s *twinStore, claim string) Claimed {
	t.Helper()
	got, err := deskOver(s, life.New()).HandOut(t.Context(), Claim{Agent: posthouse.Agent{Tenant: "t", ID: "a", Channels: []string{"sms"}}, ClaimID: claim, Max: 3})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// The same claim, made twice at once, is answered alike also where one permit is all there is: the call that got none
// finds what the other was handed as soon as that is written.
func TestAClaimWithoutAPermitWaitsForItsTwin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &twinStore{written: 3}
		if got := claimAt(t, s, "c-1"); !got.Repeated || got.Reason != "" {
			t.Errorf("the claim got %+v; want what its twin was handed", got)
		}
	})
}

// A claim that is the only one waits a moment, and says what is left of its limits' wait.
func TestAClaimWithoutAPermitOrTwinIsLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		got := claimAt(t, &twinStore{}, "c-1")
		if took := time.Since(begun); got.Reason != IdleLimited || took > time.Second || got.After != 4*time.Second-took {
			t.Errorf("after %v the claim got %+v; want limited, for the rest of 4 s", took, got)
		}
		s := &twinStore{}
		if got := claimAt(t, s, ""); got.Reason != IdleLimited || got.After != 4*time.Second || s.looks != 0 {
			t.Errorf("a claim without an id got %+v after %d looks", got, s.looks)
		}
	})
}

// At a place that is passive, nothing is even looked for.
func TestNothingIsHandedOutWhereAnotherPlaceHasToDoSo(t *testing.T) {
	t.Parallel()
	away, l, s := errors.New("try there"), life.New(), &twinStore{}
	l.Elsewhere(func() error { return away })
	if _, err := deskOver(s, l).HandOut(t.Context(), Claim{Agent: posthouse.Agent{Tenant: "t", ID: "a", Channels: []string{"sms"}}, ClaimID: "c-1"}); !errors.Is(err, away) || s.looks != 0 {
		t.Errorf("got %v after %d looks", err, s.looks)
	}
}
