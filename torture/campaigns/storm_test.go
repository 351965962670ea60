package campaigns

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/campaign"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/simulator"
	"github.com/posthouse/posthouse/torture/internal/house"
	"github.com/posthouse/posthouse/wire"
)

// over makes the channel of a campaign, with a provider that takes as long as a real one, so that every slot is under way when
// a kill comes. WeChat knows a message by its client_msg_id, the generic provider knows none.
func over(t *testing.T, h *house.House, policy posthouse.Policy) wire.CampaignDraft {
	t.Helper()
	ch := h.Channel("generic")
	if policy == posthouse.Retry {
		ch.Name, ch.Driver = "wechat", "wechat"
		ch.Config = map[string]any{"url": h.Provider.URL + "/wechat", "app_id": "wx1", "secret": "s", "template_id": "t1"}
	}
	ch.MaxInflight = inflight
	ch.Timeout = posthouse.Duration(2 * time.Second) // what a process held is free when its leases end, a second later
	h.PutChannel(t, ch)
	ms := posthouse.Duration(time.Millisecond)
	h.Provider.Behave(t, ch.Name, simulator.Behaviour{Faults: []simulator.Fault{{Kind: simulator.Latency, Latency: 8 * ms, Jitter: 6 * ms}}})
	return wire.CampaignDraft{Name: name, Channel: ch.Name, Content: &posthouse.Content{Text: "hello"}, OnUnknown: policy}
}

// storm is what is done to the processes while a campaign is sent.
type storm struct {
	h     *house.House
	st    *store.Store
	id    string // of the campaign
	kills int
	worst int // how many members a process had under way when it was killed

	settled int64 // members, at the last look
	moved   time.Time
}

// strike kills processes until the campaign has ended, or so many times on its way, and waits for its end.
func strike(t *testing.T, h *house.House, f form) *storm {
	t.Helper()
	s := &storm{h: h, st: h.Store(t)}
	s.await(t, "the campaign to be known", func(c wire.Campaign) bool { s.id = c.ID; return true })
	for n := range f.kills {
		s.await(t, "more to be sent", func(c wire.Campaign) bool { return settled(c) >= int64((n+1)*f.people/(f.kills+1)) })
		s.kill(t)
	}
	for f.kills == 0 && !s.ended(t) {
		s.kill(t)
		house.Pause(t.Context(), time.Second)
	}
	for _, m := range h.Members {
		m.WaitReady(t, http.StatusOK)
	}
	s.await(t, "the campaign to end", func(c wire.Campaign) bool { return c.State.Final() })
	return s
}

// kill kills a process, looks what is under way then, and starts it again.
func (s *storm) kill(t *testing.T) {
	t.Helper()
	victim := s.h.Members[rand.IntN(len(s.h.Members))]
	owner := fmt.Sprintf("-%d-", victim.PID()) // is in the names of those who have segments
	victim.Kill(t)
	s.kills++
	s.worst = max(s.worst, s.started(t, owner))
	victim.Launch(t)
	if len(s.h.Members) == 1 { // else one that is killed every second may never get to work
		victim.WaitReady(t, http.StatusOK)
	}
}

// started are the members whom a dead process had under way.
func (s *storm) started(t *testing.T, owner string) (n int) {
	t.Helper()
	s.each(t, func(seg *work.Segment) {
		if seg.Status == work.SegmentClaimed && strings.Contains(seg.Owner, owner) {
			n += int(campaign.Map(seg.Outcomes).Count(campaign.Len(seg))[campaign.Started])
		}
	})
	return n
}

// atOnce is how many segments are read at once.
const atOnce = 500

// each shows every segment of the campaign, also those that are void.
func (s *storm) each(t *testing.T, look func(*work.Segment)) {
	t.Helper()
	var behind work.SegmentPlace
	for more := true; more; {
		list, err := s.st.Families.Segments.Segments(t.Context(), s.id, behind, atOnce)
		if err != nil {
			t.Fatal(err)
		}
		for i := range list {
			look(&list[i])
			behind = work.SegmentPlace{First: list[i].First, ID: list[i].ID}
		}
		more = len(list) == atOnce
	}
}

// settled is how many members are done with.
func settled(c wire.Campaign) int64 {
	return c.Progress.Members - c.Progress.Unsent - c.Progress.Started
}

// patience is how long a campaign may stand still before the test gives up: a process that was killed leaves what it held for
// seconds, and repairs come every half minute.
const patience = 3 * time.Minute

// ended reports whether the campaign has ended, by whichever process answers. One that does not get on ends the test.
func (s *storm) ended(t *testing.T) bool {
	t.Helper()
	for _, m := range s.h.Members {
		c, err := m.Client(t, 1).Campaigns.Get(t.Context(), name)
		if err != nil {
			continue // it is away
		}
		if n := settled(c); n != s.settled || s.moved.IsZero() {
			s.settled, s.moved = n, time.Now()
		}
		if time.Since(s.moved) > patience {
			t.Fatalf("the campaign stands still for %s: %+v", patience, c)
		}
		return c.State.Final()
	}
	return false
}

// await waits until the campaign stands somewhere, and has it repaired meanwhile: by itself that is every half minute.
func (s *storm) await(t *testing.T, what string, there func(wire.Campaign) bool) {
	t.Helper()
	c := s.h.Members[0].Client(t, 1)
	house.Until(t, what, func() bool {
		_, _ = c.Campaigns.Repair(t.Context(), name) // one that has ended needs none
		got, err := c.Campaigns.Get(t.Context(), name)
		return err == nil && there(got)
	})
}
