package mutant

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/posthouse/posthouse/internal/verify"
	"github.com/posthouse/posthouse/torture/internal/house"
	"github.com/posthouse/posthouse/torture/internal/overlay"
)

// TestTheCheckerFindsEverySeededBug builds the product with each bug, has it live through the run that
// brings the bug out, and wants the checker to say so by the right invariant. The product as it is must
// live through the same run without a violation.
func TestTheCheckerFindsEverySeededBug(t *testing.T) {
	list := chosen()
	sought := 0
	controls := map[string]verify.Report{} // by the run's fault: some bugs share a run
	var scores []score
	for i := range list {
		m := &list[i]
		t.Run(fmt.Sprintf("M%d", m.bug), func(t *testing.T) {
			sought++
			if _, ok := controls[m.run.fault]; !ok {
				controls[m.run.fault], _ = m.run.try(t)
			}
			scores = append(scores, m.seek(t, controls[m.run.fault]))
		})
	}
	found := 0
	for i := range scores {
		if scores[i].found() {
			found++
		}
	}
	t.Logf("found %d of %d\n%s", found, sought, table(scores))
}

// TestEverySeededBugStillFitsTheSource finds the edits whose text has moved on, without a build.
func TestEverySeededBugStillFitsTheSource(t *testing.T) {
	t.Parallel()
	for _, m := range mutants {
		t.Run(fmt.Sprintf("M%d", m.bug), func(t *testing.T) {
			t.Parallel()
			overlay.Check(t, m.run.with(t, m.edits)...)
		})
	}
}

// TestEverySeededBugIsAProgram compiles what the edits leave.
func TestEverySeededBugIsAProgram(t *testing.T) {
	t.Parallel()
	for _, m := range chosen() {
		t.Run(fmt.Sprintf("M%d", m.bug), func(t *testing.T) {
			t.Parallel()
			overlay.Compile(t, m.edits...)
		})
	}
}

// chosen are all mutants in the long form, and the few that are quick in the short one.
func chosen() []mutant {
	if house.Full() {
		return mutants
	}
	return slices.DeleteFunc(slices.Clone(mutants), func(m mutant) bool { return !m.quick })
}

// score is what the checker said of a mutant and of its control.
type score struct {
	*mutant
	seeded, control verify.Report
	took            time.Duration // of the seeded run and its judgement, without the build
}

// by is what the checker finds violated: the invariant that the bug breaks, how often, and the others
// that it hurts.
func (s *score) by() string {
	text := "nothing"
	if law := s.seeded.Invariant(s.law); law.Status == verify.Broken {
		text = fmt.Sprintf("%s ×%d", law.ID, law.Count)
	}
	for _, inv := range s.seeded.Invariants {
		if inv.Status == verify.Broken && inv.ID != s.law {
			text += ", " + inv.ID
		}
	}
	return text
}

// found reports whether the bug was found by the invariant it breaks, and nothing without it.
func (s *score) found() bool {
	return s.seeded.Invariant(s.law).Status == verify.Broken && s.control.Verdict == verify.Holds
}

// try makes the run with the bug's edits, none for the control, judges it, and says how long that took.
func (s *scenario) try(t *testing.T, bug ...overlay.Edit) (verify.Report, time.Duration) {
	t.Helper()
	binary := house.Binary(t)
	if edits := s.with(t, bug); len(edits) > 0 {
		binary = overlay.Build(t, edits...)
	}
	start := time.Now()
	r := &rig{T: t, binary: binary, db: s.db}
	h := s.play(r)
	report := h.Verdict(t, append(r.flags, "--sometimes", cmp.Or(s.seen, "none"), "--key-window", s.keyWindow.String())...)
	return report, time.Since(start)
}

// seek has the checker seek the bug, given what it said of the product as it is.
func (m *mutant) seek(t *testing.T, control verify.Report) score {
	t.Helper()
	s := score{mutant: m, control: control}
	s.seeded, s.took = m.run.try(t, m.edits...)
	house.Report(t, house.Row{
		Test: fmt.Sprintf("M%d", m.bug), Database: string(m.run.db), What: m.name + "; " + m.run.fault, N: 1, Unit: "run",
		Figure: fmt.Sprintf("found by %s in %.0f s; the run without the bug: %s", s.by(), s.took.Seconds(), control.Verdict),
		Bar:    m.law + " violated by the bug alone", Pass: s.found(),
	})
	if !s.found() {
		t.Logf("with the bug:\n%s\nwithout:\n%s", s.seeded.Page(), s.control.Page())
	}
	return s
}

// table is the score as docs/reliability.md shows it.
func table(scores []score) string {
	text := "| bug | what becomes of messages | run that brings it out | on | found by | seconds |\n|---|---|---|---|---|---|\n"
	for _, s := range scores {
		text += fmt.Sprintf("| %d. %s | %s | %s | %s | %s | %.0f |\n", s.bug, s.name, s.breaks, s.run.fault, s.run.db, s.by(), s.took.Seconds())
	}
	return text
}
