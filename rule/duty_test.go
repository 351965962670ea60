package rule_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/rule"
)

// rosters are the rosters of tenant "bank", by name.
type rosters map[string]posthouse.Roster

func (r rosters) Roster(_ context.Context, tenant, name string) (posthouse.Roster, bool, error) {
	roster, ok := r[name]
	return roster, ok && tenant == "bank", nil
}

type downRosters struct{}

var errDown = errors.New("the database is gone")

func (downRosters) Roster(context.Context, string, string) (posthouse.Roster, bool, error) {
	return posthouse.Roster{}, false, errDown
}

func dutyRule(t testing.TB, s posthouse.RuleSettings, r rule.Rosters) rule.Rule {
	t.Helper()
	s.Type = "duty"
	built, problems := rule.Build([]posthouse.RuleSettings{s}, rule.Env{Rosters: r})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return built
}

// thursday is 2026-10-01, 09:00 in Shanghai.
var thursday = time.Date(2026, 10, 1, 1, 0, 0, 0, time.UTC)

func to(user, kind string) rule.Subject {
	return rule.Subject{
		Tenant: "bank", Channel: "tianyuan", Now: thursday,
		Recipient: posthouse.Recipient{User: user, Type: kind},
	}
}

// DUTY-2, DUTY-3, DUTY-4, DUTY-11.
func TestDutyTellsHeadOfficeOnDutyAndBranchesAlways(t *testing.T) {
	t.Parallel()
	week := posthouse.Roster{Days: map[string][]string{"4": {"u1", "u2"}, "5": {"u3"}}}
	with := func(change func(*posthouse.Roster)) posthouse.Roster {
		r := week
		change(&r)
		return r
	}
	override := func(users ...string) posthouse.Roster {
		return with(func(r *posthouse.Roster) {
			r.Overrides = map[string][]string{"2026-10-01": append([]string{}, users...)}
		})
	}
	for name, c := range map[string]struct {
		roster  posthouse.Roster
		subject rule.Subject
		want    string // the reason
	}{
		"branch":                      {week, to("u9", "branch"), ""},
		"branch in Chinese":           {week, to("u9", "分行"), ""},
		"another type":                {week, to("u9", "partner"), ""},
		"no type":                     {week, to("u9", ""), ""},
		"on duty":                     {week, to("u1", "head_office"), ""},
		"second on duty":              {week, to("u2", "head_office"), ""},
		"on duty in Chinese":          {week, to("u1", "总行"), ""},
		"off duty":                    {week, to("u9", "head_office"), rule.ReasonNotOnDuty},
		"off duty in Chinese":         {week, to("u9", "总行"), rule.ReasonNotOnDuty},
		"on duty tomorrow only":       {week, to("u3", "head_office"), rule.ReasonNotOnDuty},
		"no user":                     {week, to("", "head_office"), rule.ReasonNotOnDuty},
		"day is missing":              {posthouse.Roster{Days: map[string][]string{"5": {"u1"}}}, to("u1", "head_office"), rule.ReasonNotConfigured},
		"day has nobody":              {posthouse.Roster{Days: map[string][]string{"4": {}}}, to("u1", "head_office"), rule.ReasonNotConfigured},
		"roster is empty":             {posthouse.Roster{}, to("u1", "head_office"), rule.ReasonNotConfigured},
		"override adds":               {override("u9"), to("u9", "head_office"), ""},
		"override takes away":         {override("u9"), to("u1", "head_office"), rule.ReasonNotOnDuty},
		"override of nobody":          {override(), to("u1", "head_office"), rule.ReasonNotOnDuty},
		"override of another day":     {with(func(r *posthouse.Roster) { r.Overrides = map[string][]string{"2026-10-02": {}} }), to("u1", "head_office"), ""},
		"before the hand-over":        {with(func(r *posthouse.Roster) { r.HandOver = "09:01" }), to("u1", "head_office"), rule.ReasonNotConfigured}, // Wednesday's
		"at the hand-over":            {with(func(r *posthouse.Roster) { r.HandOver = "09:00" }), to("u1", "head_office"), ""},
		"own zone, still Wednesday":   {with(func(r *posthouse.Roster) { r.TimeZone = "America/New_York" }), to("u1", "head_office"), rule.ReasonNotConfigured},
		"own zone, the same Thursday": {with(func(r *posthouse.Roster) { r.TimeZone = "UTC" }), to("u1", "head_office"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := dutyRule(t, posthouse.RuleSettings{}, rosters{"duty": c.roster}).Judge(t.Context(), c.subject)
			if err != nil {
				t.Fatal(err)
			}
			wantDecision := rule.Allow
			if c.want != "" {
				wantDecision = rule.Skip
			}
			if got.Decision != wantDecision || got.Reason != c.want {
				t.Errorf("got %s %q, want %s %q", got.Decision, got.Reason, wantDecision, c.want)
			}
		})
	}
}

// DUTY-3, DUTY-4: what the caller logs.
func TestDutyVerdictsCarryWhatIsLogged(t *testing.T) {
	t.Parallel()
	week := rosters{"duty": {Days: map[string][]string{"4": {"u1"}}}, "empty": {}}
	for name, c := range map[string]struct {
		settings posthouse.RuleSettings
		want     rule.Verdict
	}{
		"off duty": {posthouse.RuleSettings{}, rule.Verdict{
			Decision: rule.Skip, Reason: "not_on_duty",
			Detail: `user "u9" is not on duty on 2026-10-01, day 4 of the week (roster "duty")`,
		}},
		"roster missing": {posthouse.RuleSettings{Roster: "night"}, rule.Verdict{
			Decision: rule.Skip, Reason: "duty_schedule_not_configured", Warn: true, Code: "DUTY_SCHEDULE_NOT_CONFIGURED",
			Detail: `there is no roster "night"`,
		}},
		"day missing": {posthouse.RuleSettings{Roster: "empty"}, rule.Verdict{
			Decision: rule.Skip, Reason: "duty_schedule_not_configured", Warn: true, Code: "DUTY_SCHEDULE_NOT_CONFIGURED",
			Detail: `the roster "empty" has nobody for 2026-10-01, day 4 of the week and no override`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := dutyRule(t, c.settings, week).Judge(t.Context(), to("u9", "head_office"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDutyAppliesToTheTypesOfItsSettings(t *testing.T) {
	t.Parallel()
	r := dutyRule(t, posthouse.RuleSettings{Recipients: []string{"分行", "partner"}}, rosters{})
	for kind, want := range map[string]rule.Decision{
		"branch": rule.Skip, "分行": rule.Skip, "partner": rule.Skip, "head_office": rule.Allow, "总行": rule.Allow, "": rule.Allow,
	} {
		if got, err := r.Judge(t.Context(), to("u1", kind)); err != nil || got.Decision != want {
			t.Errorf("%q: got %s, %v, want %s", kind, got.Decision, err, want)
		}
	}
}

func TestDutyAsksTheSubjectsOwnTenant(t *testing.T) {
	t.Parallel()
	r := dutyRule(t, posthouse.RuleSettings{}, rosters{"duty": {Days: map[string][]string{"4": {"u1"}}}})
	s := to("u1", "head_office")
	s.Tenant = "other"
	if got, err := r.Judge(t.Context(), s); err != nil || got.Reason != rule.ReasonNotConfigured {
		t.Errorf("got %q, %v, want another tenant's roster to stay unseen", got.Reason, err)
	}
}

func TestDutyFailsWhereItCannotKnow(t *testing.T) {
	t.Parallel()
	_, err := dutyRule(t, posthouse.RuleSettings{}, downRosters{}).Judge(t.Context(), to("u1", "head_office"))
	if !errors.Is(err, errDown) {
		t.Errorf("got %v, want the cause", err)
	}
	if v, err := dutyRule(t, posthouse.RuleSettings{}, downRosters{}).Judge(t.Context(), to("u1", "branch")); err != nil || v.Decision != rule.Allow {
		t.Errorf("a branch user: got %s, %v, want allow without asking", v.Decision, err)
	}
	for path, roster := range map[string]posthouse.Roster{
		"time_zone": {Name: "duty", TimeZone: "Mars/Olympus"},
		"hand_over": {Name: "duty", HandOver: "25:00"},
	} {
		_, err := dutyRule(t, posthouse.RuleSettings{}, rosters{"duty": roster}).Judge(t.Context(), to("u1", "head_office"))
		if err == nil || !strings.Contains(err.Error(), `roster "duty": `+path) {
			t.Errorf("got %v, want an error about %s", err, path)
		}
	}
}

func ExampleBuild() {
	r, _ := rule.Build([]posthouse.RuleSettings{{Type: "duty"}}, rule.Env{
		Rosters: rosters{"duty": {Days: map[string][]string{"4": {"u1"}}}},
	})
	for _, user := range []string{"u1", "u2"} {
		v, _ := r.Judge(context.Background(), rule.Subject{
			Tenant: "bank", Now: thursday, Recipient: posthouse.Recipient{User: user, Type: "head_office"},
		})
		fmt.Printf("%s %s %q\n", user, v.Decision, v.Reason)
	}
	// Output:
	// u1 allow ""
	// u2 skip "not_on_duty"
}

func BenchmarkDuty(b *testing.B) {
	r := dutyRule(b, posthouse.RuleSettings{}, rosters{"duty": {Days: map[string][]string{"4": {"u1", "u2"}}, HandOver: "08:30"}})
	s := to("u2", "head_office")
	for b.Loop() {
		if v, err := r.Judge(b.Context(), s); err != nil || v.Decision != rule.Allow {
			b.Fatal(v, err)
		}
	}
}
