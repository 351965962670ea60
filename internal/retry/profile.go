package retry

import (
	"maps"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
)

// Terms say how often and when deliveries are tried.
type Terms struct {
	// Tries is how many counted failures end a delivery. 0 means no number of
	// them does: only the deadline ends it.
	Tries int
	// Schedule is the wait between tries.
	Schedule Schedule
	// Free failures are not counted: they are about the account, and leave the
	// delivery as many tries as it had.
	Free bool
}

// Profile is a named set of defaults for a channel: the usual terms, others for
// some classes, and how it runs.
type Profile struct {
	Name string
	Terms
	// Every is the period of the channel's runs; 0 sends continuously.
	Every time.Duration
	// OnUnknown is the policy for an ambiguous attempt, empty where the driver's
	// abilities decide it.
	OnUnknown posthouse.Policy
	// Classes are the terms of single classes. A class that blocks an account
	// has terms here in every profile.
	Classes map[posthouse.Class]Terms
}

// TermsOf are the terms for failures of one class.
func (p Profile) TermsOf(class posthouse.Class) Terms {
	if terms, ok := p.Classes[class]; ok {
		return terms
	}
	return p.Terms
}

// Apart reports whether some classes have counts and waits of their own, so that it matters what failed before.
func (p Profile) Apart() bool {
	for _, terms := range p.Classes {
		if !terms.Free {
			return true
		}
	}
	return false
}

// Before is how many of past failures count for one of a class: those of the class where it has terms of its own, else those of
// all classes that have none. So a change of class starts the ladder of that class, and a later failure goes on where it stood.
func (p Profile) Before(class posthouse.Class, past map[posthouse.Class]int) (n int) {
	if _, own := p.Classes[class]; own {
		return past[class]
	}
	for other, failures := range past {
		if _, own := p.Classes[other]; !own {
			n += failures
		}
	}
	return n
}

const (
	m = time.Minute
	h = time.Hour
)

// Default is the name of the profile of a channel that names none.
const Default = "default"

// profiles is the table of profiles. Each function makes a fresh value, so that
// nobody can change another's.
var profiles = map[string]func() Profile{
	// Business notices: patient for five hours, then a person looks.
	Default: func() Profile {
		return Profile{Terms: Terms{Tries: 8, Schedule: notices()}, Classes: blocking()}
	},
	// Workflow notifications (FLOW-13): the same steps, by their own name so
	// that changing the default leaves them alone. As the document has it, a
	// failure that may have arrived is repeated like any other.
	"flow": func() Profile {
		return Profile{Terms: Terms{Tries: 8, Schedule: notices()}, OnUnknown: posthouse.Retry, Classes: blocking()}
	},
	// Duty notices: a run each minute (DUTY-5); three failures end a notice and
	// the wait is the time to the next run (DUTY-6); a time-out counts as a
	// failure and is repeated (DUTY-9).
	"duty": func() Profile {
		return Profile{Terms: Terms{Tries: 3}, Every: m, OnUnknown: posthouse.Retry, Classes: blocking()}
	},
	// WeCom fleets (FLEET-7). The requirement counts repeats, Tries counts the
	// first attempt too: hence one more than its numbers.
	"wecom": func() Profile {
		return Profile{
			Terms: Terms{Tries: 3 + 1, Schedule: exponential(time.Second, 2, 10*m)},
			// The document repeats NETWORK_TIMEOUT, which may have arrived, five times.
			OnUnknown: posthouse.Retry,
			Classes: map[posthouse.Class]Terms{
				posthouse.ClassUnknown: {Tries: 5 + 1, Schedule: exponential(2*time.Second, 2, 10*m)},
				posthouse.ClassRate:    {Tries: 10 + 1, Schedule: exponential(m, 1.5, h)},
				posthouse.ClassAuth:    {Tries: 1 + 1, Schedule: exponential(5*m, 1, 5*m)},
				posthouse.ClassAccount: {Free: true, Schedule: Probe(0, 0)},
				posthouse.ClassBlocked: {Free: true, Schedule: Probe(0, 0)},
				posthouse.ClassLocal:   {Free: true, Schedule: moment()},
			},
		}
	},
}

func notices() Schedule {
	return Schedule{Steps: []time.Duration{m, 3 * m, 5 * m, 10 * m, 30 * m, h, 3 * h}, Jitter: DefaultJitter}
}

func exponential(base time.Duration, factor float64, most time.Duration) Schedule {
	return Schedule{Base: base, Factor: factor, Max: most, Jitter: DefaultJitter}
}

// blocking are the terms of the classes that block an account: they count
// nothing. A rate limit without the provider's own wait is mostly one of a
// minute, so it is asked again sooner than a refused account.
func blocking() map[posthouse.Class]Terms {
	return map[posthouse.Class]Terms{
		posthouse.ClassRate:    {Free: true, Schedule: exponential(30*time.Second, 2, 10*m)},
		posthouse.ClassAuth:    {Free: true, Schedule: Probe(0, 0)},
		posthouse.ClassAccount: {Free: true, Schedule: Probe(0, 0)},
		posthouse.ClassBlocked: {Free: true, Schedule: Probe(0, 0)},
		posthouse.ClassLocal:   {Free: true, Schedule: moment()},
	}
}

// moment is the wait after a failure of our own machine, which may have room
// again at any time.
func moment() Schedule { return exponential(time.Second, 2, 30*time.Second) }

// Names lists the profiles in alphabetical order.
func Names() []string { return slices.Sorted(maps.Keys(profiles)) }

// Named is the profile of a name; ok is false where there is none.
func Named(name string) (p Profile, ok bool) {
	fresh, ok := profiles[name]
	if !ok {
		return Profile{}, false
	}
	p = fresh()
	p.Name = name
	return p, true
}
