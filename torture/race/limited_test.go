package race

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/torture/internal/house"
	"github.com/posthouse/posthouse/torture/internal/overlay"
)

// TestServersKeepTheLimitsOfAChannel (C4) has one or two servers send through a limited channel, with
// Redis and without, and in the full form with clocks ten seconds apart.
func TestServersKeepTheLimitsOfAChannel(t *testing.T) {
	house.Alone(t)
	binary := ""
	if house.Full() {
		binary = overlay.Build(t, overlay.WrongClock(t)...)
	}
	// The limit holds for grants, the log holds starts: startsLater is how long after its grant a delivery may start on a
	// busy machine. In the short form, beside other tests, that is long, and so are the windows.
	startsLater, words := 2500*time.Millisecond, "10 in 3 s and 15 in 8 s"
	windows := []posthouse.Limit{
		{Max: 10, Per: posthouse.Duration(3 * time.Second)},
		{Max: 15, Per: posthouse.Duration(8 * time.Second)},
	}
	if house.Full() {
		startsLater, words = 500*time.Millisecond, "10/s and 30 in 4 s"
		windows = []posthouse.Limit{
			{Max: 10, Per: posthouse.Duration(time.Second)},
			{Max: 30, Per: posthouse.Duration(4 * time.Second)},
		}
	}
	for _, c := range []struct {
		db    house.Database
		redis bool
		full  bool // only in the full form
	}{{house.SQLite, false, true}, {house.Postgres, true, false}, {house.Postgres, false, true}, {house.MariaDB, true, true}, {house.MariaDB, false, true}} {
		if c.full && !house.Full() {
			continue
		}
		name := string(c.db)
		var env []string
		if c.redis {
			name += ", redis"
			env = []string{"POSTHOUSE_REDIS=redis://" + dbtest.Redis(t)}
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel() // each waits for its windows
			messages := house.Size(30, 600)
			two := c.db.Several(2) == 2
			if two { // SQLite's clock is its only server's
				env = append(env, overlay.ClockOff+"=5")
			}
			h := house.Open(t, house.Options{DSN: c.db.DSN(t), Binary: binary, Env: env})
			ch := h.Channel("generic")
			ch.Limits = windows
			h.PutChannel(t, ch)
			if two {
				m := h.Add(t, binary)
				m.Env = []string{overlay.ClockOff + "=-5"}
				m.Start(t)
			}
			h.Produce(t, house.Load{Messages: messages})
			h.Settle(t)
			h.Judge(t)
			starts, owners := startsOf(t, h)
			over, strict := 0, 0
			for _, w := range windows {
				over += overIn(starts, w.Max, w.Per.Std()-startsLater)
				strict += overIn(starts, w.Max, w.Per.Std())
			}
			apart := "clocks alike"
			if binary != "" && owners > 1 {
				apart = "clocks 10 s apart"
			}
			least := windowsFor(messages, windows)
			took := starts[len(starts)-1].At.Sub(starts[0].At)
			if house.Full() && took > 2*least {
				t.Errorf("%d messages took %s, want about %s: the limit was not used", messages, took, least)
			}
			house.Report(t, house.Row{
				Test: "C4", Database: name, What: fmt.Sprintf("a channel of at most %s, %d servers, %s", words, owners, apart), N: messages, Unit: "starts",
				Figure: fmt.Sprintf("%d windows over by more than the %s between grant and start (%d by less); %s, at least %s", over, startsLater, strict-over, took.Round(100*time.Millisecond), least),
				Bar:    "0 over", Bound: house.Bound(messages), Pass: over == 0 && len(starts) == messages,
			})
		})
	}
}

// startsOf are the starts in the log, and how many processes made them.
func startsOf(t *testing.T, h *house.House) (starts []limit.Grant, owners int) {
	t.Helper()
	hosts := map[string]bool{}
	_, err := h.Store(t).History.ExportEvents(t.Context(), "", "", func(e posthouse.Event) error {
		if e.Type == posthouse.EventStart {
			starts = append(starts, limit.Grant{At: e.At, N: 1})
			hosts[e.Owner[strings.Index(e.Owner, "-"):]] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	overIn(starts, len(starts), time.Hour) // sorts them
	return starts, len(hosts)
}

// windowsFor is how long so many starts take at least.
func windowsFor(n int, windows []posthouse.Limit) (least time.Duration) {
	for _, w := range windows {
		least = max(least, time.Duration((n-1)/w.Max)*w.Per.Std())
	}
	return least
}
