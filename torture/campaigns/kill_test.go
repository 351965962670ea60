package campaigns

import (
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/torture/internal/house"
)

var members = flag.Int("campaign.members", 1_000_000, "how many `PEOPLE` a campaign of the long form is for")

// inflight is how many members a process has under way at most.
const inflight = 32

// name is that of the campaign.
const name = "spring"

// form is how a campaign is sent, and what is done to it.
type form struct {
	policy    posthouse.Policy // hold to a provider that knows no keys, retry to one that does
	people    int
	processes int
	kills     int // 0: one a second until the campaign has ended
}

// most are the members of a campaign over WeChat: an account sends 100,000 messages a day.
const most = 90_000

// F1: kill -9 of servers in the middle of a campaign. Everybody is sent to once. Who was under way is unknown, by name, where
// the policy is hold; where it is retry, the same key goes to the provider again, which knows it. (CAMP-6, CAMP-7)
func TestF1KillsInACampaign(t *testing.T) {
	house.Alone(t)
	if !house.Full() {
		play(t, house.SQLite, form{policy: posthouse.Retry, people: 5_000, processes: 1, kills: 3})
		return
	}
	for _, db := range []struct {
		house.Database
		processes int
	}{{house.Postgres, 4}, {house.MariaDB, 2}, {house.SQLite, 1}} {
		t.Run(string(db.Database), func(t *testing.T) {
			t.Run("hold", func(t *testing.T) {
				play(t, db.Database, form{policy: posthouse.Hold, people: *members, processes: db.processes})
			})
			t.Run("retry", func(t *testing.T) {
				play(t, db.Database, form{policy: posthouse.Retry, people: min(*members, most), processes: db.processes})
			})
		})
	}
}

func play(t *testing.T, db house.Database, f form) {
	h := house.Open(t, house.Options{DSN: db.DSN(t), Members: f.processes})
	draft := over(t, h, f.policy)
	h.Campaign(t, draft, f.people)
	began := time.Now()
	s := strike(t, h, f)
	took := time.Since(began)

	h.Judge(t)
	found, doubted := s.count(t, f), s.doubted(t)
	house.Report(t, house.Row{
		Test: "F1", Database: string(db), N: s.kills, Unit: "kills",
		What: fmt.Sprintf("kill -9 in a campaign of %d members, %d processes, policy %s", f.people, f.processes, f.policy),
		Figure: fmt.Sprintf("lost %d, unexplained copies %d, of no member %d; in doubt %d, at most %d by a kill; at the end %d unknown, %d of them without a reason, %d had arrived; %.0f members/s",
			found.lost, found.copies, found.strangers, doubted, s.worst, found.unknown, found.unnamed, found.unknownArrived, float64(f.people)/took.Seconds()),
		Bar:   fmt.Sprintf("lost 0, unexplained 0, of no member 0, each unknown has a reason, ≤ %d in doubt by a kill", inflight),
		Bound: house.Bound(f.people),
		Pass:  found.lost+found.copies+found.strangers+found.unnamed == 0 && s.worst > 0 && s.worst <= inflight && doubted > 0,
	})
}
