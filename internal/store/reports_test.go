package store

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// said is a report of agent p1.
func said(id string, d posthouse.Delivery, outcome posthouse.Outcome) work.Report {
	return work.Report{Tenant: "t1", Agent: "p1", AgentReport: posthouse.AgentReport{
		ReportID: id, Delivery: d.ID, Token: d.Token, Outcome: outcome,
	}}
}

// byTheBook is a small judge: it counts what it is asked in asked.
func byTheBook(asked *[]work.Known) func(time.Time, *work.Report, work.Known) *work.Change {
	return func(_ time.Time, r *work.Report, known work.Known) *work.Change {
		*asked = append(*asked, known)
		d := known.Delivery
		switch {
		case d == nil || len(known.Tokens) == 0:
			r.Answer = posthouse.ReportMissing
		case d.State == posthouse.Sending && d.Token == r.Token && r.Outcome == posthouse.OutcomeNotSent:
			c := step(*d, posthouse.EventRetry, posthouse.Pending)
			c.After.Tries, c.After.LeaseOwner, c.After.LeaseUntil = d.Tries+1, "", time.Time{}
			r.Answer = posthouse.ReportDone
			return &c
		case d.State == posthouse.Sending && d.Token == r.Token:
			c := step(*d, posthouse.EventSent, posthouse.Sent)
			r.Answer = posthouse.ReportDone
			return &c
		case r.Outcome == posthouse.OutcomeSent && d.State != posthouse.Sent:
			c := step(*d, posthouse.EventEvidence, posthouse.Sent)
			r.Answer = posthouse.ReportEvidence
			return &c
		default:
			r.Answer = posthouse.ReportStale
		}
		return nil
	}
}

func report(t testing.TB, s *Store, list ...work.Report) (after []work.Report, asked []work.Known) {
	t.Helper()
	after, err := s.Reports.Report(t.Context(), at(), list, func(now time.Time, r *work.Report, known work.Known) *work.Change {
		return byTheBook(&asked)(now, r, known)
	})
	if err != nil {
		t.Fatal(err)
	}
	return after, asked
}

// answers are the answers with the states they leave, and a star at repeats.
func answers(list []work.Report) string {
	var parts []string
	for _, r := range list {
		text := strings.TrimSuffix(fmt.Sprintf("%s/%s", r.Answer, r.State), "/")
		if r.Repeated {
			text += "*"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, " ")
}

func wantAnswers(t testing.TB, list []work.Report, want string) {
	t.Helper()
	if got := answers(list); got != want {
		t.Errorf("answers = %s, want %s", got, want)
	}
}

// PULL-6, PULL-7: one batch with everything there is.
func TestReportsAreAnsweredInOrderAndWrittenAtOnce(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		accept(t, s, entry(3, pulled))
		items := handOut(t, s, wish(3, started)).Items
		a, b, c := items[0].Delivery, items[1].Delivery, items[2].Delivery
		no := false
		failed := said("r2", b, posthouse.OutcomeNotSent)
		failed.Code, failed.Error, failed.Retry, failed.Ref, failed.Request = "无信号", "没有信号", &no, "m-1", "{…}"
		other := said("r4", c, posthouse.OutcomeSent)
		other.Tenant = "t2"
		list, asked := report(t, s,
			said("r1", a, posthouse.OutcomeSent), failed, said("r1", a, posthouse.OutcomeSent), said("r3", b, posthouse.OutcomeSent), other,
			said("r5", posthouse.Delivery{ID: "管理员"}, posthouse.OutcomeSent))
		wantAnswers(t, list, "done/sent done/pending done/sent* evidence/sent missing missing")
		if len(asked) != 5 {
			t.Fatalf("asked %d times, want 5", len(asked))
		}
		last := asked[2]
		if last.Last == nil || last.Last.ReportID != "r2" || last.Delivery.Version != b.Version+1 || last.Delivery.Tries != 1 || !cmp.Equal(last.Tokens, []int64{1}) {
			t.Errorf("the third report finds %+v", last)
		}
		wantChain(t, s, a.ID, "accept start sent")
		wantChain(t, s, b.ID, "accept start retry evidence")
		wantChain(t, s, c.ID, "accept start")
		wantTally(t, s, work.Tally{Processing: 1, Success: 2})

		again, asked := report(t, s, failed, said("r9", b, posthouse.OutcomeNotSent))
		wantAnswers(t, again, "done/pending* stale/sent")
		if len(asked) != 1 || asked[0].Last == nil || asked[0].Last.ReportID != "r3" {
			t.Errorf("asked %+v", asked)
		}
		if n := count(t, s, "SELECT COUNT(*) FROM posthouse_report_log"); n != 6 {
			t.Errorf("%d lines in the log of reports, want 6", n)
		}
	})
}

func TestReportRemembersWhatWasSaid(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		accept(t, s, entry(1, pulled))
		d := handOut(t, s, wish(1, started)).Items[0].Delivery
		yes := true
		first := said("r1", d, posthouse.OutcomeNotSent)
		first.Code, first.Error, first.Retry, first.Ref, first.Request = "无信号", "没有信号", &yes, "m-1", "{…}"
		list, _ := report(t, s, first)
		_, asked := report(t, s, said("r2", d, posthouse.OutcomeNotSent))
		want := list[0]
		if diff := cmp.Diff(&want, asked[0].Last); diff != "" || want.ID == "" || want.At.IsZero() {
			t.Errorf("the last report (-said +kept):\n%s", diff)
		}
	})
}

// PULL-7: never handed to it, or handed to it once.
func TestReportKnowsWhoWasHandedADelivery(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		id := accept(t, s, entry(1, pulled))[0]
		for _, agent := range []string{"p1", "p2", "p1"} {
			d := handOut(t, s, wish(1, byAgent(agent))).Items[0].Delivery
			record(t, s, step(d, posthouse.EventRelease, posthouse.Pending))
		}
		for agent, want := range map[string][]int64{"p1": {1, 3}, "p2": {2}, "p3": nil} {
			r := said("r", posthouse.Delivery{ID: id}, posthouse.OutcomeNotSent)
			r.Agent = agent
			if _, asked := report(t, s, r); !cmp.Equal(asked[0].Tokens, want) {
				t.Errorf("tokens of %s = %v, want %v", agent, asked[0].Tokens, want)
			}
		}
		handOut(t, s, wish(1, byAgent("p4")))
		tamper(t, s, "DELETE FROM posthouse_send_log")
		r := said("r", posthouse.Delivery{ID: id}, posthouse.OutcomeNotSent)
		r.Agent = "p4"
		if _, asked := report(t, s, r); !cmp.Equal(asked[0].Tokens, []int64{4}) {
			t.Errorf("without the log, the tokens of the holder are %v", asked[0].Tokens)
		}
	})
}

// A report id stands for what was said first. Used again for something else, it says nothing of that.
func TestAReportIDIsNotUsedTwice(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		accept(t, s, entry(3, pulled))
		held := handOut(t, s, wish(3, started)).Items
		list, _ := report(t, s, said("r1", held[0].Delivery, posthouse.OutcomeSent))
		wantAnswers(t, list, "done/sent")
		list, asked := report(t, s, said("r1", held[1].Delivery, posthouse.OutcomeNotSent), said("r2", held[2].Delivery, posthouse.OutcomeSent))
		wantAnswers(t, list, "reused* done/sent")
		if d, err := s.Messages.Delivery(t.Context(), "t1", held[1].Delivery.ID); err != nil || d.State != posthouse.Sending {
			t.Errorf("what a known report id was used for is %s now, %v; want it untouched", d.State, err)
		}
		if d := asked[len(asked)-1].Delivery; d.ID != held[2].Delivery.ID {
			t.Errorf("asked last about %s, want %s", d.ID, held[2].Delivery.ID)
		}
	})
}

// PULL-7: the same reports from many connections at once count once.
func TestConcurrentReportsCountOnce(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		accept(t, s, entry(20, pulled))
		var list []work.Report
		for i, item := range handOut(t, s, wish(20, started)).Items {
			list = append(list, said(fmt.Sprint("r", i), item.Delivery, posthouse.OutcomeSent))
		}
		list = append(list, said("gone", posthouse.Delivery{ID: posthouse.NewID()}, posthouse.OutcomeSent))
		var wg sync.WaitGroup
		var mu sync.Mutex
		first := 0
		for range 6 {
			wg.Go(func() {
				var asked []work.Known
				after, err := s.Reports.Report(t.Context(), at(), list, byTheBook(&asked))
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				for _, r := range after {
					if !r.Repeated {
						first++
					}
					if r.Answer != posthouse.ReportDone && r.ReportID != "gone" {
						t.Errorf("report %s is answered %s", r.ReportID, r.Answer)
					}
				}
			})
		}
		wg.Wait()
		if first != 21 {
			t.Errorf("%d reports counted, want 21", first)
		}
		wantTally(t, s, work.Tally{Success: 20})
	})
}
