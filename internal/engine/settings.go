package engine

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"time"
	"unicode"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/retry"
)

// settings are a channel's settings with every default filled in.
type settings struct {
	every       time.Duration
	job         string
	profile     retry.Profile
	policy      posthouse.Policy
	holdTimeout time.Duration
	limits      []posthouse.Limit
	maxInflight int
	batch       int
	timeout     time.Duration
	window      time.Duration // how long the provider remembers an idempotency key
	endOfDay    bool
	location    *time.Location
	dedupWindow time.Duration
	rules       []posthouse.RuleSettings
	pulled      bool // agents fetch its deliveries; the timeout is how long they hold one
}

// Defaults of a channel's settings that do not come from its driver.
const (
	defaultTimeout     = 10 * time.Second
	defaultDedupWindow = 7 * 24 * time.Hour
	defaultInflight    = 256
	cautiousInflight   = 32 // where each attempt under way at a crash stays unknown
	dutyPeriod         = time.Minute
	defaultHold        = 5 * time.Minute // what an agent was handed
)

// Preset fills in what a channel's name and profile decide, so that a stored channel says
// all that differs from the driver's own defaults.
func Preset(ch posthouse.Channel) posthouse.Channel {
	if name := retry.ProfileName(ch.Name, ch.ChannelSettings); name != "default" {
		ch.Profile = name
	}
	if ch.Profile != "duty" {
		return ch
	}
	if ch.Every == nil {
		every := posthouse.Duration(dutyPeriod)
		ch.Every = &every
	}
	if ch.OnUnknown == "" {
		ch.OnUnknown = posthouse.Retry
	}
	if ch.Rules == nil {
		ch.Rules = []posthouse.RuleSettings{{Type: "duty", Roster: "duty"}}
	}
	return ch
}

// resolve fills in the defaults: the channel's own, its profile's, its driver's, ours.
func resolve(ch posthouse.Channel, o Opened, zone *time.Location) (settings, error) {
	ch = Preset(ch)
	s := settings{
		job:         ch.Job,
		policy:      ch.OnUnknown,
		holdTimeout: ch.HoldTimeout.Std(),
		limits:      ch.Limits,
		batch:       o.MaxBatch,
		timeout:     o.Timeout,
		window:      o.Window,
		endOfDay:    ch.ExpireEndOfDay,
		location:    zone,
		rules:       ch.Rules,
		dedupWindow: or(ch.DedupWindow.Std(), defaultDedupWindow),
		pulled:      o.Pull || ch.Pull,
	}
	s.timeout = or(ch.Timeout.Std(), or(s.timeout, defaultTimeout))
	if ch.Every != nil {
		s.every = ch.Every.Std()
	}
	if s.job == "" {
		s.job = camel(ch.Name) + "MessageSenderJob"
	}
	if s.limits == nil {
		s.limits = o.Limits
	}
	if ch.Batch > 0 {
		s.batch = min(ch.Batch, max(s.batch, 1))
	}
	if s.policy == "" {
		s.policy = posthouse.Hold
		if s.window > 0 {
			s.policy = posthouse.Retry
		}
	}
	s.maxInflight = ch.MaxInflight
	if s.maxInflight == 0 {
		s.maxInflight = defaultInflight
		if s.window == 0 {
			s.maxInflight = cautiousInflight
		}
		s.maxInflight = max(s.maxInflight, s.batch) // one call holds a whole batch
	}
	if s.pulled {
		if err := s.pull(&ch); err != nil {
			return s, err
		}
	} else if _, ok := o.Driver.(channel.Querier); s.policy == posthouse.Query && !ok {
		return s, problem("on_unknown", "the driver %q can not be asked: want retry, hold or assume_sent", ch.Driver)
	}
	if ch.TimeZone != "" {
		zone, err := time.LoadLocation(ch.TimeZone)
		if err != nil {
			return s, problem("time_zone", "%q is not an IANA time zone such as Asia/Shanghai", ch.TimeZone)
		}
		s.location = zone
	}
	profile, problems := retry.For(ch.Name, ch.ChannelSettings)
	s.profile = profile
	return s, posthouse.Invalid("the channel's retries can not be followed", problems)
}

// pull makes the settings those of a channel that agents fetch from: they send one at a time, and know by its
// key what they have sent before.
func (s *settings) pull(ch *posthouse.Channel) error {
	if ch.OnUnknown == posthouse.Query {
		return problem("on_unknown", "an agent can not be asked what it has sent: want retry, hold or assume_sent")
	}
	s.policy = or(ch.OnUnknown, posthouse.Hold)
	s.timeout = or(ch.Timeout.Std(), defaultHold)
	s.window = channel.Forever
	s.every, s.limits, s.batch = 0, nil, 1
	ch.Every = new(posthouse.Duration) // no run: a wait is a wait
	return nil
}

// chance is the number in [0, 1) that spreads a wait. Deliveries of one message that go in one call have the
// same, so that they are tried again in one call.
func (s *settings) chance(d *posthouse.Delivery) float64 {
	if s.batch <= 1 {
		return rand.Float64()
	}
	return fraction(d.Message, d.Tries)
}

// fraction is a number in [0, 1) that looks drawn and follows from what it is given: whoever asks again, or in a
// run that is repeated, gets the same.
func fraction(of ...any) float64 {
	h := fnv.New64a()
	fmt.Fprint(h, of...)
	n := h.Sum64()
	n ^= n >> 33 // the high bits of FNV hardly differ between texts that differ at their ends
	n *= 0xff51afd7ed558ccd
	n ^= n >> 33
	return float64(n>>11) / (1 << 53)
}

// due is when a wait is over. Where a call takes many it is a whole second: the results of one call are recorded
// in several transactions, and are to come due together.
func (s *settings) due(now time.Time, wait time.Duration) time.Time {
	at := now.Add(wait)
	if whole := at.Truncate(time.Second); s.batch > 1 && whole.Before(at) {
		return whole.Add(time.Second)
	}
	return at
}

// problem is one thing that is wrong with a channel's settings.
func problem(path, format string, args ...any) error {
	return posthouse.Invalid("the channel can not work", []posthouse.Problem{{Path: path, Message: fmt.Sprintf(format, args...)}})
}

// or is value, or fallback where value is zero.
func or[T comparable](value, fallback T) T {
	var zero T
	if value == zero {
		return fallback
	}
	return value
}

// camel is a channel's name as a job is called: "zhao-hu" becomes "ZhaoHu".
func camel(name string) string {
	words := strings.FieldsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for i, w := range words {
		r := []rune(w)
		words[i] = string(unicode.ToUpper(r[0])) + string(r[1:])
	}
	return strings.Join(words, "")
}
