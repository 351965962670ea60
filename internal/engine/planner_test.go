package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/intake"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/store/storetest"
	"github.com/posthouse/posthouse/internal/work"
)

// ticks is a composer whose plans send "<id>-<n>" each minute. Their document is n.
type ticks struct {
	most  int
	fault map[string]func() error // by plan id, before anything is composed
}

func (c *ticks) Compose(_ context.Context, p work.Plan, _ time.Time) ([]posthouse.Draft, work.Plan, error) {
	if fault := c.fault[p.ID]; fault != nil {
		if err := fault(); err != nil {
			return nil, p, err
		}
	}
	var n int
	if _, err := fmt.Sscan(string(p.Doc), &n); err != nil {
		return nil, p, err
	}
	d := text("c", fmt.Sprintf("%s-%d", p.ID, n))
	d.Reminder = p.ID
	p.Doc, p.NextAt = fmt.Append(nil, n+1), p.NextAt.Add(time.Minute)
	if n+1 == c.most {
		p.NextAt = time.Time{}
	}
	return []posthouse.Draft{d}, p, nil
}

// planning starts an engine whose reminders are composed by c, and returns it.
func (r *rig) planning(c intake.Composer, o Options) *Engine {
	r.Helper()
	o.Stores, o.Rosters, o.Limiter = parts(storetest.All(r.store)), r.store.Rosters, limit.SQL{Rows: r.store.Limits}
	o.Log, o.Poll = slog.New(slog.NewTextHandler(r.Output(), nil)), either(o.Poll, 2*time.Second)
	o.Composers = map[work.PlanType]intake.Composer{work.PlanReminder: c}
	e, err := New(o)
	if err == nil {
		err = e.Start(context.Background())
	}
	if err != nil {
		r.Fatal(err)
	}
	return e
}

// plan writes plans that are due after a wait.
func (r *rig) plan(e *Engine, wait time.Duration, ids ...string) {
	r.Helper()
	var plans []work.Plan
	for _, id := range ids {
		plans = append(plans, work.Plan{Tenant: r.tenant, Type: work.PlanReminder, ID: id, Doc: []byte("0"), NextAt: time.Now().Add(wait)})
	}
	if _, err := e.Intake.Accept(context.Background(), intake.Request{Caller: work.Program(), Tenant: r.tenant, Endpoint: "reminders", Plans: plans}); err != nil {
		r.Fatal(err)
	}
}

func (r *rig) planOf(id string) work.Plan {
	r.Helper()
	p, found, err := r.store.Plans.Plan(context.Background(), r.tenant, work.PlanReminder, id)
	if err != nil || !found {
		r.Fatalf("plan %s: found %v, %v", id, found, err)
	}
	return p
}

func TestAPlanSendsAtEachOfItsMoments(t *testing.T) {
	virtual(t, func(r *rig) {
		r.stop()
		r.engine = r.planning(&ticks{most: 3}, Options{})
		r.open("c", posthouse.ChannelSettings{}, idempotent)
		r.plan(r.engine, 0, "a")
		r.pass(time.Millisecond) // woken: it does not wait for the next look
		if diff := cmp.Diff([]string{"a-0"}, r.provider.to()); diff != "" {
			r.Errorf("at once (-want +got):\n%s", diff)
		}
		r.pass(4 * time.Minute)
		if diff := cmp.Diff([]string{"a-0", "a-1", "a-2"}, r.provider.to()); diff != "" {
			r.Errorf("(-want +got):\n%s", diff)
		}
		if p := r.planOf("a"); p.Version != 4 || !p.NextAt.IsZero() {
			r.Errorf("got %+v, want version 4 and no further moment", p)
		}
		list, _, err := r.store.Messages.Messages(context.Background(), work.Filter{Sight: work.SeeAll(), Tenant: r.tenant})
		if err != nil || len(list) != 3 || list[0].Message.Reminder != "a" {
			r.Errorf("messages: %+v, %v; want 3 that name their reminder", list, err)
		}
	})
}

// FLOW-12: a plan's moment is taken by one of all processes.
func TestEachMomentBelongsToOneOfTwoEngines(t *testing.T) {
	virtual(t, func(r *rig) {
		r.stop()
		r.engine = r.planning(&ticks{most: 5}, Options{})
		other := r.planning(&ticks{most: 5}, Options{})
		defer func() {
			if err := other.Stop(context.Background()); err != nil {
				r.Error(err)
			}
		}()
		r.open("c", posthouse.ChannelSettings{}, idempotent)
		ch := r.engine.Routes.route(r.tenant, "c")
		if err := other.Routes.SetChannel(ch.Stored, ch.Opened); err != nil {
			r.Fatal(err)
		}
		ids := strings.Fields("a b c d e f g h")
		r.plan(r.engine, time.Minute, ids...)
		r.pass(7 * time.Minute)
		times := map[string]int{}
		for _, user := range r.provider.to() {
			times[user]++
		}
		for _, id := range ids {
			for n := range 5 {
				if user := fmt.Sprintf("%s-%d", id, n); times[user] != 1 {
					r.Errorf("%s was told %d times, want once", user, times[user])
				}
			}
		}
	})
}

func TestAPlanThatFailsIsPutOffAndHoldsUpNoOther(t *testing.T) {
	for name, c := range map[string]struct {
		fault func() error
		want  string
	}{
		"an error": {func() error { return errors.New("the directory does not answer") }, "the directory does not answer"},
		"a panic":  {func() error { panic("no such field") }, "no such field"},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(r *rig) {
				r.stop()
				r.engine = r.planning(&ticks{most: 2, fault: map[string]func() error{"bad": c.fault}}, Options{})
				r.open("c", posthouse.ChannelSettings{}, idempotent)
				r.plan(r.engine, 0, "bad", "good")
				r.pass(2 * time.Minute)
				if diff := cmp.Diff([]string{"good-0", "good-1"}, r.provider.to()); diff != "" {
					r.Errorf("(-want +got):\n%s", diff)
				}
				if p := r.planOf("bad"); p.Failures != 5 || !strings.Contains(p.Error, c.want) || p.Version != 1 {
					r.Errorf("after 0, 5, 15, 35 and 75 seconds: got %d failures, %q, version %d", p.Failures, p.Error, p.Version)
				}
			})
		})
	}
}

// What cannot be sent as it is, such as to a channel that is not configured yet, is put off as well, and
// goes on as soon as it can be.
func TestAPlanWhoseDraftIsRefusedGoesOnLater(t *testing.T) {
	virtual(t, func(r *rig) {
		r.stop()
		r.engine = r.planning(&ticks{most: 1}, Options{})
		r.plan(r.engine, 0, "a")
		r.pass(time.Second)
		if p := r.planOf("a"); p.Failures != 1 || !strings.Contains(p.Error, `there is no channel "c"`) {
			r.Errorf("got %d failures, %q", p.Failures, p.Error)
		}
		r.open("c", posthouse.ChannelSettings{}, idempotent)
		r.pass(10 * time.Second)
		if diff := cmp.Diff([]string{"a-0"}, r.provider.to()); diff != "" {
			r.Errorf("(-want +got):\n%s", diff)
		}
		if p := r.planOf("a"); p.Failures != 0 || p.Error != "" {
			r.Errorf("got %d failures, %q; want them forgotten", p.Failures, p.Error)
		}
	})
}

func TestAFrontDoorDoesNotPlan(t *testing.T) {
	virtual(t, func(r *rig) {
		r.stop()
		r.engine = r.planning(&ticks{most: 1}, Options{AcceptOnly: true})
		r.open("c", posthouse.ChannelSettings{}, idempotent)
		r.plan(r.engine, 0, "a")
		r.pass(time.Minute)
		if p := r.planOf("a"); p.Version != 1 || p.Failures != 0 {
			r.Errorf("got %+v, want it untouched", p)
		}
	})
}
