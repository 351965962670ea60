package inbound

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/intake"
	"github.com/posthouse/posthouse/internal/web"
)

// Path is where fronts are, below the server's URL.
const Path = "/in/"

// Fronts knows whose a token is.
type Fronts interface {
	FrontByToken(ctx context.Context, hash string) (posthouse.Front, bool, error)
}

// Intake accepts drafts: a nil error means committed.
type Intake interface {
	Accept(ctx context.Context, req intake.Request) (intake.Answer, error)
}

// Gate slows down who shows wrong tokens.
type Gate interface {
	Wrong(address string, mark [sha256.Size]byte) error
}

// Options makes a Desk. Those without a default are required.
type Options struct {
	Forms  []Form
	Fronts Fronts
	Intake Intake
	Gate   Gate
	Calls  Calls
	Sealer Sealer
	// Bodies bounds what is in memory at once.
	Bodies *web.Bodies
	// MaxBody bounds a body in bytes, where a form has no bound of its own. Defaults to 4 MiB.
	MaxBody int64
	// Refuses says what of a content a channel does not send. Defaults to all but a title and a text.
	Refuses func(tenant, channel string, c posthouse.Content) []posthouse.Problem
	// Way says what the text of a message of a route depends on. Defaults to none: no front leads to a route then.
	Way func(ctx context.Context, tenant, name string) (Way, error)
	// Files keeps what is attached to messages. Defaults to none: it is named in the text and left out.
	Files Files
	// Messages and Deliveries are read for senders that ask what became of a message. Default to none: there is no message then.
	Messages   Messages
	Deliveries Deliveries
	// Told reads how far messages are that follow routes. Defaults to none.
	Told Told
	// Resolver ends what follows routes. Defaults to none: what says that something is over is told as what began it.
	Resolver Resolver
	// Zone is that of times in texts. Defaults to UTC.
	Zone *time.Location
	// Registry takes the metrics. Defaults to one of its own.
	Registry prometheus.Registerer
	// Log defaults to slog.Default().
	Log *slog.Logger
}

// Desk takes the calls at all fronts. It is an http.Handler for everything below Path.
type Desk struct {
	o        Options
	forms    map[string]*Form
	known    known
	calls    chan kept
	refusals web.Refusals

	requests *prometheus.CounterVec
	messages *prometheus.CounterVec
	dropped  prometheus.Counter
	waiting  prometheus.Gauge
}

// New makes a desk.
func New(o Options) *Desk {
	o.MaxBody, o.Zone, o.Log = cmp.Or(o.MaxBody, 4<<20), cmp.Or(o.Zone, time.UTC), cmp.Or(o.Log, slog.Default())
	if o.Registry == nil {
		o.Registry = prometheus.NewRegistry()
	}
	if o.Refuses == nil {
		o.Refuses = func(_, _ string, c posthouse.Content) []posthouse.Problem { return channel.PlainText(c) }
	}
	if o.Way == nil {
		o.Way = noWay
	}
	d := &Desk{
		o: o, forms: map[string]*Form{}, known: newKnown(o.Fronts), calls: make(chan kept, maxWaiting),
		refusals: web.Refusals{Log: o.Log, What: "a call at a front was not taken"},
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "posthouse", Name: "front_requests_total", Help: "Calls at fronts, by kind, front and what became of them: accepted, duplicate, ignored, refused, unavailable or unauthorized. Those whose token is nobody's have no front."}, []string{"kind", "front", "outcome"}),
		messages: prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "posthouse", Name: "front_messages_total", Help: "Messages that calls at fronts became, by kind and front."}, []string{"kind", "front"}),
		dropped:  prometheus.NewCounter(prometheus.CounterOpts{Namespace: "posthouse", Name: "front_calls_dropped_total", Help: "Calls at fronts that were answered and not kept for the page of the front, since too many came at once."}),
		waiting:  prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "posthouse", Name: "front_commits_waiting", Help: "Calls at fronts that were read, and whose messages are not committed yet."}),
	}
	o.Registry.MustRegister(d.requests, d.messages, d.dropped, d.waiting)
	for i := range o.Forms {
		d.forms[o.Forms[i].Kind] = &o.Forms[i]
	}
	return d
}

// ServeHTTP takes a call.
func (d *Desk) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	form, parts := d.formOf(r.URL)
	if form == nil {
		http.Error(w, "there is no front of this kind", http.StatusNotFound)
		return
	}
	in := &Request{Request: r, Zone: d.o.Zone, Now: time.Now()}
	held := d.o.Bodies.Hold(web.AddressOf(r))
	defer held.Free()
	out := d.take(form, in, held.Reader(http.MaxBytesReader(w, r.Body, d.most(form))), func() (bool, error) { return d.find(form, in, parts) })
	if out.Status == Unavailable {
		w.Header().Set("Retry-After", "5")
	}
	form.Answer(w, in, out)
}

// AtRoot serves a kind of fronts at the root of a host, where its senders look for the original.
func (d *Desk) AtRoot(kind string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		below := r.Clone(r.Context())
		below.URL.Path = Path + kind + "/" + strings.TrimPrefix(r.URL.Path, "/")
		if r.URL.RawPath != "" {
			below.URL.RawPath = Path + kind + "/" + strings.TrimPrefix(r.URL.RawPath, "/")
		}
		d.ServeHTTP(w, below)
	})
}

// most bounds a body of a form in bytes.
func (d *Desk) most(form *Form) int64 { return min(cmp.Or(form.MaxBody, d.o.MaxBody), 2*d.o.MaxBody) }

// formOf finds whose form a path means, and the parts behind its kind.
func (d *Desk) formOf(at *url.URL) (form *Form, parts []string) {
	rest, _ := strings.CutPrefix(at.EscapedPath(), Path)
	kind, rest, _ := strings.Cut(rest, "/")
	for part := range strings.SplitSeq(rest, "/") {
		text, err := url.PathUnescape(part)
		if err != nil {
			text = part
		}
		parts = append(parts, text)
	}
	if rest == "" {
		parts = nil
	}
	return d.forms[kind], parts
}

// unauthorized is the outcome of calls that are nobody's: they are counted and not kept.
const unauthorized = "unauthorized"

// take does all of a call but its answer: it counts it, keeps it for the page of its front, and tells the log of one that was not taken.
// find fills in the front of the caller, and reports whether there is one.
func (d *Desk) take(form *Form, in *Request, body io.Reader, find func() (bool, error)) Result {
	out, outcome := d.become(form, in, body, find)
	d.requests.WithLabelValues(form.Kind, in.Front.Name, outcome).Inc()
	if n := fresh(out); n > 0 {
		d.messages.WithLabelValues(form.Kind, in.Front.Name).Add(float64(n))
	}
	if in.Front.Name != "" && in.Found == nil {
		d.keep(in, out, posthouse.FrontOutcome(outcome))
	}
	if out.Status != Accepted {
		d.refusals.Note("kind", form.Kind, "tenant", in.Front.Tenant, "front", in.Front.Name, "outcome", outcome, "from", web.AddressOf(in.Request), "why", out.Reason)
	}
	return out
}

// become makes messages of a call.
func (d *Desk) become(form *Form, in *Request, body io.Reader, find func() (bool, error)) (out Result, outcome string) {
	var b bytes.Buffer
	_, err := b.ReadFrom(body)
	in.Body = b.Bytes()
	var large *http.MaxBytesError
	var bad Unreadable
	switch {
	case errors.As(err, &large):
		return Result{Status: TooLarge, Reason: fmt.Sprintf("the body is larger than the %d bytes that are allowed", large.Limit)}, whose(in, find, string(posthouse.FrontRefused))
	case errors.As(err, &bad):
		return Result{Status: Refused, Reason: bad.Error()}, whose(in, find, string(posthouse.FrontRefused))
	case err != nil:
		return Result{Status: Unavailable, Reason: "the body could not be read"}, whose(in, find, string(posthouse.FrontUnavailable))
	}
	found, err := find()
	switch {
	case err != nil:
		return Result{Status: Unavailable, Reason: "the token cannot be looked up now"}, string(posthouse.FrontUnavailable)
	case !found:
		return d.unknown(in), unauthorized
	}
	in.keep, in.find = d.keepFor(in), d.findFor(in)
	messages, err := d.read(form, in)
	var missing Missing
	switch {
	case errors.As(err, &missing):
		return Result{Status: Absent, Reason: err.Error()}, string(posthouse.FrontRefused)
	case errors.Is(err, errNotKept), errors.Is(err, errNotRead):
		return Result{Status: Unavailable, Reason: err.Error()}, string(posthouse.FrontUnavailable)
	case errors.Is(err, ErrSignature):
		return Result{Status: Unauthorized, Reason: err.Error()}, string(posthouse.FrontRefused)
	case err != nil:
		return Result{Status: Refused, Reason: err.Error()}, string(posthouse.FrontRefused)
	case len(messages) == 0:
		return Result{}, string(posthouse.FrontIgnored)
	}
	d.waiting.Inc()
	out = d.hand(form, in, messages)
	d.waiting.Dec()
	switch {
	case out.Status == Conflict, out.Status == Refused:
		return out, string(posthouse.FrontRefused)
	case out.Status != Accepted:
		return out, string(posthouse.FrontUnavailable)
	case len(out.Accepted) == 0:
		switch {
		case out.ended.Marked > 0:
			return out, string(posthouse.FrontAccepted)
		case out.ended.Found > 0:
			return out, string(posthouse.FrontDuplicate)
		}
		return out, string(posthouse.FrontIgnored)
	case fresh(out) == 0:
		return out, string(posthouse.FrontDuplicate)
	}
	return out, string(posthouse.FrontAccepted)
}

// whose fills in the front of a call that is refused in any case, for its page; the outcome stays, unless the caller is nobody.
func whose(in *Request, find func() (bool, error), outcome string) string {
	in.Body = nil
	if found, err := find(); err == nil && found {
		return outcome
	}
	return unauthorized
}

// find looks for the front whose token the caller shows, by the path first.
func (d *Desk) find(form *Form, in *Request, parts []string) (bool, error) {
	in.Rest = parts
	for i, part := range parts {
		if form.Shown != nil {
			part = form.Shown(part)
		}
		if found, err := d.is(form, in, part); found || err != nil {
			in.Rest = slices.Concat(parts[:i], parts[i+1:])
			return found, err
		}
	}
	for _, shown := range append(shownBy(in.Request), tokensOf(form, in)...) {
		if found, err := d.is(form, in, shown); found || err != nil {
			return found, err
		}
	}
	return false, nil
}

// is reports whether a text is the token of a front of a kind, and makes the request its.
func (d *Desk) is(form *Form, in *Request, shown string) (bool, error) {
	if !IsToken(shown) {
		return false, nil
	}
	f, found, err := d.known.find(in.Context(), HashToken(shown), in.Now)
	if err != nil || !found || f.Kind != form.Kind {
		return false, err
	}
	in.Front, in.Token = f, shown
	return true, nil
}

// shownBy are the tokens that a request shows by what senders have in common.
func shownBy(r *http.Request) (list []string) {
	header := r.Header.Get("Authorization")
	if user, password, ok := r.BasicAuth(); ok {
		list = append(list, password, user)
	} else if _, token, ok := strings.Cut(header, " "); ok {
		list = append(list, strings.TrimSpace(token))
	}
	return append(list, r.URL.Query().Get("token"))
}

func tokensOf(form *Form, in *Request) []string {
	if form.Tokens == nil {
		return nil
	}
	return form.Tokens(in)
}

// unknown is the answer to somebody whose token is nobody's. The gate notes it: who shows many is named in the log.
func (d *Desk) unknown(in *Request) Result {
	_ = d.o.Gate.Wrong(web.AddressOf(in.Request), sha256.Sum256([]byte(in.URL.RequestURI()))) // a sender that retries is never told 429
	return Result{Status: Unauthorized, Reason: "the token is not known"}
}

// read asks a form, and survives its panic.
func (d *Desk) read(form *Form, in *Request) (list []Message, err error) {
	defer func() {
		if p := recover(); p != nil {
			d.o.Log.Error("a front panicked", "kind", form.Kind, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = errors.New("it cannot be read")
		}
	}()
	return form.Read(in)
}

// fresh counts what was not there before.
func fresh(out Result) (n int) {
	for i := range out.Accepted {
		if out.Accepted[i].DuplicateOf == "" && !out.again {
			n++
		}
	}
	return n
}

// Kinds are the kinds of fronts by name.
func (d *Desk) Kinds() []string {
	var list []string
	for kind := range d.forms {
		list = append(list, kind)
	}
	slices.Sort(list)
	return list
}
