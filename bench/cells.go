package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/posthouse/posthouse/bench/trial"
)

func ours() []contender { return []contender{ourSQLite, ourPostgres, ourMariaDB} }

// everybody is ours first, then the peers.
func everybody() []contender {
	return append(ours(), vsRiver, vsAsynq, vsAsynqAOF, vsBacklite, vsRiverSQLite)
}

// cells is the plan of a run: the work, who does it, and what the design asks of us.
func cells(s sizes) []cell {
	return slices.Concat(accepts(s), drains(s), []cell{flow(s), pace(s), offered(s), fleet(s)})
}

func accepts(s sizes) []cell {
	var out []cell
	for _, producers := range []int{1, 8, 64} {
		name := fmt.Sprintf("accept, %d producers", producers)
		if producers == 1 {
			name = "accept, 1 producer"
		}
		out = append(out, cell{
			name: name, contenders: everybody(), targets: against(0, 0, 0, 0, 0),
			spec: trial.Spec{Kind: trial.Accept, Producers: producers, Batch: 1, For: s.accept},
		})
	}
	single := &out[2]
	single.quick = true
	single.targets = against(8, 0.6, 1.5, 2, 8)
	for _, c := range ours() {
		single.contenders = append(single.contenders, c.through("posthouse-http", ", HTTP"))
	}
	batch := cell{
		name: "accept, batches of 1000", contenders: everybody(), targets: against(1.5, 0, 0, 1, 3),
		spec: trial.Spec{Kind: trial.Accept, Producers: 4, Batch: 1000, For: s.accept},
	}
	batch.contenders = slices.DeleteFunc(batch.contenders, func(c contender) bool { return c.single })
	return append(out, batch)
}

// withoutAOF leaves out what has no target and takes long.
func withoutAOF(list []contender) []contender {
	return slices.DeleteFunc(list, func(c contender) bool { return c.name == vsAsynqAOF.name })
}

func drains(s sizes) []cell {
	drain := func(name, post string, workers int, targets []target) cell {
		return cell{
			name: name, post: post, contenders: withoutAOF(everybody()), targets: targets,
			spec: trial.Spec{Kind: trial.Drain, N: s.drain, Workers: workers, Within: s.within},
		}
	}
	const inFlight = 500
	noop := drain("drain, no-op", "", 0, against(3, 2, 0, 10, 10))
	now := drain("drain, HTTP at once", sinkNow, 0, against(2, 1.3, 0, 4, 4))
	slow := drain("drain, HTTP 20 ms", sinkSlow, inFlight, against(1.5, 1.5, 0, 5, 5))
	noop.quick, now.quick = true, true
	for _, c := range []*cell{&noop, &now} {
		c.contenders = append(c.contenders, vsRiver2000)
	}
	noop.targets = append(noop.targets, target{ourPostgres, vsRiver2000, rate, 2.5})
	now.targets = append(now.targets, target{ourPostgres, vsRiver2000, rate, 0})
	// 500 in flight at 20 ms each, 1 ms for the way: nine tenths of what that allows.
	ceiling := 0.9 * inFlight / (slowness + time.Millisecond).Seconds()
	slow.floors = []floor{{ourSQLite, rate, ceiling}, {ourPostgres, rate, ceiling}}
	return []cell{noop, now, slow}
}

func flow(s sizes) cell {
	c := cell{
		name: "whole flow", quick: true, contenders: everybody(), targets: against(6, 1.5, 0, 10, 10),
		spec:   trial.Spec{Kind: trial.Flow, Producers: 64, N: s.flowMax, For: s.flow, Within: s.within},
		floors: []floor{{ourPostgres, rate, 20_000}, {ourSQLite, rate, 30_000}, {ourMariaDB, rate, 8_000}},
	}
	for _, one := range ours() {
		followed := one.through("posthouse-followed", ", followed")
		c.contenders = append(c.contenders, followed)
		c.targets = append(c.targets, target{followed, one, cost, 0})
	}
	return c
}

func pace(s sizes) cell {
	return cell{
		name: "latency at 1000/s", quick: true, contenders: withoutAOF(everybody()),
		spec: trial.Spec{Kind: trial.Pace, Rate: 1000, For: s.pace, Within: s.within},
		targets: []target{
			{ourPostgres, vsRiver, p50, 5}, {ourPostgres, vsRiver, p99, 4},
			{ourPostgres, vsAsynq, p50, 0.5}, {ourPostgres, vsAsynq, p99, 0}, {ourSQLite, vsAsynq, p50, 0.5}, {ourSQLite, vsAsynq, p99, 0},
			{ourSQLite, vsBacklite, p50, 5}, {ourSQLite, vsRiverSQLite, p50, 5},
		},
	}
}

// offered is the whole way at a high rate: accept, limiter, a real request, record.
func offered(s sizes) cell {
	c := cell{
		name: "10,000/s offered", quick: true, post: sinkStamped,
		spec: trial.Spec{Kind: trial.Pace, Rate: 10_000, For: s.pace, Within: s.within},
	}
	for _, one := range ours() {
		one = one.through("posthouse-limited", "")
		c.contenders = append(c.contenders, one)
		c.floors = append(c.floors, floor{one, p99, 0.1})
	}
	return c
}

// fleet is FLEET-12: messages come over HTTP in batches of 100 and go by 500 accounts with four windows each, whose rates follow
// what the provider answers.
func fleet(s sizes) cell {
	c := cell{
		name: "fleet, 10,000/s", quick: true, once: true, post: sinkStamped,
		spec: trial.Spec{Kind: trial.Pace, Rate: 10_000, Batch: 100, For: s.fleet, Within: s.within},
	}
	for _, one := range ours() {
		one = one.through("posthouse-fleet", "")
		c.contenders = append(c.contenders, one)
		c.floors = append(c.floors, floor{one, p99, 0.1})
	}
	return c
}

// against is the targets of rates: those of the networked queues are for us on PostgreSQL, and
// shown for SQLite too, those of the embedded ones for us on SQLite. 0 is no target.
func against(river, asynq, asynqAOF, backlite, riverSQLite float64) []target {
	return []target{
		{ourPostgres, vsRiver, rate, river},
		{ourPostgres, vsAsynq, rate, asynq}, {ourSQLite, vsAsynq, rate, asynq},
		{ourPostgres, vsAsynqAOF, rate, asynqAOF}, {ourSQLite, vsAsynqAOF, rate, asynqAOF},
		{ourSQLite, vsBacklite, rate, backlite}, {ourSQLite, vsRiverSQLite, rate, riverSQLite},
		{ourMariaDB, vsRiver, rate, 0},
	}
}
