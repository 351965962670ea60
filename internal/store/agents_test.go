package store

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

var whenAside = cmpopts.IgnoreFields(posthouse.Agent{}, "CreatedAt", "UpdatedAt", "LastSeenAt")

// PULL-14: what an agent is, and what it says of itself.
func TestAgentsAreKeptAsTheyAreGiven(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		phone := posthouse.Agent{Tenant: "t1", ID: "p1", Name: "前台", Channels: []string{"c1", "c2"}, Capabilities: map[string]string{"operator": "cmcc"}, Key: "k1", App: "sms-app/2"}
		got, err := s.Agents.AddAgent(t.Context(), at(), phone)
		want := phone
		want.State, want.Limits = posthouse.AgentActive, posthouse.AgentLimits()
		if diff := cmp.Diff(want, got, whenAside); err != nil || diff != "" || got.CreatedAt.IsZero() {
			t.Errorf("added: %v (-want +got):\n%s", err, diff)
		}
		_, err = s.Agents.AddAgent(t.Context(), at(), phone)
		wantCode(t, err, posthouse.CodeConflict)
		want.Limits, want.Capabilities, want.Channels, want.Key = []posthouse.Limit{}, nil, []string{}, "k2"
		changed := want
		changed.State, changed.App = posthouse.AgentPaused, "another"
		got, err = s.Agents.PutAgent(t.Context(), at(), changed)
		if diff := cmp.Diff(want, got, whenAside); err != nil || diff != "" {
			t.Errorf("changed: %v (-want +got):\n%s", err, diff)
		}
		if err := s.Agents.SetAgentState(t.Context(), at(), "t1", "p1", posthouse.AgentDraining, "换卡"); err != nil {
			t.Fatal(err)
		}
		if got, err = s.Agents.Agent(t.Context(), "t1", "p1"); err != nil || got.State != posthouse.AgentDraining || got.Reason != "换卡" {
			t.Errorf("drained = %+v, %v", got, err)
		}
		if err := s.Agents.SetAgentState(t.Context(), at(), "t1", "p1", posthouse.AgentActive, "again"); err != nil {
			t.Fatal(err)
		}
		if got, err = s.Agents.Agent(t.Context(), "t1", "p1"); err != nil || got.State != posthouse.AgentActive || got.Reason != "" {
			t.Errorf("resumed = %+v, %v", got, err)
		}
	})
}

func TestAgentsOfOtherTenantsAreNotThere(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		for _, id := range []string{"b", "a", "c"} {
			if _, err := s.Agents.AddAgent(t.Context(), at(), posthouse.Agent{Tenant: "t1", ID: id}); err != nil {
				t.Fatal(err)
			}
		}
		list, next, err := s.Agents.Agents(t.Context(), "t1", "", 2)
		if err != nil || len(list) != 2 || list[0].ID != "a" || next == "" {
			t.Fatalf("the first page = %+v, %q, %v", list, next, err)
		}
		if list, next, err = s.Agents.Agents(t.Context(), "t1", next, 2); err != nil || len(list) != 1 || list[0].ID != "c" || next != "" {
			t.Errorf("the second page = %+v, %q, %v", list, next, err)
		}
		for name, do := range map[string]func() error{
			"read": func() error { _, err := s.Agents.Agent(t.Context(), "t2", "a"); return err },
			"change": func() error {
				_, err := s.Agents.PutAgent(t.Context(), at(), posthouse.Agent{Tenant: "t2", ID: "a"})
				return err
			},
			"pause":  func() error { return s.Agents.SetAgentState(t.Context(), at(), "t2", "a", posthouse.AgentPaused, "") },
			"delete": func() error { return s.Agents.DeleteAgent(t.Context(), at(), "t2", "a") },
		} {
			if err := do(); posthouse.CodeOf(err) != posthouse.CodeNotFound {
				t.Errorf("%s = %v, want not_found", name, err)
			}
		}
	})
}

func TestAgentThatHoldsSomethingStays(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		if _, err := s.Agents.AddAgent(t.Context(), at(), posthouse.Agent{Tenant: "t1", ID: "p1"}); err != nil {
			t.Fatal(err)
		}
		accept(t, s, entry(1, pulled))
		d := handOut(t, s, wish(1)).Items[0].Delivery
		wantCode(t, s.Agents.DeleteAgent(t.Context(), at(), "t1", "p1"), posthouse.CodeConflict)
		record(t, s, step(d, posthouse.EventRelease, posthouse.Pending))
		if err := s.Agents.DeleteAgent(t.Context(), at(), "t1", "p1"); err != nil {
			t.Error(err)
		}
	})
}

func TestAgentWasHeardOfNoEarlierThanBefore(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		if _, err := s.Agents.AddAgent(t.Context(), at(), posthouse.Agent{Tenant: "t1", ID: "p1", App: "app/1"}); err != nil {
			t.Fatal(err)
		}
		when := time.Now().UTC().Truncate(time.Microsecond)
		for _, seen := range []work.Seen{{At: when}, {At: when.Add(-time.Minute), App: "app/2"}} {
			seen.Tenant, seen.Agent = "t1", "p1"
			if err := s.Agents.SeenAgents(t.Context(), at(), []work.Seen{seen, {Tenant: "t1", Agent: "nobody", At: when}}); err != nil {
				t.Fatal(err)
			}
		}
		got, err := s.Agents.Agent(t.Context(), "t1", "p1")
		if err != nil || !got.LastSeenAt.Equal(when) || got.App != "app/2" {
			t.Errorf("seen %v by %q, %v; want %v", got.LastSeenAt, got.App, err, when)
		}
	})
}
