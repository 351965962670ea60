package remind

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the zones that the binary carries

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

const minute = posthouse.Duration(time.Minute)

var noon = time.Date(2025, 8, 2, 12, 0, 0, 0, time.UTC)

// at is a time of the day of noon.
func at(text string) time.Time {
	clock, err := parseDaily(text)
	if err != nil {
		panic(err)
	}
	return noon.Truncate(24 * time.Hour).Add(clock)
}

func reminder(with func(r *posthouse.Reminder)) posthouse.Reminder {
	r := posthouse.Reminder{Tenant: "t1", Draft: posthouse.Draft{
		Channel: "c", Template: "t", DedupKey: "r1", Kind: "order", Ref: "7", To: []posthouse.Recipient{{User: "u"}},
	}}
	with(&r)
	return r
}

// open is a reminder that begins at a time.
func open(t testing.TB, r posthouse.Reminder, now time.Time) posthouse.Reminder {
	t.Helper()
	r, problems := New(r, now, time.UTC)
	if len(problems) > 0 {
		t.Fatalf("New: %v", problems)
	}
	return r
}

func clocks(times []time.Time) string {
	var list []string
	for _, t := range times {
		list = append(list, t.Format("15:04"))
	}
	return strings.Join(list, " ")
}

// FLOW-7: from one hour before, every 15 minutes; slots that are past already are left out.
func TestSlots(t *testing.T) {
	t.Parallel()
	countdown := func(before, every int) func(r *posthouse.Reminder) {
		return func(r *posthouse.Reminder) {
			r.Countdown = &posthouse.Countdown{To: at("14:00"), Before: posthouse.Duration(before) * minute, Every: posthouse.Duration(every) * minute}
		}
	}
	repeat := func(with posthouse.Repeat) func(r *posthouse.Reminder) {
		return func(r *posthouse.Reminder) { r.Repeat = &with }
	}
	for name, c := range map[string]struct {
		with func(r *posthouse.Reminder)
		now  string
		want string
	}{
		"an hour before, each quarter": {countdown(60, 15), "12:00", "13:00 13:15 13:30 13:45 14:00"},
		"planned when some are past":   {countdown(60, 15), "13:20", "13:30 13:45 14:00"},
		"planned at a slot":            {countdown(60, 15), "13:30", "13:30 13:45 14:00"},
		"steps that do not lead there": {countdown(50, 20), "12:00", "13:10 13:30 13:50 14:00"},
		"once before and at it":        {countdown(60, 0), "12:00", "13:00 14:00"},
		"at it only":                   {countdown(0, 0), "12:00", "14:00"},
		"from now, without an end":     {repeat(posthouse.Repeat{Every: 30 * minute}), "12:10", "12:10 12:40 13:10 13:40 14:10 14:40"},
		"from then":                    {repeat(posthouse.Repeat{From: at("13:05"), Every: 60 * minute}), "12:00", "13:05 14:05 15:05 16:05 17:05 18:05"},
		"from before":                  {repeat(posthouse.Repeat{From: at("11:05"), Every: 60 * minute}), "12:20", "13:05 14:05 15:05 16:05 17:05 18:05"},
		"at most three":                {repeat(posthouse.Repeat{Every: 60 * minute, Max: 3}), "12:00", "12:00 13:00 14:00"},
		"once":                         {repeat(posthouse.Repeat{From: at("13:00"), Max: 1}), "12:00", "13:00"},
		"until":                        {repeat(posthouse.Repeat{Every: 60 * minute, Until: at("14:00")}), "12:00", "12:00 13:00 14:00"},
		"daily":                        {repeat(posthouse.Repeat{Daily: []string{"18:00", "09:00", "18:00"}}), "12:00", "18:00 09:00 18:00 09:00 18:00 09:00"},
		"daily elsewhere":              {repeat(posthouse.Repeat{Daily: []string{"09:00"}, TimeZone: "Asia/Shanghai", Max: 2}), "12:00", "01:00 01:00"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := clocks(Next(open(t, reminder(c.with), at(c.now)), 6)); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// A local time in a gap comes at the first moment after it; one that exists twice comes once, the first time.
func TestDailyTimesWhereClocksAreSet(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		zone, from string
		daily      []string
		want       []string // in UTC
	}{
		"set forward over it":  {"Europe/Berlin", "2025-03-29T12:00:00Z", []string{"02:30"}, []string{"2025-03-30T01:00:00Z", "2025-03-31T00:30:00Z"}},
		"set forward, twice":   {"Europe/Berlin", "2025-03-29T12:00:00Z", []string{"02:10", "02:30"}, []string{"2025-03-30T01:00:00Z", "2025-03-31T00:10:00Z"}},
		"set back over it":     {"Europe/Berlin", "2025-10-25T12:00:00Z", []string{"02:30"}, []string{"2025-10-26T00:30:00Z", "2025-10-27T01:30:00Z"}},
		"before and after":     {"America/New_York", "2025-03-08T20:00:00Z", []string{"01:59", "03:00"}, []string{"2025-03-09T06:59:00Z", "2025-03-09T07:00:00Z"}},
		"over midnight":        {"America/Santiago", "2025-09-06T12:00:00Z", []string{"00:30"}, []string{"2025-09-07T04:00:00Z", "2025-09-08T03:30:00Z"}},
		"by half an hour":      {"Australia/Lord_Howe", "2025-10-04T00:00:00Z", []string{"02:15"}, []string{"2025-10-04T15:30:00Z", "2025-10-05T15:15:00Z"}},
		"a day that never was": {"Pacific/Apia", "2011-12-29T18:30:00Z", []string{"09:00"}, []string{"2011-12-29T19:00:00Z", "2011-12-30T10:00:00Z", "2011-12-30T19:00:00Z"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from, err := time.Parse(time.RFC3339, c.from)
			if err != nil {
				t.Fatal(err)
			}
			r := open(t, reminder(func(r *posthouse.Reminder) { r.Repeat = &posthouse.Repeat{Daily: c.daily, TimeZone: c.zone} }), from)
			var got []string
			for _, slot := range Next(r, len(c.want)) {
				got = append(got, slot.Format(time.RFC3339))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The rule of local times, found by looking at every minute of the days around each change of clocks.
func TestLocalTimeIsTheFirstMomentThatShowsItOrIsPastIt(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Europe/Berlin", "America/New_York", "America/Santiago", "Australia/Lord_Howe", "Asia/Shanghai", "Africa/Casablanca"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		for change := time.Date(2025, 1, 1, 0, 0, 0, 0, zone); change.Year() == 2025; {
			_, end := change.ZoneBounds()
			if end.IsZero() || end.Year() > 2025 {
				break
			}
			change = end
			for minutes := -180; minutes <= 180; minutes += 5 {
				wall := change.UTC().Add(offset(change, zone)).Truncate(time.Minute).Add(time.Duration(minutes) * time.Minute)
				want := change.Add(-6 * time.Hour)
				for want.UTC().Add(offset(want, zone)).Before(wall) {
					want = want.Add(time.Minute)
				}
				if got := localTime(wall, zone); !got.Equal(want) {
					t.Errorf("%s: %s: got %s, want %s", name, wall.Format("2006-01-02 15:04"), got, want.UTC())
				}
			}
		}
	}
}

func TestWhatIsWrongWithAReminder(t *testing.T) {
	t.Parallel()
	good := func(r *posthouse.Reminder) { r.Countdown = &posthouse.Countdown{To: at("14:00"), Before: 60 * minute} }
	for name, c := range map[string]struct {
		with func(r *posthouse.Reminder)
		want string // the first problem's path
	}{
		"no times":            {func(*posthouse.Reminder) {}, "countdown"},
		"both":                {func(r *posthouse.Reminder) { r.Repeat = &posthouse.Repeat{Every: minute} }, "repeat"},
		"a passed end":        {func(r *posthouse.Reminder) { r.Countdown = &posthouse.Countdown{To: at("11:59")} }, "countdown.to"},
		"no end":              {func(r *posthouse.Reminder) { r.Countdown = &posthouse.Countdown{} }, "countdown.to"},
		"a negative before":   {func(r *posthouse.Reminder) { good(r); r.Countdown.Before = -1 }, "countdown.before"},
		"too often":           {func(r *posthouse.Reminder) { good(r); r.Countdown.Every = 1 }, "countdown.every"},
		"no period":           {func(r *posthouse.Reminder) { r.Repeat = &posthouse.Repeat{} }, "repeat.every"},
		"two periods":         {func(r *posthouse.Reminder) { r.Repeat = &posthouse.Repeat{Every: minute, Daily: []string{"09:00"}} }, "repeat.daily"},
		"no time of day":      {func(r *posthouse.Reminder) { r.Repeat = &posthouse.Repeat{Daily: []string{"24:00"}} }, "repeat.daily[0]"},
		"a short time of day": {func(r *posthouse.Reminder) { r.Repeat = &posthouse.Repeat{Daily: []string{"9:00"}} }, "repeat.daily[0]"},
		"no zone": {func(r *posthouse.Reminder) {
			r.Repeat = &posthouse.Repeat{Daily: []string{"09:00"}, TimeZone: "CET/Nowhere"}
		}, "repeat.time_zone"},
		"the machine's zone": {func(r *posthouse.Reminder) { r.Repeat = &posthouse.Repeat{Daily: []string{"09:00"}, TimeZone: "Local"} }, "repeat.time_zone"},
		"an idle zone":       {func(r *posthouse.Reminder) { r.Repeat = &posthouse.Repeat{Every: minute, TimeZone: "UTC"} }, "repeat.time_zone"},
		"a passed until":     {func(r *posthouse.Reminder) { r.Repeat = &posthouse.Repeat{Every: minute, Until: at("11:00")} }, "repeat.until"},
		"until before a slot": {func(r *posthouse.Reminder) {
			r.Repeat = &posthouse.Repeat{Daily: []string{"18:00"}, Until: at("17:00")}
		}, "repeat.until"},
		"a negative max":      {func(r *posthouse.Reminder) { r.Repeat = &posthouse.Repeat{Every: minute, Max: -1} }, "repeat.max"},
		"another way":         {func(r *posthouse.Reminder) { good(r); r.Missed = "all" }, "missed"},
		"a sensitive draft":   {func(r *posthouse.Reminder) { good(r); r.Draft.Sensitive = true }, "draft.sensitive"},
		"a not_before":        {func(r *posthouse.Reminder) { good(r); r.Draft.NotBefore = noon }, "draft.not_before"},
		"a deadline":          {func(r *posthouse.Reminder) { good(r); r.Draft.Deadline = noon }, "draft.deadline"},
		"nobody":              {func(r *posthouse.Reminder) { good(r); r.Draft.To = nil }, "draft.to"},
		"a task and somebody": {func(r *posthouse.Reminder) { good(r); r.Task = "7" }, "draft.to"},
		"a clock on a text": {func(r *posthouse.Reminder) {
			good(r)
			r.Draft.Template, r.Draft.Content, r.Draft.Clock = "", &posthouse.Content{Text: "x"}, &posthouse.Clock{Until: noon}
		}, "draft.clock"},
		"a long key": {func(r *posthouse.Reminder) { good(r); r.Draft.DedupKey = strings.Repeat("k", 239) }, "draft.dedup_key"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, problems := New(reminder(c.with), noon, time.UTC)
			if name == "both" {
				_, problems = New(reminder(func(r *posthouse.Reminder) { good(r); c.with(r) }), noon, time.UTC)
			}
			if len(problems) == 0 || problems[0].Path != c.want {
				t.Errorf("got %v, want a problem of %s", problems, c.want)
			}
		})
	}
}

// compose asks for what follows at a time, and reads the reminder that it leads to.
func compose(t testing.TB, c Composer, r posthouse.Reminder, now time.Time) ([]posthouse.Draft, posthouse.Reminder) {
	t.Helper()
	drafts, p, err := c.Compose(t.Context(), Plan(r), now)
	if err != nil {
		t.Fatal(err)
	}
	after, err := Read(p)
	if err != nil {
		t.Fatal(err)
	}
	if after.State == posthouse.ReminderOpen != !p.NextAt.IsZero() || !p.NextAt.Equal(after.NextAt) {
		t.Errorf("the plan is due at %v, the reminder is %s with the next slot %v", p.NextAt, after.State, after.NextAt)
	}
	return drafts, after
}

func TestComposeMakesOneMessageOfASlot(t *testing.T) {
	t.Parallel()
	r := open(t, reminder(func(r *posthouse.Reminder) {
		r.Countdown = &posthouse.Countdown{To: at("14:00"), Before: 60 * minute, Every: 15 * minute}
	}), noon)
	drafts, after := compose(t, Composer{}, r, at("13:00").Add(20*time.Millisecond))
	if len(drafts) != 1 {
		t.Fatalf("got %d drafts, want 1", len(drafts))
	}
	want := r.Draft
	want.ID, want.Reminder = drafts[0].ID, "r1"
	want.NotBefore, want.Deadline, want.DedupKey = at("13:00"), at("13:15"), "r1#20250802T130000Z"
	want.Clock = &posthouse.Clock{Until: at("14:00")}
	if diff := cmp.Diff(want, drafts[0]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if after.Slots != 1 || after.Fired != 1 || after.Message != drafts[0].ID || !after.NextAt.Equal(at("13:15")) {
		t.Errorf("after: %+v", after)
	}
}

func TestMissedSlots(t *testing.T) {
	t.Parallel()
	countdown := func(r *posthouse.Reminder) {
		r.Countdown = &posthouse.Countdown{To: at("14:00"), Before: 60 * minute, Every: 15 * minute}
	}
	thrice := func(r *posthouse.Reminder) {
		r.Repeat = &posthouse.Repeat{From: at("13:00"), Every: 2 * minute, Max: 3}
	}
	daily := func(r *posthouse.Reminder) {
		r.Repeat = &posthouse.Repeat{Daily: []string{"13:00", "18:00"}, Until: at("14:00")}
	}
	for name, c := range map[string]struct {
		with      func(r *posthouse.Reminder)
		missed    posthouse.Missed
		now       string
		slot      string // of the message, "" for none
		deadline  string
		next      string // "" where it has ended
		slotsCome int
	}{
		"expire, in time":                  {countdown, posthouse.MissedExpire, "13:00", "13:00", "13:01", "13:15", 1},
		"expire, late":                     {countdown, posthouse.MissedExpire, "13:01", "", "", "13:15", 1},
		"expire, three passed":             {countdown, posthouse.MissedExpire, "13:40", "", "", "13:45", 3},
		"expire, the third just came":      {countdown, posthouse.MissedExpire, "13:30", "13:30", "13:31", "13:45", 3},
		"expire, all passed":               {countdown, posthouse.MissedExpire, "14:20", "", "", "", 5},
		"collapse, in time":                {countdown, posthouse.MissedCollapse, "13:00", "13:00", "13:15", "13:15", 1},
		"collapse, three passed":           {countdown, posthouse.MissedCollapse, "13:40", "13:30", "13:45", "13:45", 3},
		"collapse, the last":               {countdown, posthouse.MissedCollapse, "14:03", "14:00", "14:15", "", 5},
		"collapse, all passed":             {countdown, posthouse.MissedCollapse, "14:15", "", "", "", 5},
		"collapse, the last has five":      {thrice, posthouse.MissedCollapse, "13:08", "13:04", "13:09", "", 3},
		"collapse, the last has no longer": {thrice, posthouse.MissedCollapse, "13:09", "", "", "", 3},
		"collapse, the last of daily":      {daily, posthouse.MissedCollapse, "15:00", "13:00", "18:00", "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := open(t, reminder(func(r *posthouse.Reminder) { c.with(r); r.Missed = c.missed }), noon)
			drafts, after := compose(t, Composer{}, r, at(c.now))
			got := [3]string{}
			if len(drafts) == 1 {
				got[0], got[1] = drafts[0].NotBefore.Format("15:04"), drafts[0].Deadline.Format("15:04")
			}
			if after.State == posthouse.ReminderOpen {
				got[2] = after.NextAt.Format("15:04")
			} else if after.Reason != ReasonDone {
				t.Errorf("it ended as %q, want %q", after.Reason, ReasonDone)
			}
			if want := [3]string{c.slot, c.deadline, c.next}; got != want {
				t.Errorf("slot, deadline and next: got %q, want %q", got, want)
			}
			if fired := len(drafts); after.Slots != c.slotsCome || after.Fired != fired {
				t.Errorf("%d slots came and %d fired, want %d and %d", after.Slots, after.Fired, c.slotsCome, fired)
			}
		})
	}
}

func TestTheClockOfAReminder(t *testing.T) {
	t.Parallel()
	since := &posthouse.Clock{Since: at("11:00")}
	for name, c := range map[string]struct {
		with func(r *posthouse.Reminder)
		want *posthouse.Clock
	}{
		"a countdown's": {func(r *posthouse.Reminder) { r.Countdown = &posthouse.Countdown{To: at("14:00")} }, &posthouse.Clock{Until: at("14:00")}},
		"a countdown's, more": {func(r *posthouse.Reminder) {
			r.Countdown = &posthouse.Countdown{To: at("14:00")}
			r.Draft.Clock = since
		}, &posthouse.Clock{Until: at("14:00"), Since: at("11:00")}},
		"a repeat's": {func(r *posthouse.Reminder) { r.Repeat = &posthouse.Repeat{Every: minute} }, nil},
		"a repeat's, asked": {func(r *posthouse.Reminder) {
			r.Repeat = &posthouse.Repeat{Every: minute}
			r.Draft.Clock = &posthouse.Clock{}
		}, &posthouse.Clock{Since: noon}},
		"a repeat's, said": {func(r *posthouse.Reminder) { r.Repeat = &posthouse.Repeat{Every: minute}; r.Draft.Clock = since }, since},
		"a finished text's": {func(r *posthouse.Reminder) {
			r.Countdown = &posthouse.Countdown{To: at("14:00")}
			r.Draft.Template, r.Draft.Content = "", &posthouse.Content{Text: "x"}
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			drafts, _ := compose(t, Composer{}, open(t, reminder(c.with), noon), at("14:00"))
			if diff := cmp.Diff(c.want, drafts[0].Clock); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// who answers for the assignees of a task.
type who struct {
	to     []posthouse.Recipient
	goesOn bool
	err    error
}

func (w who) Recipients(context.Context, posthouse.Reminder) ([]posthouse.Recipient, bool, error) {
	return w.to, w.goesOn, w.err
}

// A message by a route needs no recipients where each step has its own.
func TestARemindersRouteMayNameWhomItTurnsTo(t *testing.T) {
	t.Parallel()
	r := open(t, reminder(func(r *posthouse.Reminder) {
		r.Draft.Channel, r.Draft.To, r.Draft.Route, r.Repeat = "", nil, "night", &posthouse.Repeat{Every: 30 * minute}
	}), noon)
	drafts, after := compose(t, Composer{}, r, noon)
	if len(drafts) != 1 || drafts[0].Route != "night" || len(drafts[0].To) != 0 || after.Fired != 1 || after.Message != drafts[0].ID {
		t.Errorf("its message is %+v of %+v", drafts, after)
	}
}

// FLOW-8: the recipients are those who have to act at that moment; when nobody has to any more, it is over.
func TestATasksReminderAsksWhoIsToldAtEachSlot(t *testing.T) {
	t.Parallel()
	r := open(t, reminder(func(r *posthouse.Reminder) {
		r.Draft.To, r.Task, r.Node, r.Repeat = nil, "7", "n", &posthouse.Repeat{Every: 30 * minute}
	}), noon)
	to := []posthouse.Recipient{{User: "a"}, {User: "b"}}
	drafts, after := compose(t, Composer{Audience: who{to: to, goesOn: true}}, r, noon)
	if len(drafts) != 1 || !cmp.Equal(drafts[0].To, to) || after.State != posthouse.ReminderOpen {
		t.Errorf("somebody: %+v, %+v", drafts, after)
	}
	drafts, after = compose(t, Composer{Audience: who{goesOn: true}}, r, noon)
	if len(drafts) != 0 || after.Fired != 0 || after.Slots != 1 || !after.NextAt.Equal(at("12:30")) {
		t.Errorf("nobody for now: %+v, %+v", drafts, after)
	}
	drafts, after = compose(t, Composer{Audience: who{to: to}}, r, noon)
	if len(drafts) != 0 || after.State != posthouse.ReminderEnded || after.Reason != ReasonCondition {
		t.Errorf("over: %+v, %+v", drafts, after)
	}
	down := errors.New("no answer")
	if _, _, err := (Composer{Audience: who{err: down}}).Compose(t.Context(), Plan(r), noon); !errors.Is(err, down) {
		t.Errorf("got %v, want %v", err, down)
	}
	if _, _, err := (Composer{}).Compose(t.Context(), Plan(r), noon); err == nil {
		t.Error("it fires without anybody who knows the assignees")
	}
}

// held is a reminder as it is read after an epoch has held it: only its row says so.
func held(t *testing.T, r posthouse.Reminder) posthouse.Reminder {
	t.Helper()
	p := Plan(r)
	p.Held, p.NextAt = work.ReasonEpochHold, time.Time{}
	r, err := Read(p)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// What a new epoch holds sends nothing until it is resumed; then the slot that may have been sent is passed, and counts.
func TestWhatIsHeldGoesOnAfterItsSlot(t *testing.T) {
	every := posthouse.Repeat{Every: 15 * minute}
	r := held(t, open(t, reminder(func(r *posthouse.Reminder) { r.Repeat = &every }), noon))
	if !Held(r) || !r.NextAt.Equal(noon) || Next(r, 3) != nil {
		t.Fatalf("held: %+v", r)
	}
	if drafts, still, err := (Composer{}).Compose(t.Context(), Plan(r), noon.Add(time.Minute)); len(drafts) > 0 || still.Held == "" || !still.NextAt.IsZero() || err != nil {
		t.Errorf("it goes on by itself: %d drafts, %+v, %v", len(drafts), still, err)
	}
	if p := Plan(r); p.Held != work.ReasonEpochHold || !p.NextAt.IsZero() || p.State != work.PlanPaused {
		t.Errorf("stored again: %+v", p)
	}
	on := Resume(r, noon.Add(20*time.Minute))
	want := []posthouse.Slot{{At: noon.Add(15 * time.Minute), Missed: 2}}
	if on.Paused || on.Reason != "" || !on.NextAt.Equal(noon.Add(30*time.Minute)) || on.Slots != 2 || on.Fired != 0 || Plan(on).Held != "" {
		t.Errorf("resumed: %+v", on)
	}
	if diff := cmp.Diff(want, on.Last); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	once := every
	once.Max = 1
	if over := Resume(held(t, open(t, reminder(func(r *posthouse.Reminder) { r.Repeat = &once }), noon)), noon.Add(time.Minute)); over.State != posthouse.ReminderEnded || over.Reason != ReasonDone || over.Slots != 1 {
		t.Errorf("with one slot alone: %+v", over)
	}
	if over := End(r, ReasonEnded); Plan(over).Held != "" || over.Paused || over.Reason != ReasonEnded {
		t.Errorf("ended: %+v", over)
	}
}

// What is replaced while it is held stays so: what a program stores at each of its starts sends no slot again.
func TestWhatIsHeldStaysSoWhenItIsReplaced(t *testing.T) {
	r := held(t, open(t, reminder(func(r *posthouse.Reminder) { r.Repeat = &posthouse.Repeat{Every: 15 * minute} }), noon))
	for _, every := range []posthouse.Duration{15 * minute, 30 * minute} {
		next, problems := Replace(r, reminder(func(r *posthouse.Reminder) { r.Repeat = &posthouse.Repeat{Every: every} }), noon.Add(5*time.Minute), time.UTC)
		if p := Plan(next); len(problems) > 0 || !Held(next) || p.Held != work.ReasonEpochHold || !p.NextAt.IsZero() {
			t.Errorf("every %s: %v, %+v", every, problems, next)
		}
		if on := Resume(next, noon.Add(20*time.Minute)); on.NextAt.Before(noon.Add(20 * time.Minute)) {
			t.Errorf("every %s: it goes on at %s", every, on.NextAt)
		}
	}
}

// A campaign that was being made when its schedule was held is a person's: the schedule goes on without it.
func TestAScheduleThatIsHeldLeavesItsCampaign(t *testing.T) {
	r := campaigns(t, nil)
	r.Preparing = &posthouse.Slot{At: noon, Campaign: "bills-1"}
	on := Resume(held(t, r), noon.Add(time.Minute))
	if diff := cmp.Diff([]posthouse.Slot{{At: noon, Campaign: "bills-1", Missed: 1}}, on.Last); diff != "" || on.Preparing != nil || !on.NextAt.Equal(noon.Add(60*time.Minute)) {
		t.Errorf("%+v (-want +got):\n%s", on, diff)
	}
}

func TestWhatHasEndedStaysSo(t *testing.T) {
	t.Parallel()
	r := End(open(t, reminder(func(r *posthouse.Reminder) { r.Repeat = &posthouse.Repeat{Every: minute} }), noon), ReasonEnded)
	if again := End(r, ReasonCancelled); again.Reason != ReasonEnded {
		t.Errorf("ended as %q, want %q as before", again.Reason, ReasonEnded)
	}
	if drafts, after := compose(t, Composer{}, r, noon.Add(time.Hour)); len(drafts) != 0 || after.State != posthouse.ReminderEnded {
		t.Errorf("got %+v, %+v", drafts, after)
	}
	if left := Next(r, 3); len(left) != 0 {
		t.Errorf("slots are left: %v", left)
	}
}

// any is a reminder of any kind.
func anyReminder(rnd *rand.Rand) posthouse.Reminder {
	return reminder(func(r *posthouse.Reminder) {
		r.Missed = []posthouse.Missed{posthouse.MissedCollapse, posthouse.MissedExpire}[rnd.IntN(2)]
		some := func(most int) posthouse.Duration { return posthouse.Duration(rnd.IntN(most)+1) * minute / 4 }
		switch rnd.IntN(3) {
		case 0:
			r.Countdown = &posthouse.Countdown{To: noon.Add(some(600).Std()), Before: some(400), Every: some(100)}
		case 1:
			r.Repeat = &posthouse.Repeat{From: noon.Add(some(100).Std()), Every: some(100), Max: rnd.IntN(30)}
		default:
			r.Repeat = &posthouse.Repeat{Until: noon.Add(some(8000).Std())}
			for range rnd.IntN(4) + 1 {
				r.Repeat.Daily = append(r.Repeat.Daily, fmt.Sprintf("%02d:%02d", rnd.IntN(24), rnd.IntN(60)))
			}
			r.Repeat.TimeZone = []string{"Asia/Shanghai", "America/New_York", "Australia/Lord_Howe"}[rnd.IntN(3)]
		}
	})
}

// For any reminder and any outages: each message belongs to a slot of its own and is made between its slot
// and its deadline, the deadline never reaches beyond the next slot that comes, and slots are only left out
// while nothing could be sent.
func TestNoOutageMakesASlotComeTwiceOrLate(t *testing.T) {
	t.Parallel()
	for seed := range uint64(400) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		r, problems := New(anyReminder(rnd), noon, time.UTC)
		if len(problems) > 0 {
			continue
		}
		all := map[time.Time]bool{}
		const listed = 2000
		for _, slot := range Next(r, listed) {
			all[slot] = true
		}
		told := map[time.Time]bool{}
		now := noon
		for steps := 0; r.State == posthouse.ReminderOpen && steps < 400; steps++ {
			wait := time.Duration(0)
			if rnd.IntN(3) == 0 {
				wait = time.Duration(rnd.Int64N(int64(3 * time.Hour)))
			}
			now = later(now, r.NextAt).Add(wait)
			first := r.NextAt
			drafts, after := compose(t, Composer{}, r, now)
			for _, d := range drafts {
				if told[d.NotBefore] || d.NotBefore.After(now) || !d.Deadline.After(now) {
					t.Fatalf("seed %d at %v: slot %v until %v, told before: %v", seed, now, d.NotBefore, d.Deadline, told[d.NotBefore])
				}
				if !after.NextAt.IsZero() && r.Missed == posthouse.MissedCollapse && d.Deadline.After(after.NextAt) {
					t.Fatalf("seed %d: slot %v may be sent until %v, beyond the next one at %v", seed, d.NotBefore, d.Deadline, after.NextAt)
				}
				told[d.NotBefore] = true
			}
			if wait == 0 && !told[first] {
				t.Fatalf("seed %d: nothing is sent at %v although nothing was in the way", seed, first)
			}
			r = after
		}
		if r.State == posthouse.ReminderEnded && r.Slots != len(all) {
			t.Fatalf("seed %d: %d slots came, want %d", seed, r.Slots, len(all))
		}
		for slot := range told {
			if !all[slot] && len(all) < listed {
				t.Fatalf("seed %d: %v is no slot of it", seed, slot)
			}
		}
	}
}
