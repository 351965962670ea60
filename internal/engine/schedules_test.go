package engine

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/intake"
	"github.com/posthouse/posthouse/internal/remind"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/store/sqltest"
	"github.com/posthouse/posthouse/internal/store/storetest"
	"github.com/posthouse/posthouse/internal/work"
)

// quarters is a schedule of each quarter of an hour.
func quarters(missed posthouse.Missed) posthouse.Reminder {
	return posthouse.Reminder{Missed: missed, Draft: posthouse.Draft{DedupKey: "q"}, Repeat: &posthouse.Repeat{Cron: "*/15 * * * *", TimeZone: "Asia/Shanghai"}}
}

// cameOf are the slots that came last: when, how many were missed, and whether there is a message.
func cameOf(r posthouse.Reminder, begin time.Time) (list []string) {
	for _, s := range r.Last {
		list = append(list, fmt.Sprintf("%d: missed %d, message %t", s.At.Sub(begin)/time.Minute, s.Missed, s.Message != ""))
	}
	return list
}

// After a stop one message stands for all that were missed, or none does, and the record says which.
func TestAStopOfASchedule(t *testing.T) {
	for missed, want := range map[posthouse.Missed]struct{ told, came []string }{
		posthouse.MissedCollapse: {[]string{"0: again", "52: again", "60: again"}, []string{"60: missed 0, message true", "45: missed 2, message true", "0: missed 0, message true"}},
		posthouse.MissedExpire:   {[]string{"0: again", "60: again"}, []string{"60: missed 0, message true", "45: missed 3, message false", "0: missed 0, message true"}},
	} {
		t.Run(string(missed), func(t *testing.T) {
			reminding(t, func(r *rig) {
				begin := time.Now() // at a quarter, as every bubble begins
				r.remind(quarters(missed))
				r.pass(10 * time.Minute)
				r.stop()
				r.pass(42 * time.Minute)
				r.remindAgain()
				r.pass(10 * time.Minute)
				got := r.reminderOf("q")
				if diff := cmp.Diff(want.told, r.told(begin)); diff != "" {
					r.Errorf("sent (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(want.came, cameOf(got, begin)); diff != "" {
					r.Errorf("the record (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// Nothing comes of what is paused, and what passed meanwhile is not made up for.
func TestAPausedScheduleGoesOnWithItsNextSlot(t *testing.T) {
	reminding(t, func(r *rig) {
		begin, ctx := time.Now(), context.Background()
		viewer := work.Viewer{Tenant: r.tenant, Sight: work.SeeAll()}
		r.remind(quarters(""))
		r.pass(time.Minute)
		for range 2 { // the second changes nothing
			if got, err := r.engine.Reminders.PauseReminder(ctx, viewer, "q", true); err != nil || !got.Paused || !got.NextAt.IsZero() || got.State != posthouse.ReminderOpen {
				r.Fatalf("paused: %+v, %v", got, err)
			}
		}
		r.stop()
		r.pass(35 * time.Minute)
		r.remindAgain()
		if _, err := r.engine.Reminders.PauseReminder(ctx, viewer, "q", false); err != nil {
			r.Fatal(err)
		}
		r.pass(10 * time.Minute)
		if diff := cmp.Diff([]string{"0: again", "45: again"}, r.told(begin)); diff != "" {
			r.Errorf("(-want +got):\n%s", diff)
		}
		if _, err := r.engine.Reminders.EndReminder(ctx, viewer, "q", remind.ReasonEnded); err != nil {
			r.Fatal(err)
		}
		for _, paused := range []bool{true, false} {
			if got, err := r.engine.Reminders.PauseReminder(ctx, viewer, "q", paused); paused && posthouse.CodeOf(err) != posthouse.CodeConflict || got.State != posthouse.ReminderEnded {
				r.Errorf("paused %t after its end: %+v, %v", paused, got, err)
			}
		}
		if _, err := r.engine.Reminders.PauseReminder(ctx, viewer, "none", true); posthouse.CodeOf(err) != posthouse.CodeNotFound {
			r.Errorf("one that is not there: %v", err)
		}
	})
}

// What replaces a schedule goes on with what has come of it: no slot comes twice, and none is lost.
func TestAScheduleIsReplacedWhereItStands(t *testing.T) {
	reminding(t, func(r *rig) {
		begin := time.Now()
		put := func(text, cron string) posthouse.Reminder {
			r.Helper()
			with := quarters("")
			with.ID, with.Repeat.Cron = "q", cron
			with.Draft.Channel, with.Draft.To, with.Draft.Content = "c", []posthouse.Recipient{{User: "u1"}}, &posthouse.Content{Text: text}
			got, _, err := r.engine.Reminders.Replace(context.Background(), intake.Request{Caller: work.Program(), Tenant: r.tenant}, with)
			if err != nil {
				r.Fatal(err)
			}
			return got
		}
		put("first", "*/15 * * * *")
		r.pass(time.Second)
		if got := put("second", "*/15 * * * *"); got.Fired != 1 || !got.NextAt.Equal(begin.Add(15*time.Minute)) || len(got.Last) != 1 {
			r.Errorf("with another text: %+v", got)
		}
		r.pass(16 * time.Minute)
		r.stop()
		r.pass(15 * time.Minute) // a slot is due when it is replaced
		r.engine = r.planning(idle{}, Options{Poll: time.Hour})
		r.open("c", posthouse.ChannelSettings{}, idempotent)
		if got := put("third", "*/15 * * * *"); !got.NextAt.Equal(begin.Add(30 * time.Minute)) {
			r.Errorf("the slot that is due is lost: %v", got.NextAt)
		}
		r.stop()
		r.remindAgain()
		r.pass(45 * time.Second) // idle has put it off
		if got := put("fourth", "0 * * * *"); got.Fired != 3 || !got.NextAt.Equal(begin.Add(time.Hour)) {
			r.Errorf("with other slots: %+v", got)
		}
		r.pass(30 * time.Minute)
		if diff := cmp.Diff([]string{"0: first", "15: second", "31: third", "60: fourth"}, r.told(begin)); diff != "" {
			r.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// idle is a composer that is never asked.
type idle struct{}

func (idle) Compose(_ context.Context, p work.Plan, _ time.Time) ([]posthouse.Draft, work.Plan, error) {
	return nil, p, context.Canceled
}

// A task's reminders are the workflow's: nobody else changes them.
func TestATasksReminderIsNeitherPausedNorReplaced(t *testing.T) {
	reminding(t, func(r *rig) {
		with := posthouse.Reminder{
			ID: "task", Task: "1001", Node: "n", Repeat: &posthouse.Repeat{From: time.Now().Add(time.Hour), Every: min15},
			Draft: posthouse.Draft{Channel: "c", Content: &posthouse.Content{Text: "x"}},
		}
		req := intake.Request{Caller: work.Program(), Tenant: r.tenant}
		made, problems := remind.New(with, time.Now(), time.UTC)
		made.Tenant = r.tenant
		if len(problems) > 0 {
			r.Fatal(problems)
		}
		if _, err := r.engine.Intake.Accept(context.Background(), intake.Request{Caller: work.Program(), Tenant: r.tenant, Plans: []work.Plan{remind.Plan(made)}}); err != nil {
			r.Fatal(err)
		}
		if _, err := r.engine.Reminders.PauseReminder(context.Background(), work.Viewer{Tenant: r.tenant, Sight: work.SeeAll()}, "task", true); posthouse.CodeOf(err) != posthouse.CodeConflict {
			r.Errorf("paused: %v", err)
		}
		with.Task, with.Node, with.Draft.To = "", "", []posthouse.Recipient{{User: "u1"}}
		if _, _, err := r.engine.Reminders.Replace(context.Background(), req, with); posthouse.CodeOf(err) != posthouse.CodeConflict {
			r.Errorf("replaced: %v", err)
		}
	})
}

// What virtual time shows on SQLite holds on every database, with two processes that look at once: of a stop as its schedule says, of a pause
// nothing, and of a replacement what is due, by its new text. The schedules are made in the past, so that nobody waits for their slots.
func TestSchedulesOnEachDatabase(t *testing.T) {
	t.Parallel()
	for _, db := range []struct {
		name string
		dsn  func(testing.TB) string
	}{{"sqlite", sqltest.Ready.SQLite}, {"postgres", sqltest.Ready.Postgres}, {"mariadb", sqltest.Ready.MariaDB}} {
		t.Run(db.name, func(t *testing.T) {
			t.Parallel()
			late := tardyOn(t, db.dsn(t))
			for id, missed := range map[string]posthouse.Missed{"collapse": posthouse.MissedCollapse, "expire": posthouse.MissedExpire, "paused": "", "replaced": ""} {
				late.made(id, missed, late.thrice())
			}
			late.made("in time", posthouse.MissedExpire, posthouse.Repeat{From: time.Now().Add(-30 * time.Minute), Every: min15})
			viewer := work.Viewer{Tenant: "t1", Sight: work.SeeAll()}
			pause := func(paused bool) posthouse.Reminder {
				got, err := late.by[0].Reminders.PauseReminder(t.Context(), viewer, "paused", paused)
				if err != nil || got.Paused != paused {
					t.Fatalf("paused %t: %+v, %v", paused, got, err)
				}
				return got
			}
			pause(true)
			if got := late.replaced("second", late.thrice()); !got.NextAt.Equal(late.slots[0]) {
				t.Errorf("the slot that is due is lost: %v, want %v", got.NextAt, late.slots[0])
			}
			late.look()
			if got := pause(false); !got.NextAt.Equal(late.slots[3]) {
				t.Errorf("it goes on at %v, want %v", got.NextAt, late.slots[3])
			}
			yearly := posthouse.Repeat{Cron: "0 9 1 1 *", TimeZone: "Asia/Shanghai"}
			if got := late.replaced("third", yearly); got.Fired != 1 || len(got.Last) != 1 || got.NextAt.Before(late.slots[3]) {
				t.Errorf("with other slots: %+v", got)
			}
			late.look()
			want := map[string]string{
				"collapse": "sent again; came -2: missed 2, message true; 3 slots",
				"expire":   "came -2: missed 3, message false; 3 slots",
				"in time":  "sent again; came 0: missed 2, message true; 3 slots",
				"paused":   "0 slots",
				"replaced": "sent second; came -2: missed 2, message true; 3 slots",
			}
			if diff := cmp.Diff(want, late.became()); diff != "" {
				t.Errorf("what became of them (-want +got):\n%s", diff)
			}
		})
	}
}

// tardy are two processes on one database that find schedules whose slots have passed.
type tardy struct {
	*testing.T
	store *store.Store
	by    []*Engine
	now   time.Time
	slots []time.Time // of thrice, the last one to come
}

func tardyOn(t *testing.T, dsn string) *tardy {
	l := &tardy{T: t, now: time.Now().UTC().Truncate(time.Minute)}
	for range 2 {
		s, err := store.Open(t.Context(), store.Options{DSN: dsn, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		l.store, l.by = s, append(l.by, doorOf(t, storetest.All(s)))
	}
	for _, ago := range []time.Duration{32 * time.Minute, 17 * time.Minute, 2 * time.Minute, -28 * time.Minute} {
		l.slots = append(l.slots, l.now.Add(-ago))
	}
	return l
}

// thrice is a repeat of which three slots have come in the last 33 minutes, and the next one is half an hour away.
func (l *tardy) thrice() posthouse.Repeat {
	return posthouse.Repeat{Cron: fmt.Sprintf("%d,%d,%d * * * *", l.slots[0].Minute(), l.slots[1].Minute(), l.slots[2].Minute()), TimeZone: "UTC"}
}

// made stores a schedule as it was made 33 minutes ago.
func (l *tardy) made(id string, missed posthouse.Missed, repeat posthouse.Repeat) {
	l.Helper()
	r, problems := remind.New(posthouse.Reminder{Tenant: "t1", ID: id, Missed: missed, Repeat: &repeat, Draft: posthouse.Draft{
		DedupKey: id, Channel: "c", Content: &posthouse.Content{Text: "again"}, To: []posthouse.Recipient{{User: "u"}},
	}}, l.now.Add(-33*time.Minute), time.UTC)
	if len(problems) > 0 {
		l.Fatal(problems)
	}
	if _, err := l.by[0].Intake.Accept(l.Context(), intake.Request{Caller: work.Program(), Tenant: "t1", Plans: []work.Plan{remind.Plan(r)}}); err != nil {
		l.Fatal(err)
	}
}

// replaced puts another schedule in the place of the one that is replaced.
func (l *tardy) replaced(text string, repeat posthouse.Repeat) posthouse.Reminder {
	l.Helper()
	got, opened, err := l.by[1].Reminders.Replace(l.Context(), intake.Request{Caller: work.Program(), Tenant: "t1"}, posthouse.Reminder{
		ID: "replaced", Repeat: &repeat, Draft: posthouse.Draft{Channel: "c", Content: &posthouse.Content{Text: text}, To: []posthouse.Recipient{{User: "u"}}},
	})
	if err != nil || opened {
		l.Fatalf("replaced: opened %t, %v", opened, err)
	}
	return got
}

// look has both processes look for what is due at once.
func (l *tardy) look() {
	var wg sync.WaitGroup
	for _, e := range l.by {
		wg.Go(func() { e.planner().Look(l.Context()) })
	}
	wg.Wait()
}

// became says of each schedule what was sent, which slots came and how many have passed.
func (l *tardy) became() map[string]string {
	l.Helper()
	got := map[string]string{}
	list, _, err := l.store.Messages.Messages(l.Context(), work.Filter{Sight: work.SeeAll(), Tenant: "t1", Limit: 100})
	if err != nil {
		l.Fatal(err)
	}
	for _, m := range list {
		got[m.Message.Reminder] += "sent " + m.Message.Content.Text + "; "
	}
	for _, id := range []string{"collapse", "expire", "in time", "paused", "replaced"} {
		r, err := reminderIn(l.Context(), l.store, "t1", id)
		if err != nil {
			l.Fatal(err)
		}
		for _, came := range cameOf(r, l.now) {
			got[id] += "came " + came + "; "
		}
		got[id] += fmt.Sprintf("%d slots", r.Slots)
	}
	return got
}

// dying is a store whose process is gone at a step: before a slot is written, or when it is and nobody has heard of it.
type dying struct {
	storetest.Whole
	die     func()
	written bool
}

func (s dying) AcceptAndStart(ctx context.Context, now time.Time, subs []*work.Submission, seats work.Seats) ([]work.Outcome, []work.Start, error) {
	if s.written {
		if _, _, err := s.Whole.AcceptAndStart(ctx, now, subs, seats); err != nil {
			return nil, nil, err
		}
	}
	s.die()
	return nil, nil, context.Canceled
}

// A process dies at a slot, and two others look for what is due at once: there is one message of the slot on every database.
func TestADeathAtASlotNeitherLosesNorDoublesIt(t *testing.T) {
	t.Parallel()
	for _, db := range []struct {
		name string
		dsn  func(testing.TB) string
	}{{"sqlite", dbtest.SQLite}, {"postgres", dbtest.Postgres}, {"mariadb", dbtest.MariaDB}} {
		t.Run(db.name, func(t *testing.T) {
			t.Parallel()
			dsn := db.dsn(t)
			open := func() *store.Store {
				s, err := store.Open(t.Context(), store.Options{DSN: dsn, Log: slog.New(slog.DiscardHandler)})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { s.Close() })
				return s
			}
			s, second := open(), open()
			if _, err := s.Schema.Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
			others := []*Engine{doorOf(t, storetest.All(s)), doorOf(t, storetest.All(second))}
			for _, written := range []bool{false, true} {
				id := fmt.Sprintf("written %t", written)
				slot := time.Now().UTC().Truncate(time.Minute).Add(-2 * time.Minute)
				yearly, problems := remind.New(posthouse.Reminder{
					Tenant: "t1", ID: id, Repeat: &posthouse.Repeat{Cron: fmt.Sprintf("%d %d %d %d *", slot.Minute(), slot.Hour(), slot.Day(), slot.Month())},
					Draft: posthouse.Draft{Channel: "c", Content: &posthouse.Content{Text: "x"}, To: []posthouse.Recipient{{User: "u"}}},
				}, slot.Add(-time.Minute), time.UTC)
				if len(problems) > 0 || !yearly.NextAt.Equal(slot) {
					t.Fatal(problems, yearly.NextAt)
				}
				if _, err := others[0].Intake.Accept(t.Context(), intake.Request{Caller: work.Program(), Tenant: "t1", Plans: []work.Plan{remind.Plan(yearly)}}); err != nil {
					t.Fatal(err)
				}
				ctx, die := context.WithCancel(t.Context())
				doorOf(t, dying{storetest.All(s), die, written}).planner().Look(ctx)
				var wg sync.WaitGroup
				for _, e := range others {
					wg.Go(func() { e.planner().Look(t.Context()) })
				}
				wg.Wait()
				got, err := reminderIn(t.Context(), s, "t1", id)
				if err != nil || got.Slots != 1 || got.Fired != 1 || !got.NextAt.After(slot.AddDate(0, 11, 0)) || len(got.Last) != 1 || !got.Last[0].At.Equal(slot) {
					t.Fatalf("%s: %+v, %v", id, got, err)
				}
				list, _, err := s.Messages.Messages(t.Context(), work.Filter{Sight: work.SeeAll(), Tenant: "t1", Limit: 100})
				var of []string
				for _, m := range list {
					if m.Message.Reminder == id {
						of = append(of, m.Message.ID)
					}
				}
				if diff := cmp.Diff([]string{got.Last[0].Message}, of); diff != "" || err != nil {
					t.Errorf("%s: %v (-want +got):\n%s", id, err, diff)
				}
			}
		})
	}
}
