package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/lockfile"
)

// The protocols.
const (
	Native = "native" // /v1/agents, with the agent's own key
	SMS    = "sms"    // /api/v1/sms, with HTTP Basic
)

// Options says who the app is, where it fetches and how it sends. URL, ID and Phone are required, and what
// the protocol's login needs.
type Options struct {
	URL string // of the server
	ID  string // the agent's id, or app_id
	// Protocol is Native or SMS. Defaults to Native.
	Protocol string
	// Key is the API key: the native protocol needs it, the other takes it in place of a password.
	Key string
	// User and Password are the SMS front door's.
	User, Password string
	// Phone sends.
	Phone Phone
	// Journal is the file that knows after a crash what was sent. Defaults to none: then a crash is what
	// the server's leases make of it.
	Journal string
	// Max is how many deliveries are fetched at once. Defaults to 10.
	Max int
	// Wait is how long the server may wait for work before it answers that there is none, at most a minute;
	// the native protocol only. Defaults to 30s.
	Wait time.Duration
	// Poll is how long the app waits after it got nothing. Defaults to 5s for the SMS protocol, and to nothing
	// but what the server asks for in the native one.
	Poll time.Duration
	// Pace is the least time from one message to the next. Defaults to none.
	Pace time.Duration
	// SendTimeout bounds one send; then its outcome is unknown. Defaults to 30s.
	SendTimeout time.Duration
	// Fresh is how long after it was fetched a message is still sent where the protocol does not say how long
	// it is ours. It must be less than the server's time-out, which is 30m. Defaults to 15m.
	Fresh time.Duration
	// RetryUnknown reports what may have left as to be tried again where the protocol has no word for it.
	RetryUnknown bool
	// Capabilities are what the phone can do, such as operator: cmcc.
	Capabilities map[string]string
	// App is what the app says of itself. Defaults to posthouse-agent.
	App string
	// Once ends the app when there is nothing to fetch, and what the phone has got is handed in.
	Once bool
	// HTTP makes the calls. Defaults to a client of its own.
	HTTP *http.Client
	// Log is told of each message, without its content. Defaults to slog.Default().
	Log *slog.Logger
}

func (o Options) filled() Options {
	o.Protocol = cmp.Or(o.Protocol, Native)
	o.Max = cmp.Or(max(o.Max, 0), 10)
	o.Wait = min(cmp.Or(max(o.Wait, 0), 30*time.Second), time.Minute)
	o.SendTimeout = cmp.Or(max(o.SendTimeout, 0), 30*time.Second)
	o.Fresh = cmp.Or(max(o.Fresh, 0), 15*time.Minute)
	o.App = cmp.Or(o.App, "posthouse-agent")
	o.Log = cmp.Or(o.Log, slog.Default())
	if o.Poll <= 0 && o.Protocol == SMS {
		o.Poll = 5 * time.Second
	}
	if o.Once {
		o.Wait = 0
	}
	if o.HTTP == nil {
		o.HTTP = &http.Client{Timeout: o.Wait + 30*time.Second}
	}
	return o
}

func (o Options) check() error {
	var wrong []posthouse.Problem
	add := func(path, message string) {
		wrong = append(wrong, posthouse.Problem{Path: path, Message: message})
	}
	if u, err := url.Parse(o.URL); err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		add("url", fmt.Sprintf("it is %q; want one such as http://127.0.0.1:8080", o.URL))
	}
	if o.ID == "" {
		add("app-id", "it is missing: the id that the server knows the agent by")
	}
	switch o.Protocol {
	case Native:
		if o.Key == "" {
			add("key", "it is missing: the native protocol needs the agent's own API key")
		}
	case SMS:
		if o.Key == "" && (o.User == "" || o.Password == "") {
			add("user", "user and password are missing: the SMS protocol needs them, or an API key")
		}
	default:
		add("protocol", fmt.Sprintf("%q is not a protocol; %s and %s are", o.Protocol, Native, SMS))
	}
	if o.Phone == nil {
		add("phone", "there is nothing to send with")
	}
	return posthouse.Invalid("the agent cannot start", wrong)
}

// App is a sender app.
type App struct {
	o       Options
	server  protocol
	journal *journal
	guard   *lockfile.Lock // keeps the journal for this app
	held    []*task        // what was fetched and has not had its turn
	last    time.Time      // when the phone was last told to send
	sent    Totals
}

// Totals counts what an app did.
type Totals struct {
	Sent    int `json:"sent"`
	NotSent int `json:"not_sent"`
	Unknown int `json:"unknown"`
	Given   int `json:"given_back"`
	Known   int `json:"known"` // sent before, and not sent again
	Stale   int `json:"stale"` // reports that came too late to count
}

// New makes an app, and opens its journal. Run runs it; Close ends it where it is not run.
func New(o Options) (*App, error) {
	o = o.filled()
	if err := o.check(); err != nil {
		return nil, err
	}
	a := &App{o: o}
	if err := a.open(); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

func (a *App) open() (err error) {
	if a.o.Journal != "" {
		a.guard, err = lockfile.Take(a.o.Journal+".lock", lockfile.Self(time.Now()))
		if held := (*lockfile.Held)(nil); errors.As(err, &held) {
			return fmt.Errorf("another agent uses the journal %s (%s): stop it, or name another journal", a.o.Journal, held.Holder)
		}
		if err != nil {
			return fmt.Errorf("lock the journal: %w", err)
		}
	}
	if a.journal, err = openJournal(a.o.Journal, time.Now()); err != nil {
		return err
	}
	if a.o.Protocol == SMS {
		a.server = newFrontDoor(a.o)
		return nil
	}
	a.server, err = newNative(a.o)
	return err
}

// Close closes the journal, and lets others have it. It may be called often.
func (a *App) Close() (err error) {
	if a.journal != nil {
		err = a.journal.close()
	}
	if a.guard != nil {
		err = errors.Join(err, a.guard.Release())
		a.guard = nil
	}
	return err
}

// Totals counts what the app did. It must not be called while Run runs.
func (a *App) Totals() Totals { return a.sent }

// callTime bounds a call that a stop of the app does not end, and all of those that a stop makes.
const callTime = 10 * time.Second

// Run fetches, sends and reports until the context ends, or with Once until there is nothing to fetch. A stop
// is no error; a login that the server refuses is one.
func (a *App) Run(ctx context.Context) (err error) {
	defer func() {
		if e := a.Close(); err == nil {
			err = e
		}
	}()
	in := newInbox(a)
	listening, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	if in != nil {
		done.Go(func() { in.run(listening) })
	}
	quit := func() { cancel(); done.Wait() }
	defer quit()
	a.o.Log.Info("the agent fetches", "agent", a.o.ID, "server", a.o.URL, "protocol", a.o.Protocol, "untold", len(a.journal.untold()))
	for bad := 0; ctx.Err() == nil; {
		got, err := a.round(ctx)
		switch {
		case err == nil && a.o.Once && got.nothing():
			quit()
			a.listenOnce(ctx, in)
			return a.end(ctx)
		case err == nil:
			bad = 0
			a.rest(ctx, got)
		case errors.Is(err, errJournal):
			return errors.Join(err, a.end(ctx))
		case a.o.Once && bad == onceTries:
			return errors.Join(fmt.Errorf("the server cannot be used: %w", err), a.end(ctx))
		case refused(err):
			return fmt.Errorf("the server refuses the agent %q: %w", a.o.ID, err)
		case ctx.Err() == nil:
			bad++
			wait := max(backoff(bad), waitOf(err))
			a.o.Log.Warn("the server cannot be used; trying again", "error", err, "in", wait.Round(time.Millisecond))
			pause(ctx, wait)
		}
	}
	return a.end(ctx)
}

// listenOnce hands in what the phone has got before an app ends that runs once.
func (a *App) listenOnce(ctx context.Context, in *inbox) {
	if in == nil {
		return
	}
	ending, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	if err := in.last(ending); err != nil {
		a.o.Log.Warn("texts that the phone got were not handed in; the agent's next start will do it", "error", err)
	}
}

// onceTries is how often an app that runs once tries again to reach its server: for about a quarter of a minute.
const onceTries = 5

// round tells what is to be told, and then claims and sends.
func (a *App) round(ctx context.Context) (got claimed, err error) {
	if err := a.tell(ctx); err != nil {
		return got, err
	}
	if len(a.held) > 0 { // the last round was cut short
		got.tasks = a.held
		return got, a.work(ctx)
	}
	id := cmp.Or(a.journal.claim, posthouse.NewID())
	if err := a.journal.claiming(id); err != nil {
		return got, err
	}
	got, err = a.server.claim(ctx, id)
	if err != nil {
		return got, fmt.Errorf("claim: %w", err)
	}
	if err := a.journal.holds(got); err != nil {
		return got, err
	}
	a.held = got.tasks
	return got, a.work(ctx)
}

// rest waits before the next claim where this one brought nothing.
func (a *App) rest(ctx context.Context, got claimed) {
	if len(got.tasks) > 0 {
		return
	}
	if got.reason != "" {
		a.o.Log.Info("nothing is handed out", "reason", got.reason, "again_in", got.after)
	}
	pause(ctx, max(got.after, a.o.Poll))
}

// end gives back what had no turn, and tells what is to be told once more.
func (a *App) end(ctx context.Context) error {
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTime)
	defer cancel()
	if err := errors.Join(a.giveBack(ending), a.tell(ending)); err != nil {
		a.o.Log.Warn("the server was not told of everything; the agent's next start will do it", "error", err, "reports", len(a.journal.untold()))
	}
	a.o.Log.Info("the agent ends", "sent", a.sent.Sent, "not_sent", a.sent.NotSent, "unknown", a.sent.Unknown,
		"given_back", a.sent.Given, "known", a.sent.Known, "stale", a.sent.Stale)
	return a.Close()
}

// backoff is the wait after so many failures: from 0.5 s doubling to 30 s, less up to a half at random.
func backoff(failures int) time.Duration {
	d := min(500*time.Millisecond<<min(failures-1, 10), 30*time.Second)
	return d - time.Duration(rand.Int64N(int64(d)/2))
}

// pause waits, and reports whether it was not ended early.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
