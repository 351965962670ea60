package verify

import (
	"fmt"
	"slices"
	"strings"
)

// rarity is something that happens rarely and must have happened for a run to prove anything.
type rarity int

const (
	staleRefused rarity = iota
	lostBeforeStart
	lostAfterStart
	commitUnknown
	limiterLast
	cancelWon
	cancelLost
	lateReceipt
	quarantined
	expiredAtStart
	deadlockRetried
	rarities
)

// rareThings says of each what it is and what shows it, empty for any event log. A log shows some of
// them too where that is missing.
var rareThings = [rarities]struct{ name, means, needs string }{
	staleRefused:    {"stale_result_refused", "a result came after its lease was lost, and was refused or kept as late proof", ""},
	lostBeforeStart: {"lease_lost_before_start", "a claim was lost before its attempt began", needPull},
	lostAfterStart:  {"lease_lost_after_start", "a process was lost with an attempt under way", ""},
	commitUnknown:   {"commit_outcome_unknown", "a caller was not told whether its message is accepted", needClient},
	limiterLast:     {"limiter_refused_last", "the last of several windows refused", needLimiter},
	cancelWon:       {"cancel_won", "a cancel came before the start", ""},
	cancelLost:      {"cancel_lost", "a cancel came after the start", ""},
	lateReceipt:     {"late_receipt", "a receipt closed an unknown", needPull},
	quarantined:     {"quarantine", "a delivery was quarantined", ""},
	expiredAtStart:  {"expired_at_start", "a deadline passed before the start", ""},
	deadlockRetried: {"deadlock_retried", "the database refused a transaction that was then repeated", needFaults},
}

const (
	needFaults = "the fault journal"
	// needPull is of what push workers, who claim and start in one write, cannot have.
	needPull = "agents that fetch"
)

// SometimesList lists the rare things that a run is looked through for, with what each means.
func SometimesList() []Sometime {
	var out []Sometime
	for _, r := range rareThings {
		out = append(out, Sometime{Name: r.name, Means: r.means})
	}
	return out
}

func sometimesNames() []string {
	var out []string
	for _, r := range rareThings {
		out = append(out, r.name)
	}
	return out
}

// wanted reads Inputs.Sometimes: which must have been seen. Nil is all that can be.
func wanted(list []string) (map[string]bool, error) {
	if len(list) == 0 || slices.Equal(list, []string{"all"}) {
		return nil, nil
	}
	want := map[string]bool{}
	for _, name := range list {
		switch {
		case name == "none" && len(list) == 1:
			return want, nil
		case name == "none", name == "all":
			return nil, fmt.Errorf("sometimes: %s stands alone, without other names", name)
		}
		if !slices.Contains(sometimesNames(), name) {
			return nil, fmt.Errorf("sometimes: there is no %q; there are all, none, %s", name, strings.Join(sometimesNames(), ", "))
		}
		want[name] = true
	}
	return want, nil
}

func (c *checker) saw(r rarity) { c.rare[r]++ }

// sometimes are the lines of the report.
func (c *checker) sometimes(given []string) []Sometime {
	out := SometimesList()
	for i := range out {
		s := &out[i]
		s.Seen = c.rare[i]
		if c.faults != nil {
			s.Seen += c.faults.seen[s.Name]
		}
		needs := rareThings[i].needs
		if s.Seen == 0 && needs != "" && !slices.Contains(given, needs) {
			s.Skipped = "needs " + needs
		}
		s.Required = c.want[s.Name] || (c.want == nil && s.Skipped == "")
	}
	return out
}
