package server

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/posthouse/posthouse/internal/store/sqldb"
)

// away says in the log that the database does not answer: once when that begins, once a minute, and once when it ends.
// Lines of the same kind, by the roles or by requests, are counted meanwhile and left out.
type away struct {
	log  slog.Handler
	ping func(ctx context.Context) error

	mu      sync.Mutex
	ended   bool // nothing begins any more
	going   context.CancelFunc
	watches sync.WaitGroup
	left    int // lines that were left out
	back    time.Time
}

const (
	awayPing = time.Second     // between two looks whether it is back
	awayTold = time.Minute     // between two lines
	awayLate = 5 * time.Second // how long after its return somebody may still speak of its absence
)

// note is told of a line about a database that does not answer.
func (a *away) note(text string, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ended || a.going != nil || now.Sub(a.back) < awayLate {
		a.left++
		return
	}
	var ctx context.Context
	ctx, a.going = context.WithCancel(context.Background())
	a.say(slog.LevelWarn, "the database does not answer: nothing is accepted or sent until it does; what else the log would say of it is counted", slog.String("error", text))
	a.watches.Go(func() { a.watch(ctx, now) })
}

// watch waits until the database answers again.
func (a *away) watch(ctx context.Context, since time.Time) {
	tick := time.NewTicker(awayPing)
	defer tick.Stop()
	told := since
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			if a.answers(ctx) {
				a.returned(since, time.Now())
				return
			}
			if now.Sub(told) >= awayTold {
				told = now
				a.still(now.Sub(since))
			}
		}
	}
}

func (a *away) answers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, awayPing)
	defer cancel()
	return a.ping(ctx) == nil
}

func (a *away) still(since time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.say(slog.LevelWarn, "the database still does not answer", slog.String("for", since.Round(time.Second).String()), slog.Int("lines_left_out", a.left))
}

func (a *away) returned(since, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.going()
	a.say(slog.LevelInfo, "the database answers again", slog.String("after", now.Sub(since).Round(time.Second).String()), slog.Int("lines_left_out", a.left))
	a.going, a.left, a.back = nil, 0, now
}

// say writes a line of its own.
func (a *away) say(level slog.Level, text string, attrs ...slog.Attr) {
	r := slog.NewRecord(time.Now(), level, text, 0)
	r.AddAttrs(attrs...)
	if a.log.Enabled(context.Background(), level) {
		_ = a.log.Handle(context.Background(), r) // as slog does: a log that cannot be written can say so nowhere
	}
}

// end ends the watch.
func (a *away) end() error {
	a.mu.Lock()
	a.ended = true
	if a.going != nil {
		a.going()
	}
	a.mu.Unlock()
	a.watches.Wait()
	return nil
}

// quiet is a log that hands lines about a database that does not answer to away.
type quiet struct {
	slog.Handler
	away *away
}

// Handle is slog.Handler's.
func (q quiet) Handle(ctx context.Context, r slog.Record) error {
	if about := absence(r); about != "" {
		q.away.note(about, r.Time)
		return nil
	}
	return q.Handler.Handle(ctx, r)
}

// absence is what a line says of a database that does not answer, empty for other lines. The line of a run is none of
// them, it has a stack: a job says of each run how it ended, which is once a minute as a rule.
func absence(r slog.Record) (about string) {
	if r.Level < slog.LevelWarn {
		return ""
	}
	run := false
	r.Attrs(func(at slog.Attr) bool {
		switch text := at.Value.String(); {
		case at.Key == "error" && (strings.Contains(text, sqldb.NoAnswer) || strings.Contains(text, sqldb.FileGone)):
			about = text
		case at.Key == "stack":
			run = true
		}
		return true
	})
	if run {
		return ""
	}
	return about
}

// WithAttrs is slog.Handler's.
func (q quiet) WithAttrs(attrs []slog.Attr) slog.Handler {
	return quiet{q.Handler.WithAttrs(attrs), q.away}
}

// WithGroup is slog.Handler's.
func (q quiet) WithGroup(name string) slog.Handler { return quiet{q.Handler.WithGroup(name), q.away} }
