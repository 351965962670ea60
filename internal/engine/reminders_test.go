package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/intake"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/remind"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/store/storetest"
	"github.com/posthouse/posthouse/internal/work"
)

// reminding is virtual on an engine that knows reminders, with a channel and a template that shows what time
// is left.
func reminding(t *testing.T, test func(r *rig)) {
	virtual(t, func(r *rig) {
		r.stop()
		r.remindAgain()
		r.keep(posthouse.Template{Name: "t", Text: "${remainMin}"})
		test(r)
	})
}

// remindAgain starts an engine, as a process that finds the database as it is.
func (r *rig) remindAgain() {
	r.Helper()
	r.engine = r.planning(remind.Composer{}, Options{Poll: 15 * time.Second, RescueEvery: 30 * time.Second}) // hours pass
	r.open("c", posthouse.ChannelSettings{}, idempotent)
}

// remind opens a reminder to u1 with the template t, or with a text where there is no countdown.
func (r *rig) remind(with posthouse.Reminder) posthouse.Reminder {
	r.Helper()
	with.Draft.Channel, with.Draft.To = "c", []posthouse.Recipient{{User: "u1"}}
	if with.Draft.Template = "t"; with.Countdown == nil {
		with.Draft.Template, with.Draft.Content = "", &posthouse.Content{Text: "again"}
	}
	got, duplicate, _, err := r.engine.Reminders.Remind(context.Background(), intake.Request{Caller: work.Program(), Tenant: r.tenant, Endpoint: "reminders"}, with)
	if err != nil || duplicate {
		r.Fatalf("Remind: duplicate %v, %v", duplicate, err)
	}
	return got
}

func (r *rig) reminderOf(id string) posthouse.Reminder {
	r.Helper()
	got, err := reminderIn(context.Background(), r.store, r.tenant, id)
	if err != nil {
		r.Fatal(err)
	}
	return got
}

// told lists what was sent: how long after begin, to the minute, and the text.
func (r *rig) told(begin time.Time) (list []string) {
	r.provider.mu.Lock()
	defer r.provider.mu.Unlock()
	for i, out := range r.provider.sends {
		list = append(list, fmt.Sprintf("%d: %s", r.provider.at[i].Sub(begin)/time.Minute, out.Content.Text))
	}
	return list
}

const min15 = posthouse.Duration(15 * time.Minute)

// FLOW-7: an hour before, each 15 minutes, until it is there.
func TestACountdownTellsWhatIsLeft(t *testing.T) {
	hours(t)
	reminding(t, func(r *rig) {
		begin := time.Now()
		got := r.remind(posthouse.Reminder{Countdown: &posthouse.Countdown{To: begin.Add(70 * time.Minute), Before: 4 * min15, Every: min15}})
		if got.State != posthouse.ReminderOpen || got.Version != 1 || !got.NextAt.Equal(begin.Add(10*time.Minute)) {
			r.Errorf("opened: %+v", got)
		}
		r.pass(80 * time.Minute)
		if diff := cmp.Diff([]string{"10: 60", "25: 45", "40: 30", "55: 15", "70: 0"}, r.told(begin)); diff != "" {
			r.Errorf("(-want +got):\n%s", diff)
		}
		got = r.reminderOf(got.ID)
		if got.State != posthouse.ReminderEnded || got.Reason != remind.ReasonDone || got.Slots != 5 || got.Fired != 5 {
			r.Errorf("at the end: %+v", got)
		}
		m, _, err := r.store.Messages.Message(context.Background(), r.tenant, got.Message)
		if err != nil || m.Reminder != got.ID || !m.NotBefore.Equal(begin.Add(70*time.Minute)) || !m.Deadline.Equal(begin.Add(85*time.Minute)) {
			r.Errorf("the last message: %+v, %v", m, err)
		}
	})
}

// FLOW-7: after an outage nothing comes late. Collapsed, one message tells what is left now.
func TestAnOutageInTheMiddleOfACountdown(t *testing.T) {
	for missed, want := range map[posthouse.Missed][]string{
		posthouse.MissedExpire:   {"0: 60", "45: 15", "60: 0"},
		posthouse.MissedCollapse: {"0: 60", "38: 22", "45: 15", "60: 0"},
	} {
		t.Run(string(missed), func(t *testing.T) {
			reminding(t, func(r *rig) {
				begin := time.Now()
				r.remind(posthouse.Reminder{Missed: missed, Countdown: &posthouse.Countdown{To: begin.Add(time.Hour), Before: 4 * min15, Every: min15}})
				r.pass(5 * time.Minute)
				r.stop()
				r.pass(33 * time.Minute)
				r.remindAgain()
				r.pass(25 * time.Minute)
				if diff := cmp.Diff(want, r.told(begin)); diff != "" {
					r.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A channel that stands still is an outage too: what waits in it expires when the next one comes.
func TestAPausedChannelHoldsOneMessageOfAReminder(t *testing.T) {
	hours(t)
	reminding(t, func(r *rig) {
		begin := time.Now()
		r.remind(posthouse.Reminder{Countdown: &posthouse.Countdown{To: begin.Add(time.Hour), Before: 4 * min15, Every: min15}})
		r.pass(5 * time.Minute)
		r.pause("c")
		r.pass(35 * time.Minute) // two slots
		r.open("c", posthouse.ChannelSettings{}, idempotent)
		r.pass(25 * time.Minute)
		if diff := cmp.Diff([]string{"0: 60", "40: 20", "45: 15", "60: 0"}, r.told(begin)); diff != "" {
			r.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestARepeatComesUntilItsBound(t *testing.T) {
	begin := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // a bubble's midnight
	for name, c := range map[string]struct {
		repeat posthouse.Repeat
		want   []string
	}{
		"max":   {posthouse.Repeat{Every: min15, Max: 3}, []string{"0: again", "15: again", "30: again"}},
		"until": {posthouse.Repeat{From: begin.Add(time.Minute), Every: 2 * min15, Until: begin.Add(61 * time.Minute)}, []string{"1: again", "31: again", "61: again"}},
		"daily": {posthouse.Repeat{Daily: []string{"08:50", "08:10"}, TimeZone: "Asia/Shanghai", Until: begin.Add(2 * time.Hour)}, []string{"10: again", "50: again"}},
	} {
		t.Run(name, func(t *testing.T) {
			reminding(t, func(r *rig) {
				id := r.remind(posthouse.Reminder{Repeat: &c.repeat}).ID
				r.pass(75 * time.Minute)
				if diff := cmp.Diff(c.want, r.told(begin)); diff != "" {
					r.Errorf("(-want +got):\n%s", diff)
				}
				if got := r.reminderOf(id); got.State != posthouse.ReminderEnded || got.Reason != remind.ReasonDone {
					r.Errorf("it is %s, %s", got.State, got.Reason)
				}
			})
		})
	}
}

// FLOW-16: whoever ends a reminder while its message waits takes that back too, and no other comes.
func TestEndingAReminderTakesItsMessageBack(t *testing.T) {
	hours(t)
	reminding(t, func(r *rig) {
		id := r.remind(posthouse.Reminder{Draft: posthouse.Draft{Kind: "order", Ref: "7"}, Repeat: &posthouse.Repeat{Every: min15}}).ID
		r.pass(time.Minute)
		r.pause("c")
		r.pass(15 * time.Minute)
		ended, err := r.engine.Reminders.EndReminders(context.Background(), work.Viewer{Tenant: r.tenant, Sight: work.SeeAll()}, "order", "7", remind.ReasonCancelled)
		if err != nil || len(ended) != 1 || ended[0].ID != id || ended[0].State != posthouse.ReminderEnded || ended[0].Reason != remind.ReasonCancelled {
			r.Errorf("EndReminders: %+v, %v", ended, err)
		}
		if list := r.deliveriesOf(ended[0].Message); len(list) != 1 || list[0].State != posthouse.Cancelled {
			r.Errorf("its message: %+v, want it cancelled", list)
		}
		r.open("c", posthouse.ChannelSettings{}, idempotent)
		r.pass(time.Hour)
		if n := len(r.provider.to()); n != 1 {
			r.Errorf("%d messages were sent, want the first one only", n)
		}
		again, err := r.engine.Reminders.EndReminder(context.Background(), work.Viewer{Tenant: r.tenant, Sight: work.SeeAll()}, id, remind.ReasonEnded)
		if err != nil || again.Reason != remind.ReasonCancelled || again.Version != ended[0].Version+1 {
			r.Errorf("ended again: %+v, %v", again, err)
		}
		if _, err := r.engine.Reminders.EndReminder(context.Background(), work.Viewer{Tenant: r.tenant, Sight: work.SeeAll()}, "none", remind.ReasonEnded); posthouse.CodeOf(err) != posthouse.CodeNotFound {
			r.Errorf("one that is not there: %v", err)
		}
	})
}

func (r *rig) deliveriesOf(message string) []posthouse.Delivery {
	r.Helper()
	list, _, err := r.store.Messages.DeliveriesOf(context.Background(), r.tenant, message, "", 100)
	if err != nil {
		r.Fatal(err)
	}
	return list
}

// While a reminder is open its dedup_key stands for it; when it has ended, the key begins a new one whose
// messages are all new.
func TestADedupKeyNamesOneOpenReminder(t *testing.T) {
	reminding(t, func(r *rig) {
		begin := time.Now()
		with := posthouse.Reminder{Draft: posthouse.Draft{DedupKey: "k"}, Repeat: &posthouse.Repeat{Every: min15, Max: 2}}
		first := r.remind(with)
		r.pass(time.Minute)
		again := with
		again.Draft = first.Draft
		got, duplicate, _, err := r.engine.Reminders.Remind(context.Background(), intake.Request{Caller: work.Program(), Tenant: r.tenant, Endpoint: "reminders"}, again)
		if err != nil || !duplicate || got.ID != "k" || got.Fired != 1 {
			r.Errorf("while it is open: %+v, duplicate %v, %v", got, duplicate, err)
		}
		r.pass(15 * time.Minute)
		// Its first slot is due at once: it may have fired already.
		if second := r.remind(with); second.ID != "k" || !second.CreatedAt.Equal(time.Now()) || second.State != posthouse.ReminderOpen {
			r.Errorf("after its end: %+v", second)
		}
		r.pass(20 * time.Minute)
		if diff := cmp.Diff([]string{"0: again", "15: again", "16: again", "31: again"}, r.told(begin)); diff != "" {
			r.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// lateReader reads plans a minute after it was asked, when slots of theirs have come.
type lateReader struct {
	intake.Known
	r *rig
}

func (l lateReader) Plan(ctx context.Context, tenant string, kind work.PlanType, id string) (work.Plan, bool, error) {
	l.r.pass(time.Minute)
	return l.Known.Plan(ctx, tenant, kind, id)
}

// TestAReminderIsAnsweredAsItWasMade, though its first slot, which is due at once, comes before it is read back.
func TestAReminderIsAnsweredAsItWasMade(t *testing.T) {
	reminding(t, func(r *rig) {
		r.engine.Reminders.Store = lateReader{r.engine.Reminders.Store, r}
		got := r.remind(posthouse.Reminder{Draft: posthouse.Draft{DedupKey: "k"}, Repeat: &posthouse.Repeat{Every: min15}})
		if got.Fired != 0 || got.Version != 1 || !got.UpdatedAt.Equal(got.CreatedAt) || got.Message != "" {
			r.Errorf("%+v", got)
		}
		if now := r.reminderOf("k"); now.Fired != 1 || now.Version != 2 {
			r.Errorf("stored: %+v", now)
		}
	})
}

func TestAReminderIsJudgedBeforeItsFirstSlot(t *testing.T) {
	reminding(t, func(r *rig) {
		later := &posthouse.Countdown{To: time.Now().Add(time.Hour)}
		for name, c := range map[string]struct {
			reminder posthouse.Reminder
			want     []string // the paths of the problems
		}{
			"no channel":               {posthouse.Reminder{Countdown: later, Draft: posthouse.Draft{Channel: "x", Template: "t", To: []posthouse.Recipient{{User: "u"}}}}, []string{"draft.channel"}},
			"no template and no times": {posthouse.Reminder{Draft: posthouse.Draft{Channel: "c", To: []posthouse.Recipient{{User: "u"}}}}, []string{"draft.content", "countdown"}},
			"no such template":         {posthouse.Reminder{Countdown: later, Draft: posthouse.Draft{Channel: "c", Template: "x", To: []posthouse.Recipient{{User: "u"}}}}, []string{"draft.template"}},
		} {
			_, _, _, err := r.engine.Reminders.Remind(context.Background(), intake.Request{Caller: work.Program(), Tenant: r.tenant, Endpoint: "reminders"}, c.reminder)
			var got []string
			if coded := (*posthouse.Error)(nil); errors.As(err, &coded) {
				for _, p := range coded.Problems {
					got = append(got, p.Path)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				r.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
			}
		}
	})
}

// FLOW-7, FLOW-8: whatever stands still and for how long, each slot is sent once at most, within its time.
func TestNoOutageSendsASlotTwiceOrLate(t *testing.T) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			reminding(t, func(r *rig) {
				rnd := rand.New(rand.NewPCG(seed, 1))
				upTo := func(d time.Duration) time.Duration { return time.Duration(rnd.Int64N(int64(d))) }
				for i := range 8 {
					with := posthouse.Reminder{Missed: posthouse.MissedCollapse, Repeat: &posthouse.Repeat{Every: posthouse.Duration(time.Minute + upTo(9*time.Minute)), Max: 1 + rnd.IntN(9)}}
					if i%2 == 0 {
						with.Missed = posthouse.MissedExpire
					}
					if i%4 > 1 {
						with.Countdown = &posthouse.Countdown{To: time.Now().Add(time.Hour), Before: posthouse.Duration(time.Hour), Every: with.Repeat.Every}
						with.Repeat = nil
					}
					r.remind(with)
				}
				for range 4 {
					r.pass(upTo(12 * time.Minute))
					switch rnd.IntN(3) {
					case 0:
						r.pause("c")
						r.pass(upTo(8 * time.Minute))
						r.open("c", posthouse.ChannelSettings{}, idempotent)
					case 1:
						r.stop()
						r.pass(upTo(8 * time.Minute))
						r.remindAgain()
					}
				}
				r.pass(15 * time.Minute)
				r.checkSlots()
			})
		})
	}
}

// checkSlots checks that no slot has two messages, and that each that was sent began within its time.
func (r *rig) checkSlots() {
	r.Helper()
	list, _, err := r.store.Messages.Messages(context.Background(), work.Filter{Sight: work.SeeAll(), Tenant: r.tenant, Limit: 1000})
	if err != nil || len(list) == 0 {
		r.Fatal(len(list), err)
	}
	slots := map[string]bool{}
	sent := 0
	for _, s := range list {
		slot := s.Message.Reminder + s.Message.NotBefore.String()
		if slots[slot] || s.Message.Reminder == "" {
			r.Errorf("a slot has two messages: %s", slot)
		}
		slots[slot] = true
		for _, d := range r.deliveriesOf(s.Message.ID) {
			if d.State != posthouse.Sent {
				continue
			}
			sent++
			if at := d.FirstStartAt; at.Before(d.NotBefore) || !at.Before(d.Deadline) || d.Attempts != 1 {
				r.Errorf("a slot from %v to %v was sent at %v in %d attempts", d.NotBefore, d.Deadline, at, d.Attempts)
			}
		}
	}
	if sent == 0 || sent != len(r.provider.to()) {
		r.Errorf("%d of %d messages were sent, and %d arrived", sent, len(list), len(r.provider.to()))
	}
}

// racing is a store in which somebody else is faster once: between is called before a plan is written that
// was read before.
type racing struct {
	storetest.Whole
	once    sync.Once
	between func()
}

func (s *racing) AcceptAndStart(ctx context.Context, now time.Time, subs []*work.Submission, seats work.Seats) ([]work.Outcome, []work.Start, error) {
	s.once.Do(s.between)
	return s.Whole.AcceptAndStart(ctx, now, subs, seats)
}

// FLOW-16: of an end and a slot that come at once, the end wins in both orders, on every database.
func TestAnEndWinsAgainstASlotAtTheSameTime(t *testing.T) {
	t.Parallel()
	for _, db := range []struct {
		name string
		dsn  func(testing.TB) string
	}{{"sqlite", dbtest.SQLite}, {"postgres", dbtest.Postgres}, {"mariadb", dbtest.MariaDB}} {
		t.Run(db.name, func(t *testing.T) {
			t.Parallel()
			s, err := store.Open(t.Context(), store.Options{DSN: db.dsn(t), Log: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { s.Close() })
			if _, err := s.Schema.Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
			other := doorOf(t, storetest.All(s))
			end := func(e *Engine) {
				if _, err := e.Reminders.EndReminder(t.Context(), work.Viewer{Tenant: "t1", Sight: work.SeeAll()}, "r", remind.ReasonEnded); err != nil {
					t.Error(err)
				}
			}
			slot := func(e *Engine) { e.planner().Look(t.Context()) }
			for name, c := range map[string]struct{ late, early func(e *Engine) }{
				"the end while the slot is composed":  {slot, end},
				"the slot while the end looks around": {end, slot},
			} {
				reminder, problems := remind.New(posthouse.Reminder{Tenant: "t1", ID: "r", Repeat: &posthouse.Repeat{Every: min15}, Draft: posthouse.Draft{
					Channel: "c", Content: &posthouse.Content{Text: "x"}, To: []posthouse.Recipient{{User: "u"}},
				}}, time.Now().Add(-time.Second), time.UTC)
				if old, found, err := s.Plans.Plan(t.Context(), "t1", work.PlanReminder, "r"); err != nil || len(problems) > 0 {
					t.Fatal(err, problems)
				} else if found {
					reminder.Version = old.Version
				}
				if _, err := other.Intake.Accept(t.Context(), intake.Request{Caller: work.Program(), Tenant: "t1", Plans: []work.Plan{remind.Plan(reminder)}}); err != nil {
					t.Fatal(err)
				}
				c.late(doorOf(t, &racing{Whole: storetest.All(s), between: func() { c.early(other) }}))
				slot(other)
				got, err := reminderIn(t.Context(), s, "t1", "r")
				if err != nil || got.State != posthouse.ReminderEnded || !got.NextAt.IsZero() {
					t.Errorf("%s: %+v, %v", name, got, err)
				}
				open, _, err := s.Messages.Deliveries(t.Context(), work.Filter{Sight: work.SeeAll(), Tenant: "t1", States: []posthouse.State{posthouse.Pending, posthouse.Sending}})
				if err != nil || len(open) > 0 {
					t.Errorf("%s: open: %+v, %v", name, open, err)
				}
			}
		})
	}
}

// doorOf is an engine that accepts and sends nothing; a test does the planner's looks itself.
func doorOf(t *testing.T, s database) *Engine {
	t.Helper()
	e, err := New(Options{
		Stores: parts(s), Rosters: noRosters{}, Limiter: limit.NewMemory(), Log: slog.New(slog.DiscardHandler), AcceptOnly: true,
		Composers: map[work.PlanType]intake.Composer{work.PlanReminder: remind.Composer{}},
	})
	if err == nil {
		err = e.Start(context.Background())
	}
	if err == nil {
		err = e.Routes.SetChannel(posthouse.Channel{Tenant: "t1", Name: "c", Driver: "test", Version: 1}, state.Opened{Driver: &provider{}})
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return e
}

type noRosters struct{}

func (noRosters) Roster(context.Context, string, string) (posthouse.Roster, bool, error) {
	return posthouse.Roster{}, false, nil
}

// reminderIn is a reminder as it is stored.
func reminderIn(ctx context.Context, s *store.Store, tenant, id string) (posthouse.Reminder, error) {
	p, found, err := s.Plans.Plan(ctx, tenant, work.PlanReminder, id)
	if err != nil || !found {
		return posthouse.Reminder{}, either(err, errors.New("there is no such reminder"))
	}
	return remind.Read(p)
}
