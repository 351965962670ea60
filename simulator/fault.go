package simulator

import (
	"cmp"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
)

// Kind is what a fault does to a request.
type Kind string

// The kinds of fault. Those that take the message count it as an arrival whose
// answer was lost; those that do not leave no trace in the recipient's inbox.
const (
	Latency     Kind = "latency"      // answers late, otherwise as usual
	RateLimited Kind = "rate_limited" // HTTP 429 with Retry-After; not taken
	ServerError Kind = "server_error" // HTTP 5xx; not taken
	Business    Kind = "business"     // the provider's own error for Code; not taken
	CutBefore   Kind = "cut_before"   // closes the connection; not taken, not even an arrival
	CutAfter    Kind = "cut_after"    // takes the message, then closes the connection
	Garbage     Kind = "garbage"      // takes the message, then answers 200 with rubbish
	Hang        Kind = "hang"         // takes the message and never answers
	Redirect    Kind = "redirect"     // HTTP 3xx to Location; not taken
)

// The bounds of what a fault may ask for.
const (
	maxDelay   = 10 * time.Minute
	maxWait    = 24 * 60 * 60 // seconds
	maxFaults  = 100          // of one provider
	maxInLimit = 100_000      // requests a window counts
)

// Fault is one way a provider misbehaves, and when.
type Fault struct {
	Kind Kind `json:"kind"`
	// Probability is the share of requests it strikes, above 0 and at most 1. Defaults to 1.
	Probability *float64 `json:"probability,omitempty"`
	// Recipient is a pattern for the user it strikes, with *, ? and [a-z] as in
	// path.Match. Defaults to everybody.
	Recipient string `json:"recipient,omitempty"`
	// Times is how many requests it strikes before it is used up. Defaults to 0: no end.
	Times int `json:"times,omitempty"`
	// Latency is the wait before the answer, spread by up to Jitter to either
	// side. Both default to 0 and go with every kind.
	Latency posthouse.Duration `json:"latency,omitzero"`
	Jitter  posthouse.Duration `json:"jitter,omitzero"`
	// RetryAfter is the wait in seconds that the answer names, for rate_limited,
	// server_error and business. Defaults to 1 for rate_limited and too_fast, else to none.
	RetryAfter int `json:"retry_after,omitempty"`
	// Status is the HTTP status of a server_error or redirect. Defaults to 503 and 302.
	Status int `json:"status,omitempty"`
	// Code is what a business fault refuses the message for. Defaults to busy.
	Code Code `json:"code,omitempty"`
	// Location is where a redirect points. Defaults to /login.
	Location string `json:"location,omitempty"`
}

// Limit is how fast a provider lets itself be called.
type Limit struct {
	// Max requests are taken in any sliding window of length Per.
	Max int                `json:"max"`
	Per posthouse.Duration `json:"per"`
	// Lockout is how long everything is refused after a violation. Defaults to
	// 0: only until the window has room again.
	Lockout posthouse.Duration `json:"lockout,omitzero"`
}

// Behaviour is how a provider answers: its faults, of which the first that
// strikes decides, and its limit. The zero value answers everything well.
type Behaviour struct {
	Faults []Fault `json:"faults"`
	Limit  *Limit  `json:"limit,omitempty"`
	// Accounts are limits of each account by itself, where the provider has accounts: the first whose pattern matches holds.
	Accounts []AccountLimit `json:"accounts,omitempty"`
}

// fieldKinds are the fields that only some kinds have.
var fieldKinds = []struct {
	name  string
	set   func(Fault) bool
	kinds []Kind
}{
	{"retry_after", func(f Fault) bool { return f.RetryAfter != 0 }, []Kind{RateLimited, ServerError, Business}},
	{"status", func(f Fault) bool { return f.Status != 0 }, []Kind{ServerError, Redirect}},
	{"code", func(f Fault) bool { return f.Code != "" }, []Kind{Business}},
	{"location", func(f Fault) bool { return f.Location != "" }, []Kind{Redirect}},
}

// check finds what is wrong with a behaviour; paths are relative to it.
func (b Behaviour) check() []posthouse.Problem {
	var out problems
	if len(b.Faults) > maxFaults {
		out.add("faults", "there are %d, at most %d are allowed", len(b.Faults), maxFaults)
	}
	for i, f := range b.Faults {
		f.check(fmt.Sprintf("faults[%d].", i), &out)
	}
	if l := b.Limit; l != nil {
		out.within("limit.max", l.Max, 1, maxInLimit)
		out.duration("limit.per", l.Per, time.Millisecond, 24*time.Hour)
		out.duration("limit.lockout", l.Lockout, 0, 24*time.Hour)
	}
	out.within("accounts", len(b.Accounts), 0, maxFaults)
	for i := range b.Accounts {
		b.Accounts[i].check(fmt.Sprintf("accounts[%d].", i), &out)
	}
	return out
}

func (f Fault) check(at string, out *problems) {
	if !slices.Contains(kinds, f.Kind) {
		out.add(at+"kind", "%q is not a kind of fault; allowed are %s", f.Kind, words(kinds))
		return
	}
	if p := f.Probability; p != nil && !(*p > 0 && *p <= 1) {
		out.add(at+"probability", "%v is out of range; it must be above 0 and at most 1", *p)
	}
	if _, err := path.Match(f.Recipient, ""); err != nil {
		out.add(at+"recipient", "%q is not a pattern; *, ? and [a-z] are allowed", f.Recipient)
	}
	out.within(at+"times", f.Times, 0, 1<<31)
	out.within(at+"retry_after", f.RetryAfter, 0, maxWait)
	out.duration(at+"latency", f.Latency, 0, maxDelay)
	out.duration(at+"jitter", f.Jitter, 0, maxDelay)
	f.checkKind(at, out)
}

func (f Fault) checkKind(at string, out *problems) {
	for _, rule := range fieldKinds {
		if rule.set(f) && !slices.Contains(rule.kinds, f.Kind) {
			out.add(at+rule.name, "a %s fault has no such field; it goes with %s", f.Kind, words(rule.kinds))
		}
	}
	switch {
	case f.Kind == Latency && f.Latency == 0 && f.Jitter == 0:
		out.add(at+"latency", "it is missing; a latency fault needs a latency or a jitter such as 200ms")
	case f.Kind == ServerError && f.Status != 0:
		out.within(at+"status", f.Status, 500, 599)
	case f.Kind == Redirect && f.Status != 0 && !slices.Contains(redirects, f.Status):
		out.add(at+"status", "%d is not a redirect; allowed are 301, 302, 303, 307 and 308", f.Status)
	case f.Kind == Business && f.Code != "" && !slices.Contains(codes, f.Code):
		out.add(at+"code", "%q is not a refusal; allowed are %s", f.Code, words(codes))
	}
}

var (
	kinds     = []Kind{Latency, RateLimited, ServerError, Business, CutBefore, CutAfter, Garbage, Hang, Redirect}
	codes     = []Code{UnknownUser, RefusedContent, TooFast, Busy}
	redirects = []int{301, 302, 303, 307, 308}
)

// filled is the fault with its defaults.
func (f Fault) filled() Fault {
	switch f.Kind {
	case RateLimited:
		f.Status, f.RetryAfter = http.StatusTooManyRequests, max(f.RetryAfter, 1)
	case ServerError:
		f.Status = cmp.Or(f.Status, 503)
	case Redirect:
		f.Status, f.Location = cmp.Or(f.Status, 302), cmp.Or(f.Location, "/login")
	case Business:
		f.Code = cmp.Or(f.Code, Busy)
		if f.Code == TooFast {
			f.RetryAfter = max(f.RetryAfter, 1)
		}
	}
	return f
}

func (f Fault) strikes(user string) bool {
	if f.Recipient == "" {
		return true
	}
	hit, _ := path.Match(f.Recipient, user) // check has tried the pattern
	return hit
}

// problems collects what is wrong with an input.
type problems []posthouse.Problem

func (p *problems) add(path, format string, args ...any) {
	*p = append(*p, posthouse.Problem{Path: path, Message: fmt.Sprintf(format, args...)})
}

func (p *problems) within(path string, value, low, high int) {
	if value < low || value > high {
		p.add(path, "%d is out of range; %d to %d is allowed", value, low, high)
	}
}

func (p *problems) duration(path string, value posthouse.Duration, low, high time.Duration) {
	if d := value.Std(); d < low || d > high {
		p.add(path, "%s is out of range; %s to %s is allowed", value, posthouse.Duration(low), posthouse.Duration(high))
	}
}

func words[T ~string](list []T) string {
	out := make([]string, len(list))
	for i, w := range list {
		out[i] = string(w)
	}
	return strings.Join(out, ", ")
}
