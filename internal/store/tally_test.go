package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/layout"
	"github.com/posthouse/posthouse/internal/work"
)

// PULL-10: each state has its place.
func TestBucketsAreThoseOfTheStatistics(t *testing.T) {
	t.Parallel()
	want := map[posthouse.State]string{
		posthouse.Pending: layout.BucketNew, posthouse.Sending: layout.BucketProcessing, posthouse.Unknown: layout.BucketUnknown, posthouse.Quarantined: layout.BucketFailed,
		posthouse.Sent: layout.BucketSuccess, posthouse.Delivered: layout.BucketSuccess, posthouse.Undelivered: layout.BucketFailed, posthouse.Failed: layout.BucketFailed,
		posthouse.Cancelled: layout.BucketFailed, posthouse.Expired: layout.BucketFailed, posthouse.Suppressed: "",
	}
	got := map[posthouse.State]string{}
	for _, s := range posthouse.States() {
		got[s] = layout.BucketOf(&posthouse.Delivery{State: s})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := layout.BucketOf(&posthouse.Delivery{State: posthouse.Pending, Tries: 1}); got != layout.BucketRetry {
		t.Errorf("a retry counts as %s", got)
	}
}

// counted looks at every delivery of channel c1.
func counted(t testing.TB, s *Store) (w work.Tally) {
	t.Helper()
	list, _, err := s.Messages.Deliveries(t.Context(), work.Filter{Sight: work.SeeAll(), Tenant: "t1", Channel: "c1", Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	place := map[string]*int{layout.BucketNew: &w.New, layout.BucketRetry: &w.Retry, layout.BucketProcessing: &w.Processing, layout.BucketUnknown: &w.Unknown, layout.BucketSuccess: &w.Success, layout.BucketFailed: &w.Failed, "": new(int)}
	for _, d := range list {
		if d.Pulled {
			*place[layout.BucketOf(&d)]++
		}
	}
	return w
}

// PULL-10, S16: whatever happens side by side, the kept counts are what counting would find, and every row stands in
// the lane that follows from it.
func TestCountsAreWhatCountingFinds(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		accept(t, s, entry(10), entry(2, pulled, each(func(d *posthouse.Delivery) { d.State, d.Reason = posthouse.Suppressed, "rule" })))
		var wg sync.WaitGroup
		for w := range 4 {
			wg.Go(func() {
				random := rand.New(rand.NewPCG(7, uint64(w)))
				for range 12 {
					if err := oneOfMany(t.Context(), s, random, fmt.Sprint("p", w)); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		want := counted(t, s)
		wantTally(t, s, want)
		if want.New+want.Retry+want.Processing == 0 || want.Unknown == 0 || want.Success == 0 || want.Failed == 0 {
			t.Errorf("too little happened: %+v", want)
		}
		if n := count(t, s, "SELECT COUNT(*) FROM posthouse_deliveries WHERE address = 'phone' AND priority <> CASE WHEN tries > 0 THEN 21 ELSE 11 END"); n != 0 {
			t.Errorf("%d rows stand in a wrong lane", n)
		}

		if _, err := s.Epochs.BumpEpoch(t.Context(), at()); err != nil {
			t.Fatal(err)
		}
		wantTally(t, s, counted(t, s))
		before, err := s.Handouts.Tally(t.Context(), "t1", "c1")
		if err != nil {
			t.Fatal(err)
		}
		if n, err := s.Upkeep.Prune(t.Context(), at(), work.KeepAll(-time.Hour), 1000); n < want.Success || err != nil {
			t.Fatalf("Prune = %d, %v; want at least the %d that were sent", n, err, want.Success)
		}
		wantTally(t, s, before)
	})
}

var onPhone = each(func(d *posthouse.Delivery) { d.Pulled, d.Address = true, "phone" })

// oneOfMany does one of all the things that move deliveries.
func oneOfMany(ctx context.Context, s *Store, random *rand.Rand, agent string) error {
	if _, err := s.Submissions.Accept(ctx, at(), []*work.Submission{submit(entry(4, onPhone))}); err != nil {
		return err
	}
	h := wish(6, byAgent(agent))
	h.Start = random.IntN(2) == 0
	out, err := s.Handouts.HandOut(ctx, at(), h)
	if err != nil || len(out.Items) == 0 {
		return err
	}
	ends := []struct {
		event posthouse.EventType
		to    posthouse.State
		tries int
	}{
		{posthouse.EventSent, posthouse.Sent, 0}, {posthouse.EventRetry, posthouse.Pending, 1}, {posthouse.EventFail, posthouse.Failed, 1},
		{posthouse.EventAmbiguous, posthouse.Unknown, 1}, {posthouse.EventRelease, posthouse.Pending, 0}, {posthouse.EventCancelRequest, posthouse.Sending, 0},
	}
	var list []work.Report
	for i, item := range out.Items {
		list = append(list, work.Report{Tenant: "t1", Agent: agent, AgentReport: posthouse.AgentReport{
			ReportID: fmt.Sprint(item.Delivery.ID, item.Delivery.Token, i), Delivery: item.Delivery.ID, Token: item.Delivery.Token, Outcome: posthouse.OutcomeUnknown,
		}})
	}
	_, err = s.Reports.Report(ctx, at(), list, func(_ time.Time, r *work.Report, known work.Known) *work.Change {
		end := ends[random.IntN(len(ends))]
		c := step(*known.Delivery, end.event, end.to)
		c.After.Tries += end.tries
		r.Answer = posthouse.ReportDone
		return &c
	})
	if err != nil {
		return err
	}
	ids := []string{out.Items[0].Delivery.ID}
	replays, err := s.Submissions.AddReplay(ctx, at(), "t1", ids, false)
	if err == nil && replays[0].Err != nil && posthouse.CodeOf(replays[0].Err) != posthouse.CodeConflict {
		err = errors.New("replay: " + replays[0].Err.Error())
	}
	return err
}

func TestCountsGoWithTheirChannel(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		ch := posthouse.Channel{Tenant: "t1", Name: "c1", Driver: "pull"}
		if _, _, err := s.Channels.PutChannel(t.Context(), at(), ch); err != nil {
			t.Fatal(err)
		}
		accept(t, s, entry(1, pulled), entry(1, pulled, in("t1", "c2")))
		report(t, s, said("r", handOut(t, s, wish(1)).Items[0].Delivery, posthouse.OutcomeSent))
		wantTally(t, s, work.Tally{Success: 1})
		if err := s.Channels.DeleteChannel(t.Context(), at(), "t1", "c1"); err != nil {
			t.Fatal(err)
		}
		wantTally(t, s, work.Tally{})
		if other, err := s.Handouts.Tally(t.Context(), "t1", "c2"); other != (work.Tally{New: 1}) || err != nil {
			t.Errorf("the counts of another channel are %+v, %v", other, err)
		}
	})
}
