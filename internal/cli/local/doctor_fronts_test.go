package local

import (
	"slices"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
)

// The doctor names fronts at which nothing came, with their tenant where it is not the usual one, and calls none of it a fault.
func TestTheDoctorNamesQuietFronts(t *testing.T) {
	t.Parallel()
	got := quietFronts([]posthouse.Front{
		{Tenant: posthouse.DefaultTenant, Name: "ops", LastAt: time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)},
		{Tenant: "acme", Name: "builds"},
	})
	want := []finding{
		{"front ops", true, "nothing came for a day, last at 2026-11-20T08:00:00Z: look whether its sender posts to it"},
		{"front builds", true, "nothing has come yet, for a day and more (tenant acme): look whether its sender posts to it"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
