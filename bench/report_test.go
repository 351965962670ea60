package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse/bench/trial"
)

// did is a trial of so many messages in a second.
func did(round int, cell string, of contender, n int) taken {
	return taken{Round: round, Cell: cell, Contender: of.name, Outcome: trial.Outcome{N: n, Took: time.Second, Own: time.Second, P50: time.Second / time.Duration(n)}}
}

func TestARatioIsTheMedianOfTheRoundsAndNotOfTheTrials(t *testing.T) {
	t.Parallel()
	r := results{Trials: []taken{
		did(1, "c", ourSQLite, 300), did(1, "c", vsBacklite, 100), did(1, "c", vsBacklite, 200), did(1, "c", ourSQLite, 600),
		did(2, "c", ourSQLite, 400), did(2, "c", vsBacklite, 100),
		did(3, "c", ourSQLite, 800), did(3, "c", vsBacklite, 100),
		did(4, "c", ourSQLite, 900), // its peer is missing: no ratio
		did(1, "other", ourSQLite, 1),
		{Round: 2, Cell: "c", Contender: ourSQLite.name, Failed: "the disk is full"},
	}}
	got, ok := r.compare(cell{name: "c"}, target{ourSQLite, vsBacklite, rate, 4})
	want := ratio{
		Cell: "c", Measure: rate, Ours: ourSQLite.name, Peer: vsBacklite.name, Target: 4, Verdict: "meets",
		Median: 4, Min: 3, Max: 8, OursMedian: 450, PeerMedian: 100, Cost: got.Cost,
	}
	if diff := cmp.Diff(want, got); !ok || diff != "" {
		t.Errorf("compare: %v (-want +got)\n%s", ok, diff)
	}
	if err := r.failed(); err == nil {
		t.Error("a trial failed, and nobody says so")
	}
	if got.Cost <= 1 {
		t.Errorf("ours did more with the same CPU time, and its cost ratio is %g", got.Cost)
	}
}

func TestALatencyIsBetterWhenItIsShorter(t *testing.T) {
	t.Parallel()
	r := results{Trials: []taken{did(1, "c", ourPostgres, 1000), did(1, "c", vsRiver, 250)}}
	got, ok := r.compare(cell{name: "c"}, target{ourPostgres, vsRiver, p50, 5})
	if !ok || got.Median < 3.9 || got.Median > 4.1 || got.Verdict != "misses" {
		t.Errorf("got %+v, want a ratio of 4 that misses 5", got)
	}
}

func TestAFloorSaysWhatTheCoresCouldCarry(t *testing.T) {
	t.Parallel()
	r := results{Trials: []taken{did(1, "c", ourPostgres, 1000)}}
	got, ok := r.check(cell{name: "c"}, floor{ourPostgres, rate, 2000})
	if !ok || got.Verdict != "misses" || got.Text != "1,000/s" || !strings.HasPrefix(got.Note, "1000 µs CPU a message") {
		t.Errorf("got %+v, want 1,000/s and 1000 µs a message", got)
	}
	if _, ok := r.check(cell{name: "other"}, floor{ourPostgres, rate, 1}); ok {
		t.Error("a floor was held against nothing")
	}
}

func TestEveryTargetIsOfContendersInItsCell(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, c := range cells(fullSizes) {
		in := map[string]bool{}
		for _, one := range c.contenders {
			in[one.name] = true
		}
		if names[c.name] || len(c.contenders) == 0 {
			t.Errorf("cell %q stands there twice, or has nobody in it", c.name)
		}
		names[c.name] = true
		for _, t2 := range c.targets {
			if t2.atLeast > 0 && (!in[t2.ours.name] || !in[t2.peer.name]) {
				t.Errorf("%s: a target of %s and %s, who are not both in it", c.name, t2.ours.name, t2.peer.name)
			}
		}
		for _, f := range c.floors {
			if !in[f.ours.name] {
				t.Errorf("%s: a floor of %s, which is not in it", c.name, f.ours.name)
			}
		}
	}
}

func TestEveryContenderHasItsLibrary(t *testing.T) {
	t.Parallel()
	known := libraries()
	for _, c := range cells(quickSizes) {
		for _, one := range c.contenders {
			if known[one.library] == nil && one.module == "" {
				t.Errorf("%s: there is no library %q", one.name, one.library)
			}
		}
	}
}

func TestForeignLoadIsWhatIsNotOurs(t *testing.T) {
	t.Parallel()
	before := load{busy: 100, idle: 100, ours: 50}
	for _, c := range []struct {
		after load
		want  float64
	}{
		{load{busy: 180, idle: 120, ours: 70}, 0.6},
		{load{busy: 150, idle: 150, ours: 110}, 0}, // clocks of different grain
		{before, -1}, // the system does not say
	} {
		if got := c.after.foreign(before); got < c.want-1e-9 || got > c.want+1e-9 {
			t.Errorf("%+v after %+v: got %g, want %g", c.after, before, got, c.want)
		}
	}
}

func TestTheTablesNameEverything(t *testing.T) {
	t.Parallel()
	r := results{Trials: []taken{did(1, "whole flow", ourPostgres, 30_000), did(1, "whole flow", vsRiver, 2000)}}
	r.Trials[1].Outcome.Cut, r.Trials[1].Drift = true, 0.2
	r.judge()
	var out bytes.Buffer
	r.out = &out
	r.printRatios()
	r.printAlone()
	r.printFigures()
	for _, want := range []string{"15.00", "meets", "at least 20,000/s", "Posthouse PostgreSQL", "River", "1 of 1 cut", "drift in 1 of 1"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the tables do not say %q:\n%s", want, &out)
		}
	}
}
