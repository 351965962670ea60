package state

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/quiet"
	"github.com/posthouse/posthouse/internal/retry"
)

// Settings are a channel's settings with every default filled in.
type Settings struct {
	Every       time.Duration
	Job         string
	Profile     retry.Profile
	Policy      posthouse.Policy
	HoldTimeout time.Duration
	Limits      []posthouse.Limit
	Tiers       Tiers
	ByCalls     bool                    // limits count calls, not recipients
	Rate        *posthouse.RateSettings // nil without
	MaxInflight int
	// ChannelInflight bounds what all accounts have under way together.
	ChannelInflight int
	Batch           int
	Timeout         time.Duration
	Window          time.Duration // how long the provider remembers an idempotency key
	EndOfDay        bool
	Location        *time.Location
	DedupWindow     time.Duration
	Rules           []posthouse.RuleSettings
	Pulled          bool // agents fetch its deliveries; the timeout is how long they hold one
	FairAfter       time.Duration
	Sticky          posthouse.Sticky
	Failover        bool
	Quiet           quiet.Hours // besides its tenant's; nil for none
	exempt          []string    // kinds that suppressions do not hold
	promise         map[posthouse.Priority]posthouse.Duration
}

// Defaults of a channel's settings that do not come from its driver.
const (
	defaultTimeout     = 10 * time.Second
	DefaultDedupWindow = 7 * 24 * time.Hour // how long a dedup key holds where nobody says, on a channel or by a route
	defaultInflight    = 256
	channelInflight    = 4096 // of all accounts of a channel
	cautiousInflight   = 32   // where each attempt under way at a crash stays unknown
	dutyPeriod         = time.Minute
	DefaultHold        = 5 * time.Minute // what an agent was handed
	DefaultFairAfter   = 10 * time.Minute
)

// WithoutPreset is what a channel says besides what its profile fills in: another profile fills in its own.
func WithoutPreset(ch posthouse.ChannelSettings) posthouse.ChannelSettings {
	own := Preset(posthouse.Channel{ChannelSettings: posthouse.ChannelSettings{Profile: ch.Profile}})
	if ch.OnUnknown == own.OnUnknown {
		ch.OnUnknown = ""
	}
	if own.Every != nil && ch.Every != nil && *ch.Every == *own.Every {
		ch.Every = nil
	}
	if own.KeepAnswers != nil && ch.KeepAnswers != nil && *ch.KeepAnswers == *own.KeepAnswers {
		ch.KeepAnswers = nil
	}
	if own.Rules != nil && reflect.DeepEqual(ch.Rules, own.Rules) {
		ch.Rules = nil
	}
	return ch
}

// Preset fills in what a channel's profile decides, so that a stored channel says all that differs from the driver's
// own defaults.
func Preset(ch posthouse.Channel) posthouse.Channel {
	if p, _ := retry.Named(ch.Profile); ch.OnUnknown == "" {
		ch.OnUnknown = p.OnUnknown
	}
	if ch.Profile != "duty" {
		return ch
	}
	if ch.Every == nil {
		every := posthouse.Duration(dutyPeriod)
		ch.Every = &every
	}
	if ch.KeepAnswers == nil {
		keep := true // its document asks for each attempt's request and answer
		ch.KeepAnswers = &keep
	}
	if ch.Rules == nil {
		ch.Rules = []posthouse.RuleSettings{{Type: "duty", Roster: "duty"}}
	}
	return ch
}

// Resolve fills in the defaults: the channel's own, its profile's, its driver's, ours.
func Resolve(ch posthouse.Channel, o Opened, zone *time.Location) (Settings, error) {
	ch = Preset(ch)
	s := Settings{
		Job:         cmp.Or(ch.Job, camel(ch.Name)+"MessageSenderJob"),
		HoldTimeout: ch.HoldTimeout.Std(),
		Limits:      ch.Limits,
		ByCalls:     ch.LimitBy == posthouse.LimitByCalls,
		EndOfDay:    ch.ExpireEndOfDay,
		Rules:       ch.Rules,
		Rate:        ch.Rate,
		Sticky:      ch.Sticky,
		Failover:    ch.Failover,
		Quiet:       quiet.Of(ch.QuietHours),
		exempt:      ch.ExemptKinds,
		promise:     ch.Promise,
		DedupWindow: cmp.Or(ch.DedupWindow.Std(), DefaultDedupWindow),
		Pulled:      o.Pull || ch.Pull,
	}
	if ch.Every != nil {
		s.Every = ch.Every.Std()
	}
	s.limit(&ch, o)
	s.byDriver(&ch, o)
	s.MaxInflight = s.inflight(ch.MaxInflight)
	s.ChannelInflight = cmp.Or(ch.ChannelMaxInflight, channelInflight)
	var err error
	switch _, asks := o.By("").(channel.Querier); {
	case s.Pulled:
		err = s.pull(&ch)
	case s.Policy == posthouse.Query && !asks:
		err = problem("on_unknown", "the driver %q cannot be asked: want retry, hold or assume_sent", ch.Driver)
	}
	if err != nil {
		return s, err
	}
	if s.Location, err = zoneOf(ch.TimeZone, zone); err != nil {
		return s, err
	}
	profile, problems := retry.For(ch.ChannelSettings)
	s.Profile = profile
	return s, posthouse.Invalid("the channel's retries cannot be followed", problems)
}

// Exempt reports whether what is of a kind is sent to addresses that are suppressed too.
func (s *Settings) Exempt(kind string) bool { return slices.Contains(s.exempt, kind) }

// promises are how long what is due waits at most where a channel says nothing else.
var promises = map[posthouse.Priority]time.Duration{posthouse.High: time.Minute, posthouse.Normal: 5 * time.Minute, posthouse.Low: time.Hour}

// Promise is how long what is due waits at most in a channel, when all is well. The channel may be nil: one that is not open.
func Promise(c *Channel, p posthouse.Priority) time.Duration {
	if c == nil {
		return promises[p]
	}
	if d, found := c.Settings.promise[p]; found {
		return d.Std()
	}
	return promises[p] + c.Settings.Every
}

// byDriver fills in what depends on what the driver can do.
func (s *Settings) byDriver(ch *posthouse.Channel, o Opened) {
	s.Batch, s.Window = o.MaxBatch, o.Window
	s.Timeout = cmp.Or(ch.Timeout.Std(), o.Timeout, defaultTimeout)
	if ch.Batch > 0 {
		s.Batch = min(ch.Batch, max(s.Batch, 1))
	}
	s.Policy = ch.OnUnknown
	if s.Policy == "" {
		s.Policy = posthouse.Hold
		if s.Window > 0 {
			s.Policy = posthouse.Retry
		}
	}
}

// inflight is how many attempts may be under way, given what the channel says.
func (s *Settings) inflight(given int) int {
	switch {
	case given != 0:
		return given
	case s.Window == 0:
		return max(cautiousInflight, s.Batch) // one call holds a whole batch
	}
	return max(defaultInflight, s.Batch)
}

// zoneOf is a time zone by its name, or the server's where a channel names none.
func zoneOf(name string, server *time.Location) (*time.Location, error) {
	if name == "" {
		return server, nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, problem("time_zone", "%q is not an IANA time zone such as Asia/Shanghai", name)
	}
	return zone, nil
}

// pull makes the settings those of a channel that agents fetch from: they send one at a time, and know by its
// key what they have sent before.
func (s *Settings) pull(ch *posthouse.Channel) error {
	if ch.OnUnknown == posthouse.Query {
		return problem("on_unknown", "an agent cannot be asked what it has sent: want retry, hold or assume_sent")
	}
	s.Policy = cmp.Or(ch.OnUnknown, posthouse.Hold)
	s.Timeout = cmp.Or(ch.Timeout.Std(), DefaultHold)
	s.FairAfter = cmp.Or(ch.FairAfter.Std(), DefaultFairAfter)
	s.Window = channel.Forever
	s.Every, s.Limits, s.Tiers, s.Rate, s.Batch = 0, nil, Tiers{Caps: s.Tiers.Caps}, nil, 1
	ch.Every = new(posthouse.Duration) // no run: a wait is a wait
	return nil
}

// chance is the number in [0, 1) that spreads a wait. Deliveries of one message that go in one call have the
// same, so that they are tried again in one call.
func (s *Settings) chance(d *posthouse.Delivery) float64 {
	if s.Batch <= 1 {
		return rand.Float64()
	}
	return Fraction(d.Message, d.Tries)
}

// Fraction is a number in [0, 1) that looks drawn and follows from what it is given: asked again, or in a run that is
// repeated, it is the same.
func Fraction(of ...any) float64 {
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
func (s *Settings) due(now time.Time, wait time.Duration) time.Time {
	at := now.Add(wait)
	if whole := at.Truncate(time.Second); s.Batch > 1 && whole.Before(at) {
		return whole.Add(time.Second)
	}
	return at
}

// problem is one thing that is wrong with a channel's settings.
func problem(path, format string, args ...any) error {
	return posthouse.Invalid("the channel cannot work", []posthouse.Problem{{Path: path, Message: fmt.Sprintf(format, args...)}})
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
