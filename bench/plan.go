package main

import (
	"time"

	"github.com/posthouse/posthouse/bench/trial"
)

// contender is a library on a database, with its workers.
type contender struct {
	name    string
	library string
	backend string
	ours    bool
	workers int    // at most, for the cells that leave it open; 0: inflight
	single  bool   // has no call for many
	rare    bool   // left out of the short run
	module  string // the nested module whose program runs it; "" for this one
}

// The contenders.
var (
	ourSQLite   = contender{name: "Posthouse SQLite", library: "posthouse", backend: "sqlite", ours: true}
	ourPostgres = contender{name: "Posthouse PostgreSQL", library: "posthouse", backend: "postgres", ours: true}
	ourMariaDB  = contender{name: "Posthouse MariaDB", library: "posthouse", backend: "mariadb", ours: true}

	vsRiver       = contender{name: "River", library: "river", backend: "postgres", workers: 100}
	vsRiver2000   = contender{name: "River, 2000 workers", library: "river", backend: "postgres", workers: 2000, rare: true}
	vsAsynq       = contender{name: "Asynq, RDB", library: "asynq", backend: "redis", workers: 100, single: true}
	vsAsynqAOF    = contender{name: "Asynq, AOF always", library: "asynq", backend: "redis-aof", workers: 100, single: true, rare: true}
	vsBacklite    = contender{name: "backlite", library: "backlite", backend: "sqlite", workers: 1000}
	vsRiverSQLite = contender{name: "River SQLite", library: "river-sqlite", backend: "sqlite", workers: 1000, rare: true, module: "riversqlite"}
)

// through is one of ours by another way in.
func (c contender) through(library, name string) contender {
	c.library, c.name, c.rare = library, c.name+name, name != ""
	return c
}

// cell is one piece of work that all its contenders do.
type cell struct {
	name       string
	spec       trial.Spec
	post       string // where in the sink the handler posts; "" for none
	quick      bool   // part of the short run
	once       bool   // takes long: one round, and nothing in the opposite order
	contenders []contender
	targets    []target
	floors     []floor
}

// target is a ratio that the design asks for: ours to a peer's in rates, a peer's to ours in
// latencies, so that more is better and 1 is equal.
type target struct {
	ours, peer contender
	of         measure
	atLeast    float64 // 0: shown without a target
}

// floor is an absolute figure that the design asks for on a quiet machine.
type floor struct {
	ours contender
	of   measure
	// bound is the least rate a second, or the largest latency in seconds.
	bound float64
}

// measure takes one figure from an outcome.
type measure string

const (
	rate measure = "rate" // messages a second
	cost measure = "cost" // CPU time a message of the library and its database, in seconds
	p50  measure = "p50"
	p99  measure = "p99"
)

func (m measure) of(o trial.Outcome) float64 {
	switch m {
	case cost:
		return o.PerMessage().Seconds()
	case p50:
		return o.P50.Seconds()
	case p99:
		return o.P99.Seconds()
	}
	return o.PerSecond()
}

// ratio is how many times better ours is.
func (m measure) ratio(ours, peer float64) float64 {
	if m == rate {
		return ours / peer
	}
	return peer / ours
}

// sizes of a run.
type sizes struct {
	accept, flow, pace time.Duration
	fleet              time.Duration
	drain, flowMax     int
	within             time.Duration
}

var (
	fullSizes  = sizes{accept: time.Second, flow: 2 * time.Second, pace: 3 * time.Second, fleet: time.Minute, drain: 20_000, flowMax: 40_000, within: 6 * time.Second}
	quickSizes = sizes{accept: time.Second / 2, flow: time.Second, pace: 2 * time.Second, fleet: 5 * time.Second, drain: 10_000, flowMax: 20_000, within: 4 * time.Second}
)

func (s sizes) times(f float64) sizes {
	for _, d := range []*time.Duration{&s.accept, &s.flow, &s.pace, &s.fleet, &s.within} {
		*d = time.Duration(float64(*d) * f)
	}
	s.drain, s.flowMax = int(float64(s.drain)*f), int(float64(s.flowMax)*f)
	return s
}
