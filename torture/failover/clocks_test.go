package failover

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/verify"
	"github.com/posthouse/posthouse/torture/internal/house"
)

// apart is by how much the clocks of the two database machines differ.
const apart = 5 * time.Second

// onPaced is what messages of the limited channel say.
const onPaced = "paced"

// paced is the limit of that channel.
var paced = posthouse.Limit{Max: 20, Per: posthouse.Duration(time.Second)}

// HA: the standby's clock is behind or ahead of the primary's, and with its promotion the time by which leases, limits and slots go jumps.
func TestHAStandbyWhoseClockDiffers(t *testing.T) {
	t.Parallel()
	dbtest.SkewedClocks(t)
	for _, kind := range kinds {
		for _, ahead := range []time.Duration{-apart, apart} {
			if !house.Full() && (kind != dbtest.KindPostgres || ahead > 0) {
				continue
			}
			t.Run(fmt.Sprintf("%s %+v", kind, ahead), func(t *testing.T) {
				t.Parallel()
				times := house.Size(1, 3)
				var sum jumped
				for range times {
					sum.add(promoteSkewed(t, kind, ahead))
				}
				way := "behind"
				if ahead > 0 {
					way = "ahead"
				}
				house.Report(t, house.Row{
					Test: "HA", Database: string(kind), What: fmt.Sprintf("primary killed under load, a synchronous standby promoted whose clock is %s %s", apart, way), N: times, Unit: "promotions",
					Figure: fmt.Sprintf("%d messages, lost %d, unexplained doubles %d, unknown at most %d, verify holds %t; of a limit of %d a second at most %d in one, %d in five; due messages up to %s early and %s late; %d slots of a reminder, twice %d; first message %s after the promotion at most",
						sum.accepted, sum.lost, sum.doubled, sum.unknown, sum.holds == times, paced.Max, sum.peak, sum.pace, sum.early.Round(10*time.Millisecond), sum.late.Round(10*time.Millisecond), sum.slots, sum.twice, sum.first.Round(10*time.Millisecond)),
					Bar:   fmt.Sprintf("lost 0, unexplained doubles 0, unknown ≤ %d, of the limit two windows more in five seconds and one more in one, due messages at most %s away, no slot twice", 4*inflight, apart),
					Bound: house.Bound(times),
					Pass: sum.lost+sum.doubled+sum.twice == 0 && sum.holds == times && sum.unknown <= 4*inflight && sum.peak <= 2*paced.Max && sum.pace <= 7*paced.Max &&
						sum.early <= apart+time.Second && (!house.Full() || sum.late <= apart+5*time.Second),
				})
			})
		}
	}
}

// jumped is what a promotion to another clock came to.
type jumped struct {
	accepted, lost, doubled, unknown, holds, peak, pace, slots, twice int
	early, late, first                                                time.Duration
}

func (j *jumped) add(o jumped) {
	j.accepted += o.accepted
	j.lost += o.lost
	j.doubled += o.doubled
	j.holds += o.holds
	j.twice += o.twice
	j.slots += o.slots
	j.unknown, j.peak, j.pace = max(j.unknown, o.unknown), max(j.peak, o.peak), max(j.pace, o.pace)
	j.early, j.late, j.first = max(j.early, o.early), max(j.late, o.late), max(j.first, o.first)
}

func promoteSkewed(t *testing.T, kind dbtest.Kind, ahead time.Duration) (j jumped) {
	t.Helper()
	p := openSkewed(t, kind, true, ahead)
	limited := p.Channel("paced")
	limited.MaxInflight, limited.Limits = inflight, []posthouse.Limit{paced}
	p.PutChannel(t, limited)
	p.PutChannel(t, p.Channel("slots"))
	reminder, err := p.Members[1].Client(t, 3).Reminders.Create(t.Context(), posthouse.Reminder{Draft: house.Text("slots", 1), Repeat: &posthouse.Repeat{Every: posthouse.Duration(time.Second)}})
	if err != nil {
		t.Fatal(err)
	}
	due := map[string]time.Time{}
	for at := range house.Form(3, 14) { // one a second, around the promotion and beyond the jump
		d := house.Text("generic", at)
		d.NotBefore, d.Priority = time.Now().Add(time.Duration(at+1)*time.Second), posthouse.High
		id, err := p.Send(t, fmt.Sprint("due-", at), d, false)
		if err != nil {
			t.Fatal(err)
		}
		due[posthouse.DeliveryID(id, 1)] = d.NotBefore
	}
	backlog := p.Produce(t, house.Load{Messages: house.Form(60, 400), Prefix: "paced", Draft: func(n int) posthouse.Draft {
		d := house.Text("paced", n)
		d.Content = &posthouse.Content{Text: onPaced}
		return d
	}})
	l := p.load(t, callers())
	l.more(house.Form(60, 300))
	begin := time.Now()
	if err := p.primary.Kill(); err != nil {
		t.Fatal(err)
	}
	at := p.promote(t)
	j.first = p.firstAfter(t, at)
	l.more(house.Form(40, 300))
	l.stop()
	house.Until(t, "all that is due to arrive", func() bool { return p.arrived(t, due) })
	if _, err := p.Members[1].Client(t, 3).Reminders.End(t.Context(), reminder.ID); err != nil {
		t.Fatal(err)
	}
	p.Fault(t, house.Fault{At: begin, Until: time.Now(), Kind: "db_kill", Target: "primary", Note: fmt.Sprintf("the standby's clock is %s ahead", ahead)})
	for _, m := range p.Members {
		m.WaitReady(t, 200)
	}
	p.Settle(t)
	j.slots, j.twice = p.slots(t)
	report := p.Verdict(t, "--sometimes", "none", "--slack", (apart + 2*time.Second).String()) // the last one counts
	j.accepted, j.lost, j.doubled, j.unknown = l.count()+len(backlog)+len(due), report.Totals.Lost, report.Totals.DuplicatedUnexplained, report.Unknowns.Entered
	if report.Verdict == verify.Holds {
		j.holds++
	} else {
		t.Errorf("the checker says:\n%s", report.Page())
	}
	j.read(t, p, due)
	return j
}

// read looks at what the provider saw by the true clock.
func (j *jumped) read(t *testing.T, p *pair, due map[string]time.Time) {
	t.Helper()
	var starts []time.Time
	seen := map[string]bool{}
	for _, a := range p.Provider.Arrivals(t) {
		if a.Text == onPaced {
			starts = append(starts, a.At)
		}
		if when, ok := due[a.Key]; ok && !seen[a.Key] {
			j.early, j.late = max(j.early, when.Sub(a.At)), max(j.late, a.At.Sub(when))
		}
		seen[a.Key] = true
	}
	slices.SortFunc(starts, time.Time.Compare)
	j.peak, j.pace = most(starts, paced.Per.Std()), most(starts, apart)
}

// most is how many of some sorted times lie within one span of a length.
func most(sorted []time.Time, within time.Duration) (n int) {
	first := 0
	for i := range sorted {
		for !sorted[i].Before(sorted[first].Add(within)) {
			first++
		}
		n = max(n, i-first+1)
	}
	return n
}

func (p *pair) arrived(t *testing.T, due map[string]time.Time) bool {
	t.Helper()
	seen := map[string]bool{}
	for _, a := range p.Provider.Arrivals(t) {
		if _, ok := due[a.Key]; ok {
			seen[a.Key] = true
		}
	}
	return len(seen) == len(due)
}

// slots counts those that the reminder has had, and those that came twice. No caller was told of their messages, so the journal is.
func (p *pair) slots(t *testing.T) (n, twice int) {
	t.Helper()
	page, err := p.Members[1].Client(t, 3).Messages.List(t.Context(), client.Filter{Channel: "slots", Limit: 200})
	if err != nil {
		t.Fatal(err)
	}
	had := map[time.Time]bool{}
	for _, m := range page.Items {
		if had[m.NotBefore] {
			twice++
			t.Errorf("the slot of %s came twice", m.NotBefore)
		}
		had[m.NotBefore] = true
		p.Tell(t, house.Told{Asked: m.CreatedAt, At: time.Now(), Op: "send", Key: "slot-" + m.ID, Body: m.ID, Recipients: 1, Answer: "accepted", Status: 202, Message: m.ID})
	}
	return len(had), twice
}
