package pull

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/life"
	"github.com/posthouse/posthouse/internal/limittext"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// Reporter writes what agents report: whatever came in during the last write shares the next, as with the
// accepter. An agent is answered after the commit.
type Reporter struct {
	o       *Options
	permits *permits
	in      chan *reported

	mu      sync.Mutex
	waiting map[string]int // delivery → reports on it that are here and not yet written
}

// reported is what one agent reported at once.
type reported struct {
	list   []work.Report
	result chan answered // capacity 1: an agent that left blocks nothing
}

type answered struct {
	list []work.Report
	err  error
}

// maxReports bounds one write, and one call. maxOutcomeError is how much of an agent's error is kept, in
// characters.
const (
	maxReports      = 500
	maxOutcomeError = 500
	maxReportID     = 64
)

func newReporter(o *Options, p *permits) *Reporter {
	return &Reporter{o: o, permits: p, in: make(chan *reported, maxReports), waiting: map[string]int{}}
}

// ReportHandouts records what agents say. A Token of 0 means whichever the agent holds: its protocol has none.
func (rep *Reporter) ReportHandouts(ctx context.Context, reports []work.Report) ([]work.Report, error) {
	if len(reports) == 0 {
		return nil, nil
	}
	if err := checkReports(reports); err != nil {
		return nil, err
	}
	now := rep.o.Life.Now()
	list := slices.Clone(reports)
	for i := range list {
		r := &list[i]
		r.ID, r.At, r.Answer, r.Repeated = cmp.Or(r.ID, posthouse.NewID()), cmp.Or(r.At, now), "", false
		r.Error, r.Code, r.Ref = state.PlainRunes(r.Error, maxOutcomeError), state.Plain(r.Code, state.MaxCode), state.Plain(r.Ref, state.MaxRef)
		r.Request = state.Document(r.Request, state.MaxExcerpt)
	}
	rep.hush(ctx, list)
	return rep.submit(ctx, list)
}

// checkReports finds what keeps reports from being recorded at all.
func checkReports(list []work.Report) error {
	var problems []posthouse.Problem
	add := func(i int, field, format string, args ...any) {
		problems = append(problems, posthouse.Problem{Path: fmt.Sprintf("reports[%d].%s", i, field), Message: limittext.Said(format, args...)})
	}
	if len(list) > maxReports {
		problems = append(problems, posthouse.Problem{Path: "reports", Message: fmt.Sprintf("are %d: at most %d are allowed in one call", len(list), maxReports)})
	}
	for i := range list {
		if n := len(list[i].ReportID); n == 0 || n > maxReportID || state.Plain(list[i].ReportID, maxReportID) != list[i].ReportID {
			add(i, "report_id", "is %q: want 1 to %d characters", state.Plain(list[i].ReportID, maxReportID), maxReportID)
		}
		if list[i].Delivery == "" {
			add(i, "delivery", "is required: the id of what was handed out")
		}
		if !list[i].Outcome.Valid() {
			add(i, "outcome", "is %q: want one of %v", list[i].Outcome, posthouse.Outcomes())
		}
	}
	return posthouse.Invalid("the reports cannot be recorded", problems)
}

// submit waits until the reports are committed.
func (rep *Reporter) submit(ctx context.Context, list []work.Report) ([]work.Report, error) {
	r := &reported{list: list, result: make(chan answered, 1)}
	rep.expect(list, 1)
	select {
	case rep.in <- r:
	case <-rep.o.Life.Stopping():
		rep.expect(list, -1)
		return nil, life.ErrStopping
	case <-ctx.Done():
		rep.expect(list, -1)
		return nil, ctx.Err()
	}
	select {
	case a := <-r.result:
		return a.list, a.err
	case <-rep.o.Life.Context().Done():
		select {
		case a := <-r.result:
			return a.list, a.err
		default:
			return nil, life.ErrStopping
		}
	case <-ctx.Done():
		return nil, &posthouse.Error{Code: posthouse.CodeOutcomeUnknown, Message: "the agent left before the commit", Cause: ctx.Err()}
	}
}

// expect counts the reports that are here and not yet written.
func (rep *Reporter) expect(list []work.Report, n int) {
	rep.mu.Lock()
	defer rep.mu.Unlock()
	for i := range list {
		id := list[i].Delivery
		if rep.waiting[id] += n; rep.waiting[id] <= 0 {
			delete(rep.waiting, id)
		}
	}
}

// Has reports whether something about a delivery is about to be written: its agent is not silent then, however
// long the database takes.
func (rep *Reporter) Has(delivery string) bool {
	rep.mu.Lock()
	defer rep.mu.Unlock()
	return rep.waiting[delivery] > 0
}

// Run writes what is reported.
func (rep *Reporter) Run(ctx context.Context) {
	for {
		select {
		case r := <-rep.in:
			rep.write(ctx, rep.gather(r))
		case <-rep.o.Life.Stopping():
			for {
				select {
				case r := <-rep.in:
					rep.write(ctx, rep.gather(r))
				default:
					return
				}
			}
		}
	}
}

// gather takes what has queued up behind first, without waiting for more.
func (rep *Reporter) gather(first *reported) []*reported {
	runtime.Gosched()
	group, n := []*reported{first}, len(first.list)
	for n < maxReports {
		select {
		case r := <-rep.in:
			group, n = append(group, r), n+len(r.list)
		default:
			return group
		}
	}
	return group
}

// write records a group. When the database refuses it for what it holds, each is tried alone. An answer that was lost
// at the commit is repeated safely by the agent: its report ids are known then.
func (rep *Reporter) write(ctx context.Context, group []*reported) {
	var list []work.Report
	for _, r := range group {
		list = append(list, r.list...)
	}
	ended := map[string]attempt{} // by the ids of their reports
	after, err := rep.o.Words.Report(ctx, time.Now(), list, func(now time.Time, r *work.Report, known work.Known) *work.Change {
		c := rep.decide(now, r, known)
		if c != nil && r.Answer == posthouse.ReportDone {
			ended[r.ID] = attemptOf(c, now)
		}
		return c
	})
	if err != nil && len(group) > 1 && posthouse.CodeOf(err) == posthouse.CodeInternal {
		for _, r := range group {
			rep.write(ctx, []*reported{r})
		}
		return
	}
	rep.expect(list, -1)
	rep.permits.spend(holdsIn(list))
	rep.permits.uncount(holdsIn(list), func(i int) bool { return err == nil && list[i].Outcome == posthouse.OutcomeNotSent })
	for _, r := range group {
		a := answered{err: err}
		if err == nil {
			a.list, after = after[:len(r.list):len(r.list)], after[len(r.list):]
			rep.reportsTaken(a.list)
			rep.count(a.list, ended)
		}
		r.result <- a
	}
}

// attempt is one that a report has ended.
type attempt struct {
	key   work.MinuteKey
	took  time.Duration // since its start, zero where that was not told
	after posthouse.State
}

func attemptOf(c *work.Change, now time.Time) attempt {
	a := attempt{key: work.MinuteKey{Tenant: c.Before.Tenant, Channel: c.Before.Channel}, after: c.After.State}
	for i := range c.Events {
		if class := c.Events[i].Class; class != "" {
			a.key.Outcome = string(class)
		}
	}
	if started := c.Before.StartedAt; !started.IsZero() {
		a.took = max(0, now.Sub(started))
	}
	return a
}

// count tells the attempts that reports have ended, as they are counted by the minute.
func (rep *Reporter) count(list []work.Report, ended map[string]attempt) {
	for i := range list {
		if a, is := ended[list[i].ID]; is && !list[i].Repeated && a.key.Outcome != "" {
			rep.o.Counted(a.key, a.took, a.after)
		}
	}
}

// holdsIn are the hand-outs that reports are about.
func holdsIn(list []work.Report) []work.Hold {
	out := make([]work.Hold, len(list))
	for i := range list {
		out[i] = work.Hold{Delivery: list[i].Delivery, Token: list[i].Token}
	}
	return out
}

// decide is what follows from one report.
func (rep *Reporter) decide(now time.Time, r *work.Report, known work.Known) *work.Change {
	key := state.Key{Tenant: r.Tenant}
	var codes map[string]posthouse.Class
	if d := known.Delivery; d != nil {
		key = state.KeyOf(d)
		if c := rep.o.Channels.Channel(key.Tenant, key.Channel); c != nil {
			codes = c.Stored.Codes
		}
	}
	return state.AfterReport(rep.o.Channels.Settings(key), codes, r, known, now)
}

// reportsTaken says in the log and the metrics what agents reported, and wakes who waits for what came back.
func (rep *Reporter) reportsTaken(list []work.Report) {
	ctx := context.Background()
	for i := range list {
		r := &list[i]
		if r.Repeated {
			continue
		}
		rep.o.Metrics.Reports.WithLabelValues(string(r.Outcome), string(r.Answer)).Inc()
		level := slog.LevelDebug
		if r.Answer != posthouse.ReportDone || r.Outcome != posthouse.OutcomeSent && r.Outcome != posthouse.OutcomeDelivered {
			level = slog.LevelInfo
		}
		if rep.o.Log.Enabled(ctx, level) {
			rep.o.Log.Log(ctx, level, "agent reported", "tenant", r.Tenant, "agent", r.Agent, "delivery", r.Delivery, "token", r.Token,
				"outcome", r.Outcome, "code", r.Code, "error", r.Error, "answer", r.Answer, "state", r.State)
		}
	}
}
