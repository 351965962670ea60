package engine

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse/internal/store"
)

// The simulation runs the real engine, several of them on one real SQLite database, in virtual time,
// and has everything go wrong that a seed says: processes are killed at any moment or at a named
// call, are cut off from the database, have wrong clocks; commits are refused, lost, or done and
// never answered; the provider refuses, is slow, loses answers and panics the driver; people cancel,
// pause, resolve and raise the epoch. Then the faults end, everything must come to rest, and a judge
// reads the event log beside what the callers were told and what arrived at the provider.
//
// One seed decides the whole script: the workload, every fault, every wait of the provider, of the
// database and of people, each drawn by what it is about and not by when it is asked for. The jitter
// of the engine's own loops cannot be seeded (math/rand/v2 draws from the runtime), so the database
// of the simulation lets them wait until the jitter does not matter, and the channels have none.
// What is left to chance are the wait that parts deliveries which lost their leases together, the order in
// which Go runs goroutines that are due in the same nanosecond and, where many seeds run side by side, ids. So about
// half of the seeds take the very same course again, to the microsecond (the hash in the log tells), and the others
// the same up to some moment and a similar one from there. A failing seed is printed; run it again, and many times if need be, with
//
//	go test ./internal/engine -run TestSimulation -sim.seed=N -count=20 -v
var (
	simSeeds = flag.Int("sim.seeds", simDefault, "how many seeds TestSimulation tries, from 1 on")
	simSeed  = flag.Uint64("sim.seed", 0, "the one seed that TestSimulation tries; 0 tries -sim.seeds of them")
)

// TestSimulation holds for every seed: nothing that was accepted is lost, whenever a process dies between two queues (FLEET-3,
// FLEET-8). It also fails when the rare events that the faults are there
// for did not happen in any of many seeds: a calm run proves nothing.
func TestSimulation(t *testing.T) {
	seeds := []uint64{*simSeed}
	if *simSeed != 0 {
		cryptotest.SetGlobalRandom(t, *simSeed) // the ids, for as long as nothing runs beside
	} else {
		t.Parallel()
		seeds = nil
		tried := *simSeeds
		if testing.Short() {
			tried = min(tried, 10)
		}
		for n := range tried {
			seeds = append(seeds, uint64(n)+1)
		}
	}
	template := emptyDatabase(t)
	seen := newSightings()
	t.Cleanup(func() { seen.report(t, len(seeds)) })
	for _, seed := range seeds {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			if *simSeed == 0 {
				t.Parallel()
			}
			path := filepath.Join(folder(t), "posthouse.db")
			if err := os.WriteFile(path, template, 0o600); err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) { simulate(t, seed, path, seen) })
		})
	}
}

// folder is a place for a database: in memory where the machine has such a place, since what a disk
// forgets is no part of this.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "posthouse-sim-") //nolint:usetesting // TempDir is on a disk
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// emptyDatabase is a migrated SQLite file: each seed starts with a copy of it.
func emptyDatabase(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(folder(t), "template.db")
	st, err := store.Open(t.Context(), store.Options{DSN: "sqlite:" + path, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := st.Schema.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil { // moves all into the one file
		t.Fatal(err)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// The phases of a seed, in virtual time.
const (
	simStorm   = 150 * time.Second // faults happen
	simHorizon = 30 * time.Minute  // after the last fault everything is at rest
)

// simulate runs one seed.
func simulate(t *testing.T, seed uint64, path string, seen *sightings) {
	st, err := store.Open(context.Background(), store.Options{DSN: "sqlite:" + path, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	w := newWorld(t, seed, st)
	w.storm()
	w.settle()
	w.end()
	w.judge()
	w.tell(seen)
}

// rare is what must have happened in many seeds: what the world does to engines, and what becomes of deliveries by it.
var rare = []string{
	"process killed before a call", "process killed after a call", "process killed at a moment of its life",
	"worker cut off from the database", "commit done, answer lost", "epoch raised", "limiter refused",
	"phone crashed before it reported", "phone crashed with hand-outs", "phone reported late", "taken from a phone",
	"accept replayed", "accept's outcome unknown", "recovered: accepted, and nobody was told", "copies beyond the first", "stale result refused",
	"cancel answered already_final", "cancel answered cancelled", "cancel answered too_late", "claim repeated",
	"campaign pause", "campaign resume", "campaign cancel", "campaign's segment repaired", "campaign's member in doubt", "campaign's copies beyond the first",
	"started with the accept", "disowned start", "report answered done", "report answered evidence", "report answered stale",
	"event ambiguous", "event assume_sent", "event cancel", "event cancel_request", "event discard", "event epoch_hold", "event evidence",
	"event expire", "event fail", "event hold_timeout", "event lease_lost", "event quarantine", "event release", "event resend", "event resolve",
	"event retry",
}

// sightings counts the rare events over all seeds.
type sightings struct {
	mu     sync.Mutex
	counts map[string]int
}

func newSightings() *sightings {
	s := &sightings{counts: map[string]int{}}
	for _, name := range rare { // those that never happen are told of too
		s.counts[name] = 0
	}
	return s
}

func (s *sightings) add(name string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[name] += n
}

// enough is how many seeds surely meet every rare event.
const enough = 100

func (s *sightings) report(t *testing.T, seeds int) {
	for _, name := range slices.Sorted(maps.Keys(s.counts)) {
		t.Logf("%8d %s", s.counts[name], name)
		if s.counts[name] == 0 && seeds >= enough && !t.Failed() {
			t.Errorf("in %d seeds there was never: %s", seeds, name)
		}
	}
}
