package httpapi

import (
	"context"
	"fmt"
	re2 "regexp/syntax"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
)

// A regular expression takes time in the length of the text and the size of its program: RE2 looks at each byte at most
// once for each instruction. Both are known before it runs, so its effort is bounded without a clock.
const (
	// longestPattern is in bytes, largestProgram in instructions: ten times what the patterns of our guides have.
	longestPattern = 500
	largestProgram = 300
	// freeEffort costs about 2 ms. An answer of ordinary length stays below it.
	freeEffort = 64 << 10
	// mostEffort is what reading one answer may take, about 100 ms. The patterns are not run on an answer beyond it.
	mostEffort = 4 << 20
	// effortRate is what a channel's answers may take in a second beyond what is free: a sixth of a processor. A channel
	// that needs more waits, and with it its own sends only.
	effortRate = 4 << 20
)

// CodeEffort is the code of an answer that the channel's patterns would take too long to read.
const CodeEffort = "ANSWER_TOO_LONG"

// programSize is the number of instructions of a pattern's program.
func programSize(pattern string) (int, error) {
	re, err := re2.Parse(pattern, re2.Perl)
	if err != nil {
		return 0, err
	}
	program, err := re2.Compile(re.Simplify())
	if err != nil {
		return 0, err
	}
	return len(program.Inst), nil
}

// effort is what reading an answer takes: every pattern on all of it. Those for single results see all of it together.
func (p *plan) effort(answer int) int { return p.patterns * answer }

// meter lets a channel's costly answers be read one after another, at a bounded rate.
type meter struct {
	mu   sync.Mutex
	free time.Time // when the next may begin
}

// wait waits until an answer may be read.
func (m *meter) wait(ctx context.Context, effort int) error {
	pause := m.take(time.Now(), effort)
	if pause <= 0 {
		return nil
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// take notes an effort and says how long to wait before it.
func (m *meter) take(now time.Time, effort int) time.Duration {
	if effort <= freeEffort {
		return 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	begin := m.free
	if begin.Before(now) {
		begin = now
	}
	m.free = begin.Add(time.Duration(effort) * time.Second / effortRate)
	return begin.Sub(now)
}

// readable reports whether an answer may be read by the channel's patterns, after a wait where that is due.
func (d *driver) readable(ctx context.Context, r *channel.Reply) bool {
	effort := d.effort(len(r.Body))
	return effort <= mostEffort && d.meter.wait(ctx, effort) == nil
}

// unreadable is the verdict on an answer that is not read: what its status says, which for a 2xx is nothing.
func (d *driver) unreadable(r *channel.Reply) channel.Verdict {
	v := d.ended(r, answer{}, channel.Verdict{})
	if r.OK() {
		v = classed(v, d.meaning(answer{}, CodeEffort, "", posthouse.ClassUnknown))
		v.Code = CodeEffort
		v.Message = fmt.Sprintf("the channel's regular expressions take too long on an answer of %d bytes, so it may have accepted: make them simpler, or use JSON paths", len(r.Body))
	}
	return v
}
