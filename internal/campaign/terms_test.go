package campaign_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/campaign"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// problems are the fields that an error names.
func problems(err error) (fields []string) {
	var e *posthouse.Error
	if errors.As(err, &e) {
		for _, p := range e.Problems {
			fields = append(fields, p.Path)
		}
	}
	return fields
}

// A campaign that is scheduled begins by itself when its time has come, with its rules. Until then it can be moved, taken back,
// started at once and cancelled; after a restore nobody knows whether it has begun, and a person starts it.
func TestACampaignBeginsAtATime(t *testing.T) {
	eachDB(t, func(t *testing.T, h *hall) {
		d, made := h.spring(people(60), 20) // its deadline is in an hour
		steward, members, now := h.steward(), made.Progress.Members, time.Now()
		waits := wire.CampaignProgress{CampaignCounts: wire.CampaignCounts{Members: members, Unsent: members}}
		start := func(at time.Time) (wire.Campaign, error) {
			return d.Start(t.Context(), "t1", work.Program(), "spring", wire.CampaignStart{At: at, Force: true})
		}
		if _, err := start(now.Add(-time.Second)); !cmp.Equal(problems(err), []string{"at"}) {
			t.Errorf("a start in the past: %v", err)
		}
		if _, err := start(now.Add(2 * time.Hour)); posthouse.CodeOf(err) != posthouse.CodeConflict {
			t.Errorf("a start after the deadline: %v", err)
		}
		if _, err := start(now.Add(10 * time.Minute)); err != nil {
			t.Fatal(err)
		}
		at := now.Add(20 * time.Minute).Truncate(time.Millisecond)
		got, err := start(at)
		if err != nil || got.State != posthouse.CampaignScheduled || !got.StartAt.Equal(at) || !got.StartedAt.IsZero() || !got.Progress.Until.Equal(at) {
			t.Fatalf("moved it is %+v, %v", got, err)
		}
		h.round(steward, at.Add(-time.Millisecond))
		timed := waits
		timed.Waits, timed.Until = got.Progress.Waits, got.Progress.Until
		h.settled(d, posthouse.CampaignScheduled, timed)
		if c := h.act(d, campaign.Unschedule); c.State != posthouse.CampaignReady || !c.StartAt.IsZero() {
			t.Errorf("taken back it is %+v", c)
		}
		h.round(steward, at)
		h.settled(d, posthouse.CampaignReady, waits)

		if _, err := start(at); err != nil {
			t.Fatal(err)
		}
		if _, err := h.store.Epochs.BumpEpoch(t.Context(), time.Now()); err != nil {
			t.Fatal(err)
		}
		h.round(steward, at)
		if c := h.settled(d, posthouse.CampaignReady, waits); c.Reason != work.ReasonEpochHold || !c.StartAt.IsZero() {
			t.Errorf("after a restore it is ready for %q, and begins at %s", c.Reason, c.StartAt)
		}
		if _, err := start(at); err != nil {
			t.Fatal(err)
		}
		h.round(steward, at)
		c := h.settled(d, posthouse.CampaignRunning, waits)
		if !c.StartedAt.Equal(at) || c.Reason != "" {
			t.Errorf("it began at %s for %q, want %s", c.StartedAt, c.Reason, at)
		}
		stored, _, err := h.store.Campaigns.Campaign(t.Context(), "t1", "spring")
		if err != nil || stored.Planned != stored.Last {
			t.Errorf("of %d members %d are in segments, %v", stored.Last, stored.Planned, err)
		}
	})
}

// One that begins by itself leaves out whom others have told by then, and one whose deadline passes before has expired.
func TestAScheduledCampaignKeepsItsRules(t *testing.T) {
	eachDB(t, func(t *testing.T, h *hall) {
		d, steward, at := h.desk(), h.steward(), time.Now().Add(time.Minute)
		h.making(d, "first", 0, "a", "b")
		h.making(d, "second", time.Hour, "b", "c")
		if _, err := d.Start(t.Context(), "t1", work.Program(), "second", wire.CampaignStart{At: at}); err != nil {
			t.Fatal(err)
		}
		h.acting(d, "first", campaign.Start)
		h.round(steward, at)
		if got, want := h.where(d, "second"), map[string]string{"b": "suppressed TOLD_RECENTLY", "c": "unsent"}; !cmp.Equal(got, want) {
			t.Errorf("members of the second stand %v, want %v", got, want)
		}
		h.making(d, "late", 0, "x")
		soon := time.Now().Add(time.Hour)
		if _, err := d.Change(t.Context(), "t1", work.Program(), "late", wire.CampaignChange{Deadline: &soon}); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Start(t.Context(), "t1", work.Program(), "late", wire.CampaignStart{At: at.Add(time.Minute)}); err != nil {
			t.Fatal(err)
		}
		h.round(steward, soon.Add(time.Second))
		c, err := d.Get(t.Context(), "t1", "late")
		if err != nil || c.State != posthouse.CampaignExpired || c.FinishedAt.IsZero() || c.Progress.Expired != 1 {
			t.Errorf("past its deadline it is %+v, %v", c, err)
		}
	})
}

// How a campaign is sent can be changed until it begins: what is not named stays, and what is wrong changes nothing.
func TestTheTermsOfACampaignChangeBeforeItsStart(t *testing.T) {
	eachDB(t, func(t *testing.T, h *hall) {
		d, made := h.spring(people(60), 20)
		change := func(in wire.CampaignChange) (wire.Campaign, error) {
			return d.Change(t.Context(), "t1", work.Program(), "spring", in)
		}
		end, spread := time.Now().Add(3*time.Hour).Truncate(time.Millisecond), posthouse.Duration(time.Hour)
		brake := &posthouse.Brake{Above: 0.2, After: 10}
		got, err := change(wire.CampaignChange{Deadline: &end, Spread: &spread, Brake: brake, Priority: posthouse.Low})
		if err != nil || !got.Deadline.Equal(end) || got.Spread != spread || !cmp.Equal(got.Brake, brake) || got.Priority != posthouse.Low || got.Edition != made.Edition+1 {
			t.Fatalf("changed it is %+v, %v", got, err)
		}
		got, err = change(wire.CampaignChange{Canary: &posthouse.Canary{Members: 5}, Remove: []string{"brake"}})
		if err != nil || got.Brake != nil || got.Canary == nil || got.Spread != spread || !got.Deadline.Equal(end) {
			t.Fatalf("changed again it is %+v, %v", got, err)
		}
		h.making(d, "autumn", 0, "x")
		if got, err := change(wire.CampaignChange{Name: "summer"}); err != nil || got.Name != "summer" || got.ID != made.ID || got.Spread != spread {
			t.Fatalf("renamed it is %+v, %v", got, err)
		}
		if _, err := d.Get(t.Context(), "t1", "spring"); posthouse.CodeOf(err) != posthouse.CodeNotFound {
			t.Errorf("by its name of before: %v", err)
		}
		if got, err := d.Change(t.Context(), "t1", work.Program(), "summer", wire.CampaignChange{Name: "spring"}); err != nil || got.Name != "spring" {
			t.Fatalf("renamed back it is %+v, %v", got, err)
		}
		past, long := time.Now().Add(-time.Second), posthouse.Duration(-1)
		for _, c := range []struct {
			in     wire.CampaignChange
			fields []string
		}{
			{wire.CampaignChange{Deadline: &past}, []string{"deadline"}},
			{wire.CampaignChange{Name: "autumn"}, []string{"name"}},
			{wire.CampaignChange{Spread: &long, Remove: []string{"people"}, Priority: "soon", OnUnknown: "query"}, []string{"remove[0]", "priority", "on_unknown", "spread"}},
		} {
			if _, err := change(c.in); !cmp.Equal(problems(err), c.fields) {
				t.Errorf("%+v is refused for %v", c.in, err)
			}
		}
		if _, err := d.Start(t.Context(), "t1", work.Program(), "spring", wire.CampaignStart{At: end.Add(-time.Hour), Force: true}); err != nil {
			t.Fatal(err)
		}
		early := end.Add(-2 * time.Hour)
		if _, err := change(wire.CampaignChange{Deadline: &early}); !cmp.Equal(problems(err), []string{"deadline"}) || !strings.Contains(err.Error(), "scheduled") {
			t.Errorf("a deadline before the start: %v", err)
		}
		h.act(d, campaign.Start)
		if _, err := change(wire.CampaignChange{Priority: posthouse.High}); posthouse.CodeOf(err) != posthouse.CodeConflict {
			t.Errorf("after the start: %v", err)
		}
	})
}

// Of a stored list, of a campaign and of its outcomes a campaign is made of some members: by a condition on their variables, and by
// parts that have nobody in common and together everybody.
func TestSomeMembersOfAListAreChosen(t *testing.T) {
	eachDB(t, func(t *testing.T, h *hall) {
		d := h.desk()
		if _, err := d.MakeList(t.Context(), "t1", wire.AudienceDraft{Name: "vip"}); err != nil {
			t.Fatal(err)
		}
		file := "openid,city,points\na,Hangzhou,120\nb,杭州,80\na,Hangzhou,120\nc,Hangzhou,7\nd,,200\n"
		if _, err := d.ImportList(t.Context(), "t1", "vip", campaign.Part{Final: true}, strings.NewReader(file)); err != nil {
			t.Fatal(err)
		}
		content := &posthouse.Content{Text: "hello"}
		named := func(name string) []string { return slices.Sorted(maps.Keys(h.where(d, name))) }
		for _, c := range []struct {
			name, where string
			want        []string
		}{
			{"points", `int(points) >= 100`, []string{"a", "d"}},
			{"city", `city in ["Hangzhou", "杭州"] and not (address == "b")`, []string{"a", "c"}},
			{"lacks", `city == nil`, []string{"d"}},
		} {
			_, err := d.Create(t.Context(), "t1", work.Program(), wire.CampaignDraft{Name: c.name, Channel: "c", Content: content, Audience: "vip", Select: &wire.MemberSelection{Where: c.where}})
			if got := named(c.name); err != nil || !cmp.Equal(got, c.want) {
				t.Errorf("%s has %v, %v; want %v", c.where, got, err, c.want)
			}
		}
		if _, err := d.Create(t.Context(), "t1", work.Program(), wire.CampaignDraft{Name: "all", Channel: "c", Content: content, Audience: "vip", CampaignRules: posthouse.CampaignRules{Spread: posthouse.Duration(time.Hour)}}); err != nil {
			t.Fatal(err)
		}
		same, err := d.Clone(t.Context(), "t1", work.Program(), "all", wire.CampaignClone{Name: "same"})
		if err != nil || same.Audience != "vip" || same.People.Members != 4 || same.Spread.Std() != time.Hour || same.State != posthouse.CampaignReady {
			t.Errorf("a clone is %+v, %v", same, err)
		}
		var parts []string
		for _, share := range []wire.MemberShare{{From: 0, To: 0.5}, {From: 0.5, To: 1}} {
			made, err := d.Clone(t.Context(), "t1", work.Program(), "all", wire.CampaignClone{MemberSelection: wire.MemberSelection{Share: &share}})
			if posthouse.CodeOf(err) == posthouse.CodeConflict { // nobody of so few stands there
				continue
			}
			if err != nil || made.Audience != "" {
				t.Fatalf("%+v, %v", made, err)
			}
			parts = append(parts, named("all-copy")...)
			if err := (campaign.Remover{Desk: d}).Delete(t.Context(), "t1", "all-copy"); err != nil {
				t.Fatal(err)
			}
		}
		slices.Sort(parts)
		if want := []string{"a", "b", "c", "d"}; !cmp.Equal(parts, want) {
			t.Errorf("two halves have %v, want %v", parts, want)
		}
		for _, c := range []struct {
			in     wire.CampaignDraft
			code   posthouse.Code
			fields []string
		}{
			{wire.CampaignDraft{Name: "x", Channel: "c", Content: content, Audience: "vip", Select: &wire.MemberSelection{Where: "points >"}}, posthouse.CodeInvalid, []string{"select.where"}},
			{wire.CampaignDraft{Name: "x", Channel: "c", Content: content, Audience: "vip", Select: &wire.MemberSelection{Where: "1 + 1"}}, posthouse.CodeInvalid, []string{"select.where"}},
			{wire.CampaignDraft{Name: "x", Channel: "c", Content: content, Select: &wire.MemberSelection{Share: &wire.MemberShare{From: 0.5, To: 0.1}}}, posthouse.CodeInvalid, []string{"select.share", "select"}},
			{wire.CampaignDraft{Name: "x", Channel: "c", Content: content, Audience: "vip", Select: &wire.MemberSelection{Where: "points == nil"}}, posthouse.CodeConflict, nil},
			{wire.CampaignDraft{Name: "x", Channel: "c", Content: content, Audience: "vip", Select: &wire.MemberSelection{Where: "int(city) > 1"}}, posthouse.CodeInvalid, []string{"select.where"}},
		} {
			_, err := d.Create(t.Context(), "t1", work.Program(), c.in)
			if posthouse.CodeOf(err) != c.code || !cmp.Equal(problems(err), c.fields) {
				t.Errorf("%+v: %v", c.in.Select, err)
			}
			if _, err := d.Get(t.Context(), "t1", "x"); posthouse.CodeOf(err) != posthouse.CodeNotFound {
				t.Errorf("%+v left a campaign: %v", c.in.Select, err)
			}
		}
	})
}

// A list of campaigns says of each where its members stand.
func TestAListOfCampaignsCountsTheirMembers(t *testing.T) {
	eachDB(t, func(t *testing.T, h *hall) {
		d, made := h.spring(people(60), 20)
		h.act(d, campaign.Start)
		h.round(h.steward(), time.Now())
		h.making(d, "other", 0, "a", "b")
		s := h.claim("w1", time.Minute)
		step(t, &s, 0, campaign.Started, campaign.Sent)
		step(t, &s, 1, campaign.Started, campaign.Failed)
		step(t, &s, 2, campaign.Started)
		h.save(s, time.Minute)
		list, _, err := d.List(t.Context(), "t1", "", "", 10)
		if err != nil || len(list) != 2 {
			t.Fatalf("%+v, %v", list, err)
		}
		members := made.Progress.Members
		for i, want := range []wire.CampaignCounts{{Members: 2, Unsent: 2}, {Members: members, Sent: 1, Failed: 1, Started: 1, Unsent: members - 3}} {
			if got := list[i].Counts; got != want {
				t.Errorf("%s stands at %+v, want %+v", list[i].Name, got, want)
			}
		}
		if got := list[1].Counts; got.Through() != 2 || got.Missed() != 1 {
			t.Errorf("%d are through and %d missed", got.Through(), got.Missed())
		}
	})
}

// A person has those sent to again of whom nobody knows whether they were reached: they are sent to although no term of the channel
// allows it, and their second message is no surprise. A campaign that has ended sends to nobody.
func TestAPersonHasUnknownMembersSentToAgain(t *testing.T) {
	eachDB(t, func(t *testing.T, h *hall) {
		d, made := h.spring(people(60), 20)
		members := made.Progress.Members
		h.act(d, campaign.Start)
		h.round(h.steward(), time.Now())
		s := h.claim("w1", -time.Second)
		step(t, &s, 0, campaign.Started, campaign.Sent)
		step(t, &s, 1, campaign.Started)
		h.save(s, -time.Second)
		terms := func(*work.Campaign) (campaign.Terms, bool) { return campaign.Terms{}, true }
		if _, err := h.steward().Repair(t.Context(), time.Now(), terms); err != nil {
			t.Fatal(err)
		}
		again := wire.CampaignResolve{Outcome: wire.CampaignResend}
		for range 2 { // the second finds nobody
			if _, err := d.Resolve(t.Context(), "t1", "spring", again); err != nil {
				t.Fatal(err)
			}
			h.settled(d, posthouse.CampaignRunning, wire.CampaignProgress{CampaignCounts: wire.CampaignCounts{Members: members, Sent: 1, Unsent: members - 1}})
		}
		sent := false
		for !sent {
			next := h.claim("w2", time.Minute)
			if sent = !next.DoubtedAt.IsZero(); !sent {
				continue
			}
			if !(campaign.Terms{}).MayBegin(&next, time.Now()) {
				t.Fatal("it may not begin")
			}
			place := int(s.First + 1 - next.First)
			step(t, &next, place, campaign.Started)
			campaign.Conclude(&next, campaign.Terms{}, time.Now(), 0, 0)
			if !(campaign.Terms{}).MayBegin(&next, time.Now()) {
				t.Error("who is left of it may not begin")
			}
		}
		h.act(d, campaign.Cancel)
		if _, err := d.Resolve(t.Context(), "t1", "spring", again); posthouse.CodeOf(err) != posthouse.CodeConflict {
			t.Errorf("of a campaign that has ended: %v", err)
		}
	})
}

// seen is what gauges were told last.
type seen map[string]map[string]int64

func (s seen) Stand(tenant, campaign string, counts map[string]int64) {
	s[tenant+"/"+campaign] = counts
}

func (s seen) Forget(tenant, campaign string) { delete(s, tenant+"/"+campaign) }

// Gauges show where the members of a live campaign stand, and forget one that has ended.
func TestGaugesShowLiveCampaigns(t *testing.T) {
	eachDB(t, func(t *testing.T, h *hall) {
		d, made := h.spring(people(60), 20)
		steward, gauges, members := h.steward(), seen{}, made.Progress.Members
		steward.Paces, steward.Gauges = campaign.NewPaces(), gauges
		h.act(d, campaign.Start)
		h.round(steward, time.Now())
		if got := gauges["t1/spring"]; got["unsent"] != members || got["sent"] != 0 || len(got) != 11 {
			t.Errorf("the gauges show %v, want %d unsent", gauges, members)
		}
		h.act(d, campaign.Pause)
		restarted, again := h.steward(), seen{}
		restarted.Paces, restarted.Gauges = campaign.NewPaces(), again
		h.round(restarted, time.Now())
		if got := again["t1/spring"]; got["unsent"] != members {
			t.Errorf("of a paused one, after a restart, the gauges show %v", again)
		}
		h.act(d, campaign.Cancel)
		h.round(steward, time.Now())
		if len(gauges) != 0 {
			t.Errorf("after its end the gauges show %v", gauges)
		}
	})
}
