package intake

import (
	"cmp"
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// reserve makes room for a submission in the quotas that it counts against. done is to be told what became of it.
func (in *Intake) reserve(ctx context.Context, sub *work.Submission, payer work.Payer) (done func(outcome work.Outcome, err error), err error) {
	nothing := func(work.Outcome, error) {}
	if in.o.Quotas == nil {
		return nothing, nil
	}
	release, err := in.o.Quotas.Reserve(ctx, sub.Tenant, payer, openOf(sub, nil))
	if err != nil {
		return nothing, err
	}
	calls := callsOf(sub, nil)
	back, err := in.o.Quotas.MentionAll(ctx, sub.Tenant, payer, calls)
	if err != nil {
		if release != nil {
			release(0)
		}
		return nothing, err
	}
	if release == nil && back == nil {
		return nothing, nil
	}
	if payer.Open > 0 {
		sub.Payer = payer.Key
	}
	return func(outcome work.Outcome, err error) {
		open, called := openOf(sub, nil), calls
		switch {
		case posthouse.CodeOf(err) == posthouse.CodeOutcomeUnknown && err != nil: // it may be stored: the next count knows
		case err != nil || outcome.Replayed || len(outcome.Accepted) == 0:
			open, called = 0, 0
		default:
			open, called = openOf(sub, outcome.Accepted), callsOf(sub, outcome.Accepted)
		}
		if release != nil {
			release(open)
		}
		if back != nil && called < calls {
			back(calls - called)
		}
	}, nil
}

// callsOf is how many messages of a submission call everybody: without the duplicates, where it is known which are.
func callsOf(sub *work.Submission, accepted []posthouse.Accepted) int {
	n := 0
	for i := range sub.Entries {
		if sub.Entries[i].MentionAll && (accepted == nil || accepted[i].DuplicateOf == "") {
			n++
		}
	}
	return n
}

// openOf is how many open deliveries a submission makes: without the duplicates, where it is known which are.
func openOf(sub *work.Submission, accepted []posthouse.Accepted) int {
	n := 0
	for i := range sub.Entries {
		if accepted != nil && accepted[i].DuplicateOf != "" {
			continue
		}
		for j := range sub.Entries[i].Deliveries {
			if sub.Entries[i].Deliveries[j].State.Open() {
				n++
			}
		}
	}
	return n
}

// admit makes room for a letter. One that finds none waits in the outbox.
func (r *Relay) admit(ctx context.Context, l *letter, sub *work.Submission) error {
	done, err := r.Intake.reserve(ctx, sub, work.Payer{})
	switch code := posthouse.CodeOf(err); {
	case err == nil:
		l.submission, l.done = sub, done
	case code == posthouse.CodeQuota, code == posthouse.CodeTooLarge:
		l.refuse(err)
	default:
		return err
	}
	return nil
}

// refuse notes why a letter cannot be accepted now.
func (l *letter) refuse(err error) {
	l.problem, l.waits = cmp.Or(err.Error(), "it cannot be accepted"), posthouse.CodeOf(err) == posthouse.CodeQuota
}

// settle ends what was reserved for a letter that was not stored.
func (l *letter) settle(outcome work.Outcome, err error) {
	if l.done != nil {
		l.done(outcome, err)
		l.done = nil
	}
}

// relayRoom is the pause after which a row is tried again that finds no room in a quota: room comes soon or late, whatever
// came before.
const relayRoom = 10 * time.Second

// wait is the pause before the next try.
func (l *letter) wait() time.Duration {
	if l.waits {
		return relayRoom
	}
	return relayWait(l.row.Failures)
}
