package rule

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
)

// Subject is what a rule judges: one recipient of one message, now.
type Subject struct {
	Tenant    string
	Channel   string
	Kind      string
	Recipient posthouse.Recipient
	Now       time.Time
}

// Decision is what a rule says of a subject.
type Decision int

// The decisions. The zero Decision is Allow.
const (
	Allow Decision = iota // tell the recipient
	Skip                  // do not; the delivery is suppressed
	Defer                 // not before Verdict.Until
)

// String is the decision in lower case.
func (d Decision) String() string {
	switch d {
	case Allow:
		return "allow"
	case Skip:
		return "skip"
	case Defer:
		return "defer"
	}
	return "unknown"
}

// Verdict is a decision with its reason. The zero Verdict allows.
type Verdict struct {
	Decision Decision
	// Reason is why not, a stable word that the API shows. Empty for Allow.
	Reason string
	// Until is when a deferred recipient may be told. Zero unless Decision is Defer.
	Until time.Time
	// Detail is a sentence for the log. Empty for Allow.
	Detail string
	// Warn asks for a WARN line and a metric instead of a DEBUG line: somebody
	// should set something right.
	Warn bool
	// Code is the error code of the WARN line.
	Code string
}

// Rule judges subjects. It is called from many goroutines; an error means that
// no verdict could be reached and says nothing about the subject.
type Rule interface {
	Judge(ctx context.Context, subject Subject) (Verdict, error)
}

// All is the rules in order: the first verdict other than Allow, or the first
// error, is the answer. Without rules everything is allowed.
func All(rules ...Rule) Rule { return all(rules) }

type all []Rule

func (a all) Judge(ctx context.Context, subject Subject) (Verdict, error) {
	for _, r := range a {
		if v, err := r.Judge(ctx, subject); err != nil || v.Decision != Allow {
			return v, err
		}
	}
	return Verdict{}, nil
}
