package remind

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
)

// hall has the campaigns of slots, and notes what it is asked.
type hall struct {
	did   []string
	begun Begun
	err   error
}

func (h *hall) Make(_ context.Context, _ posthouse.Reminder, _ time.Time, name string) error {
	h.did = append(h.did, "make "+name)
	return h.err
}

func (h *hall) Start(_ context.Context, _ posthouse.Reminder, s posthouse.Slot) (Begun, error) {
	h.did = append(h.did, "start "+s.Campaign)
	return h.begun, h.err
}

func (h *hall) Drop(_ context.Context, _, name string) error {
	h.did = append(h.did, "drop "+name)
	return h.err
}

// campaigns is a schedule of them, each hour from noon on.
func campaigns(t *testing.T, with func(r *posthouse.Reminder)) posthouse.Reminder {
	r := posthouse.Reminder{ID: "bills", Tenant: "t1", Campaign: &posthouse.ScheduledCampaign{Like: "bill"}, Repeat: &posthouse.Repeat{Every: 60 * minute}}
	if with != nil {
		with(&r)
	}
	return open(t, r, noon)
}

// steps goes one step on with a schedule of campaigns.
func steps(t *testing.T, c Composer, r posthouse.Reminder, now time.Time) posthouse.Reminder {
	t.Helper()
	drafts, p, err := c.Compose(t.Context(), Plan(r), now)
	if err != nil || len(drafts) > 0 {
		t.Fatalf("it sends %+v, %v", drafts, err)
	}
	if r, err = Read(p); err != nil {
		t.Fatal(err)
	}
	return r
}

// A slot's campaign is made, noted, started and passed, in this order, whatever stops between; what came meanwhile is not made up for.
func TestASlotsCampaignIsNotedBeforeItIsStarted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		begun Begun
		now   []time.Time
		did   []string
		last  []posthouse.Slot
		fired int
		next  string
	}{
		"it begins": {begun: BegunNow, now: []time.Time{noon, noon}, did: []string{"make bills-20250802T120000Z", "start bills-20250802T120000Z"},
			last: []posthouse.Slot{{At: noon, Campaign: "bills-20250802T120000Z"}}, fired: 1, next: "13:00"},
		"after a stop, the last one": {begun: BegunNow, now: []time.Time{at("15:10"), at("15:20")}, did: []string{"make bills-20250802T150000Z", "start bills-20250802T150000Z"},
			last: []posthouse.Slot{{At: at("15:00"), Campaign: "bills-20250802T150000Z", Missed: 3}}, fired: 1, next: "16:00"},
		"a stop between": {begun: BegunNow, now: []time.Time{noon, at("14:10")}, did: []string{"make bills-20250802T120000Z", "drop bills-20250802T120000Z"},
			last: []posthouse.Slot{{At: noon, Campaign: "bills-20250802T120000Z", Missed: 1}}, next: "13:00"},
		"nobody": {begun: BegunNobody, now: []time.Time{noon, noon}, did: []string{"make bills-20250802T120000Z", "start bills-20250802T120000Z"},
			last: []posthouse.Slot{{At: noon}}, next: "13:00"},
		"deleted by a person": {begun: BegunGone, now: []time.Time{noon, noon}, did: []string{"make bills-20250802T120000Z", "start bills-20250802T120000Z"},
			last: []posthouse.Slot{{At: noon, Campaign: "bills-20250802T120000Z", Missed: 1}}, next: "13:00"},
		"made anew":           {begun: BegunAnew, now: []time.Time{noon, noon, noon}, did: []string{"make bills-20250802T120000Z", "start bills-20250802T120000Z", "make bills-20250802T120000Z"}, next: "12:00"},
		"its people are read": {begun: BegunNot, now: []time.Time{noon, noon}, did: []string{"make bills-20250802T120000Z", "start bills-20250802T120000Z"}, next: "12:00"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, r := &hall{begun: c.begun}, campaigns(t, nil)
			for _, now := range c.now {
				r = steps(t, Composer{Campaigns: h}, r, now)
			}
			if diff := cmp.Diff(c.did, h.did); diff != "" {
				t.Errorf("it did (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.last, r.Last); diff != "" {
				t.Errorf("the slots that came (-want +got):\n%s", diff)
			}
			if !r.NextAt.Equal(at(c.next)) || r.Fired != c.fired || (r.Preparing != nil) != (c.begun == BegunNot || c.begun == BegunAnew) {
				t.Errorf("it is %+v, want the next one at %s", r, c.next)
			}
		})
	}
}

// An error leaves a schedule as it is; in another epoch of the database it waits for a person.
func TestASchedulesCampaignsWait(t *testing.T) {
	t.Parallel()
	down := errors.New("no answer")
	r := campaigns(t, nil)
	if _, _, err := (Composer{Campaigns: &hall{err: down}}).Compose(t.Context(), Plan(r), noon); !errors.Is(err, down) {
		t.Errorf("got %v, want %v", err, down)
	}
	if _, _, err := (Composer{}).Compose(t.Context(), Plan(r), noon); err == nil {
		t.Error("it starts campaigns without anybody who makes them")
	}
	h := &hall{}
	r = steps(t, Composer{Campaigns: h, Epoch: func() int64 { return 1 }}, r, noon)
	if !r.Paused || r.Reason != ReasonEpoch || len(h.did) > 0 {
		t.Errorf("in another epoch: %+v, %v", r, h.did)
	}
	if r = Resume(r, noon); r.Paused || r.Reason != "" || !r.NextAt.Equal(at("13:00")) {
		t.Errorf("resumed: %+v", r)
	}
	r = steps(t, Composer{Campaigns: &hall{}}, campaigns(t, nil), noon)
	if kept, problems := Replace(r, campaigns(t, nil), noon, time.UTC); len(problems) > 0 || kept.Preparing == nil {
		t.Errorf("replaced by the same: %+v, %v", kept, problems)
	}
	other := campaigns(t, func(r *posthouse.Reminder) { r.Campaign.Like = "other" })
	if next, problems := Replace(r, other, noon, time.UTC); len(problems) > 0 || next.Preparing != nil {
		t.Errorf("replaced by another: %+v, %v", next, problems)
	}
}

func TestWhatIsWrongWithASchedulesCampaign(t *testing.T) {
	t.Parallel()
	for want, with := range map[string]func(r *posthouse.Reminder){
		"draft":         func(r *posthouse.Reminder) { r.Draft.Template = "t" },
		"campaign.like": func(r *posthouse.Reminder) { r.Campaign.Like = "" },
		"campaign.query": func(r *posthouse.Reminder) {
			r.Campaign.Audience, r.Campaign.Query = "vip", &posthouse.ScheduledQuery{}
		},
		"campaign.within": func(r *posthouse.Reminder) { r.Campaign.Within = -1 },
		"repeat.every":    func(r *posthouse.Reminder) { r.Repeat.Every = minute / 2 },
		"id":              func(r *posthouse.Reminder) { r.ID = "a/b" },
	} {
		r := posthouse.Reminder{ID: "bills", Campaign: &posthouse.ScheduledCampaign{Like: "bill"}, Repeat: &posthouse.Repeat{Every: 60 * minute}}
		with(&r)
		_, problems := New(r, noon, time.UTC)
		if !slices.ContainsFunc(problems, func(p posthouse.Problem) bool { return p.Path == want }) {
			t.Errorf("%s: %v", want, problems)
		}
	}
}
