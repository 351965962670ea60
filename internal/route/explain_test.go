package route

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/catalog"
	"github.com/posthouse/posthouse/internal/draft"
	"github.com/posthouse/posthouse/internal/work"
)

func TestANotificationIsExplained(t *testing.T) {
	t.Parallel()
	at := time.Date(2030, 1, 1, 3, 0, 0, 0, time.UTC)
	clock := func(t time.Time) string { return t.Format("15:04") }
	n := posthouse.Notification{
		Route: "night", State: posthouse.NotificationWaiting, Step: 2, Round: 1, NextAt: at.Add(10 * time.Minute),
		Steps: []posthouse.NotificationStep{
			{Step: 1, Round: 1, At: at, Skipped: SkippedNobody, Detail: `there is no roster "lead"`},
			{Step: 2, Round: 1, At: at, Detail: `the condition "payload.level > 3" fails: no: the step is taken`},
		},
		Deliveries: []posthouse.NotificationDelivery{{ID: "d1", Step: 2, Round: 1, Channel: "chat", User: "zhang.san", State: posthouse.Pending}},
	}
	sending := func(_ context.Context, _, id string) (posthouse.Delivery, error) {
		return posthouse.Delivery{ID: id, State: posthouse.Sending, UpdatedAt: at}, nil
	}
	list := []posthouse.Notification{n}
	if err := (Book{Delivery: sending}).refresh(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	summary, steps := Explain(&list[0], clock)
	want := []string{
		"It waits for step 2 of the route night. The next step begins at 03:10, unless that ends it before.",
		`Step 1 was passed over at 03:00: nobody (there is no roster "lead").`,
		`Step 2 began at 03:00: the condition "payload.level > 3" fails: no: the step is taken.`,
		"Delivery d1 to zhang.san by chat is sending.",
	}
	if diff := cmp.Diff(want, append([]string{summary}, steps...)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	last := list[0]
	last.Deadline = last.NextAt.Add(-time.Minute)
	if got, _ := Explain(&last, clock); got != "It waits for step 2 of the route night. No step begins after its deadline, 03:09." {
		t.Errorf("of one whose deadline comes before the next step: %s", got)
	}
	for _, s := range want {
		if said, known := catalog.Chinese(s); !known {
			t.Errorf("%q has no Chinese: %q", s, said)
		}
	}
	for want, n := range map[string]posthouse.Notification{
		"It was acknowledged at 03:00 by li.na: no further step begins.": {State: posthouse.NotificationAcknowledged, Ack: &posthouse.Acknowledgement{By: "li.na", At: at}},
		"zhang.san was told at 03:00: no further step begins.":           {State: posthouse.NotificationTold, ToldUser: "zhang.san", ToldAt: at},
		"Its person was not told: li.na was, at 03:00.":                  {State: posthouse.NotificationNotTold, Reason: ReasonEscalated, ToldUser: "li.na", ToldAt: at},
		"It was not told: nobody. All its steps are over.":               {State: posthouse.NotificationNotTold, Reason: ReasonNobody},
		"A new epoch holds it: a step may have begun in what a restore has undone. posthouse notification resume n1 has it go on, posthouse notification end ends it.": {ID: "n1", State: posthouse.NotificationWaiting, Step: 1, Held: work.ReasonEpochHold},
		"It waits for what is under way or in doubt: nothing else begins the next step.":                                                                               {State: posthouse.NotificationWaiting, Step: 1},
		"It waits: quiet_hours. It goes on at 03:00.":                                                                                                                  {State: posthouse.NotificationWaiting, Reason: ReasonQuietHours, NextAt: at},
		"Its first step begins at 03:00.": {State: posthouse.NotificationWaiting, NextAt: at},
	} {
		got, _ := Explain(&n, clock)
		if _, known := catalog.Chinese(got); got != want || !known {
			t.Errorf("got %q, known in Chinese: %v; want %q", got, known, want)
		}
	}
}

// What a route begins anew says in which round.
func TestAnExplanationNamesRounds(t *testing.T) {
	t.Parallel()
	at := time.Date(2030, 1, 1, 3, 0, 0, 0, time.UTC)
	clock := func(t time.Time) string { return t.Format("15:04") }
	summary, steps := Explain(&posthouse.Notification{
		Route: "night", State: posthouse.NotificationWaiting, Step: 2, Round: 3, NextAt: at,
		Steps: []posthouse.NotificationStep{
			{Step: 1, Round: 1, At: at}, {Step: 1, Round: 2, At: at}, {Step: 2, Round: 2, At: at, Detail: "a: insufficient balance"},
			{Step: 1, Round: 3, At: at, Skipped: SkippedNobody}, {Step: 2, Round: 3, At: at, Skipped: SkippedNobody, Detail: `there is no roster "lead"`},
		},
	}, clock)
	want := []string{
		"It waits for step 2 of the route night in round 3. The next step begins at 03:00, unless that ends it before.", "Step 1 began at 03:00.", "In round 2 step 1 began at 03:00.",
		"In round 2 step 2 began at 03:00: a: insufficient balance.", "In round 3 step 1 was passed over at 03:00: nobody.", `In round 3 step 2 was passed over at 03:00: nobody (there is no roster "lead").`,
	}
	if diff := cmp.Diff(want, append([]string{summary}, steps...)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, s := range want {
		if said, known := catalog.Chinese(s); !known {
			t.Errorf("%q has no Chinese: %q", s, said)
		}
	}
}

// A list of recipients that is written and empty is no way to leave it out.
func TestAStepForAnEmptyListIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		to   []posthouse.Recipient
		want int
	}{{nil, 0}, {[]posthouse.Recipient{}, 1}, {[]posthouse.Recipient{{User: "li.na"}}, 0}} {
		way := WithDefaults(posthouse.Route{Name: "w", Steps: []posthouse.RouteStep{{Channels: []string{"a"}, To: c.to}}})
		var p draft.Problems
		if Check(&way, func(string) bool { return true }, &p); len(p.List) != c.want || c.want > 0 && p.List[0].Path != "steps[0].to" {
			t.Errorf("%v: the problems are %+v", c.to, p.List)
		}
	}
}
