package verify_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/verify"
)

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got; go test -update writes it anew):\n%s", file, diff)
	}
}

func TestThePageOfARunThatHolds(t *testing.T) {
	t.Parallel()
	r := check(t, madeRun(5, 500).inputs())
	golden(t, "testdata/holds.txt", r.Page())
}

func TestThePageOfARunThatDoesNot(t *testing.T) {
	t.Parallel()
	run := madeRun(5, 100)
	a := run.arrivals[0]
	a.At, a.Repeat, a.Duplicate = a.At.Add(time.Millisecond), false, true
	run.arrivals = append(run.arrivals, a)
	id := run.calls[len(run.calls)-1].Message
	run.events = slices.DeleteFunc(run.events, func(e posthouse.Event) bool { return e.Message == id })
	in := run.inputs()
	in.Stored = nil
	r := check(t, in)
	golden(t, "testdata/violated.txt", r.Page())
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(r); err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/violated.json", b.String())
}

func TestARunInWhichNothingRareHappenedProvesNothing(t *testing.T) {
	t.Parallel()
	in := plain().journals()
	in.Sometimes = nil
	r := check(t, in)
	if r.Verdict != verify.Inconclusive {
		t.Fatalf("got %s, want it inconclusive", r.Verdict)
	}
	golden(t, "testdata/inconclusive.txt", r.Page())
}

func TestSometimesAsksForWhatIsNamed(t *testing.T) {
	t.Parallel()
	seen := []verify.FaultLine{{At: began, Kind: verify.FaultSeen, Note: "deadlock_retried", N: 4}}
	for name, c := range map[string]struct {
		sometimes []string
		faults    []verify.FaultLine
		want      verify.Verdict
	}{
		"none":           {[]string{"none"}, nil, verify.Holds},
		"not seen":       {[]string{"deadlock_retried"}, nil, verify.Inconclusive},
		"seen elsewhere": {[]string{"deadlock_retried"}, seen, verify.Holds},
		"one of two":     {[]string{"deadlock_retried", "quarantine"}, seen, verify.Inconclusive},
		"not built":      {[]string{"late_receipt"}, seen, verify.Inconclusive},
		"all":            {[]string{"all"}, seen, verify.Inconclusive},
	} {
		h := plain()
		h.faults = c.faults
		in := h.journals()
		in.Sometimes = c.sometimes
		if r := check(t, in); r.Verdict != c.want {
			t.Errorf("%s: got %s %v, want %s", name, r.Verdict, r.Why, c.want)
		}
	}
	for name, want := range map[string]string{"luck": `there is no "luck"`, "none": "none stands alone", "all": "all stands alone"} {
		in := plain().journals()
		in.Sometimes = []string{"quarantine", name}
		if _, err := verify.Check(t.Context(), in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %s", err, want)
		}
	}
}

func TestAnEmptyLogProvesNothing(t *testing.T) {
	t.Parallel()
	r := check(t, verify.Inputs{Events: eventsIn(nil), Sometimes: []string{"none"}})
	if r.Verdict != verify.Inconclusive || len(r.Why) != 1 {
		t.Errorf("got %s %v, want it inconclusive", r.Verdict, r.Why)
	}
}

// What happened between the copy and the restore is in no log: it is counted, and no violation.
func TestARestoreExcusesWhatItHasUndone(t *testing.T) {
	t.Parallel()
	h := newHand(posthouse.Retry).accept()
	h.do(posthouse.EventEpochHold, posthouse.Unknown, inEpoch(2))
	h.do(posthouse.EventResolve, posthouse.Pending, reason("operator_retry"), inEpoch(2))
	h.start().arrived(verify.ArrivalAccepted).sent()
	for i := range h.events {
		h.events[i].At = h.events[i].At.Add(time.Duration(min(i, 1)) * time.Minute)
	}
	h.event(3).LeaseUntil, h.event(3).Epoch, h.event(4).Epoch = h.event(3).At.Add(time.Second), 2, 2
	h.arrivals[0].At = h.event(3).At.Add(time.Millisecond)
	early := h.arrivals[0] // sent by the history that is gone
	early.At, early.Repeat = h.event(0).At.Add(time.Second), false
	stranger := early
	stranger.Key = posthouse.DeliveryID(posthouse.NewID(), 1)
	lost := h.calls[0]
	lost.Key, lost.Message, lost.At = "k2", posthouse.NewID(), h.event(0).At.Add(time.Second)
	h.arrivals, h.calls = append(h.arrivals, early, stranger), append(h.calls, lost)

	if got := broken(check(t, h.journals())); !slices.Equal(got, []string{"I1", "I2", "I10"}) {
		t.Errorf("without the fault journal %v are violated, want I1, I2 and I10", got)
	}
	h.faults = []verify.FaultLine{{At: h.event(0).At.Add(10 * time.Millisecond), Until: h.event(1).At, Kind: verify.FaultRestore}}
	r := check(t, h.journals())
	if r.Verdict != verify.Holds || r.Totals.Excused != 2 || r.Totals.Lost != 0 || r.Totals.Unexpected != 0 {
		t.Errorf("got %s, %+v:\n%s", r.Verdict, r.Totals, r.Page())
	}
}

// A restore turns all policies to hold: what the log says from before it was not written under that policy.
func TestAPolicyOfBeforeARestoreIsNotJudgedByTheOneAfter(t *testing.T) {
	t.Parallel()
	h := doubted(posthouse.Hold).resend().start().arrived(verify.ArrivalAccepted).ambiguous()
	other := newHand(posthouse.Hold)
	other.id = posthouse.DeliveryID("01KMJ000000000000000AC0000", 1)
	other.idem = other.id
	other.at = h.at
	other.accept().do(posthouse.EventEpochHold, posthouse.Unknown, inEpoch(2))
	h.events = append(h.events, other.events...)
	in := h.journals()
	in.Client = nil
	if r := check(t, in); r.Invariant("I16").Status != verify.Held {
		t.Errorf("got:\n%s", r.Page())
	}
}

func TestTotals(t *testing.T) {
	t.Parallel()
	h := doubted(posthouse.Retry).resend().start().arrived(verify.ArrivalAccepted).sent()
	unsure := h.calls[0]
	unsure.Answer, unsure.Message, unsure.Key = verify.AnswerUnknown, "", "k2"
	h.calls = append(h.calls, unsure)
	other := newHand(posthouse.Hold)
	other.id = posthouse.DeliveryID("01KMJ000000000000000AC0000", 1)
	other.idem = other.id
	other.accept().start().leaseLost()
	h.events = append(h.events, other.events...)
	sent := h.event(5).At
	h.faults = []verify.FaultLine{
		{At: sent.Add(-time.Minute), Kind: "kill"}, {At: sent.Add(-2 * time.Second), Until: sent.Add(-time.Second), Kind: "kill"},
		{At: sent.Add(time.Hour), Kind: "db_kill"},
	}
	r := check(t, h.journals())
	wantTotals := verify.Totals{
		Attempted: 2, Acknowledged: 1, OK: 1, Recovered: 1, DuplicatedExplained: 1, Events: 9, Messages: 2, Deliveries: 2, Attempts: 3, Arrivals: 2,
		States: map[posthouse.State]int{posthouse.Sent: 1, posthouse.Unknown: 1},
	}
	wantUnknowns := verify.Unknowns{Entered: 2, Ambiguous: 1, LeaseLost: 1, Retried: 1, StillHeld: 1, WorstLoss: 1}
	wantRecovery := []verify.Recovery{
		{Kind: "db_kill", Faults: 1, Never: 1},
		{Kind: "kill", Faults: 2, P50: time.Second, P99: time.Minute, Max: time.Minute},
	}
	if diff := cmp.Diff(wantTotals, r.Totals); diff != "" {
		t.Errorf("totals (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(wantUnknowns, r.Unknowns); diff != "" {
		t.Errorf("unknowns (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(wantRecovery, r.Recovery); diff != "" {
		t.Errorf("recovery (-want +got):\n%s", diff)
	}
}

// A provider that is told no key is matched by the ids it gave.
func TestArrivalsWithoutAKeyAreFoundByTheirIDs(t *testing.T) {
	t.Parallel()
	h := plain()
	h.arrivals[0].Key = ""
	h.event(2).Ref = h.arrivals[0].ID
	if r := check(t, h.journals()); r.Verdict != verify.Holds || r.Invariant("I12").Checked != 1 || r.Totals.Unexpected != 0 {
		t.Errorf("got:\n%s", r.Page())
	}
}

// A mail has its key before the domain in its Message-ID.
func TestAMailIsFoundByItsMessageID(t *testing.T) {
	t.Parallel()
	h := plain()
	h.arrivals[0].Key += "@example.com"
	if r := check(t, h.journals()); r.Verdict != verify.Holds || r.Totals.Unexpected != 0 || r.Invariant("I2").Checked != 1 {
		t.Errorf("got:\n%s", r.Page())
	}
}

func TestOnlySoManyViolationsAreShownAndAllAreCounted(t *testing.T) {
	t.Parallel()
	run := madeRun(1, 50)
	for i := range run.events {
		if run.events[i].Type == posthouse.EventStart {
			run.events[i].Attempt += 5
		}
	}
	in := run.inputs()
	in.Keep = 2
	inv := check(t, in).Invariant("I19")
	if inv.Count < 40 || len(inv.Violations) != 2 {
		t.Errorf("got %d violations of which %d are shown, want more than 40 and 2", inv.Count, len(inv.Violations))
	}
	in = run.inputs()
	in.Keep = -1
	r := check(t, in)
	if inv := r.Invariant("I19"); inv.Count < 40 || len(inv.Violations) != 0 || !strings.Contains(r.Page(), fmt.Sprintf("  … and %d more\n", inv.Count)) {
		t.Errorf("got %d violations of which %d are shown, want more than 40 and none", inv.Count, len(inv.Violations))
	}
}

// Clocks that are one are held against each other to the nanosecond.
func TestNoSlackIsNone(t *testing.T) {
	t.Parallel()
	for slack, want := range map[time.Duration]verify.Verdict{0: verify.Holds, 20 * time.Millisecond: verify.Holds, -1: verify.Violated} {
		h := plain()
		h.arrivals[0].At = h.event(1).At.Add(-10 * time.Millisecond)
		in := h.journals()
		in.Slack = slack
		if r := check(t, in); r.Verdict != want {
			t.Errorf("slack %s: got %s, want %s\n%s", slack, r.Verdict, want, r.Page())
		}
	}
}

func TestThePageKnowsPlurals(t *testing.T) {
	t.Parallel()
	in := plain().journals()
	in.Client = strings.NewReader("")
	if page := check(t, in).Page(); !strings.Contains(page, "0 keys in the client journal") {
		t.Errorf("got\n%s", page)
	}
}

// Where arrivals carry no key, the count of duplicates says nothing of them, and the page says so.
func TestArrivalsWithoutAKeyAreNotSaidToBeSingle(t *testing.T) {
	t.Parallel()
	h := newHand(posthouse.Hold).accept().start().arrived(verify.ArrivalAccepted).sent()
	if page := check(t, h.journals()).Page(); strings.Contains(page, "cannot be seen") {
		t.Errorf("with keys the page says:\n%s", page)
	}
	for i := range h.arrivals {
		h.arrivals[i].Key = ""
	}
	r := check(t, h.journals())
	if page := r.Page(); r.Totals.Keyless != 1 || !strings.Contains(page, "1 arrival without a key of ours: whether one of these is a duplicate cannot be seen") {
		t.Errorf("%d arrivals have no key, and the page says:\n%s", r.Totals.Keyless, page)
	}
}
