package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/flow"
	"github.com/posthouse/posthouse/internal/store/page"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/workflow"
)

// plan is a reminder of tenant t1 that is due at a time.
func plan(id string, due time.Time) work.Plan {
	return work.Plan{Tenant: "t1", Type: work.PlanReminder, ID: id, Kind: "order", Ref: "7", Doc: []byte(`{"id":"` + id + `","text":"提醒"}`), NextAt: due.UTC().Truncate(time.Microsecond)}
}

func planned(plans ...work.Plan) *work.Submission {
	return &work.Submission{Tenant: "t1", Endpoint: "reminders", KeyTTL: time.Hour, Plans: plans}
}

// put stores submissions in one transaction.
func put(t testing.TB, s *Store, subs ...*work.Submission) []work.Outcome {
	t.Helper()
	out, err := s.Submissions.Accept(t.Context(), at(), subs)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func getPlan(t testing.TB, s *Store, id string) work.Plan {
	t.Helper()
	p, found, err := s.Plans.Plan(t.Context(), "t1", work.PlanReminder, id)
	if err != nil || !found {
		t.Fatalf("Plan(%q): found %v, %v", id, found, err)
	}
	return p
}

func TestAPlanIsStoredAndWrittenOverTheVersionThatWasRead(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		want := plan("r 1 提醒", time.Now().Add(time.Hour))
		out := put(t, s, planned(want))
		if got := out[0].Accepted; len(got) != 1 || got[0].ID != want.ID || got[0].CreatedAt.IsZero() {
			t.Errorf("accepted = %+v, want the plan's id", got)
		}
		got := getPlan(t, s, want.ID)
		want.Version = 1
		stamps := cmpopts.IgnoreFields(work.Plan{}, "CreatedAt", "UpdatedAt")
		if diff := cmp.Diff(want, got, stamps); diff != "" || got.CreatedAt.IsZero() {
			t.Errorf("the first version (-want +got):\n%s", diff)
		}
		created := got.CreatedAt
		got.Doc, got.NextAt, got.Failures, got.Error = []byte(`{}`), time.Time{}, 2, "no 渠道"
		if out := put(t, s, planned(got)); out[0].Err != nil {
			t.Fatal(out[0].Err)
		}
		want, got.Version = got, 2
		if diff := cmp.Diff(got, getPlan(t, s, got.ID), stamps); diff != "" {
			t.Errorf("the second version (-want +got):\n%s", diff)
		}
		if now := getPlan(t, s, got.ID); !now.CreatedAt.Equal(created) {
			t.Errorf("created at %v, want %v as before", now.CreatedAt, created)
		}
		wantCode(t, put(t, s, planned(want))[0].Err, posthouse.CodeConflict)
		wantCode(t, put(t, s, planned(plan(got.ID, time.Now())))[0].Err, posthouse.CodeConflict)
		if _, found, err := s.Plans.Plan(t.Context(), "t2", work.PlanReminder, got.ID); found || err != nil {
			t.Errorf("another tenant: found %v, %v", found, err)
		}
		if _, found, err := s.Plans.Plan(t.Context(), "t1", work.PlanTask, got.ID); found || err != nil {
			t.Errorf("another type: found %v, %v", found, err)
		}
	})
}

// Of one group commit, only the submission whose plan has moved on is refused, and nothing of it stays:
// neither its other plans, nor its messages, nor its keys.
func TestAStalePlanRefusesItsSubmissionOnly(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		put(t, s, planned(plan("b", time.Now())))
		stale := submit(entry(2, func(e *work.Entry) { e.Message.DedupKey = "d" }))
		stale.Key, stale.Hash, stale.Plans = "k", "h", []work.Plan{plan("c", time.Now()), plan("b", time.Now()), plan("a", time.Now())}
		good := submit(entry(1))
		good.Plans = []work.Plan{getPlan(t, s, "b")}
		plain := submit(entry(1))
		out := put(t, s, good, stale, plain)
		if out[0].Err != nil || out[2].Err != nil {
			t.Errorf("the others: %v, %v", out[0].Err, out[2].Err)
		}
		wantCode(t, out[1].Err, posthouse.CodeConflict)
		for table, want := range map[string]int64{"posthouse_plans": 1, "posthouse_messages": 2, "posthouse_queue": 2, "posthouse_transitions": 2, "posthouse_dedup": 0, "posthouse_idempotency": 0} {
			if n := count(t, s, "SELECT COUNT(*) FROM "+table); n != want {
				t.Errorf("%d rows of %s, want %d", n, table, want)
			}
		}
		if p := getPlan(t, s, "b"); p.Version != 2 {
			t.Errorf("version %d, want 2", p.Version)
		}
	})
}

// A repeated Idempotency-Key is told the first answer and writes no plan, whether or not there were messages.
func TestARepeatedKeyWritesNoPlan(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		first := planned(plan("a", time.Now()))
		first.ID, first.Key, first.Hash = posthouse.NewID(), "k", "h"
		again := planned(plan("b", time.Now()))
		again.ID, again.Key, again.Hash = posthouse.NewID(), "k", "h"
		want := put(t, s, first)[0]
		got := put(t, s, again)[0]
		if diff := cmp.Diff(want.Accepted, got.Accepted); want.Replayed || !got.Replayed || diff != "" {
			t.Errorf("replayed %v, then %v (-want +got):\n%s", want.Replayed, got.Replayed, diff)
		}
		if n := count(t, s, "SELECT COUNT(*) FROM posthouse_plans"); n != 1 {
			t.Errorf("%d plans, want 1", n)
		}
		again.Hash = "other"
		wantCode(t, put(t, s, again)[0].Err, posthouse.CodeKeyReused)
	})
}

// Each of many writers of one plan, who read again after a conflict, has its message stored with exactly
// one version.
func TestManyWritersOfOnePlanTakeTurns(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		const writers, rounds = 16, 4
		var conflicts atomic.Int64
		var wg sync.WaitGroup
		for range writers {
			wg.Go(func() {
				for done := 0; done < rounds; {
					p, found, err := s.Plans.Plan(t.Context(), "t1", work.PlanReminder, "one")
					if !found {
						p = plan("one", time.Now())
					}
					sub := submit(entry(1))
					sub.Plans = []work.Plan{p}
					var out []work.Outcome
					if err == nil {
						out, err = s.Submissions.Accept(t.Context(), at(), []*work.Submission{sub})
					}
					switch {
					case err != nil:
						t.Error(err)
						return
					case out[0].Err == nil:
						done++
					case posthouse.CodeOf(out[0].Err) == posthouse.CodeConflict:
						conflicts.Add(1)
					default:
						t.Error(out[0].Err)
						return
					}
				}
			})
		}
		wg.Wait()
		messages, version := count(t, s, "SELECT COUNT(*) FROM posthouse_messages"), getPlan(t, s, "one").Version
		if messages != writers*rounds || version != writers*rounds {
			t.Errorf("%d messages, version %d, want %d of both; %d conflicts", messages, version, writers*rounds, conflicts.Load())
		}
	})
}

// Many writers of several plans in any order meet no deadlock that shows.
func TestManyWritersOfManyPlansAllGetThrough(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		const writers, plans = 16, 5
		var wg sync.WaitGroup
		for w := range writers {
			wg.Go(func() {
				var list []work.Plan
				for i := range plans {
					list = append(list, plan(fmt.Sprint((i+w)%plans), time.Now()))
				}
				out, err := s.Submissions.Accept(t.Context(), at(), []*work.Submission{planned(list...)})
				if err != nil || (out[0].Err != nil && posthouse.CodeOf(out[0].Err) != posthouse.CodeConflict) {
					t.Error(err, out)
				}
			})
		}
		wg.Wait()
		if n := count(t, s, "SELECT COUNT(*) FROM posthouse_plans WHERE version = 1"); n != plans {
			t.Errorf("%d plans, want %d", n, plans)
		}
	})
}

func TestATransactionThatIsUndoneLeavesNoPlan(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		boom := errors.New("the process died here")
		sub := submit(entry(1))
		sub.Plans = []work.Plan{plan("a", time.Now())}
		err := s.Queue.change(t.Context(), at(), "accept", func(x *tx) error {
			if _, _, err := (accepting{x}).accept([]*work.Submission{sub}, nil); err != nil {
				return err
			}
			return boom
		})
		if !errors.Is(err, boom) {
			t.Fatal(err)
		}
		for _, table := range []string{"posthouse_plans", "posthouse_messages", "posthouse_queue", "posthouse_transitions"} {
			if n := count(t, s, "SELECT COUNT(*) FROM "+table); n != 0 {
				t.Errorf("%d rows of %s are left", n, table)
			}
		}
	})
}

func ids(plans []work.Plan) (list []string) {
	for _, p := range plans {
		list = append(list, p.ID)
	}
	return list
}

func TestDuePlansAreThoseWhoseMomentHasCome(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		now := time.Now()
		other := plan("b", now.Add(-time.Hour))
		other.Tenant = "t2"
		put(t, s, planned(plan("later", now.Add(time.Hour)), plan("never", time.Time{}), plan("a", now.Add(-time.Minute)), other))
		due := func(max int) []work.Plan {
			t.Helper()
			list, err := s.Plans.DuePlans(t.Context(), time.Now(), max)
			if err != nil {
				t.Fatal(err)
			}
			return list
		}
		if diff := cmp.Diff([]string{"b", "a"}, ids(due(10))); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if got := due(1); len(got) != 1 {
			t.Errorf("%d plans, want 1", len(got))
		}
		p := due(10)[1]
		for i, want := range []bool{true, false} { // the second has read what the first wrote over
			held, err := s.Plans.PutOffPlan(t.Context(), time.Now(), p, "no channel 渠道", time.Minute)
			if held != want || err != nil {
				t.Errorf("put off %d: %v, %v; want %v", i, held, err, want)
			}
		}
		got := getPlan(t, s, "a")
		if got.Failures != 1 || got.Error != "no channel 渠道" || got.Version != p.Version || got.NextAt.Sub(got.UpdatedAt) != time.Minute {
			t.Errorf("put off: %+v", got)
		}
		if diff := cmp.Diff([]string{"b"}, ids(due(10))); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if out := put(t, s, planned(p)); out[0].Err != nil {
			t.Errorf("who read it before it was put off: %v", out[0].Err)
		}
		held, err := s.Plans.PutOffPlan(t.Context(), time.Now(), got, "late", time.Minute)
		if held || err != nil {
			t.Errorf("put off what was written meanwhile: %v, %v", held, err)
		}
	})
}

func TestPlansAreListedByIDAndFoundByRef(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		other := plan("x", time.Time{})
		other.Ref = "8"
		task := plan("c", time.Time{})
		task.Type = work.PlanTask
		put(t, s, planned(plan("d", time.Time{}), plan("B", time.Time{}), other, task, plan("a", time.Time{})))
		var got []string
		for cursor := ""; ; {
			list, next, err := s.Plans.Plans(t.Context(), "t1", work.PlanReminder, cursor, 2)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, ids(list)...)
			if cursor = next; next == "" {
				break
			}
		}
		if diff := cmp.Diff([]string{"B", "a", "d", "x"}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if _, _, err := s.Plans.Plans(t.Context(), "t1", work.PlanTask, page.Cursor("plans reminder", "a"), 2); posthouse.CodeOf(err) != posthouse.CodeInvalid {
			t.Errorf("another list's cursor: %v", err)
		}
		list, err := s.Plans.PlansByRef(t.Context(), "t1", work.PlanReminder, "order", "7")
		if diff := cmp.Diff([]string{"B", "a", "d"}, ids(list)); diff != "" || err != nil {
			t.Errorf("by ref: %v (-want +got):\n%s", err, diff)
		}
	})
}

func TestPruneDeletesPlansThatAreOver(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		waits := plan("waits", time.Time{}) // a notification that goes on when something is heard
		waits.State = string(posthouse.NotificationWaiting)
		paused := plan("paused", time.Time{})
		paused.State = work.PlanPaused
		put(t, s, planned(plan("over", time.Time{}), plan("young", time.Time{}), plan("open", time.Now().Add(time.Hour)), waits, paused))
		tamper(t, s, "UPDATE posthouse_plans SET updated_at = ? WHERE id <> 'young'", time.Now().Add(-48*time.Hour).UnixMicro())
		if _, err := s.Upkeep.Prune(t.Context(), at(), work.KeepAll(24*time.Hour), 100); err != nil {
			t.Fatal(err)
		}
		list, _, err := s.Plans.Plans(t.Context(), "t1", work.PlanReminder, "", 0)
		if diff := cmp.Diff([]string{"open", "paused", "waits", "young"}, ids(list)); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	})
}

// tasks is the part of a server that flow.Flow writes through. Nobody is told of anything.
type tasks struct {
	flow.Post
	s *Store
}

func (p tasks) Submit(ctx context.Context, sub flow.Submission) ([]posthouse.Accepted, error) {
	out, err := p.s.Submissions.Accept(ctx, at(), []*work.Submission{{Tenant: sub.Tenant, Endpoint: "tasks", Plans: []work.Plan{sub.Task}}})
	if err != nil {
		return nil, err
	}
	return nil, out[0].Err
}

// A task that nobody hears of goes on all the same: a time-out a year from now asks for it.
func TestPruneKeepsTasksThatGoOn(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		flow, err := flow.New(flow.Options{
			Book: s.Plans, Post: tasks{s: s}, Resolver: flow.Directory{}, Log: slog.New(slog.DiscardHandler),
			Channels: func(context.Context, string) ([]string, error) { return nil, nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		const keep = 24 * time.Hour
		for id, quiet := range map[string]time.Duration{"goes on": 365 * day, "never ended": keep + 367*day, "finished": 2 * day, "cancelled": 2 * day, "lately finished": day / 2} {
			events := []workflow.Event{{
				Type: workflow.TaskCreated, Task: id, Payload: []byte(`{"end":{"at":"x","value":{"a":1}}}`),
				Created: &workflow.Task{Name: "观测", Creator: "u1", Nodes: []workflow.Node{{ID: "n", Name: "n", Users: []string{"u2"}}}},
			}}
			switch id {
			case "finished", "lately finished":
				events = append(events, workflow.Event{Type: workflow.TaskFinished, Task: id})
			case "cancelled":
				events = append(events, workflow.Event{Type: workflow.TaskCancelled, Task: id, Reason: "no 天气"})
			}
			if _, err := flow.Apply(t.Context(), "t1", events...); err != nil {
				t.Fatal(err)
			}
			tamper(t, s, "UPDATE posthouse_plans SET updated_at = ? WHERE id = ?", time.Now().Add(-quiet).UnixMicro(), id)
		}
		if _, err := s.Upkeep.Prune(t.Context(), at(), work.KeepAll(keep), 100); err != nil {
			t.Fatal(err)
		}
		list, _, err := s.Plans.Plans(t.Context(), "t1", work.PlanTask, "", 0)
		if diff := cmp.Diff([]string{"goes on", "lately finished"}, ids(list)); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	})
}

// The gauge counts what waits alone, of each tenant.
func TestNotificationsThatWaitAreCountedByTenant(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		var plans []work.Plan
		for i, of := range []struct{ tenant, state string }{{"t1", "waiting"}, {"t1", "waiting"}, {"t1", "told"}, {"t1", "not_told"}, {"t2", "told"}, {"t3", "waiting"}} {
			p := plan(posthouse.NewID(), time.Now())
			p.Tenant, p.Type, p.State, p.Ref = of.tenant, work.PlanNotification, of.state, fmt.Sprint(i)
			plans = append(plans, p)
		}
		reminder := plan("r", time.Now())
		reminder.State = string(posthouse.NotificationWaiting)
		put(t, s, planned(append(plans, reminder)...))
		got, err := s.Plans.WaitingNotifications(t.Context())
		if diff := cmp.Diff(map[string]int{"t1": 2, "t2": 0, "t3": 1}, got); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
		made := posthouse.IDTime(plans[0].ID)
		for name, c := range map[string]struct {
			f    work.PlanFilter
			want string
		}{
			"all":            {work.PlanFilter{}, "3 2 1 0"},
			"a state":        {work.PlanFilter{State: "waiting"}, "1 0"},
			"kind and ref":   {work.PlanFilter{Kind: "order", Ref: "2"}, "2"},
			"since then":     {work.PlanFilter{Since: made}, "3 2 1 0"},
			"since later":    {work.PlanFilter{Since: made.Add(time.Hour)}, ""},
			"until then":     {work.PlanFilter{Until: made}, ""},
			"until later":    {work.PlanFilter{Until: made.Add(time.Hour)}, "3 2 1 0"},
			"what is kept":   {work.PlanFilter{Keep: func(p work.Plan) (bool, error) { return p.Ref != "2", nil }}, "3 1 0"},
			"none is kept":   {work.PlanFilter{Keep: func(work.Plan) (bool, error) { return false, nil }}, ""},
			"state and kept": {work.PlanFilter{State: "waiting", Keep: func(p work.Plan) (bool, error) { return p.Ref == "0", nil }}, "0"},
		} {
			var refs []string
			for cursor, pages := "", 0; pages == 0 || cursor != ""; pages++ {
				list, next, err := s.Plans.PlansIn(t.Context(), "t1", work.PlanNotification, c.f, cursor, 2)
				if err != nil || pages > 3 {
					t.Fatalf("%s: page %d: %v", name, pages, err)
				}
				for _, p := range list {
					refs = append(refs, p.Ref)
				}
				cursor = next
			}
			if got := strings.Join(refs, " "); got != c.want {
				t.Errorf("%s: got the refs %q, want %q", name, got, c.want)
			}
		}
	})
}

// A new epoch holds reminders whose slot had come, also where it could not be sent, and none whose slot is to come.
func TestBumpEpochHoldsRemindersThatWereDue(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		now := time.Now()
		var plans []work.Plan
		for _, tenant := range []string{"t1", "t2"} {
			for id, next := range map[string]time.Time{"due": now.Add(-time.Minute), "fails": now.Add(-time.Minute), "later": now.Add(time.Hour), "over": {}} {
				p := plan(id, next)
				p.Tenant, p.Type = tenant, work.PlanReminder
				plans = append(plans, p)
			}
		}
		put(t, s, planned(plans...))
		for _, tenant := range []string{"t1", "t2"} {
			p, _, err := s.Plans.Plan(t.Context(), tenant, work.PlanReminder, "fails")
			if err != nil {
				t.Fatal(err)
			}
			if ok, err := s.Plans.PutOffPlan(t.Context(), at(), p, "no channel", time.Hour); !ok || err != nil {
				t.Fatal(ok, err)
			}
		}
		for range 2 { // the second bump finds them held
			if _, err := s.Epochs.BumpEpoch(t.Context(), at()); err != nil {
				t.Fatal(err)
			}
		}
		for _, tenant := range []string{"t1", "t2"} {
			for id, want := range map[string]struct {
				held    string
				version int64
			}{"due": {"epoch_hold", 2}, "fails": {"epoch_hold", 2}, "later": {"", 1}, "over": {"", 1}} {
				p, _, err := s.Plans.Plan(t.Context(), tenant, work.PlanReminder, id)
				if p.Held != want.held || p.Version != want.version || p.NextAt.IsZero() != (id != "later") || err != nil {
					t.Errorf("%s of %s: held %q, version %d, next %v, %v", id, tenant, p.Held, p.Version, p.NextAt, err)
				}
			}
		}
		count, err := s.Plans.HeldReminders(t.Context())
		if diff := cmp.Diff(map[string]int{"t1": 2, "t2": 2}, count); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	})
}

// A new epoch holds notifications of all tenants that wait or owe an end, once; other plans and what has ended stay as they are.
func TestBumpEpochHoldsNotifications(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		const many = 501 // more than one transaction holds
		var plans []work.Plan
		add := func(tenant, state string, of work.PlanType, next time.Time) string {
			p := plan(posthouse.NewID(), next)
			p.Tenant, p.Type, p.State = tenant, of, state
			plans = append(plans, p)
			return p.ID
		}
		now := time.Now()
		held := []string{
			add("t1", "waiting", work.PlanNotification, now.Add(time.Hour)), add("t1", "waiting", work.PlanNotification, time.Time{}), add("t1", "told", work.PlanNotification, now),
			add("t2", "waiting", work.PlanNotification, now),
		}
		free := []string{add("t1", "told", work.PlanNotification, time.Time{}), add("t1", "", work.PlanReminder, now.Add(time.Hour)), add("t1", "waiting", work.PlanCollection, now.Add(time.Hour))}
		for range many {
			held = append(held, add("t3", "waiting", work.PlanNotification, now))
		}
		for part := range slices.Chunk(plans, 100) {
			put(t, s, planned(part...))
		}
		for range 2 { // the second bump finds them held
			if _, err := s.Epochs.BumpEpoch(t.Context(), at()); err != nil {
				t.Fatal(err)
			}
		}
		stored := map[string]work.Plan{}
		for i := range plans {
			p, _, err := s.Plans.Plan(t.Context(), plans[i].Tenant, plans[i].Type, plans[i].ID)
			if err != nil {
				t.Fatal(err)
			}
			stored[p.ID] = p
		}
		for _, id := range held {
			if p := stored[id]; p.Held != "epoch_hold" || !p.NextAt.IsZero() || p.Version != 2 {
				t.Fatalf("held: %q, next %v, version %d", p.Held, p.NextAt, p.Version)
			}
		}
		for _, id := range free {
			if p := stored[id]; p.Held != "" || p.Version != 1 {
				t.Errorf("%s is held: %q, version %d", p.Type, p.Held, p.Version)
			}
		}
		count, err := s.Plans.HeldNotifications(t.Context())
		if diff := cmp.Diff(map[string]int{"t1": 3, "t2": 1, "t3": many}, count); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
		list, _, err := s.Plans.PlansIn(t.Context(), "t1", work.PlanNotification, work.PlanFilter{Held: work.ReasonEpochHold}, "", 0)
		if len(list) != 3 || err != nil {
			t.Errorf("%d are listed as held, %v", len(list), err)
		}
		tamper(t, s, "UPDATE posthouse_plans SET updated_at = 1 WHERE tenant = 't1'")
		if _, err := s.Upkeep.Prune(t.Context(), at(), work.KeepAll(24*time.Hour), 100); err != nil {
			t.Fatal(err)
		}
		if list, _, err := s.Plans.PlansIn(t.Context(), "t1", work.PlanNotification, work.PlanFilter{}, "", 0); len(list) != 3 || err != nil {
			t.Errorf("%d are kept, %v; want what is held alone", len(list), err)
		}
		let := stored[held[0]]
		let.Held, let.NextAt = "", now
		if out := put(t, s, &work.Submission{Tenant: "t1", Endpoint: "plans", KeyTTL: time.Hour, Plans: []work.Plan{let}}); out[0].Err != nil {
			t.Fatal(out[0].Err)
		}
		if p, _, err := s.Plans.Plan(t.Context(), "t1", work.PlanNotification, let.ID); p.Held != "" || p.NextAt.IsZero() || err != nil {
			t.Errorf("let go: %+v, %v", p, err)
		}
	})
}
