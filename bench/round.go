package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/posthouse/posthouse/bench/trial"
)

// taken is one trial that was run.
type taken struct {
	Round     int           `json:"round"`
	Cell      string        `json:"cell"`
	Contender string        `json:"contender"`
	Outcome   trial.Outcome `json:"outcome"`
	// Failed says why there is no outcome. Such a trial counts nowhere.
	Failed string `json:"failed,omitempty"`
	// Sink is the CPU time of the sink for all messages, 0 where nothing is posted.
	Sink time.Duration `json:"sink"`
	// Foreign is the share of all CPU time that other programs took meanwhile, from 0 to 1, -1 where the system does not say.
	Foreign float64 `json:"foreign"`
	// Drift is by how much the machine's own speed changed during this cell's round.
	Drift float64 `json:"drift"`
}

// round runs every cell once: all contenders in order, and then in the opposite order, so
// that what changes steadily meanwhile hits the first and the last alike.
func (h *house) round(ctx context.Context, n int, into *results) error {
	for _, c := range h.plan() {
		if c.once && n > 1 {
			continue
		}
		there := h.present(c.contenders)
		back := slices.Clone(there)
		slices.Reverse(back)
		speeds := []time.Duration{calibrate()}
		first := len(into.Trials)
		halves := [][]contender{there, back}
		if c.once {
			halves = halves[:1]
		}
		for _, half := range halves {
			for _, of := range half {
				t := h.take(ctx, c, of)
				if err := ctx.Err(); err != nil {
					return err
				}
				t.Round = n
				fmt.Fprintf(os.Stderr, "%d  %-24s %-28s %s\n", n, c.name, of.name, t.line())
				into.Trials = append(into.Trials, t)
			}
			speeds = append(speeds, calibrate())
		}
		drift := float64(slices.Max(speeds))/float64(slices.Min(speeds)) - 1
		for i := range into.Trials[first:] {
			into.Trials[first+i].Drift = drift
		}
	}
	return nil
}

// take runs one trial and watches the machine meanwhile.
func (h *house) take(ctx context.Context, c cell, of contender) taken {
	before, sink := h.load(), cpuOf(syscall.RUSAGE_SELF)
	o, err := h.trial(ctx, c, of)
	t := taken{Cell: c.name, Contender: of.name, Outcome: o, Foreign: h.load().foreign(before)}
	if c.post != "" {
		t.Sink = cpuOf(syscall.RUSAGE_SELF) - sink
	}
	if err != nil {
		t.Failed = err.Error()
	}
	return t
}

// plan is the cells that were asked for.
func (h *house) plan() []cell {
	size := fullSizes
	if h.o.quick {
		size = quickSizes
	}
	var out []cell
	for _, c := range cells(size.times(h.o.scale)) {
		if hasWord(c.name, h.o.only) && (c.quick || !h.o.quick) {
			out = append(out, c)
		}
	}
	return out
}

func (h *house) present(all []contender) []contender {
	return slices.DeleteFunc(slices.Clone(all), func(c contender) bool { return !h.has(c.backend) || c.rare && h.o.quick || !hasWord(c.name, h.o.who) })
}

// line is a trial for a person who watches.
func (t taken) line() string {
	if t.Failed != "" {
		return "failed: " + t.Failed
	}
	o := t.Outcome
	s := fmt.Sprintf("%9s/s  %4d µs CPU a message  %3d MB", thousands(int(o.PerSecond())), o.PerMessage().Microseconds(), o.Peak>>20)
	if o.P50 > 0 {
		s += fmt.Sprintf("  p50 %s p99 %s", short(o.P50), short(o.P99))
	}
	if o.Cut {
		s += "  cut"
	}
	if t.Foreign > 0.1 {
		s += fmt.Sprintf("  foreign load %.0f %%", 100*t.Foreign)
	}
	return s
}

func short(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }

func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// slug is a name that suits a file.
func slug(name string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, name), "-")
}

// calibrate is how long this machine takes for a fixed piece of work right now.
func calibrate() time.Duration {
	best := time.Hour
	for range 5 {
		start := time.Now()
		sum := [sha256.Size]byte{}
		for range 100_000 {
			sum = sha256.Sum256(sum[:])
		}
		best = min(best, time.Since(start))
	}
	return best
}

// load is what the CPUs have done so far.
type load struct {
	busy, idle time.Duration // of all programs
	ours       time.Duration
}

// load reads /proc/stat, and what we and our databases have used.
func (h *house) load() load {
	l := load{ours: cpuOf(syscall.RUSAGE_SELF) + cpuOf(syscall.RUSAGE_CHILDREN)}
	for _, s := range h.servers {
		l.ours += trial.TreeCPU(s.PID())
	}
	l.busy, l.idle = machineCPU()
	return l
}

// foreign is the share that others took since before.
func (l load) foreign(before load) float64 {
	busy, idle := l.busy-before.busy, l.idle-before.idle
	if busy+idle <= 0 {
		return -1
	}
	return max(0, float64(busy-(l.ours-before.ours))/float64(busy+idle))
}

func cpuOf(who int) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(who, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
