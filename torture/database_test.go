package torture

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/simulator"
)

// TestADatabaseThatDiesLosesNothing kills the database under a working server: callers are told that
// they must repeat, /readyz says what is wrong, and everything goes on by itself when it is back.
func TestADatabaseThatDiesLosesNothing(t *testing.T) {
	const (
		each    = 500 // messages between two kills
		crashes = 3
	)
	for _, kind := range []dbtest.Kind{dbtest.KindPostgres, dbtest.KindMariaDB} {
		t.Run(string(kind), func(t *testing.T) {
			db := dbtest.Own(t, dbtest.Options{Kind: kind, Durable: true})
			sim := startSimulator(t)
			f := startFleet(t, db.DSN, 1)
			f.openChannel(t, sim.URL())
			told := map[string]bool{}
			for crash := range crashes + 1 {
				var mu sync.Mutex
				var wg sync.WaitGroup
				var next, through atomic.Int64
				half := make(chan struct{})
				for range producers {
					wg.Go(func() {
						for n := next.Add(1); n <= each; n = next.Add(1) {
							id, err := f.sendUntilTold(t.Context(), crash*each+int(n))
							if err != nil {
								t.Error(err)
								return
							}
							mu.Lock()
							told[id] = true
							mu.Unlock()
							if through.Add(1) == each/2 {
								close(half)
							}
						}
					})
				}
				if crash < crashes {
					<-half
					if err := db.Kill(); err != nil {
						t.Fatal(err)
					}
					f.members[0].wantReady(t, http.StatusServiceUnavailable)
					if err := db.Restart(); err != nil {
						t.Fatal(err)
					}
				}
				wg.Wait()
			}
			f.members[0].wantReady(t, http.StatusOK)
			log := f.waitUntilSettled(t)
			judge(t, told, (crashes+1)*each, log, sim.Arrivals(simulator.Filter{Limit: 10 * messages}))
		})
	}
}

// wantReady waits until /readyz answers with a status.
func (m *member) wantReady(t *testing.T, status int) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(30 * time.Second)
	got := "no answer"
	for {
		resp, err := http.Get("http://" + m.addr + "/readyz")
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == status {
				return
			}
			got = fmt.Sprint(resp.StatusCode)
		}
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("/readyz: got %s, want %d\n%s", got, status, m.log.String())
		}
	}
}
