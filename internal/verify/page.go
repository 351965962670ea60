package verify

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/verify/words"
)

// Page is the report as a person reads it: one page, and a few lines for each violation.
func (r Report) Page() string {
	return r.PageIn(fmt.Sprintf, func(text string) string { return text })
}

// PageIn is the page in a person's language: say writes a format, and text is a sentence of the report. Lines of journals are as they are.
func (r Report) PageIn(say func(format string, args ...any) string, text func(string) string) string {
	p := &page{say: say, text: text}
	p.verdict(&r)
	p.totals(&r)
	p.recovery(&r)
	p.invariants(&r)
	p.sometimes(&r)
	p.violations(&r)
	return p.String()
}

// page is the text so far.
type page struct {
	strings.Builder
	say  func(format string, args ...any) string
	text func(string) string
}

func (p *page) line(format string, args ...any) { p.WriteString(p.say(format, args...) + "\n") }

// plural is a number with what it counts.
func (p *page) plural(n int, what string) string {
	if n == 1 {
		return p.say("1 " + what)
	}
	return p.say("%s "+words.Many(what), words.Group(n))
}

// count is a number with what it counts.
type count struct {
	n    int
	what string
}

// counts lists those that are not 0.
func (p *page) counts(list ...count) string {
	var out []string
	for _, c := range list {
		if c.n != 0 {
			out = append(out, p.say("%s "+c.what, words.Group(c.n)))
		}
	}
	if len(out) == 0 {
		return p.say("none")
	}
	return strings.Join(out, p.say(", "))
}

// padded is a text with spaces behind it up to a width; of Chinese each character is two wide.
func padded(text string, width int) string {
	for _, r := range text {
		if width--; unicode.Is(unicode.Han, r) {
			width--
		}
	}
	return text + strings.Repeat(" ", max(0, width))
}

var verdicts = map[Verdict]string{
	Holds:        "HOLDS. Every invariant that could be checked holds.",
	Inconclusive: "NOT CONCLUSIVE. Nothing is violated, but the run does not prove enough:",
}

func (p *page) verdict(r *Report) {
	if r.Verdict == Violated {
		p.line("VIOLATED. These do not hold: %s.", strings.Join(p.names(r, Broken), ", "))
	} else {
		p.line("%s", p.text(verdicts[r.Verdict]))
	}
	if r.Verdict == Inconclusive {
		for _, why := range r.Why {
			p.line("  %s", p.text(why))
		}
	}
	p.line("")
}

// names are the ids and names of the invariants of a status.
func (p *page) names(r *Report, s Status) []string {
	var out []string
	for _, inv := range r.Invariants {
		if inv.Status == s {
			out = append(out, p.name(&inv))
		}
	}
	return out
}

// name is an invariant's id and name.
func (p *page) name(inv *Invariant) string { return p.text(inv.ID + " " + inv.Name) }

func (r Report) checked(id string) bool {
	s := r.Invariant(id).Status
	return s == Held || s == Broken
}

func (p *page) totals(r *Report) {
	t := &r.Totals
	p.line("Log         %s of %s in %s%s", p.plural(t.Events, "event"), p.plural(t.Deliveries, "delivery"), p.plural(t.Messages, "message"), p.span(r))
	p.line("Deliveries  %s; %s", p.states(t.States), p.plural(t.Attempts, "attempt"))
	if r.checked("I1") {
		p.line("Calls       %s attempted, %s acknowledged, %s ok, %s lost, %s recovered", words.Group(t.Attempted), words.Group(t.Acknowledged), words.Group(t.OK), words.Group(t.Lost), words.Group(t.Recovered))
	}
	if r.checked("I2") {
		p.line("Arrivals    %s, %s unexpected; duplicated %s explained, %s unexplained; %s were taken and not recognised as repeats",
			words.Group(t.Arrivals), words.Group(t.Unexpected), words.Group(t.DuplicatedExplained), words.Group(t.DuplicatedUnexplained), words.Group(t.Visible))
	}
	if t.Keyless > 0 && r.checked("I2") {
		p.line("            %s without a key of ours: whether one of these is a duplicate cannot be seen, and 0 says nothing of them", p.plural(t.Keyless, "arrival"))
	}
	if t.Excused > 0 {
		p.line("Restore     %s or arrivals are of a history that a restore has undone", p.plural(t.Excused, "message"))
	}
	p.unknowns(&r.Unknowns)
	p.line("")
}

// span is the time of the log, empty for none.
func (p *page) span(r *Report) string {
	if r.From.IsZero() {
		return ""
	}
	return p.say(", %s to %s UTC", r.From.UTC().Format(time.DateTime), r.To.UTC().Format(time.DateTime))
}

func (p *page) unknowns(u *Unknowns) {
	if u.Entered == 0 {
		p.line("Unknown     none")
		return
	}
	p.line("Unknown     %s: %s", words.Group(u.Entered), p.counts(
		count{u.Ambiguous, "ambiguous"}, count{u.LeaseLost, "with a lost process"}, count{u.EpochHold, "held by a restore"},
		count{u.TooLate, "once more, too late to repeat"}))
	if u.WorstLoss > 0 {
		p.line("            one process was lost with at most %s", p.plural(u.WorstLoss, "attempt"))
	}
	p.line("  resolved  %s", p.counts(
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
		p.line("  %-10s %6s   p50 %-8s p99 %-8s max %-8s%s", f.Kind, words.Group(f.Faults), words.Wait(f.P50), words.Wait(f.P99), words.Wait(f.Max), p.never(f.Never))
	}
	p.line("")
}

func (p *page) never(n int) string {
	if n == 0 {
		return ""
	}
	return p.say(" after %d of them nothing was sent any more", n)
}

func (p *page) invariants(r *Report) {
	p.line("Invariants")
	why := map[string][]string{}
	var reasons []string
	for _, inv := range r.Invariants {
		_, name, _ := strings.Cut(p.name(&inv), " ")
		switch name = padded(name, 14); inv.Status {
		case Held:
			p.line("  holds     %-3s %s %12s checked%s", inv.ID, name, words.Group(inv.Checked), p.alsoWhy(&inv))
		case Broken:
			p.line("  VIOLATED  %-3s %s %12s checked, %s%s", inv.ID, name, words.Group(inv.Checked), p.plural(inv.Count, "violation"), p.alsoWhy(&inv))
		default:
			reason := p.say(string(inv.Status)+", %s", p.text(inv.Why))
			if why[reason] == nil {
				reasons = append(reasons, reason)
			}
			why[reason] = append(why[reason], p.name(&inv))
		}
	}
	for _, reason := range reasons {
		p.line("  –         %s: %s", strings.Join(why[reason], ", "), reason)
	}
	p.line("")
}

// alsoWhy says for what an invariant that was checked could not be decided.
func (p *page) alsoWhy(inv *Invariant) string {
	if inv.Why == "" {
		return ""
	}
	return p.say(", ") + p.text(inv.Why)
}

func (p *page) sometimes(r *Report) {
	p.line("What must happen now and then, and how often it did")
	for _, s := range r.Sometimes {
		switch {
		case s.Seen > 0:
			p.line("  %-24s %10s", s.Name, words.Group(s.Seen))
		case s.Skipped != "":
			p.line("  %-24s %10s  %s", s.Name, "–", p.text(s.Skipped))
		case s.Required:
			p.line("  %-24s      NEVER  %s", s.Name, p.text(s.Means))
		default:
			p.line("  %-24s      never  not asked for", s.Name)
		}
	}
}

func (p *page) violations(r *Report) {
	for _, inv := range r.Invariants {
		if inv.Status != Broken {
			continue
		}
		p.line("")
		p.line("%s is violated: %s.", p.name(&inv), p.text(meaning(inv.ID)))
		for _, v := range inv.Violations {
			p.line("  %s: %s", v.Subject, p.text(v.What))
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

func (p *page) states(states map[posthouse.State]int) string {
	var list []count
	for _, s := range posthouse.States() {
		list = append(list, count{states[s], string(s)})
	}
	for s, n := range states {
		if !slices.Contains(posthouse.States(), s) {
			list = append(list, count{n, strings.ReplaceAll(fmt.Sprintf("in a state %q that nobody knows", s), "%", "%%")})
		}
	}
	return p.counts(list...)
}
