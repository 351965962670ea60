package campaign_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/campaign"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/suppress"
	"github.com/posthouse/posthouse/internal/work"
)

// asked counts how often suppressions are read.
type asked struct {
	campaign.OptedOut
	times int
}

func (a *asked) Suppressions(ctx context.Context, tenant string, of work.SuppressionsOf, cursor string, limit int) ([]posthouse.Suppression, string, error) {
	a.times++
	return a.OptedOut.Suppressions(ctx, tenant, of, cursor, limit)
}

// CAMP-10: a plan counts who is suppressed, each once, and asks no more often because the audience is large.
func TestAPlanCountsWhoIsSuppressedWithoutAskingForEach(t *testing.T) {
	eachDB(t, func(t *testing.T, h *hall) {
		_, made := h.spring(people(9000), 100)
		now := time.Now()
		err := h.store.Suppressions.Suppress(t.Context(), now, []posthouse.Suppression{
			{Tenant: "t1", Channel: "c", Address: "o0"}, {Tenant: "t1", Address: "o0"}, {Tenant: "t1", Address: "o1", Until: now.Add(time.Hour)}, {Tenant: "t1", Address: "o8003"},
			{Tenant: "t1", Channel: "d", Address: "o2"}, {Tenant: "t2", Address: "o3"}, {Tenant: "t1", Address: "o4", Until: now.Add(-time.Hour)}, {Tenant: "t1", Address: "stranger"},
		})
		if err != nil {
			t.Fatal(err)
		}
		from := &asked{OptedOut: h.store.Suppressions}
		ch := &state.Channel{}
		d := campaign.NewDesk(campaign.Options{
			Campaigns: h.store.Campaigns, History: h.store.Campaigns, Segments: h.store.Segments, Lists: h.store.Audiences, Templates: h.store.Templates, Importer: h.importer,
			Suppressed: from, Channel: func(string, string) *state.Channel { return ch },
		})
		plan, err := d.Plan(t.Context(), "t1", made.Name)
		if err != nil || plan.Suppressed != 3 || from.times != 1 {
			t.Errorf("%d are suppressed, asked %d times, %v; want o0, o1 and o8003 by one question", plan.Suppressed, from.times, err)
		}
	})
}

// A plan counts the members who have switched off its kind or its channel as suppressed, each once.
func TestAPlanCountsWhoDoesNotWantIt(t *testing.T) {
	eachDB(t, func(t *testing.T, h *hall) {
		_, made := h.spring(people(3000), 100)
		now := time.Now()
		chosen := map[string]posthouse.Preferences{
			"o1": {Off: []posthouse.Unwanted{{Kind: made.Kind}}}, "o2": {Off: []posthouse.Unwanted{{Channel: "c"}}}, "o3": {Nothing: true}, "o4": {Off: []posthouse.Unwanted{{Kind: "other"}}},
			"o5": {Off: []posthouse.Unwanted{{Channel: "d"}}}, "o6": {Prefer: []string{"c"}}, "zhang.san": {Nothing: true}, "stranger": {Nothing: true},
		}
		users := []posthouse.User{{ID: "zhang.san", Addresses: map[string]string{"c": "o2999"}}}
		for id := range chosen {
			if id != "zhang.san" {
				users = append(users, posthouse.User{ID: id})
			}
		}
		if err := h.store.Users.PutUsers(t.Context(), now, "t1", users); err != nil {
			t.Fatal(err)
		}
		for id, p := range chosen {
			_, _, err := h.store.Preferences.ChangePreferences(t.Context(), now, "t1", id, func(is *posthouse.Preferences) error {
				is.Nothing, is.Off, is.Prefer = p.Nothing, p.Off, p.Prefer
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := h.store.Suppressions.Suppress(t.Context(), now, []posthouse.Suppression{{Tenant: "t1", Address: "o1"}, {Tenant: "t1", Address: "o9"}}); err != nil {
			t.Fatal(err)
		}
		choices := &suppress.Choices{Chosen: h.store.Preferences, Tenants: h.store.Tenants}
		if err := choices.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		ch := &state.Channel{Key: state.Key{Tenant: "t1", Channel: "c"}}
		d := campaign.NewDesk(campaign.Options{
			Campaigns: h.store.Campaigns, History: h.store.Campaigns, Segments: h.store.Segments, Lists: h.store.Audiences, Templates: h.store.Templates, Importer: h.importer,
			Suppressed: h.store.Suppressions, Directory: h.store.Users, Unwilling: choices, Channel: func(string, string) *state.Channel { return ch },
		})
		plan, err := d.Plan(t.Context(), "t1", made.Name)
		if err != nil || plan.Suppressed != 5 {
			t.Errorf("%d are suppressed, %v; want o1, o2, o3, o9 and zhang.san, who is o2999", plan.Suppressed, err)
		}
	})
}

// A plan says that its channel may not send, and until when; how long it takes is counted from then.
func TestAPlanKnowsThatItsChannelIsPaused(t *testing.T) {
	eachDB(t, func(t *testing.T, h *hall) {
		_, made := h.spring(people(60), 20)
		until := time.Now().Add(3 * time.Hour).Truncate(time.Second)
		for want, closed := range map[string]campaign.Closed{
			"the channel c is paused": func(string, string) (string, time.Time) { return "the channel c is paused", time.Time{} },
			"nothing is sent before " + until.Format(time.RFC3339) + ": the channel c is paused": func(string, string) (string, time.Time) {
				return "the channel c is paused", until
			},
			"": func(string, string) (string, time.Time) { return "the account is refused", time.Now().Add(time.Second) },
		} {
			ch := &state.Channel{Settings: state.Settings{Limits: []posthouse.Limit{{Max: 10, Per: posthouse.Duration(time.Minute)}}}}
			d := campaign.NewDesk(campaign.Options{
				Campaigns: h.store.Campaigns, History: h.store.Campaigns, Segments: h.store.Segments, Lists: h.store.Audiences, Templates: h.store.Templates, Importer: h.importer,
				Channel: func(string, string) *state.Channel { return ch }, Closed: closed,
			})
			plan, err := d.Plan(t.Context(), "t1", made.Name)
			got := ""
			for _, p := range plan.Problems {
				if p.Path == "channel" {
					got = p.Message
				}
			}
			if err != nil || got != want || len(plan.Forecast) == 0 || strings.Contains(want, "before") && plan.Forecast[0].At.Before(until.Add(-time.Hour)) {
				t.Errorf("it says %q and begins with %+v, %v; want %q", got, plan.Forecast, err, want)
			}
		}
	})
}

// A plan counts members whose addresses are suppressed in all channels in another form than the channel's.
func TestAPlanCountsWhoIsSuppressedInAnotherForm(t *testing.T) {
	eachDB(t, func(t *testing.T, h *hall) {
		_, made := h.spring(crowd{file: "address\noABC\n13800138009\nAnn@Example.com\no4\n"}, 100)
		err := h.store.Suppressions.Suppress(t.Context(), time.Now(), []posthouse.Suppression{
			{Tenant: "t1", Address: "oabc"}, {Tenant: "t1", Address: "+8613800138009"}, {Tenant: "t1", Channel: "c", Address: "ann@example.com"},
		})
		if err != nil {
			t.Fatal(err)
		}
		of := campaign.NewDesk(campaign.Options{
			Campaigns: h.store.Campaigns, History: h.store.Campaigns, Segments: h.store.Segments, Lists: h.store.Audiences, Templates: h.store.Templates, Importer: h.importer,
			Suppressed: h.store.Suppressions, Channel: func(string, string) *state.Channel { return &state.Channel{} },
		})
		if plan, err := of.Plan(t.Context(), "t1", made.Name); err != nil || plan.Suppressed != 3 {
			t.Errorf("%d are suppressed, %v; want three of four", plan.Suppressed, err)
		}
	})
}
