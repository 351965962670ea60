package verify

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
)

// Page is the report as a person reads it: one page, and a few lines for each violation.
func (r Report) Page() string {
	p := &page{}
	p.verdict(&r)
	p.totals(&r)
	p.recovery(&r)
	p.invariants(&r)
	p.sometimes(&r)
	p.violations(&r)
	return p.String()
}

// page is the text so far.
type page struct{ strings.Builder }

func (p *page) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

var verdicts = map[Verdict]string{
	Holds:        "HOLDS. Every invariant that could be checked holds.",
	Violated:     "VIOLATED.",
	Inconclusive: "NOT CONCLUSIVE. Nothing is violated, but the run does not prove enough:",
}

func (p *page) verdict(r *Report) {
	text := verdicts[r.Verdict]
	if r.Verdict == Violated {
		text += " These do not hold: " + strings.Join(r.names(Broken), ", ") + "."
	}
	p.line("%s", text)
	if r.Verdict == Inconclusive {
		for _, why := range r.Why {
			p.line("  %s", why)
		}
	}
	p.line("")
}

// names are the ids and names of the invariants of a status.
func (r Report) names(s Status) []string {
	var out []string
	for _, inv := range r.Invariants {
		if inv.Status == s {
			out = append(out, inv.ID+" "+inv.Name)
		}
	}
	return out
}

func (r Report) checked(id string) bool {
	s := r.Invariant(id).Status
	return s == Held || s == Broken
}

func (p *page) totals(r *Report) {
	t := &r.Totals
	p.line("Log         %s of %s in %s%s", plural(t.Events, "event"), plural(t.Deliveries, "delivery"), plural(t.Messages, "message"), spanText(r.From, r.To))
	p.line("Deliveries  %s; %s", statesText(t.States), plural(t.Attempts, "attempt"))
	if r.checked("I1") {
		p.line("Calls       %s attempted, %s acknowledged, %s ok, %s lost, %s recovered", group(t.Attempted), group(t.Acknowledged), group(t.OK), group(t.Lost), group(t.Recovered))
	}
	if r.checked("I2") {
		p.line("Arrivals    %s, %s unexpected; duplicated %s explained, %s unexplained; %s were taken and not recognised as repeats",
			group(t.Arrivals), group(t.Unexpected), group(t.DuplicatedExplained), group(t.DuplicatedUnexplained), group(t.Visible))
	}
	if t.Excused > 0 {
		p.line("Restore     %s or arrivals are of a history that a restore has undone", plural(t.Excused, "message"))
	}
	p.unknowns(&r.Unknowns)
	p.line("")
}

func (p *page) unknowns(u *Unknowns) {
	if u.Entered == 0 {
		p.line("Unknown     none")
		return
	}
	p.line("Unknown     %s: %s", group(u.Entered), counts(
		count{u.Ambiguous, "ambiguous"}, count{u.LeaseLost, "with a lost process"}, count{u.EpochHold, "held by a restore"},
		count{u.TooLate, "once more, too late to repeat"}))
	if u.WorstLoss > 0 {
		p.line("            one process was lost with at most %s", plural(u.WorstLoss, "attempt"))
	}
	p.line("  resolved  %s", counts(
		count{u.Retried, "by another try"}, count{u.AssumedSent, "assumed sent"}, count{u.Queried, "by asking the provider"},
		count{u.Operator, "by a person"}, count{u.Evidence, "by late proof"}, count{u.TimedOut, "timed out"},
		count{u.Quarantined, "quarantined"}, count{u.StillHeld, "still held"}))
}

func (p *page) recovery(r *Report) {
	if len(r.Recovery) == 0 {
		return
	}
	p.line("Recovery: from the end of a fault until something was sent again")
	for _, f := range r.Recovery {
		p.line("  %-10s %6s   p50 %-8s p99 %-8s max %-8s%s", f.Kind, group(f.Faults), wait(f.P50), wait(f.P99), wait(f.Max), never(f.Never))
	}
	p.line("")
}

func never(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" after %d of them nothing was sent any more", n)
}

func (p *page) invariants(r *Report) {
	p.line("Invariants")
	why := map[string][]string{}
	var reasons []string
	for _, inv := range r.Invariants {
		switch inv.Status {
		case Held:
			p.line("  holds     %-3s %-14s %12s checked%s", inv.ID, inv.Name, group(inv.Checked), alsoWhy(&inv))
		case Broken:
			p.line("  VIOLATED  %-3s %-14s %12s checked, %s%s", inv.ID, inv.Name, group(inv.Checked), plural(inv.Count, "violation"), alsoWhy(&inv))
		default:
			reason := string(inv.Status) + ", " + inv.Why
			if why[reason] == nil {
				reasons = append(reasons, reason)
			}
			why[reason] = append(why[reason], inv.ID+" "+inv.Name)
		}
	}
	for _, reason := range reasons {
		p.line("  –         %s: %s", strings.Join(why[reason], ", "), reason)
	}
	p.line("")
}

// alsoWhy says for what an invariant that was checked could not be decided.
func alsoWhy(inv *Invariant) string {
	if inv.Why == "" {
		return ""
	}
	return ", " + inv.Why
}

func (p *page) sometimes(r *Report) {
	p.line("What must happen now and then, and how often it did")
	for _, s := range r.Sometimes {
		switch {
		case s.Seen > 0:
			p.line("  %-24s %10s", s.Name, group(s.Seen))
		case s.Skipped != "":
			p.line("  %-24s %10s  %s", s.Name, "–", s.Skipped)
		case s.Required:
			p.line("  %-24s %10s  %s", s.Name, "NEVER", s.Means)
		default:
			p.line("  %-24s %10s  not asked for", s.Name, "never")
		}
	}
}

func (p *page) violations(r *Report) {
	for _, inv := range r.Invariants {
		if inv.Status != Broken {
			continue
		}
		p.line("\n%s %s is violated: %s.", inv.ID, inv.Name, meaning(inv.ID))
		for _, v := range inv.Violations {
			p.line("  %s: %s", v.Subject, v.What)
			for _, line := range v.Excerpt {
				p.line("    %s", line)
			}
		}
		if more := inv.Count - len(inv.Violations); more > 0 {
			p.line("  … and %s more", group(more))
		}
	}
}

func meaning(id string) string {
	for _, law := range Laws() {
		if law.ID == id {
			return law.Means
		}
	}
	return ""
}

// spanText is a span of time, empty for none.
func spanText(from, to time.Time) string {
	if from.IsZero() {
		return ""
	}
	return fmt.Sprintf(", %s to %s UTC", from.UTC().Format(time.DateTime), to.UTC().Format(time.DateTime))
}

func statesText(states map[posthouse.State]int) string {
	var list []count
	for _, s := range posthouse.States() {
		list = append(list, count{states[s], string(s)})
	}
	for s, n := range states {
		if !slices.Contains(posthouse.States(), s) {
			list = append(list, count{n, fmt.Sprintf("in a state %q that nobody knows", s)})
		}
	}
	return counts(list...)
}

// count is a number with what it counts.
type count struct {
	n    int
	what string
}

// counts lists those that are not 0.
func counts(list ...count) string {
	var out []string
	for _, c := range list {
		if c.n != 0 {
			out = append(out, group(c.n)+" "+c.what)
		}
	}
	if len(out) == 0 {
		return "none"
	}
	return strings.Join(out, ", ")
}

func plural(n int, what string) string {
	switch {
	case n == 1:
		return "1 " + what
	case strings.HasSuffix(what, "y") && !strings.HasSuffix(what, "ey"):
		what = strings.TrimSuffix(what, "y") + "ie"
	}
	return group(n) + " " + what + "s"
}

// group writes a number with a comma before each three digits.
func group(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// wait is a duration to three digits or so.
func wait(d time.Duration) string {
	switch {
	case d >= 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	case d >= 100*time.Millisecond:
		return d.Round(time.Millisecond).String()
	}
	return d.Round(10 * time.Microsecond).String()
}
