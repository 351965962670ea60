package verify

import (
	"time"

	"github.com/posthouse/posthouse"
)

// Verdict is what a run proves.
type Verdict string

// The verdicts.
const (
	Holds        Verdict = "holds"
	Violated     Verdict = "violated"
	Inconclusive Verdict = "inconclusive" // nothing is violated, but too little happened, or could be seen
)

// Report is what Check found out.
type Report struct {
	Verdict Verdict `json:"verdict"`
	// Why says, a sentence each, what makes a run inconclusive.
	Why []string `json:"why,omitempty"`
	// From and To are the first and the last time in the event log.
	From       time.Time   `json:"from,omitzero"`
	To         time.Time   `json:"to,omitzero"`
	Totals     Totals      `json:"totals"`
	Unknowns   Unknowns    `json:"unknowns"`
	Recovery   []Recovery  `json:"recovery,omitempty"`
	Sometimes  []Sometime  `json:"sometimes"`
	Invariants []Invariant `json:"invariants"`
}

// Totals count what became of all of it. Those of calls are 0 without a client journal, those of
// arrivals without a sink journal.
type Totals struct {
	Attempted    int `json:"attempted"`    // sends, by idempotency key
	Acknowledged int `json:"acknowledged"` // of these, told that they are accepted
	OK           int `json:"ok"`           // of these, in the log with all their deliveries
	Lost         int `json:"lost"`         // of these, not in the log, or not whole
	Recovered    int `json:"recovered"`    // messages in the log of which no caller knows
	Unexpected   int `json:"unexpected"`   // arrivals that belong to no delivery
	// DuplicatedExplained are the copies beyond the first that follow an attempt of unknown outcome,
	// DuplicatedUnexplained all others.
	DuplicatedExplained   int `json:"duplicated_explained"`
	DuplicatedUnexplained int `json:"duplicated_unexplained"`
	// Excused are acknowledged messages and arrivals of a history that a restore has undone.
	Excused int `json:"excused,omitempty"`

	Events     int `json:"events"`
	Messages   int `json:"messages"`
	Deliveries int `json:"deliveries"`
	Attempts   int `json:"attempts"` // starts that were not taken back
	Arrivals   int `json:"arrivals"`
	Visible    int `json:"visible"` // copies beyond the first that the provider took and did not recognise
	// Keyless are the arrivals without a key: of one that no attempt knows, nobody can see whether it is a copy.
	Keyless int `json:"keyless,omitempty"`
	// States counts deliveries by their last state.
	States map[posthouse.State]int `json:"states"`
}

// Unknowns count how deliveries became unknown and what ended that.
type Unknowns struct {
	Entered   int `json:"entered"`
	Ambiguous int `json:"ambiguous"`  // by an attempt's own result
	LeaseLost int `json:"lease_lost"` // by the loss of their process
	EpochHold int `json:"epoch_hold"` // by a restore
	TooLate   int `json:"too_late"`   // once more, since it was too late for another try

	Retried     int `json:"retried"`
	AssumedSent int `json:"assumed_sent"`
	Queried     int `json:"queried"`   // the provider was asked and knew
	Operator    int `json:"operator"`  // a person decided
	TimedOut    int `json:"timed_out"` // the hold time-out, or the last try
	Evidence    int `json:"evidence"`  // a success that came late
	Quarantined int `json:"quarantined"`
	StillHeld   int `json:"still_held"`

	// WorstLoss is the most attempts that one process was lost with.
	WorstLoss int `json:"worst_loss"`
}

// Recovery is how long it took, after faults of a kind had ended, until something was sent again.
type Recovery struct {
	Kind   string        `json:"kind"`
	Faults int           `json:"faults"`
	Never  int           `json:"never"` // after which nothing was sent any more
	P50    time.Duration `json:"p50_ns"`
	P99    time.Duration `json:"p99_ns"`
	Max    time.Duration `json:"max_ns"`
}

// Sometime is something that must happen now and then for a run to prove anything.
type Sometime struct {
	Name     string `json:"name"`
	Means    string `json:"means"`
	Seen     int    `json:"seen"`
	Required bool   `json:"required"`
	// Skipped says why it is not looked for, empty where it is.
	Skipped string `json:"skipped,omitempty"`
}

// Status is what is known of an invariant.
type Status string

// The statuses.
const (
	Held          Status = "holds"
	Broken        Status = "violated"
	NotChecked    Status = "not checked"
	NotApplicable Status = "not applicable"
)

// Invariant is one law and how it fared.
type Invariant struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Status Status `json:"status"`
	// Why says what is missing for it to be checked, or why it does not apply.
	Why string `json:"why,omitempty"`
	// Checked is how many things it was applied to: deliveries, arrivals, calls or grants.
	Checked int `json:"checked"`
	// Count is how many violations there are, of which Violations shows the first few.
	Count      int         `json:"count"`
	Violations []Violation `json:"violations,omitempty"`
}

// Violation is one violation and the shortest proof of it.
type Violation struct {
	Subject string `json:"subject"` // a delivery, message, key or arrival
	What    string `json:"what"`
	// Excerpt are the lines of the journals that show it, one a string.
	Excerpt []string `json:"excerpt"`
}

// Invariant is the line of one law, by its id.
func (r Report) Invariant(id string) Invariant {
	for _, inv := range r.Invariants {
		if inv.ID == id {
			return inv
		}
	}
	return Invariant{ID: id, Status: NotChecked, Why: "there is no such invariant"}
}
