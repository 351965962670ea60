package simulator

import (
	"cmp"
	"context"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/posthouse/posthouse"
)

// Options is what a Simulator may be told. The zero value works.
type Options struct {
	// Seed makes the draws of faults the same from run to run, for requests that
	// come in the same order. Defaults to 1.
	Seed uint64
	// Keep is how many arrivals are kept to be looked at. Defaults to 100,000.
	Keep int
	// KeepBytes bounds the memory the kept arrivals take, roughly. Defaults to 64 MiB.
	KeepBytes int
	// KeepKeys is how many keys are counted and recognised before the oldest are
	// forgotten; Status says how many were. Defaults to 1,000,000, about 200 MB
	// when all of them were seen.
	KeepKeys int
	// Journal gets every arrival as one line of JSON before its sender is
	// answered, one Write for each request. OpenJournal opens a file for it.
	// Defaults to none.
	Journal io.Writer
	// WebhookSecrets are the keys whose signatures the webhook receiver accepts;
	// with none it checks no signature. Defaults to none.
	WebhookSecrets []Secret
	// RobotSecret is the secret that posts to the DingTalk robot are signed with, and RobotKeyword a word
	// that they must hold. Both default to none: neither is checked.
	RobotSecret, RobotKeyword string
	// SMSSecret is the secret of every access key at Aliyun and Tencent Cloud. Defaults to the constant of that name.
	SMSSecret string
	// Presets are NAME.yaml with NAME.shapes that are played beside those that ship. Defaults to none.
	Presets fs.FS
	// PlainRecipients makes the magic recipients ordinary ones. Defaults to false.
	PlainRecipients bool
	// Log is told of a broken journal or listener. Defaults to slog.Default().
	Log *slog.Logger
}

func (o Options) filled() Options {
	o.Seed = cmp.Or(o.Seed, 1)
	o.Keep = cmp.Or(max(o.Keep, 0), 100_000)
	o.KeepBytes = cmp.Or(max(o.KeepBytes, 0), 64<<20)
	o.KeepKeys = cmp.Or(max(o.KeepKeys, 0), 1_000_000)
	o.Log = cmp.Or(o.Log, slog.Default())
	return o
}

// Simulator is the fake providers as an http.Handler, with the pages and paths
// to look at them and to make them fail. It may be used from many goroutines.
type Simulator struct {
	log     *slog.Logger
	fakes   []*fake
	stages  *stages
	ledger  *ledger
	phones  *phones
	mux     *http.ServeMux
	origins *http.CrossOriginProtection
	started time.Time

	// gone ends when Stop was called: what hangs lets go.
	gone  context.Context
	leave context.CancelFunc

	serving sync.Mutex // guards the two below
	server  *http.Server
	url     atomic.Pointer[string]
}

// New makes a simulator whose providers answer everything well.
func New(o Options) *Simulator {
	o = o.filled()
	s := &Simulator{origins: http.NewCrossOriginProtection(), log: o.Log, started: time.Now(), phones: newPhones(), stages: newStages(o)}
	s.ledger = newLedger(o, s.started)
	s.gone, s.leave = context.WithCancel(context.Background())
	for _, p := range table(s.gone, o, s.phones) {
		s.fakes = append(s.fakes, newFake(p, o))
	}
	s.mux = panel{s}.routes()
	return s
}

// ServeHTTP answers as the provider, page or control that the path names.
// A browser may only write from our own pages: another site's must not command what runs on its visitor's machine.
func (s *Simulator) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := s.origins.Check(r); err != nil {
		writeError(w, posthouse.Errorf(posthouse.CodeForbidden, "%s %s comes from a page of another site: %v", r.Method, r.URL.Path, err))
		return
	}
	s.mux.ServeHTTP(w, r)
}

// Providers lists the names of the fake providers.
func (s *Simulator) Providers() []string {
	out := make([]string, len(s.fakes))
	for i, f := range s.fakes {
		out[i] = f.name
	}
	return out
}

// Behave replaces how a provider behaves. An unknown provider is a
// posthouse.CodeNotFound error, a wrong behaviour a posthouse.CodeInvalid one
// that names each field; either changes nothing.
func (s *Simulator) Behave(provider string, b Behaviour) error {
	f, err := s.fake(provider)
	if err != nil {
		return err
	}
	if err := posthouse.Invalid("the behaviour cannot be used", b.check()); err != nil {
		return err
	}
	f.behave(b)
	return nil
}

// Behaviours answers what each provider has in force, faults that are used up left out.
func (s *Simulator) Behaviours() map[string]Behaviour {
	out := map[string]Behaviour{}
	for _, f := range append(slices.Clone(s.fakes), s.stages.played()...) {
		out[f.name] = f.behaviour()
	}
	return out
}

func (s *Simulator) fake(provider string) (*fake, error) {
	for _, f := range s.fakes {
		if f.name == provider {
			return f, nil
		}
	}
	if name, ok := strings.CutPrefix(provider, presetPrefix); ok {
		return s.stages.fake(name)
	}
	return nil, posthouse.Errorf(posthouse.CodeNotFound, "there is no provider %q; there are %s", provider, words(s.Providers()))
}

// Arrivals answers the arrivals a filter picks from those that are kept, newest last.
func (s *Simulator) Arrivals(f Filter) []Arrival { return s.ledger.pick(f) }

// Totals counts all arrivals since the start or the last Clear.
func (s *Simulator) Totals() Totals { return s.ledger.sum() }

// Count says how often the messages of a key came to a provider.
func (s *Simulator) Count(provider, key string) Count { return s.ledger.count(provider, key) }

// Counts answers the keys that came to a provider at least atLeast times, in no
// order; an empty provider means all of them.
func (s *Simulator) Counts(provider string, atLeast int64) []Count {
	return s.ledger.counts(provider, atLeast)
}

// Clear forgets arrivals, totals and keys, and what providers remember by their own rules. The numbers
// of arrivals go on.
func (s *Simulator) Clear() {
	s.ledger.Clear()
	for _, f := range s.fakes {
		if f.more != nil {
			f.more.forget()
		}
	}
}

// Wait returns when the totals are as enough wants them, or with the context's
// error. It looks after each request and keeps no request waiting.
func (s *Simulator) Wait(ctx context.Context, enough func(Totals) bool) error {
	return s.ledger.wait(ctx, enough)
}
