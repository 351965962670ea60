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
	workers int  // at most, for the trials with workers; 0: the cell's own
	single  bool // has no call for many
}

// The contenders. Ours come first in every cell.
var (
	ourSQLite   = contender{name: "Posthouse SQLite", library: "posthouse", backend: "sqlite", ours: true}
	ourPostgres = contender{name: "Posthouse PostgreSQL", library: "posthouse", backend: "postgres", ours: true}
	ourMariaDB  = contender{name: "Posthouse MariaDB", library: "posthouse", backend: "mariadb", ours: true}

	doorSQLite   = contender{name: "Posthouse SQLite, HTTP", library: "posthouse-http", backend: "sqlite", ours: true}
	doorPostgres = contender{name: "Posthouse PostgreSQL, HTTP", library: "posthouse-http", backend: "postgres", ours: true}
	doorMariaDB  = contender{name: "Posthouse MariaDB, HTTP", library: "posthouse-http", backend: "mariadb", ours: true}

	vsRiver     = contender{name: "River", library: "river", backend: "postgres", workers: 100}
	vsRiver2000 = contender{name: "River, 2000 workers", library: "river", backend: "postgres", workers: 2000}
	vsAsynq     = contender{name: "Asynq, RDB", library: "asynq", backend: "redis", workers: 100, single: true}
	vsAsynqAOF  = contender{name: "Asynq, AOF always", library: "asynq", backend: "redis-aof", workers: 100, single: true}
	vsBacklite  = contender{name: "backlite", library: "backlite", backend: "sqlite", workers: 100}
)

// cell is one piece of work that all its contenders do.
type cell struct {
	name       string
	spec       trial.Spec
	quick      bool // part of the short run
	post       string
	contenders []contender
	targets    []target
}

// target is a ratio that design asks for: ours to a peer's in rates, a peer's to ours in
// latencies, so that more is better and 1 is equal.
type target struct {
	ours, peer contender
	of         measure
	atLeast    float64 // 0: shown without a target
}

// measure takes one figure from an outcome.
type measure string

const (
	rate measure = "rate"
	p50  measure = "p50"
	p99  measure = "p99"
)

func (m measure) of(o trial.Outcome) float64 {
	switch m {
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

// inflight is how many of our sends may be under way at once where a cell does not say.
const inflight = 1000

// sizes of a run.
type sizes struct {
	accept, flow, pace time.Duration
	drain, flowMax     int
	within             time.Duration
}

var (
	fullSizes  = sizes{accept: time.Second, flow: 2 * time.Second, pace: 3 * time.Second, drain: 20_000, flowMax: 40_000, within: 8 * time.Second}
	quickSizes = sizes{accept: time.Second / 2, flow: time.Second, pace: 2 * time.Second, drain: 10_000, flowMax: 20_000, within: 4 * time.Second}
)

// cells is the plan of a run: performance targets beside what is measured.
func cells(s sizes) []cell {
	ours := []contender{ourSQLite, ourPostgres, ourMariaDB}
	peers := []contender{vsRiver, vsAsynq, vsAsynqAOF, vsBacklite}
	all := append(ours, peers...)
	accept := func(name string, producers, batch int) cell {
		return cell{name: name, contenders: all, spec: trial.Spec{Kind: trial.Accept, Producers: producers, Batch: batch, For: s.accept}}
	}
	drain := func(name, post string, workers int) cell {
		return cell{name: name, contenders: all, post: post, spec: trial.Spec{Kind: trial.Drain, N: s.drain, Workers: workers, Within: s.within}}
	}
	accept64 := accept("accept, 64 producers", 64, 1)
	accept64.quick = true
	accept64.contenders = append(all, doorSQLite, doorPostgres, doorMariaDB)
	accept64.targets = []target{
		{ourPostgres, vsRiver, rate, 8}, {ourPostgres, vsAsynq, rate, 0.6}, {ourPostgres, vsAsynqAOF, rate, 1.5}, {ourSQLite, vsBacklite, rate, 2},
	}
	noop := drain("drain, no-op", "", inflight)
	noop.quick = true
	noop.contenders = append(all, vsRiver2000)
	noop.targets = []target{
		{ourPostgres, vsRiver, rate, 3}, {ourPostgres, vsRiver2000, rate, 2.5}, {ourPostgres, vsAsynq, rate, 2}, {ourSQLite, vsBacklite, rate, 10},
	}
	flow := cell{name: "whole flow", quick: true, contenders: all,
		spec: trial.Spec{Kind: trial.Flow, Producers: 64, Workers: inflight, N: s.flowMax, For: s.flow, Within: s.within}}
	flow.targets = []target{
		{ourPostgres, vsRiver, rate, 6}, {ourPostgres, vsAsynq, rate, 1.5}, {ourSQLite, vsBacklite, rate, 10},
	}
	return []cell{accept64, noop, flow}
}
