package clock

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/verify"
	"github.com/posthouse/posthouse/simulator"
	"github.com/posthouse/posthouse/torture/internal/house"
	"github.com/posthouse/posthouse/torture/internal/overlay"
)

// ticking are the packages that ask what time it is.
var ticking = []string{".", "channel", "channel/httpapi", "internal/api", "internal/content", "internal/decide", "internal/engine", "internal/inquire", "internal/intake", "internal/life", "internal/limit", "internal/pull", "internal/refuge", "internal/rescue", "internal/store", "internal/store/registry", "internal/store/sqldb", "internal/suppress", "internal/usher", "internal/web", "server"}

// measures are the files that compare the time with a context's deadline: that is how much time passes, by
// the same clock, whatever it says.
var measures = map[string]bool{"channel/conn.go": true}

// skewed is what those packages ask instead: a clock that is off, or that goes too fast.
const skewed = `package %s

import (
	"context"
	"os"
	"strconv"
	"time"
)

var skewBegan = time.Now()

func skewNow() time.Time {
	now := time.Now()
	offset, _ := time.ParseDuration(os.Getenv("TORTURE_OFFSET"))
	drift, _ := strconv.ParseFloat(os.Getenv("TORTURE_DRIFT"), 64)
	return now.Add(offset + time.Duration(drift*float64(now.Sub(skewBegan))))
}

func skewSince(t time.Time) time.Duration { return skewNow().Sub(t) }
func skewUntil(t time.Time) time.Duration { return t.Sub(skewNow()) }

// Deadlines of contexts are kept by timers, which measure how much time passes: only what we call the
// time is off.
func skewWithDeadline(ctx context.Context, t time.Time) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, skewUntil(t))
}

var _, _, _ = skewSince, skewUntil, skewWithDeadline
`

var (
	asksTheTime = regexp.MustCompile(`\btime\.(Now\(\)|Since\(|Until\()`)
	setsAnAlarm = regexp.MustCompile(`\bcontext\.WithDeadline\(`)
)

// skewEdits makes the whole command go by a clock that the environment sets.
func skewEdits(t *testing.T) (edits []overlay.Edit) {
	t.Helper()
	root, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/posthouse/posthouse").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range ticking {
		files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(root)), folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		name := ""
		for _, path := range files {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(path, "_test.go") || measures[filepath.Join(folder, filepath.Base(path))] || !asksTheTime.Match(text) && !setsAnAlarm.Match(text) {
				continue
			}
			name = string(regexp.MustCompile(`(?m)^package (\w+)`).FindSubmatch(text)[1])
			if asksTheTime.Match(text) { // each import is still used
				text = append(asksTheTime.ReplaceAll(text, []byte("skew$1")), "\nvar _ time.Time\n"...)
			}
			if setsAnAlarm.Match(text) {
				text = append(setsAnAlarm.ReplaceAll(text, []byte("skewWithDeadline(")), "\nvar _ context.Context\n"...)
			}
			edits = append(edits, overlay.Edit{File: filepath.Join(folder, filepath.Base(path)), New: string(text)})
		}
		if name == "" {
			t.Errorf("nothing in %s asks what time it is: take it off the list", folder)
			continue
		}
		edits = append(edits, overlay.Edit{File: filepath.Join(folder, "skewed_clock.go"), New: fmt.Sprintf(skewed, name)})
	}
	return edits
}

// skews are how far off the clocks of servers are, as their environment says.
func skews() [][]string {
	all := [][]string{{"TORTURE_OFFSET=24h"}, {"TORTURE_DRIFT=0.01"}, {"TORTURE_OFFSET=-24h"}}
	if house.Full() {
		all = append([][]string{{"TORTURE_OFFSET=1h"}, {"TORTURE_OFFSET=-1h"}, {"TORTURE_DRIFT=-0.01"}}, all...)
	}
	return all
}

// TestClocksThatAreWrong runs what needs the command with clocks that can be set: it is built once.
func TestClocksThatAreWrong(t *testing.T) {
	t.Parallel()
	binary := overlay.Build(t, append(skewEdits(t), jumpEdits...)...)
	t.Run("D1", func(t *testing.T) { workersOff(t, binary) })
	t.Run("D2", func(t *testing.T) { databaseJumps(t, binary) })
}

// D1: the clocks of the servers are off, by a day too, and go too fast. On a database of many that changes
// nothing: deliveries go by its clock, and leases by how much time passes. On SQLite the one server's clock
// is the only one there is.
func workersOff(t *testing.T, binary string) {
	for _, db := range []house.Database{house.Postgres, house.MariaDB} {
		t.Run(string(db), func(t *testing.T) {
			dsn := db.DSN(t)
			openJump(t, dsn)
			h := house.Open(t, house.Options{DSN: dsn, Members: -1})
			for _, env := range skews() {
				h.Add(t, binary).Env = env
			}
			skewedRun(t, h, db, 0)
		})
	}
	for _, env := range skews()[max(0, len(skews())-1-house.Form(0, 5)):] {
		t.Run("sqlite "+env[0], func(t *testing.T) {
			h := house.Open(t, house.Options{DSN: house.SQLite.DSN(t), Members: -1})
			h.Add(t, binary).Env = env
			skewedRun(t, h, house.SQLite, offset(t, env[0]))
		})
	}
}

// offset is how far off a clock is from its start on.
func offset(t *testing.T, env string) time.Duration {
	t.Helper()
	text, ok := strings.CutPrefix(env, "TORTURE_OFFSET=")
	if !ok {
		return 0 // it only goes at another pace
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// skewedRun sends a load through servers whose clocks are apart, and then through the last of them alone. The
// messages have times of their own, on the clock that counts, which is so far off.
func skewedRun(t *testing.T, h *house.House, db house.Database, off time.Duration) {
	t.Helper()
	var clocks []string
	for _, m := range h.Members {
		m.Start(t)
		clocks = append(clocks, strings.TrimPrefix(m.Env[0], "TORTURE_"))
	}
	refuse := simulator.Behaviour{Faults: []simulator.Fault{{Kind: simulator.RateLimited, Times: 3, RetryAfter: 1}}}
	h.Provider.Behave(t, "generic", refuse) // an account that is parked for a second, by whose clock?
	h.PutChannel(t, house.Patient(h.Channel("generic")))
	n := house.Size(200, 2000)
	due := make([]time.Time, n+1)
	accepted := h.Produce(t, house.Load{Messages: n, Draft: func(i int) posthouse.Draft {
		d := house.Text("generic", i)
		d.Deadline = time.Now().Add(off + 10*time.Minute)
		if i%4 == 0 {
			d.NotBefore = time.Now().Add(off + 2*time.Second)
			due[i] = d.NotBefore
		}
		return d
	}})
	h.Settle(t)
	early := earlier(t, h, accepted, due)
	for _, m := range h.Members[:len(h.Members)-1] {
		if _, err := m.Term(t); err != nil {
			t.Error(err)
		}
	}
	h.Members = h.Members[len(h.Members)-1:]
	h.Provider.Behave(t, "generic", refuse)
	began := time.Now()
	for i, id := range h.Produce(t, house.Load{Messages: 20, Prefix: "last"}) {
		accepted[n+i] = id
	}
	h.Settle(t)
	alone := time.Since(began)
	flags := []string{"--sometimes", "none"}
	if db == house.SQLite { // the log's clock and the provider's are meant to differ: the checker only counts
		flags = append(flags, "--slack", (off.Abs() + 10*time.Second).String())
	}
	report := h.Verdict(t, flags...)
	if report.Verdict != verify.Holds {
		t.Errorf("the checker says:\n%s", report.Page())
	}
	lost, twice, leases := unlike(t, h, accepted)
	house.Report(t, house.Row{
		Test: "D1", Database: string(db), What: "clocks of servers off: " + strings.Join(clocks, ", "), N: len(accepted), Unit: "messages",
		Figure: fmt.Sprintf("%d lost, %d twice, %d early, %d leases lost; the last server alone needed %s for 20 more", lost, twice, early, leases, alone.Round(100*time.Millisecond)),
		Bar:    "as with right clocks: 0 lost, 0 twice, 0 early, 0 leases lost", Bound: house.Bound(len(accepted)), Pass: lost+twice+early+leases == 0,
	})
}

// earlier counts the messages that started before they were due; no time means any.
func earlier(t *testing.T, h *house.House, accepted map[int]string, due []time.Time) (n int) {
	t.Helper()
	begun := starts(t, h)
	for i, id := range accepted {
		for _, start := range begun[posthouse.DeliveryID(id, 1)] {
			if start.Before(due[i]) {
				n++
			}
		}
	}
	return n
}

// unlike counts what would not have happened with right clocks.
func unlike(t *testing.T, h *house.House, accepted map[int]string) (lost, twice, leases int) {
	t.Helper()
	taken := map[string]int{}
	for _, a := range h.Provider.Arrivals(t) {
		if a.Answer != simulator.Refused {
			taken[a.Key]++
		}
	}
	for _, id := range accepted {
		switch taken[posthouse.DeliveryID(id, 1)] {
		case 0:
			lost++
		case 1:
		default:
			twice++
		}
	}
	readLog(t, h, func(e posthouse.Event) {
		if e.Type == posthouse.EventLeaseLost {
			leases++
		}
	})
	return lost, twice, leases
}
