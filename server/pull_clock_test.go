package server_test

import (
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/wire"
)

// PULL-14: what is left of a lease is the same in all answers, however far the server's clock is from the database's.
func TestPULL_WhatIsLeftOfALeaseGoesByTheDatabasesClock(t *testing.T) {
	t.Parallel()
	for _, away := range []string{"10 minutes", "-10 minutes"} {
		t.Run(away, func(t *testing.T) {
			t.Parallel()
			h := open(t, clockIsAway(t, away))
			p := h.register("phone-1")
			h.tells("u1")
			got, err := p.Handouts.Claim(t.Context(), p.id, wire.Claim{Wait: posthouse.Duration(20 * time.Second)})
			h.must(err)
			if len(got.Handouts) != 1 {
				t.Fatalf("got %d hand-outs, want one", len(got.Handouts))
			}
			one := got.Handouts[0]
			left := map[string]time.Duration{"the claim": millis(one.LeaseMillis), "the claim's times": one.LeaseUntil.Sub(got.ServerTime)}
			started, err := p.Handouts.Start(t.Context(), p.id, holdOf(one))
			h.must(err)
			left["the start"] = millis(started[0].LeaseMillis)
			renewed, err := p.Handouts.Renew(t.Context(), p.id, holdOf(one))
			h.must(err)
			left["the renewal"] = millis(renewed[0].LeaseMillis)
			held, err := p.Handouts.List(t.Context(), p.id)
			h.must(err)
			left["the list"] = millis(held[0].LeaseMillis)
			for answer, d := range left {
				if d < 30*time.Second || d > time.Minute+time.Second {
					t.Errorf("by %s %s of the lease is left, want nearly a minute", answer, d)
				}
			}
		})
	}
}

func millis(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// clockIsAway is a database whose clock is so far from this machine's.
func clockIsAway(t *testing.T, away string) (dsn string) {
	t.Helper()
	dsn = dbtest.Postgres(t)
	db := dbtest.SQL(t, dsn)
	for _, statement := range []string{
		`CREATE FUNCTION public.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS 'SELECT pg_catalog.clock_timestamp() + interval ''` + away + `'''`,
		`DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = public, pg_catalog', current_database()); END $$`,
	} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	return dsn
}
