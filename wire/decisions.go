package wire

import (
	"time"

	"github.com/posthouse/posthouse"
)

// OutcomeReplay is of decisions about many alone: what ended badly is sent again, as new deliveries.
const OutcomeReplay Outcome = "replay"

// OutcomeUndo is of decisions that take another one back, as far as that is possible.
const OutcomeUndo Outcome = "undo"

// Decide is a person's word on everything a filter selects, which is carried out step by step.
type Decide struct {
	Outcome Outcome `json:"outcome" doc:"Of what is unknown or quarantined: sent, not_sent or retry. Of what ended badly: replay."`
	Selected
	DryRun  bool   `json:"dry_run,omitempty" doc:"Only count, and answer what confirms it."`
	Confirm string `json:"confirm,omitempty" doc:"What the count with dry_run answered as confirm. Required without dry_run: nothing is decided that was not counted. It begins one decision, however often it is sent."`
}

// Selected are the deliveries that a decision is about.
type Selected struct {
	Channel  string            `json:"channel,omitempty" doc:"Only of this channel."`
	Kind     string            `json:"kind,omitempty" doc:"Only of this kind."`
	Ref      string            `json:"ref,omitempty" doc:"Only with this ref."`
	User     string            `json:"user,omitempty" doc:"Only to this user."`
	Account  string            `json:"account,omitempty" doc:"Only what this account of the channel sent, or tried to."`
	Reason   string            `json:"reason,omitempty" doc:"Only what stopped for this reason, such as tries_used_up."`
	States   []posthouse.State `json:"states,omitempty" doc:"For replay: of failed, expired, quarantined and undelivered, by default all of them. Else of unknown and quarantined, by default unknown."`
	Since    time.Time         `json:"since,omitzero" doc:"Only what was handed in from then on."`
	Until    time.Time         `json:"until,omitzero" doc:"Only what was handed in before."`
	ForceNew bool              `json:"force_new,omitempty" doc:"For replay: give the provider new idempotency keys."`
}

// Decision is a decision about many, and how far it is. Of a count it has no id.
type Decision struct {
	ID      string  `json:"id,omitempty" doc:"Its id; missing of a count."`
	Outcome Outcome `json:"outcome" doc:"What is decided: sent, not_sent, retry or replay; undo of one that takes another back."`
	Selected
	Matched   int           `json:"matched" doc:"How many deliveries were counted, at most 100,000."`
	Done      int           `json:"done" doc:"How many were decided."`
	Left      int           `json:"left" doc:"How many were left alone, because they had changed since they were counted, or went in the text of a digest."`
	Shared    int           `json:"shared,omitempty" doc:"How many of those went in the text of a digest, and share what is decided of its delivery. A count says it of those that fit."`
	State     DecisionState `json:"state,omitempty" doc:"running, done or stopped; missing of a count."`
	Error     string        `json:"last_error,omitempty" doc:"Why the last step failed; it is tried again."`
	Undoes    string        `json:"undoes,omitempty" doc:"Of an undo: the id of the decision that it takes back."`
	UndoneBy  string        `json:"undone_by,omitempty" doc:"The id of the undo that takes it back."`
	Undoable  bool          `json:"undoable,omitempty" doc:"It has ended, and what it let go can be taken back where it has not begun: of retry and replay alone."`
	By        string        `json:"by,omitempty" doc:"Who decided: a person by name, a key by name."`
	Confirm   string        `json:"confirm,omitempty" doc:"Of a count: send it with the same filter to decide just these."`
	CreatedAt time.Time     `json:"created_at,omitzero"`
	UpdatedAt time.Time     `json:"updated_at,omitzero"`
}

// CanUndo reports whether what a decision let go can be taken back where it has not begun.
func (d Decision) CanUndo() bool {
	return d.ID != "" && d.State != DecisionRunning && d.Done > 0 && d.UndoneBy == "" && (d.Outcome == OutcomeRetry || d.Outcome == OutcomeReplay)
}

// DecisionState says how far a decision about many is.
type DecisionState string

// The states.
const (
	DecisionRunning DecisionState = "running"
	DecisionDone    DecisionState = "done"
	DecisionStopped DecisionState = "stopped"
)

// DecisionStates lists every state.
func DecisionStates() []DecisionState {
	return []DecisionState{DecisionRunning, DecisionDone, DecisionStopped}
}
