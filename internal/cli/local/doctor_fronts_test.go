package local

import (
	"cmp"
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

// The doctor finds fault with a front that leads to what is not there, by itself or by a line of its table.
func TestTheDoctorNamesFrontsThatLeadNowhere(t *testing.T) {
	t.Parallel()
	got, err := lostFronts([]posthouse.Front{
		{Tenant: posthouse.DefaultTenant, Name: "fine", FrontSettings: posthouse.FrontSettings{Channel: "desk", Match: []posthouse.FrontMatch{{To: []posthouse.Recipient{{User: "u1"}}}, {Route: "day"}}}},
		{Tenant: posthouse.DefaultTenant, Name: "ops", FrontSettings: posthouse.FrontSettings{Route: "night", Match: []posthouse.FrontMatch{{Channel: "db"}}}},
		{Tenant: "acme", Name: "builds", FrontSettings: posthouse.FrontSettings{Channel: "gone"}},
	}, func(_, channel, route string) error {
		if name := cmp.Or(route, channel); name != "desk" && name != "day" {
			return posthouse.Errorf(posthouse.CodeNotFound, "there is no %s", name)
		}
		return nil
	})
	want := []finding{
		{"front ops", false, "leads nowhere: there is no night. Its sender is answered 503"}, {"front ops", false, "leads nowhere: there is no db. Its sender is answered 503"},
		{"front builds", false, "leads nowhere: there is no gone (tenant acme). Its sender is answered 503"},
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	if _, err := lostFronts([]posthouse.Front{{Name: "ops"}}, func(_, _, _ string) error { return posthouse.Errorf(posthouse.CodeUnavailable, "no database") }); err == nil {
		t.Error("what cannot be looked up is taken for nothing wrong")
	}
}
