package agent

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
)

// reopen reads a journal as the next start of an app does.
func reopen(t *testing.T, path string, now time.Time) *journal {
	t.Helper()
	j, err := openJournal(path, now)
	must(t, err)
	t.Cleanup(func() { j.close() })
	return j
}

func said(j *journal) []string {
	var out []string
	for _, r := range j.untold() {
		out = append(out, r.Delivery+" "+string(r.Outcome))
	}
	return out
}

func TestTheJournalKnowsWhatACrashCutOff(t *testing.T) {
	t.Parallel()
	a, b := &task{delivery: "A", key: "a", token: 1}, &task{delivery: "B", key: "b", once: true}
	sent := posthouse.AgentReport{ReportID: "r", Delivery: "A", Token: 1, Outcome: posthouse.OutcomeSent}
	for name, test := range map[string]struct {
		write func(j *journal) error
		want  []string
		sent  bool
	}{
		"nothing":             {func(*journal) error { return nil }, nil, false},
		"a claim":             {func(j *journal) error { return j.claiming("c") }, nil, false},
		"fetched for good":    {func(j *journal) error { return j.holds(claimed{tasks: []*task{a, b}}) }, []string{"B not_sent"}, false},
		"started":             {func(j *journal) error { return j.starts(a) }, []string{"A unknown"}, false},
		"sent":                {func(j *journal) error { return j.ends("a", sent) }, []string{"A sent"}, true},
		"sent and told":       {func(j *journal) error { return first(j.ends("a", sent), j.toldOf("r")) }, nil, true},
		"sent, told, fetched": {func(j *journal) error { return first(j.ends("a", sent), j.toldOf("r"), j.starts(a), j.drops(a)) }, nil, true},
		"given up":            {func(j *journal) error { return first(j.starts(a), j.drops(a)) }, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "journal")
			must(t, test.write(reopen(t, path, time.Now())))
			for start := 1; start <= 3; start++ { // each one writes it anew
				j := reopen(t, path, time.Now())
				if diff := cmp.Diff(test.want, said(j)); diff != "" {
					t.Errorf("start %d: reports (-want +got):\n%s", start, diff)
				}
				if j.wasSent("a") != test.sent {
					t.Errorf("start %d: sent is %t, want %t", start, j.wasSent("a"), test.sent)
				}
				must(t, j.close())
			}
		})
	}
}

func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func TestAReportKeepsItsIdOverStarts(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "journal")
	must(t, reopen(t, path, time.Now()).starts(&task{delivery: "A", key: "a"}))
	id := reopen(t, path, time.Now()).untold()[0].ReportID
	if got := reopen(t, path, time.Now()).untold()[0].ReportID; got != id {
		t.Errorf("got the id %s, and %s before", got, id)
	}
}

func TestALineThatACrashCutIsNoFault(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "journal")
	must(t, reopen(t, path, time.Now()).claiming("c1"))
	text, err := os.ReadFile(path)
	must(t, err)
	must(t, os.WriteFile(path, append(text, `{"at":"2026-`...), 0o600))
	if got := reopen(t, path, time.Now()).claim; got != "c1" {
		t.Errorf("got the claim %q, want c1", got)
	}
	must(t, os.WriteFile(path, append([]byte("rubbish\n"), text...), 0o600))
	if _, err := openJournal(path, time.Now()); err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("got %v, want the broken line named", err)
	}
}

func TestWhatIsOldIsForgotten(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "journal")
	j := reopen(t, path, time.Now())
	must(t, first(j.ends("a", posthouse.AgentReport{ReportID: "r", Outcome: posthouse.OutcomeSent}), j.toldOf("r")))
	for i := range 3 * spareLines {
		must(t, j.claiming(strings.Repeat("c", 1+i%2)))
	}
	if j.lines > spareLines+10 {
		t.Errorf("the journal has %d lines for one key", j.lines)
	}
	if !reopen(t, path, time.Now()).wasSent("a") {
		t.Error("a key of today is forgotten")
	}
	must(t, reopen(t, path, time.Now().Add(remembered+time.Minute)).close())
	if reopen(t, path, time.Now()).wasSent("a") {
		t.Error("a key of last week is still known")
	}
}

// script is a server that hands out the same delivery whenever it is asked, and hears reports.
type script struct {
	protocol
	claims  []claimed
	started []string
	reports []posthouse.AgentReport
	renewed int
	refuse  string
}

func (s *script) claim(context.Context, string) (claimed, error) {
	if len(s.claims) == 0 {
		return claimed{}, nil
	}
	got := s.claims[0]
	s.claims = s.claims[1:]
	return got, nil
}

func (s *script) start(_ context.Context, t *task) (string, error) {
	s.started = append(s.started, t.delivery)
	return s.refuse, nil
}

func (s *script) renew(_ context.Context, tasks []*task) error {
	for _, t := range tasks {
		t.until = time.Now().Add(t.lease)
	}
	s.renewed++
	return nil
}

func (s *script) report(_ context.Context, list []posthouse.AgentReport) ([]posthouse.ReportResult, error) {
	s.reports = append(s.reports, list...)
	results := make([]posthouse.ReportResult, len(list))
	for i := range results {
		results[i] = posthouse.ReportDone
	}
	return results, nil
}

// scripted is an app on a script, and how often its phone was told to send.
func scripted(t *testing.T, s *script) (a *App, sent *int) {
	t.Helper()
	sent = new(0)
	a, err := New(Options{URL: "http://script", ID: "phone-1", Key: "k", Once: true, Log: quiet(), Phone: phoneFunc(func(context.Context, Text) Result {
		*sent++
		return Result{Outcome: posthouse.OutcomeSent}
	})})
	must(t, err)
	a.server = s
	return a, sent
}

func handed(token int64, lease, left time.Duration) claimed {
	return claimed{tasks: []*task{{delivery: "A", key: "a", token: token, lease: lease, until: time.Now().Add(left)}}}
}

func TestWhatWasSentIsReportedAndNotSentAgain(t *testing.T) {
	t.Parallel()
	s := &script{claims: []claimed{handed(1, time.Minute, time.Minute), handed(2, time.Minute, time.Minute)}}
	a, sent := scripted(t, s)
	must(t, a.Run(t.Context()))
	if *sent != 1 || a.Totals().Known != 1 {
		t.Errorf("it was sent %d times and known %d times, want once each", *sent, a.Totals().Known)
	}
	if len(s.reports) != 2 || s.reports[1].Token != 2 || s.reports[1].Outcome != posthouse.OutcomeSent {
		t.Errorf("got reports %+v, want the second for token 2 as sent", s.reports)
	}
}

func TestAnErrorOfAnyLengthIsReported(t *testing.T) {
	t.Parallel()
	s := &script{claims: []claimed{handed(1, time.Minute, time.Minute)}}
	a, _ := scripted(t, s)
	a.o.Phone = phoneFunc(func(context.Context, Text) Result {
		return Result{Outcome: posthouse.OutcomeNotSent, Error: strings.Repeat("错", 1<<20)}
	})
	must(t, a.Run(t.Context()))
	if len(s.reports) != 1 || s.reports[0].Error != strings.Repeat("错", maxError) {
		t.Errorf("got %d reports, want one with the first %d characters of its error", len(s.reports), maxError)
	}
}

func TestWhatIsNotOursIsNotSent(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]*script{
		"lease over":    {claims: []claimed{handed(1, time.Minute, -time.Second)}},
		"start refused": {claims: []claimed{handed(1, time.Minute, time.Minute)}, refuse: "cancelled"},
	} {
		a, sent := scripted(t, s)
		must(t, a.Run(t.Context()))
		if *sent != 0 || len(s.reports) != 0 {
			t.Errorf("%s: it was sent %d times and reported %d times, want neither", name, *sent, len(s.reports))
		}
	}
}

func TestALeaseThatIsNearlyOverIsRenewed(t *testing.T) {
	t.Parallel()
	s := &script{claims: []claimed{handed(1, time.Minute, 15*time.Second), handed(2, time.Minute, 50*time.Second)}}
	a, _ := scripted(t, s)
	must(t, a.Run(t.Context()))
	if s.renewed != 1 {
		t.Errorf("leases were renewed %d times, want once", s.renewed)
	}
}
