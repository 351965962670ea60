package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/posthouse/posthouse/bench/peers/posthouse"
	"github.com/posthouse/posthouse/bench/trial"
	"github.com/posthouse/posthouse/internal/dbtest"
)

// processCommand is the argument by which this program is one of our servers on a database.
const processCommand = "process"

// Several of our processes work off one queue, on one database, beside a provider that takes 20 ms. Each has so many messages
// under way, so the rate grows with them, and what a message costs the database should not.
const (
	perProcess = 64
	// settling is how long after a process came or went its share is looked at.
	settling = 2 * time.Second
	shown    = 3 * time.Second
)

// processes measures 1, 2, 4 and 8 processes on one database.
func (h *house) processes(ctx context.Context) (out []finding, err error) {
	for _, backend := range h.ownDatabases() {
		if backend == "sqlite" {
			continue // has one
		}
		var alone crew
		for _, n := range []int{1, 2, 4, 8} {
			c, err := h.crew(ctx, backend, n)
			if err != nil {
				return out, fmt.Errorf("%s, %d processes: %w", backend, n, err)
			}
			if n == 1 {
				alone = c
			}
			out = append(out, c.findings(backend, n, alone)...)
		}
	}
	return out, nil
}

// crew is what some processes did.
type crew struct {
	sent, claims, conflicts int
	server                  time.Duration // of processor
	took                    time.Duration
	steady, died, joined    share
}

// share is how much the process with the least and that with the most sent, to what each would have of equal parts.
type share struct{ least, most float64 }

func (c crew) perMessage() float64 { return c.server.Seconds() * 1e6 / float64(max(1, c.sent)) }

func (c crew) findings(backend string, n int, alone crew) []finding {
	what := fmt.Sprintf("%d processes", n)
	cost := finding{What: what + ", the database's µs a message to one process's", Database: backend, Value: c.perMessage() / alone.perMessage(), Bound: "at most 1.15"}
	cost.Text = fmt.Sprintf("%.2f", cost.Value)
	cost.Note = fmt.Sprintf("%.1f µs, %.0f messages a second, %.1f a claim", c.perMessage(), float64(c.sent)/c.took.Seconds(), float64(c.sent)/float64(max(1, c.claims)))
	conflict := finding{What: what + ", claims that conflict", Database: backend, Value: float64(c.conflicts) / float64(max(1, c.claims)), Bound: "at most 1 %"}
	conflict.Text = fmt.Sprintf("%.2f %%", 100*conflict.Value)
	conflict.Note = fmt.Sprintf("%d of %d", c.conflicts, c.claims)
	out := []finding{cost.atMost(1.15), conflict.atMost(0.01)}
	if n == 1 {
		return out
	}
	for _, s := range []struct {
		when string
		share
	}{{"all the time", c.steady}, {"2 s after one was killed", c.died}, {"2 s after one joined", c.joined}} {
		f := finding{What: what + ", the largest share to an equal one, " + s.when, Database: backend, Value: s.most, Text: fmt.Sprintf("%.2f", s.most), Bound: "at most 1.25"}
		f.Note = fmt.Sprintf("the least %.2f", s.least)
		out = append(out, f.atMost(1.25))
	}
	return out
}

// crew has n processes work, and then, where there are several, one killed and one more begin.
func (h *house) crew(ctx context.Context, backend string, n int) (c crew, err error) {
	dsn, pid, drop, err := h.database(ctx, backend)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, drop()) }()
	measured := 6 * time.Second
	if h.o.quick {
		measured = 3 * time.Second
	}
	whole := settling + measured + 2*(settling+shown) + 5*time.Second
	most := float64(n*perProcess) / slowness.Seconds()
	if err := posthouse.Fill(ctx, dsn, h.sink.URL+sinkSlow, perProcess, int(most*whole.Seconds())); err != nil {
		return c, err
	}
	l, err := watch(backend, dsn)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	var list []*member
	defer func() {
		for _, m := range list {
			err = errors.Join(err, m.stop())
		}
	}()
	for range n {
		m, err := h.member(ctx, dsn)
		if err != nil {
			return c, err
		}
		list = append(list, m)
	}
	wait(ctx, settling)
	from, used, conflicts := time.Now(), trial.TreeCPU(pid), l.conflicts(ctx)
	wait(ctx, measured)
	to := time.Now()
	c.took, c.server, c.conflicts = to.Sub(from), trial.TreeCPU(pid)-used, l.conflicts(ctx)-conflicts
	var killed, joined time.Time
	if n > 1 {
		list[0].kill()
		killed, list = time.Now(), list[1:]
		wait(ctx, settling+shown)
		m, err := h.member(ctx, dsn)
		if err != nil {
			return c, err
		}
		list, joined = append(list, m), time.Now()
		wait(ctx, settling+shown)
	}
	if c.steady, c.sent, c.claims, err = l.between(ctx, from, to, n); err == nil && n > 1 {
		c.died, _, _, err = l.between(ctx, killed.Add(settling), killed.Add(settling+shown), n-1)
		if err == nil {
			c.joined, _, _, err = l.between(ctx, joined.Add(settling), joined.Add(settling+shown), n)
		}
	}
	return c, err
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// member is one process.
type member struct {
	cmd *exec.Cmd
	in  io.WriteCloser
}

// member starts a process and waits until it works.
func (h *house) member(ctx context.Context, dsn string) (*member, error) {
	cmd := exec.CommandContext(ctx, h.program, processCommand, dsn) //nolint:gosec // this program
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	_, err = bufio.NewReader(out).ReadString('\n')
	return &member{cmd, in}, err
}

func (m *member) stop() error { return errors.Join(m.in.Close(), m.cmd.Wait()) }

// kill ends it as a crash would.
func (m *member) kill() {
	_ = m.cmd.Process.Kill()
	_ = m.cmd.Wait() // says that it was killed
}

// watcher reads what processes did.
type watcher struct {
	*line
	locks string // counts the waits and deadlocks of the database, in one column
}

// watch opens the database beside them.
func watch(backend, dsn string) (*watcher, error) {
	raw, err := openRaw(dsn)
	if err != nil {
		return nil, err
	}
	w := &watcher{line: &line{raw: raw}, locks: "SELECT COALESCE(SUM(deadlocks), 0) FROM pg_stat_database"}
	if serverOptions[backend].Kind == dbtest.KindMariaDB {
		w.locks = "SELECT SUM(variable_value) FROM information_schema.global_status WHERE variable_name IN ('INNODB_ROW_LOCK_WAITS', 'INNODB_DEADLOCKS')"
	}
	return w, nil
}

// Close closes the database.
func (w *watcher) Close() error { return w.raw.Close() }

// conflicts counts since the server began.
func (w *watcher) conflicts(ctx context.Context) int {
	var n float64
	_ = w.raw.QueryRowContext(ctx, w.locks).Scan(&n) // 0 where the database does not say
	return int(n)
}

// between is what n processes sent in a time: the shares, all of it, and in how many claims.
func (w *watcher) between(ctx context.Context, from, to time.Time, n int) (s share, sent, claims int, err error) {
	rows, err := w.raw.QueryContext(ctx, fmt.Sprintf("SELECT owner, COUNT(*), COUNT(DISTINCT started_at) FROM posthouse_sent WHERE at >= %d AND at < %d GROUP BY owner", from.UnixMicro(), to.UnixMicro()))
	if err != nil {
		return s, 0, 0, err
	}
	defer rows.Close()
	var each []int
	for rows.Next() {
		var owner string
		var of, in int
		if err := rows.Scan(&owner, &of, &in); err != nil {
			return s, 0, 0, err
		}
		each, sent, claims = append(each, of), sent+of, claims+in
	}
	for len(each) < n {
		each = append(each, 0)
	}
	s.least = float64(sent)
	for _, of := range each {
		equal := float64(max(1, sent)) / float64(n)
		s.least, s.most = min(s.least, float64(of)/equal), max(s.most, float64(of)/equal)
	}
	return s, sent, claims, rows.Err()
}
