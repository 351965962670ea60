package torture

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/simulator"
)

// The size of the test that the issue asks for.
const (
	messages  = 20000
	kills     = 20
	producers = 16
)

// TestKillsLoseNothing kills the server 20 times while 20,000 messages pass through it. Whoever was
// told 202 finds the message sent, and every arrival after a delivery's first follows an unknown
// event of that delivery.
func TestKillsLoseNothing(t *testing.T) {
	for _, c := range []struct {
		name      string
		dsn       func(t testing.TB) string
		processes int
	}{
		{"one process on SQLite", dbtest.SQLite, 1},
		{"two processes on PostgreSQL", dbtest.Postgres, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			sim := startSimulator(t)
			f := startFleet(t, c.dsn(t), c.processes)
			f.openChannel(t, sim.URL())

			told := f.produceAndKill(t)
			log := f.waitUntilSettled(t)
			arrivals := sim.Arrivals(simulator.Filter{Limit: 10 * messages})
			judge(t, told, messages, log, arrivals)
		})
	}
}

func startSimulator(t *testing.T) *simulator.Simulator {
	t.Helper()
	sim := simulator.New(simulator.Options{Keep: 10 * messages, KeepKeys: 10 * messages, PlainRecipients: true})
	if err := sim.Start(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := sim.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	return sim
}

// openChannel makes the channel all messages go through: ambiguous attempts are retried, so that
// every message is sent in the end and the duplicates can be judged.
func (f *fleet) openChannel(t *testing.T, provider string) {
	t.Helper()
	ch := posthouse.Channel{Name: "generic", Driver: "httpapi", Config: map[string]any{
		"url":  provider + "/generic/send",
		"body": `{"id":"${idempotency_key}","to":"${user}","text":"${text}"}`, "id_path": "$.id",
	}}
	ch.OnUnknown, ch.Tries = posthouse.Retry, 100
	ch.Backoff = []posthouse.Duration{posthouse.Duration(100 * time.Millisecond)}
	ch.Timeout = posthouse.Duration(time.Second)
	if _, _, err := f.members[0].client(t, 3).PutChannel(t.Context(), ch); err != nil {
		t.Fatal(err)
	}
}

// produceAndKill sends all messages with an Idempotency-Key each, repeating whatever is not answered,
// and kills a process whenever another twentieth of them is through. It returns the accepted ids.
func (f *fleet) produceAndKill(t *testing.T) map[string]bool {
	t.Helper()
	var next, through atomic.Int64
	var mu sync.Mutex
	told := map[string]bool{}
	due := make(chan int, kills)
	var wg sync.WaitGroup
	for range producers {
		wg.Go(func() {
			for n := next.Add(1); n <= messages && t.Context().Err() == nil; n = next.Add(1) {
				id, err := f.sendUntilTold(t.Context(), int(n))
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				told[id] = true
				mu.Unlock()
				if k := through.Add(1); k%(messages/(kills+1)) == 0 && k/(messages/(kills+1)) <= kills {
					due <- int(k)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	for killed := 0; killed < kills; {
		select {
		case <-due:
			f.killOne(t, killed)
			killed++
		case <-done:
			if killed < kills && len(due) == 0 {
				t.Fatalf("only %d kills", killed)
			}
		}
	}
	<-done
	return told
}

// sendUntilTold repeats one message with one key until some process says 202.
func (f *fleet) sendUntilTold(ctx context.Context, n int) (string, error) {
	draft := posthouse.Draft{Channel: "generic", To: []posthouse.Recipient{{User: fmt.Sprintf("u%d", n)}}, Content: &posthouse.Content{Text: "hello"}, Ref: fmt.Sprint(n), Kind: "kill"}
	pause := time.NewTicker(50 * time.Millisecond)
	defer pause.Stop()
	for try := rand.IntN(len(f.members)); ; try++ {
		call, cancel := context.WithTimeout(ctx, 10*time.Second)
		sent, err := f.members[try%len(f.members)].quick.SendOnce(call, fmt.Sprintf("kill-%d", n), draft)
		cancel()
		if err == nil {
			return sent.Accepted[0].ID, nil
		}
		if code := posthouse.CodeOf(err); code == posthouse.CodeInvalid || code == posthouse.CodeKeyReused {
			return "", err
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

// record is a delivery as the event log tells it.
type record struct {
	last    posthouse.State
	unknown []time.Time // when it became unknown
	sends   int         // transitions into sent
}

// waitUntilSettled waits until the queue is empty and reads the event log.
func (f *fleet) waitUntilSettled(t *testing.T) map[string]*record {
	t.Helper()
	st, err := store.Open(t.Context(), store.Options{DSN: f.dsn})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(3 * time.Minute)
	for {
		depths, err := st.Depths(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(depths) == 0 {
			break
		}
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("still open: %+v\n%s", depths, f.open(t, st))
		}
		if depths[0].State == posthouse.Quarantined {
			t.Fatalf("quarantined: %s", f.open(t, st))
		}
	}
	log := map[string]*record{}
	_, err = st.ExportEvents(t.Context(), "", "", func(e posthouse.Event) error {
		r := log[e.Delivery]
		if r == nil {
			r = &record{}
			log[e.Delivery] = r
		}
		if e.From != r.last || !posthouse.Legal(e.From, e.Type, e.To) {
			t.Errorf("delivery %s: %s from %s to %s does not follow %s", e.Delivery, e.Type, e.From, e.To, r.last)
		}
		if e.To == posthouse.Unknown {
			r.unknown = append(r.unknown, e.At)
		}
		if e.To == posthouse.Sent {
			r.sends++
		}
		r.last = e.To
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return log
}

// open says what is still open, and how it came to that.
func (f *fleet) open(t *testing.T, st *store.Store) string {
	t.Helper()
	list, _, err := st.Deliveries(t.Context(), work.Filter{
		Tenant: posthouse.DefaultTenant, States: []posthouse.State{posthouse.Pending, posthouse.Sending, posthouse.Unknown, posthouse.Quarantined}, Limit: 3,
	})
	if err != nil {
		return err.Error()
	}
	text := ""
	for i := range list {
		events, err := st.Events(t.Context(), posthouse.DefaultTenant, list[i].ID)
		text += fmt.Sprintf("%+v\n%+v %v\n", list[i], events, err)
	}
	return text
}

// judge compares what callers were told, what the event log says and what arrived.
func judge(t *testing.T, told map[string]bool, want int, log map[string]*record, arrivals []simulator.Arrival) {
	t.Helper()
	if len(told) != want {
		t.Errorf("%d messages were accepted, want %d", len(told), want)
	}
	for id := range told {
		if r := log[posthouse.DeliveryID(id, 1)]; r == nil || r.last != posthouse.Sent || r.sends != 1 {
			t.Errorf("message %s was accepted and is lost: %+v", id, r)
		}
	}
	if len(log) != len(told) {
		t.Errorf("%d deliveries stand for %d accepted messages", len(log), len(told))
	}
	byKey := map[string][]simulator.Arrival{}
	for _, a := range arrivals {
		byKey[a.Key] = append(byKey[a.Key], a)
	}
	extra, unexplained := 0, 0
	for id, r := range log {
		list := byKey[id]
		if len(list) == 0 {
			t.Errorf("delivery %s is sent and never arrived", id)
		}
		for k, a := range list[min(1, len(list)):] {
			extra++
			if k >= len(r.unknown) || a.At.Before(r.unknown[k]) {
				unexplained++
				t.Errorf("arrival %d of delivery %s at %s follows no unknown: %v", k+2, id, a.At, r.unknown)
			}
		}
	}
	if len(byKey) != len(log) {
		t.Errorf("%d keys arrived for %d deliveries", len(byKey), len(log))
	}
	t.Logf("%d messages accepted, %d extra arrivals, each after an unknown but %d", len(told), extra, unexplained)
}

// binary is the built command, made once.
var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "posthouse-torture-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "posthouse")
	return path, build(path)
})
