package network

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/torture/internal/house"
)

// caged is an animal and a driver's channel to it.
type caged struct {
	animal
	driver  string
	channel string
	want    posthouse.Class
}

// openZoo makes a channel of each driver to each animal.
func openZoo(t *testing.T, h *house.House) []caged {
	t.Helper()
	var out []caged
	for i, a := range zoo() {
		address := a.address
		if address == "" {
			address = "127.0.0.1:0"
		}
		url := listen(t, address, a.serve).URL
		if a.url != nil {
			url = a.url(url)
		}
		for driver, want := range map[string]posthouse.Class{"httpapi": a.httpapi, "webhook": a.webhook} {
			c := caged{a, driver, fmt.Sprintf("%s-%d", driver, i), want}
			ch := drivers[driver](h, c.channel, url)
			ch.Timeout, ch.Limits = a.timeout(), []posthouse.Limit{{Max: 1000, Per: posthouse.Duration(time.Second)}}
			if driver == "httpapi" {
				ch.Config["success_path"], ch.Config["success_values"] = "$.code", []string{"0"}
				ch.Config["codes"] = map[string]string{"1001": "recipient"}
			}
			h.PutChannel(t, ch)
			out = append(out, c)
		}
	}
	return out
}

// TestB2EndpointZoo sends to providers that answer in every wrong way: each attempt ends with the
// class that says what is known, and costs the server little and for a moment.
func TestB2EndpointZoo(t *testing.T) {
	house.Alone(t)
	h := house.Open(t, house.Options{DSN: house.SQLite.DSN(t), Env: unhurried})
	cages := openZoo(t, h)
	wrong := feedAll(t, h, cages) // after which the server has grown as far as it needs
	files, goroutines := atRest(t, h.Members[0])
	wrong += feedAll(t, h, cages)
	house.Until(t, "the server to be as it was", func() bool {
		f, g := now(t, h.Members[0])
		return f <= files+2 && g <= goroutines+4 // of those that we ask by, too
	})
	sends, memory := 2*len(cages), ""
	if house.Full() {
		worst, at, more, bad := heaviest(t, h, cages)
		memory = fmt.Sprintf("; at most %.2f MB a send (%s)", float64(worst)/1e6, at)
		sends, wrong = sends+more, wrong+bad
		if worst > 2<<20 {
			wrong++
			t.Errorf("a send took %d bytes of memory, want at most 2 MiB", worst)
		}
	}
	house.Report(t, house.Row{
		Test: "B2", What: fmt.Sprintf("%d endpoints that answer in odd ways, two drivers", len(cages)/2), N: sends, Unit: "sends",
		Figure: fmt.Sprintf("%d wrong; no connection and no goroutine more than before%s", wrong, memory),
		Bar:    "the class of each as documented, at most 2 MiB each, nothing leaked", Pass: wrong == 0,
	})
}

// feedAll sends one message to each animal at once, and counts what was wrong.
func feedAll(t *testing.T, h *house.House, cages []caged) int {
	t.Helper()
	var wrong atomic.Int64
	var wg sync.WaitGroup
	for _, c := range cages {
		wg.Go(func() { wrong.Add(int64(c.feed(t, h, 1))) })
	}
	wg.Wait()
	return int(wrong.Load())
}

// heaviest feeds the animals one after the other and says which takes the most memory a send, and what was wrong.
func heaviest(t *testing.T, h *house.House, cages []caged) (worst int64, at string, sends, wrong int) {
	t.Helper()
	m := h.Members[0]
	for _, c := range cages {
		n := 32
		if c.want.Blocks() {
			n = 1 // the first refusal parks the account
		}
		before := status(t, m, "VmRSS")
		resetPeak(t, m)
		wrong += c.feed(t, h, n)
		if grown := (status(t, m, "VmHWM") - before) / int64(n); grown > worst {
			worst, at = grown, c.name+", "+c.driver
		}
		sends += n
	}
	return worst, at, sends, wrong
}

// now is how many files and goroutines a member has. Those of the database are left out: they are as many as it had
// readers at once.
func now(t *testing.T, m *house.Member) (files, goroutines float64) {
	t.Helper()
	goroutines = m.Metric(t, "go_goroutines")
	dir := fmt.Sprintf("/proc/%d/fd", m.PID())
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range list {
		link, err := os.Readlink(filepath.Join(dir, f.Name()))
		if err == nil && !strings.Contains(link, "posthouse.db") { // else it is closed by now, or the database's
			files++
		}
	}
	return files, goroutines
}

// atRest is what a member has when the connections that may be used again have closed: for 5 s nothing
// has become less.
func atRest(t *testing.T, m *house.Member) (files, goroutines float64) {
	t.Helper()
	files, goroutines = now(t, m)
	for last := time.Now(); time.Since(last) < 5*time.Second; house.Pause(t.Context(), 200*time.Millisecond) {
		if f, g := now(t, m); f < files || g < goroutines {
			files, goroutines, last = min(f, files), min(g, goroutines), time.Now()
		}
	}
	return files, goroutines
}

// feed sends some messages and counts what is wrong with the ends of their attempts.
func (c caged) feed(t *testing.T, h *house.House, n int) (wrong int) {
	t.Helper()
	api, prefix := h.Members[0].Client(t, 3), posthouse.NewID()
	if _, err := api.Channels.Pause(t.Context(), c.channel, "to hand in first"); err != nil {
		t.Fatal(err)
	}
	ids := h.Produce(t, house.Load{Messages: n, Producers: n, Prefix: prefix, Draft: func(k int) posthouse.Draft { return house.Text(c.channel, k) }})
	// An earlier refusal has parked it. Resumed before, what was refused then could park it again first; and without a pause
	// the resume would have what was refused meanwhile sent again.
	if _, err := api.Channels.Resume(t.Context(), c.channel); err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		delivery := posthouse.DeliveryID(id, 1)
		a := firstAttempt(t, h, delivery)
		if a.Class != c.want {
			wrong++
			t.Errorf("%s, %s: class %q (%s: %s), want %q", c.driver, c.name, a.Class, a.Code, a.Error, c.want)
		}
		if c.wait == [2]time.Duration{} {
			continue
		}
		if parked := c.parked(t, h, delivery, a); parked < c.wait[0] || parked > c.wait[1] {
			wrong++
			t.Errorf("%s, %s: parked for %s, want %v", c.driver, c.name, parked, c.wait)
		}
	}
	for _, id := range ids {
		withdraw(t, h, id)
	}
	return wrong
}

// withdraw cancels what is still open of a message: tried again, it could park the account before what is fed next.
func withdraw(t *testing.T, h *house.House, id string) {
	t.Helper()
	api := h.Members[0].Client(t, 3)
	house.Until(t, id+" to be over", func() bool {
		if _, err := api.Messages.Cancel(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		x, err := api.Deliveries.Explain(t.Context(), posthouse.DeliveryID(id, 1))
		if err != nil {
			t.Fatal(err)
		}
		return x.State != posthouse.Pending && x.State != posthouse.Sending
	})
}

// parked is how long a delivery waits after its attempt, at the longest. The resume may have it sent once more first.
func (c caged) parked(t *testing.T, h *house.House, delivery string, a posthouse.Attempt) time.Duration {
	t.Helper()
	var longest time.Duration
	house.Until(t, c.driver+", "+c.name+" to wait", func() bool {
		x, err := h.Members[0].Client(t, 3).Deliveries.Explain(t.Context(), delivery)
		if err != nil {
			t.Fatal(err)
		}
		longest = 0
		for _, w := range x.Waits {
			longest = max(longest, w.Until.Sub(a.FinishedAt))
		}
		return x.State == posthouse.Pending && longest > 0
	})
	return longest
}

// status reads a size in bytes from the process's status, proc_pid_status(5).
func status(t *testing.T, m *house.Member, name string) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", m.PID()))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			n, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n << 10
		}
	}
	t.Fatalf("/proc says nothing of %s", name)
	return 0
}

// resetPeak begins a new peak, proc_pid_clear_refs(5).
func resetPeak(t *testing.T, m *house.Member) {
	t.Helper()
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", m.PID()), []byte("5"), 0); err != nil {
		t.Fatal(err)
	}
}
