package verify

import (
	"fmt"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/verify/words"
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
	p.line("Log         %s of %s in %s%s", words.Plural(t.Events, "event"), words.Plural(t.Deliveries, "delivery"), words.Plural(t.Messages, "message"), words.Span(r.From, r.To))
	p.line("Deliveries  %s; %s", statesText(t.States), words.Plural(t.Attempts, "attempt"))
	if r.checked("I1") {
		p.line("Calls       %s attempted, %s acknowledged, %s ok, %s lost, %s recovered", words.Group(t.Attempted), words.Group(t.Acknowledged), words.Group(t.OK), words.Group(t.Lost), words.Group(t.Recovered))
	}
	if r.checked("I2") {
		p.line("Arrivals    %s, %s unexpected; duplicated %s explained, %s unexplained; %s were taken and not recognised as repeats",
			words.Group(t.Arrivals), words.Group(t.Unexpected), words.Group(t.DuplicatedExplained), words.Group(t.DuplicatedUnexplained), words.Group(t.Visible))
	}
	if t.Keyless > 0 && r.checked("I2") {
		p.line("            %s without a key of ours: whether one of these is a duplicate cannot be seen, and 0 says nothing of them", words.Plural(t.Keyless, "arrival"))
	}
	if t.Excused > 0 {
		p.line("Restore     %s or arrivals are of a history that a restore has undone", words.Plural(t.Excused, "message"))
	}
	p.unknowns(&r.Unknowns)
	p.line("")
}

func (p *page) unknowns(u *Unknowns) {
	if u.Entered == 0 {
		p.line("Unknown     none")
		return
	}
	p.line("Unknown     %s: %s", words.Group(u.Entered), words.Counts(
		words.Of(u.Ambiguous, "ambiguous"), words.Of(u.LeaseLost, "with a lost process"), words.Of(u.EpochHold, "held by a restore"),
		words.Of(u.TooLate, "once more, too late to repeat")))
	if u.WorstLoss > 0 {
		p.line("            one process was lost with at most %s", words.Plural(u.WorstLoss, "attempt"))
	}
	p.line("  resolved  %s", words.Counts(
		words.Of(u.Retried, "by another try"), words.Of(u.AssumedSent, "assumed sent"), words.Of(u.Queried, "by asking the provider"),
		words.Of(u.Operator, "by a person"), words.Of(u.Evidence, "by late proof"), words.Of(u.TimedOut, "timed out"),
		words.Of(u.Quarantined, "quarantined"), words.Of(u.StillHeld, "still held")))
}

func (p *page) recovery(r *Report) {
	if len(r.Recovery) == 0 {
		return
	}
	p.line("Recovery: from the end of a fault until something was sent again")
	for _, f := range r.Recovery {
		p.line("  %-10s %6s   p50 %-8s p99 %-8s max %-8s%s", f.Kind, words.Group(f.Faults), words.Wait(f.P50), words.Wait(f.P99), words.Wait(f.Max), never(f.Never))
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
			p.line("  holds     %-3s %-14s %12s checked%s", inv.ID, inv.Name, words.Group(inv.Checked), alsoWhy(&inv))
		case Broken:
			p.line("  VIOLATED  %-3s %-14s %12s checked, %s%s", inv.ID, inv.Name, words.Group(inv.Checked), words.Plural(inv.Count, "violation"), alsoWhy(&inv))
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
			p.line("  %-24s %10s", s.Name, words.Group(s.Seen))
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
			p.line("  … and %s more", words.Group(more))
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

func statesText(states map[posthouse.State]int) string {
	var list []words.Count
	for _, s := range posthouse.States() {
		list = append(list, words.Of(states[s], string(s)))
	}
	for s, n := range states {
		if !slices.Contains(posthouse.States(), s) {
			list = append(list, words.Of(n, fmt.Sprintf("in a state %q that nobody knows", s)))
		}
	}
	return words.Counts(list...)
}
