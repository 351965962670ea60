package suppress

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/rule"
)

// told answers with reasons, and notes what it was asked.
type told struct {
	reasons map[string]string
	asked   [][]string
	at      time.Time
	wrong   error
}

func (a *told) Suppressed(_ context.Context, now time.Time, tenant, channel string, addresses []string) (map[string]string, error) {
	a.asked, a.at = append(a.asked, addresses), now
	if tenant != "t1" || channel != "mp" {
		return nil, errors.New("of " + tenant + "'s " + channel)
	}
	return a.reasons, a.wrong
}

// The sieve asks for each address once, by the database's clock, and finds every place of one that is suppressed.
func TestTheSieveFindsPlacesOfAddresses(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	asked := &told{reasons: map[string]string{"a": "left", "b": "", "": "of nobody", "li.na@example.com": "left too", "Old@example.com": "left before"}}
	s := &Sieve{Asked: asked, Now: func() time.Time { return now }}
	ch := &state.Channel{Key: state.Key{Tenant: "t1", Channel: "mp"}}
	got, err := s.Addresses(t.Context(), ch, []string{"b", "", "a", "c", "a", "Li.Na@example.com", "Old@example.com", "old@example.com"})
	if want := map[int]string{0: why, 2: "left", 4: "left", 5: "left too", 6: "left before"}; err != nil || !maps.Equal(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
	if len(asked.asked) != 1 || !slices.Equal(asked.asked[0], []string{"Li.Na@example.com", "Old@example.com", "a", "b", "c", "li.na@example.com", "old@example.com"}) || !asked.at.Equal(now) {
		t.Errorf("asked for %q at %s", asked.asked, asked.at)
	}
	if got, err := s.Addresses(t.Context(), ch, []string{"", ""}); len(got) > 0 || err != nil || len(asked.asked) != 1 {
		t.Errorf("of nobody: %v, %v", got, err)
	}
	asked.wrong = errors.New("away")
	if _, err := s.Addresses(t.Context(), ch, []string{"a"}); !errors.Is(err, asked.wrong) {
		t.Errorf("where it cannot be asked: %v: it would let all through", err)
	}
}

// Deliveries are asked for by the address that the driver gets; kinds that are exempt are not asked for.
func TestTheSieveLeavesExemptKindsAlone(t *testing.T) {
	t.Parallel()
	asked := &told{reasons: map[string]string{"u1": "left", "o2": "left", "u4": "left"}}
	s := &Sieve{Asked: asked, Now: time.Now}
	stored := posthouse.Channel{Tenant: "t1", Name: "mp"}
	stored.ExemptKinds = []string{"otp"}
	ch, err := state.Open(stored, state.Opened{}, rule.Env{}, time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	item := func(kind string, to posthouse.Recipient) work.Item {
		return work.Item{Message: &posthouse.Message{Kind: kind}, Delivery: posthouse.Delivery{Recipient: to}}
	}
	items := []work.Item{
		item("news", posthouse.Recipient{User: "u1"}), item("otp", posthouse.Recipient{User: "u1"}), item("news", posthouse.Recipient{User: "u2", Address: "o2"}),
		item("otp", posthouse.Recipient{User: "u3"}), {Delivery: posthouse.Delivery{Recipient: posthouse.Recipient{User: "u4"}}},
	}
	got, err := s.Items(t.Context(), ch, work.Each(items))
	if want := map[int]Barred{0: {state.ReasonSuppressed, "left"}, 2: {state.ReasonSuppressed, "left"}, 4: {state.ReasonSuppressed, "left"}}; err != nil || !maps.Equal(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
	if all := strings.Join(slices.Concat(asked.asked...), " "); all != "o2 u1 u4" {
		t.Errorf("asked for %q", all)
	}
}

// What started after its step's time was over is asked about once for each, and its notification says whether it holds: quiet hours may have
// made the time longer. What cannot be asked lets nothing through.
func TestTheSieveFindsWhatIsTooLateForItsStep(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	item := func(id string, until time.Time) *work.Item {
		return &work.Item{Delivery: posthouse.Delivery{ID: id}, Message: &posthouse.Message{Tenant: "t1", Notification: "n-" + id, StepUntil: until}}
	}
	list := []*work.Item{item("none", time.Time{}), item("over", now), item("longer", now.Add(-time.Second)), item("ahead", now.Add(time.Second)), {Delivery: posthouse.Delivery{ID: "unread"}}}
	var asked []string
	var away error
	s := &Sieve{Asked: &told{}, Now: func() time.Time { return now }, Overdue: func(_ context.Context, tenant, notification string, at time.Time) ([]string, error) {
		asked = append(asked, tenant+" "+notification)
		if !at.Equal(now) {
			t.Errorf("asked for %v, want the database's time", at)
		}
		return map[string][]string{"n-over": {"other", "over"}}[notification], away
	}}
	ch := &state.Channel{Key: state.Key{Tenant: "t1", Channel: "mp"}}
	got, err := s.Items(t.Context(), ch, slices.Values(list))
	if want := map[int]Barred{1: {state.ReasonStepOver, whyOver}}; err != nil || !maps.Equal(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
	if !slices.Equal(asked, []string{"t1 n-over", "t1 n-longer"}) {
		t.Errorf("asked of %q", asked)
	}
	away = errors.New("away")
	if _, err := s.Items(t.Context(), ch, slices.Values(list)); !errors.Is(err, away) {
		t.Errorf("where it cannot be asked: %v: it would let all through", err)
	}
}
