package poison

import (
	"bytes"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/simulator"
	"github.com/posthouse/posthouse/torture/internal/house"
	"github.com/posthouse/posthouse/torture/internal/overlay"
)

// mostClaims is how often a delivery that takes its workers down may be claimed: the engine gives up on
// the sixth lease lost.
const mostClaims = 6

// killer makes the process die of one text, in the middle of a send.
var killer = []overlay.Edit{
	{
		File: "channel/httpapi/driver.go",
		Old:  "	if d.access == nil {\n		return d.call(ctx, outs, \"\")",
		New:  "	if outs[0].Content.Text == \"kill\" {\n		os.Exit(9)\n	}\n	if d.access == nil {\n		return d.call(ctx, outs, \"\")",
	},
	{File: "channel/httpapi/driver.go", Old: "import (\n", New: "import (\n	\"os\"\n"},
}

// TestAMessageThatKillsItsProcessIsSetAside (E2) hides messages that end the process among others, and
// starts it again each time, as an init system does.
func TestAMessageThatKillsItsProcessIsSetAside(t *testing.T) {
	t.Parallel()
	binary := overlay.Build(t, killer...)
	for _, db := range databases(house.SQLite) {
		t.Run(string(db), func(t *testing.T) {
			messages, each := house.Size(150, 2000), house.Form(150, 500) // one killer among each so many
			h := house.Open(t, house.Options{DSN: db.DSN(t), Binary: binary})
			h.Provider.Behave(t, "generic", simulator.Behaviour{Faults: []simulator.Fault{{Kind: simulator.Latency, Latency: posthouse.Duration(50 * time.Millisecond)}}})
			ch := h.Channel("generic")
			h.PutChannel(t, ch)
			pause(t, h, ch.Name)
			h.Produce(t, house.Load{Messages: messages, Draft: func(n int) posthouse.Draft {
				d := house.Text("generic", n)
				if n%each == each/2 {
					d.Content.Text = "kill"
				}
				return d
			}})
			resume(t, h, ch.Name)
			deaths := keepAlive(t, h)
			h.Judge(t)
			killers := messages / each
			e := eventsOf(t, h)
			sent, poisoned, most := 0, 0, 0
			for _, list := range e {
				last, starts := list[len(list)-1], 0
				for _, event := range list {
					if event.Type == posthouse.EventStart {
						starts++
					}
				}
				if last.To == posthouse.Quarantined {
					most = max(most, starts-given(list))
				}
				switch {
				case last.To == posthouse.Sent:
					sent++
				case last.To == posthouse.Quarantined && last.Reason == "poison":
					poisoned++
				}
			}
			house.Report(t, house.Row{
				Test: "E2", Database: string(db), What: "messages that kill the process they are sent by", N: killers, Unit: fmt.Sprintf("such messages among %d", messages),
				Figure: fmt.Sprintf("%d deaths; %d set aside as poison, at most %d claims of one; %d of %d others sent", deaths, poisoned, most, sent, messages-killers),
				Bar:    fmt.Sprintf("all set aside, ≤ %d claims of one, all others sent", mostClaims), Pass: poisoned == killers && most <= mostClaims && sent == messages-killers,
			})
		})
	}
}

// given is how often a delivery was given back before it was sent.
func given(list []posthouse.Event) (n int) {
	for _, e := range list {
		if e.Type == posthouse.EventRelease {
			n++
		}
	}
	return n
}

// databases is one database in the small form of a test, and all in the full one.
func databases(small house.Database) []house.Database {
	if house.Full() {
		return house.Databases
	}
	return []house.Database{small}
}

func pause(t *testing.T, h *house.House, channel string) {
	t.Helper()
	if _, err := h.Members[0].Client(t, 1).Channels.Pause(t.Context(), channel, "the test fills its queue"); err != nil {
		t.Fatal(err)
	}
}

func resume(t *testing.T, h *house.House, channel string) {
	t.Helper()
	if _, err := h.Members[0].Client(t, 1).Channels.Resume(t.Context(), channel); err != nil {
		t.Fatal(err)
	}
}

// keepAlive starts the first member again whenever it has died, until nothing waits any more, and
// returns how often. Its patience is for each death.
func keepAlive(t *testing.T, h *house.House) (deaths int) {
	t.Helper()
	m, st := h.Members[0], h.Store(t)
	for settled := false; !settled; {
		house.Until(t, "another death, or nothing that waits", func() bool {
			depths, err := st.Queue.Depths(t.Context())
			settled = err == nil && !hasWork(depths)
			return settled || dead(m.PID())
		})
		if dead(m.PID()) {
			deaths++
			m.Wait(t)
			m.Launch(t) // it may die before it is ready
		}
	}
	return deaths
}

func hasWork(depths []work.Depth) bool {
	for _, d := range depths {
		if d.State == posthouse.Pending || d.State == posthouse.Sending {
			return true
		}
	}
	return false
}

// dead reports whether a process of ours has ended; nobody has waited for it then.
func dead(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && bytes.Contains(stat, []byte(") Z "))
}

// eventsOf reads the whole log, by delivery.
func eventsOf(t *testing.T, h *house.House) map[string][]posthouse.Event {
	t.Helper()
	byDelivery := map[string][]posthouse.Event{}
	_, err := h.Store(t).History.ExportEvents(t.Context(), "", "", func(e posthouse.Event) error {
		byDelivery[e.Delivery] = append(byDelivery[e.Delivery], e)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return byDelivery
}
