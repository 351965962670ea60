package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/life"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/store/page"
	"github.com/posthouse/posthouse/internal/store/schema"
	"github.com/posthouse/posthouse/internal/store/sqldb"
)

// replica says whether what only shows something may be read from a copy of the database, which is always some way behind. Each server
// raises a mark in the database every second (tide); what was written before a mark, a copy has that has the mark.
type replica struct {
	store    *store.Replica
	clock    func(ctx context.Context) (time.Time, error) // of the database
	position func(ctx context.Context) (string, error)    // how far the database has written
	history  string                                       // names the installation
	most     time.Duration                                // that it may be behind
	log      *slog.Logger
	reads    *prometheus.CounterVec
	began    time.Time

	mu    sync.Mutex
	asOf  time.Time     // up to when it has everything, by the database's clock; zero where that was never known
	ahead time.Duration // of the database's clock before this process's
	why   string        // it does not answer; empty where it does
	said  string        // in the log
}

const (
	replicaEvery   = 500 * time.Millisecond // between two looks at the replica
	replicaPatient = 2 * time.Second        // that it may take to answer one
	replicaClock   = 20                     // looks after which the database's clock is read anew
	leastLag       = 3 * time.Second        // that a replica must be allowed
	replicaStart   = 5 * time.Second        // for a replica that follows to have what this start has written
	// replicaSlack is more than the database's clock can be from what is thought of it, and than a commit comes after the time it writes.
	replicaSlack = 250 * time.Millisecond
	// replicaIDs is how far an id's time, which is of the process that made it, may be before the commit by the database's clock.
	replicaIDs = 5 * time.Second
)

// openReplica opens it, and refuses what is no replica of this installation. One that does not answer is left out until it does.
func (s *Server) openReplica(ctx context.Context) error {
	reads := prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "posthouse", Name: "reads_total", Help: "Lists, searches, exports and charts that were read where there is a replica (read_dsn), by what answered: replica or primary.",
	}, []string{"from"})
	lag := &replicaLag{desc: prometheus.NewDesc("posthouse_read_replica_lag_seconds",
		"How old what the replica of read_dsn has is, to about a second. It grows while the replica, or the primary, is away.", nil, nil)}
	for _, c := range []prometheus.Collector{reads, lag} {
		if err := s.o.Registry.Register(c); err != nil {
			return err
		}
	}
	if s.o.ReadDSN == "" {
		return nil
	}
	opened, err := s.store.OpenReplica(ctx, s.o.ReadDSN)
	if err != nil {
		return fmt.Errorf("read_dsn: %w", err)
	}
	s.closing.add(opened.Close)
	r := &replica{
		store: opened, clock: s.store.DB.Now, position: s.store.DB.Position, history: s.tide.seen.History, most: s.o.ReadMaxLag, log: s.o.Log,
		reads: reads, began: time.Now(),
	}
	if err := r.begin(ctx); err != nil {
		return fmt.Errorf("read_dsn: %w", err)
	}
	s.replica = r
	lag.of.Store(r)
	return nil
}

// replicaLag tells how old what the replica has is, and nothing without one.
type replicaLag struct {
	desc *prometheus.Desc
	of   atomic.Pointer[replica]
}

// Describe is prometheus.Collector's.
func (l *replicaLag) Describe(to chan<- *prometheus.Desc) { to <- l.desc }

// Collect is prometheus.Collector's.
func (l *replicaLag) Collect(to chan<- prometheus.Metric) {
	if r := l.of.Load(); r != nil {
		to <- prometheus.MustNewConstMetric(l.desc, prometheus.GaugeValue, r.age().Seconds())
	}
}

// begin looks at the replica until it has what this start has written, or has had time for it.
func (r *replica) begin(ctx context.Context) error {
	if err := r.readClock(ctx); err != nil {
		return err
	}
	late := time.Now().Add(replicaStart)
	position, err := r.position(ctx)
	if err != nil {
		r.log.Debug("the database does not say how far it has written", "error", err)
	}
	for {
		caught, _ := r.store.DB.Reached(ctx, position) // where it does not say so, it has some time
		err := r.look(ctx)
		var none *sqldb.NoReplica
		switch {
		case err == nil, posthouse.CodeOf(err) == posthouse.CodeUnavailable:
			return nil
		case errors.As(err, &none) && none.Final, caught, time.Now().After(late):
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(replicaEvery / 5):
		}
	}
}

// follow looks at the replica until ctx ends.
func (r *replica) follow(ctx context.Context) {
	tick := time.NewTicker(life.Spread(replicaEvery))
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if n%replicaClock == 0 {
			_ = r.readClock(ctx) // else it goes by the last reading
		}
		_ = r.look(ctx) // it is said in the log
	}
}

func (r *replica) readClock(ctx context.Context) error {
	asked := time.Now()
	there, err := r.clock(ctx)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ahead = there.Sub(asked.Add(time.Since(asked) / 2))
	return nil
}

// look asks the replica how far it has come.
func (r *replica) look(ctx context.Context) error {
	within, cancel := context.WithTimeout(ctx, replicaPatient)
	defer cancel()
	at, err := r.store.AsOf(within, r.history)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	why, say := "", ""
	var none *sqldb.NoReplica
	switch {
	case errors.As(err, &none):
		why, say = none.Why, none.Why
	case err != nil:
		why = "it is away"
		say = why + ": " + causeOf(err)
		if r.why == why {
			say = r.said // for the same reason, or another one
		}
	default:
		r.asOf = at
		if fell := r.store.DB.FellBack(); !fell.IsZero() && at.After(fell.Add(r.ahead+replicaSlack)) {
			r.store.DB.Rejoin(fell)
		}
		if behind := r.behind(); behind > r.most {
			say = fmt.Sprintf("it is further behind than read_max_lag (%s)", posthouse.Duration(r.most))
		}
	}
	r.why = why
	if say != r.said {
		if say != "" {
			r.log.Warn("the replica does not answer lists, the database does: "+say, "as_of", schema.Moment(r.asOf))
		} else {
			r.log.Info("the replica answers lists again", "behind", r.behind().String())
		}
		r.said = say
	}
	return err
}

// causeOf is what a driver said. That the database does not answer, as the error itself says, is not so.
func causeOf(err error) string {
	var coded *posthouse.Error
	if errors.As(err, &coded) && coded.Cause != nil {
		return coded.Cause.Error()
	}
	return err.Error()
}

// now is the time by the database's clock. The caller holds mu.
func (r *replica) now() time.Time { return time.Now().Add(r.ahead) }

// behind is how old what the replica has is. The caller holds mu.
func (r *replica) behind() time.Duration { return max(0, r.now().Sub(r.asOf)) }

// age is behind; since this process began where nothing is known of it.
func (r *replica) age() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asOf.IsZero() {
		return time.Since(r.began)
	}
	return r.behind()
}

// Fresh is how far the replica has come, where it may answer what asks for nothing older than since. A cursor that leads on from an entry
// which the replica may not have yet is for the primary: the entries below it would be missing from the list.
func (r *replica) Fresh(since time.Time, cursor string) (asOf time.Time, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	ok = r.why == "" && r.store.DB.FellBack().IsZero() && !r.asOf.IsZero() && r.behind() <= r.most && !since.After(r.asOf) && !page.Moment(cursor).After(r.asOf.Add(-replicaIDs))
	from := "primary"
	if ok {
		from = "replica"
	}
	r.reads.WithLabelValues(from).Inc()
	return r.asOf, ok
}

// Now is a time by the database's clock: what was written before, everything has that is as of then.
func (r *replica) Now() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now().Add(replicaSlack)
}

// check is the replica's for /readyz. The server is ready without it.
func (r *replica) check() Check {
	c := Check{Name: "read replica", Optional: true}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.why != "":
		c.Detail = r.why + ": the database answers lists itself"
	case r.behind() > r.most:
		c.Detail = fmt.Sprintf("it is %s behind, and may be %s: the database answers lists itself", r.behind().Round(time.Second), posthouse.Duration(r.most))
	default:
		c.OK, c.Detail = true, fmt.Sprintf("%s behind", r.behind().Round(100*time.Millisecond))
	}
	return c
}
