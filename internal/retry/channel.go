package retry

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/limittext"
)

// The bounds of what a channel may set.
const (
	maxTries = 1000
	maxSteps = 100
	maxWait  = 30 * 24 * time.Hour
)

// pace is the wait between the tries of a channel that sends continuously where
// its profile leaves the wait to the next run: as long as a run's default period.
const pace = time.Minute

// For is the profile that a channel names, else "default", with the channel's own settings in it: tries, backoff, jitter,
// probes, period and policy. The problems are those of Check; without any the profile is complete.
func For(settings posthouse.ChannelSettings) (Profile, []posthouse.Problem) {
	if problems := Check(settings); len(problems) > 0 {
		return Profile{}, problems
	}
	p, _ := Named(cmp.Or(settings.Profile, Default))
	if settings.Tries > 0 {
		p.Tries = settings.Tries
	}
	if len(settings.Backoff) > 0 {
		p.Schedule = Schedule{Jitter: DefaultJitter}
		for _, wait := range settings.Backoff {
			p.Schedule.Steps = append(p.Schedule.Steps, wait.Std())
		}
	}
	if settings.Every != nil {
		p.Every = settings.Every.Std()
	}
	if p.Every == 0 && len(settings.Backoff) == 0 && p.Schedule.Backoff(1) == 0 {
		p.Schedule = exponential(pace, 1, pace)
	}
	if settings.OnUnknown != "" {
		p.OnUnknown = settings.OnUnknown
	}
	if settings.ProbeAfter > 0 || settings.ProbeMax > 0 {
		p.probe(Probe(settings.ProbeAfter.Std(), settings.ProbeMax.Std()))
	}
	if settings.Jitter != nil {
		p.spread(*settings.Jitter)
	}
	return p, nil
}

// probe puts a schedule in place of those for a refused account.
func (p *Profile) probe(s Schedule) {
	for class, terms := range p.Classes {
		if terms.Free && class != posthouse.ClassRate && class != posthouse.ClassLocal {
			terms.Schedule = s
			p.Classes[class] = terms
		}
	}
}

// spread puts one jitter into every schedule.
func (p *Profile) spread(jitter float64) {
	p.Schedule.Jitter = jitter
	for class, terms := range p.Classes {
		terms.Schedule.Jitter = jitter
		p.Classes[class] = terms
	}
}

// Check finds what is wrong with the settings that For reads.
func Check(s posthouse.ChannelSettings) []posthouse.Problem {
	var out []posthouse.Problem
	problem := func(path, format string, args ...any) {
		out = append(out, posthouse.Problem{Path: path, Message: limittext.Said(format, args...)})
	}
	if _, ok := profiles[s.Profile]; s.Profile != "" && !ok {
		problem("profile", "there is no profile %q; the profiles are %s", s.Profile, strings.Join(Names(), ", "))
	}
	if s.Tries < 0 || s.Tries > maxTries {
		problem("tries", "%d is not between 1 and %d", s.Tries, maxTries)
	}
	if len(s.Backoff) > maxSteps {
		problem("backoff", "%d waits are too many; the most is %d", len(s.Backoff), maxSteps)
	}
	for i, wait := range s.Backoff {
		checkWait(problem, fmt.Sprintf("backoff[%d]", i), wait)
	}
	if s.Jitter != nil && !(*s.Jitter >= 0 && *s.Jitter <= 1) {
		problem("jitter", "%v is not between 0 and 1", *s.Jitter)
	}
	if s.Every != nil {
		checkWait(problem, "every", *s.Every)
	}
	if s.OnUnknown != "" && !s.OnUnknown.Valid() {
		problem("on_unknown", "%q is not a policy; the policies are %v", s.OnUnknown, posthouse.Policies())
	}
	checkWait(problem, "probe_after", s.ProbeAfter)
	checkWait(problem, "probe_max", s.ProbeMax)
	if s.ProbeMax > 0 && s.ProbeMax < s.ProbeAfter {
		problem("probe_max", "%s is shorter than probe_after, %s", s.ProbeMax, s.ProbeAfter)
	}
	return out
}

func checkWait(problem func(path, format string, args ...any), path string, wait posthouse.Duration) {
	if wait < 0 || wait.Std() > maxWait {
		problem(path, "%s is not between 0s and %s", wait, posthouse.Duration(maxWait))
	}
}
