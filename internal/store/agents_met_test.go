package store

import (
	"fmt"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
)

func TestInventedAgentsAreBoundedAndForgotten(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		meet := func(id string) error {
			_, err := s.Agents.MeetAgent(t.Context(), at(), posthouse.Agent{Tenant: "t1", ID: id, State: posthouse.AgentActive}, 3, time.Hour)
			return err
		}
		if _, err := s.Agents.AddAgent(t.Context(), at(), posthouse.Agent{Tenant: "t1", ID: "own", State: posthouse.AgentActive, Key: "k1"}); err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			if err := meet(fmt.Sprintf("p%d", i)); err != nil {
				t.Fatal(err)
			}
		}
		if err := meet("p3"); posthouse.CodeOf(err) != posthouse.CodeForbidden {
			t.Errorf("a fourth invented agent: %v", err)
		}
		accept(t, s, entry(1, pulled))
		h := wish(1)
		h.Agent = "p0"
		handOut(t, s, h)
		tamper(t, s, "UPDATE posthouse_agents SET state = 'paused' WHERE id = 'p2'")
		tamper(t, s, "UPDATE posthouse_agents SET last_seen_at = 0, updated_at = 1")
		if err := meet("p3"); err != nil {
			t.Errorf("after an hour of silence: %v", err)
		}
		list, _, err := s.Agents.Agents(t.Context(), "t1", "", 100)
		var left []string
		for _, a := range list {
			left = append(left, a.ID)
		}
		if fmt.Sprint(left) != "[own p0 p2 p3]" || err != nil {
			t.Errorf("left are %v, %v; want the registered, the one that holds something, the paused one and the new one", left, err)
		}
	})
}
