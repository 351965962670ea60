package campaign

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// CAMP-10: what can be done to a campaign in which state; nothing brings back one that has ended.
func TestACampaignGoesOnlyWhereItMay(t *testing.T) {
	t.Parallel()
	want := map[posthouse.CampaignState]string{
		posthouse.CampaignDraft:     "cancel cancelled, change draft, close ready, import importing",
		posthouse.CampaignImporting: "cancel cancelled, change importing, close ready, import importing",
		posthouse.CampaignReady:     "cancel cancelled, change ready, schedule scheduled, start running",
		posthouse.CampaignScheduled: "cancel cancelled, change scheduled, expire expired, schedule scheduled, start running, unschedule ready",
		posthouse.CampaignRunning:   "cancel cancelled, expire expired, finish done, pause paused, repair running",
		posthouse.CampaignPaused:    "cancel cancelled, expire expired, finish done, repair paused, resume running",
		posthouse.CampaignDone:      "", posthouse.CampaignCancelled: "", posthouse.CampaignExpired: "",
	}
	for _, state := range posthouse.CampaignStates() {
		var got []string
		for _, a := range []Action{Cancel, Change, Close, Expire, Finish, Import, Pause, Mend, Resume, Schedule, Start, Unschedule} {
			to, err := Next(&posthouse.Campaign{Name: "spring", State: state}, a)
			if err == nil {
				got = append(got, string(a)+" "+string(to))
			} else if posthouse.CodeOf(err) != posthouse.CodeConflict || to != state {
				t.Errorf("%s a campaign that is %s: %s, %v", a, state, to, err)
			}
		}
		if text := strings.Join(got, ", "); text != want[state] {
			t.Errorf("from %s: %s, want %s", state, text, want[state])
		}
		if state.Final() != (want[state] == "") {
			t.Errorf("%s is final: %t", state, state.Final())
		}
	}
	_, err := Next(&posthouse.Campaign{Name: "spring", State: posthouse.CampaignDone}, Pause)
	if want := "the campaign spring is done: pause is possible while it is running"; err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}

// CAMP-7: whoever was sent to, or may have been, never becomes unsent again.
func TestNobodyWhoWasSentToBecomesUnsent(t *testing.T) {
	t.Parallel()
	reached := map[Outcome]bool{Sent: true, Delivered: true, Undelivered: true, Failed: true, Unknown: true, HandedOver: true}
	for from := Unsent; from <= Elsewhere; from++ {
		for to := Unsent; to <= Elsewhere; to++ {
			m := NewMap(3)
			m.Exclude(1, from)
			err := m.Step(1, to)
			if m.At(0) != Unsent || m.At(2) != Unsent {
				t.Fatalf("%s to %s moved a neighbour", from, to)
			}
			if want := map[bool]Outcome{true: to, false: from}[err == nil]; m.At(1) != want {
				t.Errorf("%s to %s: %v, and it is %s", from, to, err, m.At(1))
			}
			if err != nil && !errors.Is(err, ErrStep) {
				t.Error(err)
			}
			if err == nil && reached[from] && !reached[to] && from != HandedOver {
				t.Errorf("a member may go from %s to %s", from, to)
			}
			if err == nil && (to == Unsent && from != Started || from == Repeated || from == Elsewhere) {
				t.Errorf("a member may go from %s to %s", from, to)
			}
		}
	}
}

// CAMP-2: segments have every member once, of the size that was asked for.
func TestSegmentsHaveEveryMemberOnce(t *testing.T) {
	t.Parallel()
	c := work.Campaign{Campaign: posthouse.Campaign{ID: "c1", Tenant: "t1", SegmentSize: 1000}}
	list := Cut(&c, 1, 2500, func(seq int64) bool { return seq%100 == 0 || seq > 2000 })
	type row struct{ First, Last, Unsent, Repeated int64 }
	var got []row
	for _, s := range list {
		if s.Campaign != "c1" || s.Tenant != "t1" || !posthouse.ValidID(s.ID) {
			t.Errorf("a segment is %+v", s)
		}
		got = append(got, row{s.First, s.Last, s.Counts[Unsent], s.Counts[Repeated]})
	}
	if diff := cmp.Diff([]row{{1, 1000, 990, 10}, {1001, 2000, 990, 10}, {2001, 2500, 0, 500}}, got); diff != "" {
		t.Errorf("segments (-want +got):\n%s", diff)
	}
	if list[0].Status != work.SegmentFree || list[2].Status != work.SegmentDone {
		t.Errorf("the statuses are %d and %d: a segment without a member is done", list[0].Status, list[2].Status)
	}
}

// CAMP-6, CAMP-7: a repair issues exactly the unsent, and names those who were under way.
func TestARepairIssuesExactlyTheUnsent(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(7, 7))
	for range 2000 {
		n := 1 + random.IntN(40)
		s := work.Segment{ID: "old", Campaign: "c1", Tenant: "t1", First: 101, Last: 100 + int64(n), Status: work.SegmentClaimed, Token: 3, Owner: "w", Outcomes: NewMap(n)}
		few := 1 + random.IntN(int(Elsewhere)+1)
		for i := range n {
			Map(s.Outcomes).Exclude(i, Outcome(random.IntN(few)))
		}
		before := append([]byte(nil), s.Outcomes...)
		void, issued := Repair(s, Terms{}, time.Now(), 0)
		if string(before) != string(s.Outcomes) {
			t.Fatal("the segment that was handed in has changed")
		}
		if void.Status != work.SegmentVoid || void.Token != 4 || void.Owner != "" || len(issued) > 1 {
			t.Fatalf("void %+v, %d issued", void, len(issued))
		}
		left := map[int64]bool{}
		for _, next := range issued {
			if next.RepairedFrom != "old" || next.Status != work.SegmentFree || Map(next.Outcomes).At(0) != Unsent || Map(next.Outcomes).At(Len(&next)-1) != Unsent {
				t.Fatalf("issued %+v", next)
			}
			for i := range Len(&next) {
				switch o := Map(next.Outcomes).At(i); o {
				case Unsent:
					left[next.First+int64(i)] = true
				case Elsewhere:
				default:
					t.Fatalf("a member of the new segment is %s", o)
				}
			}
		}
		for i := range n {
			seq := s.First + int64(i)
			was, is := Map(before).At(i), Map(void.Outcomes).At(i)
			want := was
			switch was {
			case Unsent:
				want = Elsewhere
			case Started:
				want = Unknown
			}
			if is != want || left[seq] != (was == Unsent) {
				t.Fatalf("member %d was %s: it is %s, and issued anew: %t", seq, was, is, left[seq])
			}
		}
		if void.Counts != Map(void.Outcomes).Count(n) || void.Counts[Unsent]+void.Counts[Started] != 0 {
			t.Fatalf("the counts are %v", void.Counts)
		}
	}
}

// CAMP-5: what is left when a campaign ends is expired or cancelled, and counted.
func TestASweepEndsTheUnsentAlone(t *testing.T) {
	t.Parallel()
	s := work.Segment{First: 1, Last: 4, Outcomes: NewMap(4)}
	Map(s.Outcomes).Exclude(1, Sent)
	Map(s.Outcomes).Exclude(3, Started)
	got := Sweep(s, Expired)
	if got.Counts[Expired] != 2 || got.Counts[Sent] != 1 || got.Counts[Unknown] != 1 || got.Counts[Unsent] != 0 || got.Status != work.SegmentDone {
		t.Errorf("the counts are %v", got.Counts)
	}
}

// CAMP-12: a receipt tells only of who was sent to, the first one counts, and neither the owner's writes nor the receipt's undo the other.
func TestReceiptsStandBesideTheMap(t *testing.T) {
	t.Parallel()
	c := work.Campaign{Campaign: posthouse.Campaign{ID: "c", SegmentSize: 14}}
	s := Cut(&c, 1, 14, func(int64) bool { return false })[0]
	for o := Unsent; o <= Elsewhere; o++ {
		Map(s.Outcomes).Exclude(int(o), o)
	}
	Map(s.Outcomes).Exclude(13, Sent)
	Count(&s)
	for i := range Len(&s) {
		before := s
		after, news := Tell(s, i, i == 13, "USER_BLOCK", "blocked")
		if want := Map(s.Outcomes).At(i) == Sent; news != want {
			t.Errorf("%s: it is news: %t", Map(s.Outcomes).At(i), news)
		}
		if again, news := Tell(after, i, i != 13, "", ""); news || At(&again, i) != At(&after, i) {
			t.Errorf("%s: a second receipt counts", At(&after, i))
		}
		if diff := cmp.Diff(before.Outcomes, after.Outcomes); diff != "" || before.Counts != after.Counts {
			t.Errorf("a receipt changes the owner's map: %s", diff)
		}
		s = after
	}
	if _, news := Tell(s, 14, true, "", ""); news {
		t.Error("there is a fifteenth")
	}
	if got := At(&s, int(Sent)); got != Undelivered || reasonOf(&s, int(Sent)).Code != "USER_BLOCK" {
		t.Errorf("who blocked us is %s, %+v", got, reasonOf(&s, int(Sent)))
	}
	if got := At(&s, 13); got != Delivered || s.Heard != (work.HeardMembers{Delivered: 1, Undelivered: 1}) {
		t.Errorf("who got it is %s; counted are %+v", got, s.Heard)
	}
	void, issued := Repair(s, Terms{}, time.Now(), 0)
	if At(&void, 13) != Delivered || len(issued) != 1 || len(issued[0].Receipts) > 0 || issued[0].Heard != (work.HeardMembers{}) {
		t.Errorf("after a repair: %s, issued %+v", At(&void, 13), issued)
	}
}

// CAMP-9: a segment tells whom its campaign has reached since a moment: by its end, since when each was told is not kept.
func TestASegmentSaysWhomItHasTold(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	var may, will []int64
	for _, o := range []Outcome{Started, Sent, Delivered, Unknown, HandedOver} {
		may = append(may, 1+int64(o))
	}
	will = append([]int64{1 + int64(Unsent)}, may...)
	for name, c := range map[string]struct {
		status work.SegmentStatus
		ended  time.Time
		live   bool
		want   []int64
	}{
		"under way":                       {work.SegmentClaimed, time.Time{}, true, will},
		"under way when it was ended":     {work.SegmentClaimed, time.Time{}, false, may},
		"done within the time":            {work.SegmentDone, now, true, will},
		"done before it":                  {work.SegmentDone, now.Add(-1), true, nil},
		"void before it":                  {work.SegmentVoid, now.Add(-1), true, nil},
		"partly done, and waits for long": {work.SegmentPartly, now.Add(-1), true, will},
	} {
		n := int(Elsewhere) + 1
		s := work.Segment{First: 1, Last: int64(n), Status: c.status, FinishedAt: c.ended, Outcomes: NewMap(n)}
		for o := range n {
			Map(s.Outcomes).Exclude(o, Outcome(o))
		}
		var got []int64
		eachTold(&s, c.live, now, func(seq int64) { got = append(got, seq) })
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// CAMP-11: a channel that is paused is the reason also while members are under way: nobody follows them.
func TestAPauseThatBeginsUnderWayIsSaid(t *testing.T) {
	t.Parallel()
	now := time.Now()
	c := work.Campaign{Campaign: posthouse.Campaign{State: posthouse.CampaignRunning, Channel: "c"}, Planned: 10, Last: 100}
	p := work.Progress{}
	p.Members[Started] = 3
	why, until := waits(&c, &p, func(string, string) (string, time.Time) { return "the channel c is paused", now.Add(time.Hour) }, now)
	if why != "the channel c is paused" || !until.Equal(now.Add(time.Hour)) {
		t.Errorf("it waits for %q until %s", why, until)
	}
}
