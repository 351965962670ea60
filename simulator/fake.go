package simulator

import (
	"cmp"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// maxTricked is how many messages to magic recipients a provider remembers.
const maxTricked = 100_000

// fake is a provider at work: its behaviour and the dice that go with it.
type fake struct {
	provider
	plain bool // magic recipients are ordinary ones

	mu      sync.Mutex
	faults  []Fault
	window  *window
	each    accountLimits
	dice    *rand.Rand
	tricked recent[trickKey, int]
}

// trickKey is one message to a magic recipient: by its key, or by its text without one.
type trickKey struct{ user, key string }

// verdict is what becomes of one request.
type verdict struct {
	delay    time.Duration
	fault    Fault      // zero, or a fault of the whole request
	refusals []*refusal // one for each message, nil where none is refused
	violated bool       // the limit was
}

func newFake(p provider, o Options) *fake {
	sum := fnv.New64a()
	sum.Write([]byte(p.name))
	return &fake{
		provider: p,
		plain:    o.PlainRecipients,
		dice:     rand.New(rand.NewPCG(o.Seed, sum.Sum64())),
		tricked:  newRecent[trickKey, int](maxTricked),
	}
}

// behave replaces the behaviour; it was checked. A limit that takes another's place knows what that has let in.
func (f *fake) behave(b Behaviour) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = append([]Fault(nil), b.Faults...)
	f.window = f.window.changed(b.Limit)
	f.each = newAccounts(slices.Clone(b.Accounts))
}

// behaviour is what is in force: faults that are used up are gone.
func (f *fake) behaviour() Behaviour {
	f.mu.Lock()
	defer f.mu.Unlock()
	b := Behaviour{Faults: append([]Fault{}, f.faults...), Accounts: slices.Clone(f.each.rules)}
	if f.window != nil {
		limit := f.window.limit
		b.Limit = &limit
	}
	return b
}

// decide lets the limit, the provider's own rules, then the magic recipients, then the faults in
// their order have a say. Delays add up; the first fault of the whole request is the only one.
func (f *fake) decide(now time.Time, ord order) verdict {
	f.mu.Lock()
	defer f.mu.Unlock()
	messages := ord.messages
	v := verdict{refusals: ord.refusals, violated: ord.violated}
	if f.each.windowsOf(ord.account) != nil && wholeTooFast(v.refusals) {
		v = verdict{} // the account's limits stand in the place of the provider's own
	}
	if f.more != nil {
		defer func() {
			if v.refusals != nil {
				f.more.settle(v.refusals)
			}
		}()
	}
	if wait := max(f.window.admit(now), f.each.admit(now, ord.account)); wait > 0 {
		v.violated = true
		v.refuse(refuse(TooFast, seconds(wait)), messages, everyone)
		return v
	}
	if !f.plain {
		f.trick(messages, &v)
	}
	if len(f.faults) > 0 {
		f.fail(messages, &v)
	}
	return v
}

func (f *fake) trick(messages []message, v *verdict) {
	for i, msg := range messages {
		t := trickOf(cmp.Or(msg.acts, msg.user))
		if t == nil || (t.times > 0 && !f.again(msg, t.times)) {
			continue
		}
		f.apply(t.fault, messages, func(j int) bool { return i == j }, v)
	}
}

// again counts a message to a magic recipient and reports whether its turns last.
func (f *fake) again(msg message, times int) bool {
	key := trickKey{msg.user, msg.key}
	if msg.key == "" {
		key.key = msg.title + "\n" + msg.text
	}
	count := f.tricked.byKey[key]
	if count < times {
		f.tricked.put(key, count+1)
	}
	return count < times
}

func (f *fake) fail(messages []message, v *verdict) {
	kept := f.faults[:0]
	for _, fault := range f.faults {
		struck := func(i int) bool { return fault.strikes(messages[i].user) }
		if strikesOne(messages, struck) && f.roll(fault) && f.apply(fault, messages, struck, v) && fault.Times > 0 {
			if fault.Times--; fault.Times == 0 {
				continue
			}
		}
		kept = append(kept, fault)
	}
	f.faults = kept
}

func (f *fake) roll(fault Fault) bool {
	return fault.Probability == nil || f.dice.Float64() < *fault.Probability
}

// apply adds a fault to the verdict and reports whether it had an effect: a
// request that already fails as a whole cannot fail once more.
func (f *fake) apply(fault Fault, messages []message, struck func(int) bool, v *verdict) bool {
	fault = fault.filled()
	switch {
	case v.fault.Kind != "":
		return false
	case fault.Kind == Business:
		if !v.refuse(refuse(fault.Code, fault.RetryAfter), messages, struck) {
			return false
		}
	case fault.Kind != Latency:
		v.fault = fault
	}
	v.delay += f.delay(fault)
	return true
}

// delay draws the fault's latency, spread by its jitter and never below zero.
func (f *fake) delay(fault Fault) time.Duration {
	d, jitter := fault.Latency.Std(), fault.Jitter.Std()
	if jitter > 0 {
		d += time.Duration(f.dice.Int64N(int64(2*jitter)+1)) - jitter
	}
	return max(d, 0)
}

// refuse refuses the messages that are struck and not refused yet, if there are any.
func (v *verdict) refuse(ref *refusal, messages []message, struck func(int) bool) bool {
	if v.refusals == nil {
		v.refusals = make([]*refusal, len(messages))
	}
	hit := false
	for i := range messages {
		if v.refusals[i] == nil && struck(i) {
			v.refusals[i], hit = ref, true
		}
	}
	return hit
}

// wholeTooFast reports whether an order was refused as a whole for coming too fast.
func wholeTooFast(refusals []*refusal) bool {
	return len(refusals) > 0 && refusals[0] != nil && refusals[0].code == TooFast && !refusals[0].later
}

func everyone(int) bool { return true }

func strikesOne(messages []message, struck func(int) bool) bool {
	for i := range messages {
		if struck(i) {
			return true
		}
	}
	return false
}
