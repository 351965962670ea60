package simulator

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"sync"
	"time"
)

// arrivalSize is what an arrival takes in memory besides its texts, roughly, in bytes.
const arrivalSize = 256

// ledger keeps what arrived, within its bounds, and counts all of it.
type ledger struct {
	keep      int // arrivals
	keepBytes int
	journal   io.Writer // nil without one
	run       string    // makes ids differ from one start to the next
	started   int64     // in seconds; it does so for ids that are numbers

	mu     sync.Mutex
	change sync.Cond // after each record
	seq    int64
	kept   []Arrival // those before first are dropped
	first  int
	bytes  int
	totals Totals
	stats  map[string]*Stats
	keys   recent[ledgerKey, tallied]
	broken error // why the journal cannot be written
}

type ledgerKey struct{ provider, key string }

// tallied is what is known of a key.
type tallied struct {
	first                    int64 // the number of the first taken arrival, 0 before it
	arrivals, taken, repeats int32
}

func newLedger(o Options, started time.Time) *ledger {
	l := &ledger{
		keep: o.Keep, keepBytes: o.KeepBytes, journal: o.Journal,
		run: strconv.FormatInt(started.UnixMilli(), 36), started: started.Unix(),
	}
	l.change.L = &l.mu
	l.clear(o.KeepKeys)
	return l
}

func (l *ledger) clear(keepKeys int) {
	l.kept, l.first, l.bytes, l.totals = nil, 0, 0, Totals{}
	l.stats = map[string]*Stats{}
	l.keys = newRecent[ledgerKey, tallied](keepKeys)
}

// Clear forgets everything but the number of the last arrival.
func (l *ledger) Clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clear(l.keys.most)
	l.change.Broadcast()
}

// of is the provider's line, made when first needed.
func (l *ledger) of(provider string) *Stats {
	st := l.stats[provider]
	if st == nil {
		st = &Stats{}
		l.stats[provider] = st
	}
	return st
}

// cut counts a request that was dropped before it arrived.
func (l *ledger) cut(provider string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	st := l.of(provider)
	st.Requests++
	st.CutBefore++
}

// entry is one request as the ledger sees it.
type entry struct {
	idempotent          bool
	together            bool // all arrivals have one id
	malformed, violated bool
	arrivals            []Arrival
}

// record numbers the arrivals of one request, gives the taken ones their ids
// and writes them to the journal in one piece, before anybody is answered.
func (l *ledger) record(f *fake, e entry) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	st := l.of(f.name)
	st.Requests++
	st.Malformed += one(e.malformed)
	st.Violations += one(e.violated)
	id := ""
	for i := range e.arrivals {
		a := &e.arrivals[i]
		l.seq++
		a.Seq = l.seq
		l.number(f.prefix, e.idempotent, a)
		if e.together && a.ID != "" {
			if id == "" { // that of the first which was not refused
				id = a.ID
			}
			a.ID = id
		}
		l.totals.count(a)
		st.Totals.count(a)
		l.retain(*a)
	}
	l.change.Broadcast()
	return l.write(e.arrivals)
}

func one(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// number finds out whether the arrival's key is new and gives the arrival its id.
func (l *ledger) number(prefix string, idempotent bool, a *Arrival) {
	first := a.Seq
	if a.Key != "" {
		key := ledgerKey{a.Provider, a.Key}
		known := l.keys.byKey[key]
		if a.Answer != Refused && known.first != 0 {
			a.Repeat, a.Duplicate = idempotent, !idempotent
		}
		if a.Repeat {
			first = known.first
		}
		l.keys.put(key, known.plus(a))
	}
	if a.Answer != Refused {
		a.ID = l.id(prefix, first)
	}
}

// id is a provider's id; without a prefix it is a number.
func (l *ledger) id(prefix string, seq int64) string {
	if prefix == "" {
		return strconv.FormatInt(l.started*1_000_000+seq, 10)
	}
	return prefix + "-" + l.run + "-" + strconv.FormatInt(seq, 36)
}

func (t tallied) plus(a *Arrival) tallied {
	t.arrivals++
	if a.Repeat {
		t.repeats++
	}
	if a.taken() {
		t.taken++
		if t.first == 0 {
			t.first = a.Seq
		}
	}
	return t
}

// retain keeps an arrival and drops the oldest ones beyond the bounds.
func (l *ledger) retain(a Arrival) {
	l.kept = append(l.kept, a)
	l.bytes += a.size()
	for len(l.kept)-l.first > 1 && (len(l.kept)-l.first > l.keep || l.bytes > l.keepBytes) {
		l.bytes -= l.kept[l.first].size()
		l.kept[l.first] = Arrival{} // its texts may go
		l.first++
	}
	if l.first > len(l.kept)/2 && l.first > 1000 { // rarely, so that moving costs nothing on average
		l.kept = slices.Delete(l.kept, 0, l.first)
		l.first = 0
	}
}

func (a *Arrival) size() int {
	return arrivalSize + len(a.Path) + len(a.Key) + len(a.User) + len(a.Title) + len(a.Text)
}

// write appends the arrivals to the journal with one call, so that they are
// with the operating system before the sender hears of them.
func (l *ledger) write(arrivals []Arrival) error {
	if l.journal == nil || l.broken != nil {
		return nil //nolint:nilerr // said once, when it broke; /healthz goes on saying it
	}
	var lines []byte
	for i := range arrivals {
		line, _ := json.Marshal(&arrivals[i]) // strings, numbers, a time of this century
		lines = append(append(lines, line...), '\n')
	}
	_, l.broken = l.journal.Write(lines)
	return l.broken
}

// pick answers the arrivals of a filter, newest last.
func (l *ledger) pick(f Filter) []Arrival {
	l.mu.Lock()
	defer l.mu.Unlock()
	kept, limit := l.kept[l.first:], f.Limit
	if limit <= 0 {
		limit = 100
	}
	out := []Arrival{}
	if f.Since != nil {
		for i := l.after(kept, *f.Since); i < len(kept) && len(out) < limit; i++ {
			if f.matches(&kept[i]) {
				out = append(out, kept[i])
			}
		}
		return out
	}
	for i := len(kept) - 1; i >= 0 && len(out) < limit; i-- {
		if f.matches(&kept[i]) {
			out = append(out, kept[i])
		}
	}
	slices.Reverse(out)
	return out
}

// after is the index of the first kept arrival beyond a number: numbers have no gaps.
func (l *ledger) after(kept []Arrival, seq int64) int {
	if len(kept) == 0 {
		return 0
	}
	return int(min(max(seq+1-kept[0].Seq, 0), int64(len(kept))))
}

func (l *ledger) count(provider, key string) Count {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.keys.byKey[ledgerKey{provider, key}].count(provider, key)
}

func (t tallied) count(provider, key string) Count {
	return Count{provider, key, int64(t.arrivals), int64(t.taken), int64(t.repeats)}
}

// counts copies what it needs of the keys: the caller may take its time.
func (l *ledger) counts(provider string, atLeast int64) []Count {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := []Count{}
	for key, t := range l.keys.byKey {
		if int64(t.arrivals) >= atLeast && (provider == "" || provider == key.provider) {
			out = append(out, t.count(key.provider, key.key))
		}
	}
	return out
}

func (l *ledger) sum() Totals {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.totals
}

func (l *ledger) wait(ctx context.Context, enough func(Totals) bool) error {
	defer context.AfterFunc(ctx, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.change.Broadcast()
	})()
	l.mu.Lock()
	defer l.mu.Unlock()
	for !enough(l.totals) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		l.change.Wait()
	}
	return nil
}

func (l *ledger) trouble() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.broken
}

func (l *ledger) status() Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	st := Status{
		Totals: l.totals, Kept: len(l.kept) - l.first, KeptBytes: l.bytes,
		Keys: len(l.keys.byKey), ForgottenKeys: l.keys.forgotten,
		Providers: make(map[string]Stats, len(l.stats)),
	}
	for name, stats := range l.stats {
		st.Providers[name] = *stats
	}
	return st
}
