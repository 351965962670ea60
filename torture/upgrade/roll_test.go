package upgrade

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/simulator"
	"github.com/posthouse/posthouse/torture/internal/house"
	"github.com/posthouse/posthouse/torture/internal/overlay"
)

const schemas = "../../internal/store/schema"

// next builds the program of a later release: today's, with more migrations.
func next(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(schemas, "testdata", "next", "*", "*.sql"))
	if err != nil || len(files) < 6 {
		t.Fatalf("the migrations of a later release are %v, %v", files, err)
	}
	var edits []overlay.Edit
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		place := filepath.Join("internal", "store", "schema", filepath.Base(filepath.Dir(file)), filepath.Base(file))
		edits = append(edits, overlay.Edit{File: place, New: string(text)})
	}
	return overlay.Build(t, edits...)
}

// step is what is done to a server while the other one works.
type step struct {
	what   string
	member int
	do     func(t *testing.T, m *house.Member)
}

// Servers of two versions on one database, under load: each is killed, upgraded, gone back with, and killed while it migrates. Nothing is lost, and nothing
// leaves twice without a crash's leave.
func TestVersionsSideBySideLoseNothing(t *testing.T) {
	t.Parallel()
	old, newer := house.Binary(t), next(t)
	become := func(binary string) func(*testing.T, *house.Member) {
		return func(t *testing.T, m *house.Member) {
			m.Kill(t)
			m.Becomes(binary)
			m.Start(t)
		}
	}
	again := func(t *testing.T, m *house.Member) { m.Kill(t); m.Start(t) }
	halfway := func(t *testing.T, m *house.Member) {
		m.Kill(t)
		m.Becomes(newer)
		for range house.Size(2, 10) {
			m.Launch(t)
			house.Pause(t.Context(), rand.N(400*time.Millisecond))
			m.Kill(t)
		}
		m.Start(t)
	}
	for _, db := range house.Databases {
		t.Run(string(db), func(t *testing.T) {
			t.Parallel()
			steps := []step{
				{"the first is killed while it brings the schema up", 0, halfway},
				{"the second is killed and is still the old one", 1, again},
				{"the first is killed", 0, again},
				{"the second is the newer one too", 1, become(newer)},
				{"the first goes back to the old one", 0, become(old)},
				{"the second is killed", 1, again},
			}
			h := house.Open(t, house.Options{DSN: db.DSN(t), Members: db.Several(2)})
			h.PutChannel(t, h.Channel("generic"))
			ms := posthouse.Duration(time.Millisecond)
			h.Provider.Behave(t, "generic", simulator.Behaviour{Faults: []simulator.Fault{{Kind: simulator.Latency, Latency: 100 * ms, Jitter: 35 * ms}}})
			part := house.Size(40, 400)
			messages := part * (len(steps) + 1)
			due := make(chan struct{})
			var accepted map[int]string
			var load sync.WaitGroup
			t.Cleanup(load.Wait)
			load.Go(func() {
				defer close(due)
				accepted = h.Produce(t, house.Load{Messages: messages, Each: func(done int) {
					if done%part != 0 || done == messages {
						return
					}
					select {
					case due <- struct{}{}:
					case <-t.Context().Done():
					}
				}})
			})
			taken := 0
			for range due {
				s := steps[taken]
				s.do(t, h.Members[s.member%len(h.Members)])
				taken++
			}
			load.Wait()
			if taken != len(steps) || len(accepted) != messages {
				t.Fatalf("%d steps and %d accepted messages, want %d and %d", taken, len(accepted), len(steps), messages)
			}
			h.Settle(t)
			h.Judge(t)
			have, want, err := h.Store(t).Schema.Schema(t.Context())
			if err != nil || have <= want {
				t.Errorf("the schema has version %d, and this program's is %d, %v: want the later release's", have, want, err)
			}
			house.Report(t, house.Row{
				Test: "G1", Database: string(db), What: "two versions on one database, each killed, upgraded and gone back with under load", N: len(steps), Unit: "kills",
				Figure: "nothing lost, the checker holds", Bar: "0 lost", Pass: true,
			})
		})
	}
}
