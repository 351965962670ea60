package quiet

import (
	"context"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
)

type people map[string]posthouse.User

func (p people) Profiles(context.Context, string, []string) (map[string]posthouse.User, error) {
	return p, nil
}

type tenants map[string]posthouse.Tenant

func (t tenants) Attentive(context.Context) (map[string]posthouse.Tenant, error) { return t, nil }

// Nights are those of the place where a person lives, and of the window's zone for a person without one.
func TestEachPersonHasTheirOwnNight(t *testing.T) {
	t.Parallel()
	k := &Keeper{
		Tenants:   tenants{"t1": {QuietHours: []posthouse.QuietHours{{From: "22:00", To: "08:00", TimeZone: "Asia/Shanghai"}}}},
		Directory: people{"u1": {ID: "u1", TimeZone: "Europe/Berlin"}, "u2": {ID: "u2"}},
	}
	if err := k.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 1, 15, 16, 0, 0, 0, time.UTC) // 17:00 in Berlin, midnight in Shanghai
	ends, err := k.Until(t.Context(), "t1", nil, now, []Whom{{User: "u1"}, {User: "u2"}, {User: "u3"}})
	if err != nil {
		t.Fatal(err)
	}
	morning := time.Date(2026, 1, 16, 0, 0, 0, 0, time.UTC) // 08:00 in Shanghai
	if !ends[0].IsZero() || !ends[1].Equal(morning) || !ends[2].Equal(morning) {
		t.Errorf("until %v: want none for u1, and %v for u2 and u3", ends, morning)
	}
}
