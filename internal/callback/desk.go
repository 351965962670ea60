package callback

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/life"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// Addresses knows whose each address is.
type Addresses interface {
	Callback(ctx context.Context, address string) (work.CallbackAddress, error)
}

// Book keeps what providers have told.
type Book interface {
	Hear(ctx context.Context, now time.Time, list []work.Heard, keep time.Duration,
		decide func(now time.Time, h work.Heard, group []work.Awaited, found []posthouse.Delivery) work.Learnt) (later int, err error)
	Unheard(ctx context.Context, now time.Time, most int) (list []work.Heard, lost int64, err error)
	// Kept reads what Hear has kept, behind a place, and ForgetHeard deletes it.
	Kept(ctx context.Context, behind string, most int) (list []work.Heard, last string, err error)
	ForgetHeard(ctx context.Context, now time.Time, list []work.Heard) error
	// InDoubt are the deliveries of a channel to some addresses of which it is not known whether they arrived, and became so since a time.
	InDoubt(ctx context.Context, tenant, channel string, addresses []string, since time.Time) ([]posthouse.Delivery, error)
	// Receive writes what decide says of some deliveries as they now are.
	Receive(ctx context.Context, now time.Time, ids []string, decide func(now time.Time, found []posthouse.Delivery) work.Learnt) error
}

// Campaigns know of which of their members it is not known whether they were reached.
type Campaigns interface {
	// InDoubt reports whether there is one with the address that was told of.
	InDoubt(ctx context.Context, now time.Time, h work.Heard) (bool, error)
	// Evidence takes what was told of an address, by a ref that nobody knows, as proof for such a member. rest means none.
	Evidence(ctx context.Context, now time.Time, list []work.Heard) (rest []work.Heard, news work.NewsOfMembers, err error)
}

// Members knows by which ref a provider told of a member of a campaign. rest means none.
type Members interface {
	Hear(ctx context.Context, now time.Time, list []work.Heard) (rest []work.Heard, news work.NewsOfMembers, err error)
	Tend(ctx context.Context, now time.Time) error
}

// Consents keeps who wants to be reached on a channel, and who does not.
type Consents interface {
	Hear(ctx context.Context, tenant, channel string, told []channel.Consent) error
}

// Feed hands on what providers tell that is no receipt, to the followers of the feed.
type Feed interface {
	// Tell writes what is not known yet by its id, and says how many that were: none where nobody follows.
	Tell(ctx context.Context, now time.Time, list []work.Told) (told int, err error)
}

// Messages finds what a provider tells of.
type Messages interface {
	Message(ctx context.Context, tenant, id string) (posthouse.Message, int, error)
	DeliveriesOf(ctx context.Context, tenant, message, cursor string, limit int) (list []posthouse.Delivery, next string, err error)
}

// Options makes a Desk. Addresses, Book, Channel and Again are required.
type Options struct {
	Addresses Addresses
	Book      Book
	// Channel is an open channel, nil where there is none of this name.
	Channel func(tenant, name string) *state.Channel
	// Members takes what became of members of campaigns. Defaults to none.
	Members Members
	// Consents takes who wants to be reached, or no more. Defaults to none: it is not kept.
	Consents Consents
	// Feed takes what else providers tell, and Messages finds which delivery it is about. Defaults to none: it is not kept.
	Feed     Feed
	Messages Messages
	// Pressed is told of each event before the feed is. over says that the press counts, and that what was pressed is over; an error of code
	// forbidden that it counts for nothing, and one of code not_found that it does no more. The person is told so where the driver can. Any other error has the provider tell it again. Defaults
	// to none.
	Pressed func(ctx context.Context, tenant string, e *posthouse.FeedEvent) (over bool, err error)
	// Answered is told what recipients sent back on a channel. An error has the provider tell it again. Defaults to none.
	Answered func(ctx context.Context, tenant, channel string, in channel.Inbound) error
	// Again sends deliveries once more, as new messages, which a provider failed to deliver for a reason of its own.
	Again func(ctx context.Context, tenant, channel string, deliveries []string) error
	// AgainMember does so with a member of a campaign, once however often it is told. Defaults to none.
	AgainMember func(ctx context.Context, of work.Undelivered) error
	// Campaigns may have members who are meant by an address that was told of, since the ref was lost. Defaults to none.
	Campaigns Campaigns
	// Rate is how many calls a second one address takes; more are slowed down. Defaults to DefaultRate.
	Rate int
	// Registry takes the metrics. Defaults to one of its own.
	Registry prometheus.Registerer
	// Log defaults to slog.Default().
	Log *slog.Logger
}

// Desk takes callbacks. It is an http.Handler for Path with the address as the path's value "address".
type Desk struct {
	o     Options
	known known
	once  once
	desk  desk
	kept  string // behind which place Run looks on

	strangers sampled
	calls     *prometheus.CounterVec
	receipts  *prometheus.CounterVec
	events    *prometheus.CounterVec
}

// Bounds of a callback: its body, and how many reports one may bring.
const (
	maxBody    = 256 << 10
	maxReports = 1000
)

// laterFor is how long a receipt is kept that no delivery waits for: a result is recorded within milliseconds, or after a
// lease ends where its process is killed meanwhile.
const laterFor = 10 * time.Minute

// New makes a desk.
func New(o Options) (*Desk, error) {
	if o.Addresses == nil || o.Book == nil || o.Channel == nil || o.Again == nil {
		return nil, errors.New("callback: Addresses, Book, Channel and Again are required")
	}
	o.Log = cmp.Or(o.Log, slog.Default())
	if o.Registry == nil {
		o.Registry = prometheus.NewRegistry()
	}
	counter := func(name, help string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "posthouse", Name: name, Help: help}, []string{"channel", "outcome"})
		o.Registry.MustRegister(v)
		return v
	}
	return &Desk{
		o: o, known: newKnown(o.Addresses, cmp.Or(o.Rate, DefaultRate)),
		calls:    counter("callbacks_total", "Calls of providers, by channel and what became of them: taken, repeated, refused, crowded or failed. Those to no address of ours have no channel."),
		receipts: counter("callback_receipts_total", "Receipts that providers brought by themselves: delivered, undelivered, later where no delivery waits for it yet, or lost where none ever did."),
		events:   counter("callback_events_total", "What providers told that is no receipt: told to whoever follows, or dropped, since it was known or nobody follows."),
	}, nil
}

// reply is an answer to a provider.
type reply struct {
	status  int
	text    string
	outcome string
	page    *channel.Page // what a browser is shown in place of the text
}

// The answers to what is not taken. A caller is told nothing else.
var (
	refused = reply{status: http.StatusForbidden, text: "refused", outcome: "refused"}
	large   = reply{status: http.StatusRequestEntityTooLarge, text: "too large", outcome: "refused"}
	crowded = reply{status: http.StatusServiceUnavailable, text: "try again", outcome: "crowded"}
	failed  = reply{status: http.StatusServiceUnavailable, text: "try again", outcome: "failed"}
)

// ServeHTTP takes a call.
func (d *Desk) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if styled(w, r) {
		return
	}
	now := time.Now()
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var tooLarge *http.MaxBytesError
	answer, whose := refused, work.CallbackAddress{}
	switch {
	case errors.As(err, &tooLarge):
		answer = large
	case err == nil:
		answer, whose = d.take(r, body, now)
	}
	d.calls.WithLabelValues(whose.Channel, answer.outcome).Inc()
	if answer.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	if show(w, r, answer, d.o.Log) {
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(answer.status)
	_, _ = io.WriteString(w, answer.text) // a caller who left is no error of ours
}

// take finds whose the address is, and has its driver verify the call.
func (d *Desk) take(r *http.Request, body []byte, now time.Time) (reply, work.CallbackAddress) {
	address := r.PathValue("address")
	whose, found, err := d.whose(r.Context(), address)
	switch {
	case errors.Is(err, errBusy):
		d.strangers.say(d.o.Log, now, "too many addresses are called that are not known: some callbacks are asked to come again")
		return crowded, whose
	case err != nil:
		d.o.Log.Error("a callback's address cannot be looked up", "error", err)
		return failed, whose
	case !found:
		d.strangers.say(d.o.Log, now, "a callback was refused: its address is none of ours")
		return refused, work.CallbackAddress{}
	}
	if wait := d.known.turn(address, now); wait > longestTurn || !sleep(r.Context(), wait) {
		return crowded, whose
	}
	log := d.o.Log.With("tenant", whose.Tenant, "channel", whose.Channel, "account", whose.Account)
	receiver, answer := d.receiver(whose)
	if receiver == nil {
		log.Warn("a callback came for a channel that takes none now", "status", answer.status)
		return answer, whose
	}
	heard, err := received(receiver, channel.Callback{Method: r.Method, Query: r.URL.Query(), Header: r.Header, Body: body, At: now})
	if err != nil {
		log.Warn("a callback was refused", "why", err.Error())
		return refused, whose
	}
	log.Debug("a callback came", "kind", heard.Kind, "reports", len(heard.Reports))
	return d.act(r.Context(), log, whose, heard, body, now), whose
}

// whose is known.find, for as long as a provider waits: one of our addresses must not be refused since others are guessed.
func (d *Desk) whose(ctx context.Context, address string) (whose work.CallbackAddress, found bool, err error) {
	for end := time.Now().Add(longestTurn); ; {
		now := time.Now()
		whose, found, err = d.known.find(ctx, address, now)
		next := now.Truncate(time.Second).Add(time.Second)
		if !errors.Is(err, errBusy) || next.After(end) || !sleep(ctx, next.Sub(now)) {
			return whose, found, err
		}
	}
}

// sleep waits; it reports whether the caller is still there.
func sleep(ctx context.Context, wait time.Duration) bool {
	if wait <= 0 {
		return true
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// sampled is a line of the log that strangers can cause: it is written once a minute, with how often it was meant.
type sampled struct {
	mu   sync.Mutex
	last time.Time
	n    int
}

func (s *sampled) say(log *slog.Logger, now time.Time, what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.n++; now.Sub(s.last) < time.Minute {
		return
	}
	log.Warn(what, "calls", s.n)
	s.last, s.n = now, 0
}

// receiver is the driver that verifies calls to an address. Where the channel is not open the provider may come again.
func (d *Desk) receiver(whose work.CallbackAddress) (channel.Receiver, reply) {
	ch := d.o.Channel(whose.Tenant, whose.Channel)
	if ch == nil {
		return nil, failed
	}
	driver := ch.Opened.Driver
	if whose.Account != "" {
		account := ch.Opened.Account(whose.Account)
		if account == nil {
			return nil, refused
		}
		driver = account.Driver()
	}
	if receiver, ok := driver.(channel.Receiver); ok {
		return receiver, reply{}
	}
	return nil, refused
}

// received asks a driver, and survives its panic.
func received(r channel.Receiver, c channel.Callback) (heard channel.Heard, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the driver panicked: %v\n%s", p, debug.Stack())
		}
	}()
	return r.Receive(c)
}

// act writes what a verified call says, once.
func (d *Desk) act(ctx context.Context, log *slog.Logger, whose work.CallbackAddress, heard channel.Heard, body []byte, now time.Time) reply {
	answer := reply{http.StatusOK, heard.Answer, "taken", heard.Page}
	name, content := markOf(whose.Address, heard.Once), markOf(string(body))
	if heard.Once != "" {
		switch before, same := d.once.seen(name, content); {
		case before && same:
			answer.outcome = "repeated"
			return answer
		case before:
			log.Warn("a callback was refused", "why", "its signature was used before, with another body")
			return refused
		}
	}
	if n := len(heard.Reports) + len(heard.Consents) + len(heard.Events) + len(heard.Inbound); n > maxReports {
		log.Warn("a callback was refused", "why", "it has too many reports", "reports", n)
		return refused
	}
	err := d.hear(ctx, whose, heard.Reports, now)
	if err == nil && len(heard.Consents) > 0 && d.o.Consents != nil {
		err = d.o.Consents.Hear(ctx, whose.Tenant, whose.Channel, heard.Consents)
	}
	if err == nil && len(heard.Events) > 0 && d.o.Feed != nil {
		var said string
		if said, err = d.tell(ctx, whose, heard.Events, now); said != "" {
			answer.text = said
		}
	}
	for i := 0; i < len(heard.Inbound) && err == nil && d.o.Answered != nil; i++ {
		err = d.o.Answered(ctx, whose.Tenant, whose.Channel, plainly(heard.Inbound[i], now))
	}
	if err != nil {
		log.Error("what a provider told cannot be written: it is asked to come again", "error", err)
		answer = failed
		answer.page = heard.Page
		return answer
	}
	if heard.Once != "" {
		d.once.remember(name, content, now)
	}
	return answer
}

// hear writes reports.
func (d *Desk) hear(ctx context.Context, whose work.CallbackAddress, reports []channel.Report, now time.Time) error {
	var list []work.Heard
	for _, r := range reports {
		if r.Known && r.Ref != "" {
			list = append(list, work.Heard{
				Tenant: whose.Tenant, Channel: whose.Channel, Ref: state.Plain(r.Ref, state.MaxRef), Address: state.Plain(r.Address, state.MaxRef),
				Delivered: r.Delivered, Code: state.Plain(r.Code, state.MaxCode), Error: state.Plain(r.Error, state.MaxError),
			})
		}
	}
	if len(list) == 0 {
		return nil
	}
	return d.together(ctx, list)
}

// write writes what was told to the deliveries that wait for it, and keeps the rest.
func (d *Desk) write(ctx context.Context, now time.Time, list []work.Heard, keep time.Duration) error {
	list, err := d.members(ctx, now, list)
	if err != nil || len(list) == 0 {
		return err
	}
	said := map[string]posthouse.Delivery{} // the same when the transaction is repeated
	codes := map[string]string{}
	later, err := d.o.Book.Hear(ctx, now, list, keep, func(now time.Time, h work.Heard, group []work.Awaited, found []posthouse.Delivery) work.Learnt {
		learnt := decide(now, h, group, found)
		for i := range learnt.Changes {
			codes[learnt.Changes[i].After.ID] = h.Code
			said[learnt.Changes[i].After.ID] = learnt.Changes[i].After
		}
		return learnt
	})
	if err != nil {
		return err
	}
	d.receipts.WithLabelValues(list[0].Channel, "later").Add(float64(later))
	d.written(ctx, said, codes)
	return nil
}

// written counts what became of deliveries, and has those sent again whom the provider failed to reach. codes are the provider's words.
func (d *Desk) written(ctx context.Context, said map[string]posthouse.Delivery, codes map[string]string) {
	failed := map[state.Key][]string{}
	for id, after := range said {
		d.receipts.WithLabelValues(after.Channel, string(after.State)).Inc()
		if after.State == posthouse.Undelivered && after.ReplayOf == "" && !after.CancelRequested && d.resends(state.KeyOf(&after), after.Account, codes[after.ID]) {
			failed[state.KeyOf(&after)] = append(failed[state.KeyOf(&after)], id)
		}
	}
	for k, ids := range failed {
		if err := d.o.Again(ctx, k.Tenant, k.Channel, ids); err != nil {
			d.o.Log.Warn("what a provider failed to deliver is not sent again", "channel", k.Channel, "deliveries", ids, "error", err)
		}
	}
}

// members writes what was told of members of campaigns. rest means none.
func (d *Desk) members(ctx context.Context, now time.Time, list []work.Heard) (rest []work.Heard, err error) {
	if d.o.Members == nil {
		return list, nil
	}
	rest, news, err := d.o.Members.Hear(ctx, now, list)
	d.news(ctx, list, news)
	return rest, err
}

// news counts what was told of members, and has those sent to again whom the provider failed to reach.
func (d *Desk) news(ctx context.Context, list []work.Heard, news work.NewsOfMembers) {
	for outcome, n := range map[posthouse.State]int64{posthouse.Delivered: news.Delivered, posthouse.Undelivered: news.Undelivered} {
		if n > 0 {
			d.receipts.WithLabelValues(list[0].Channel, string(outcome)).Add(float64(n))
		}
	}
	for _, of := range news.Missed {
		if d.o.AgainMember == nil || !d.resends(state.Key{Tenant: of.Tenant, Channel: of.Channel}, of.Account, of.Code) {
			continue
		}
		if err := d.o.AgainMember(ctx, of); err != nil {
			d.o.Log.Warn("a member whom the provider failed to reach is not sent to again", "channel", of.Channel, "campaign", of.Campaign, "member", of.Seq, "error", err)
		}
	}
}

// resends reports whether what did not arrive by an account is to be sent once more.
func (d *Desk) resends(of state.Key, account, code string) bool {
	ch := d.o.Channel(of.Tenant, of.Channel)
	if ch == nil {
		return false
	}
	r, ok := ch.Opened.By(account).(channel.Resender)
	return ok && r.Resends(code)
}

// decide is what follows for the deliveries of a call that a provider has told of. Those it does not mean wait on.
func decide(now time.Time, h work.Heard, group []work.Awaited, found []posthouse.Delivery) work.Learnt {
	receipts := map[string]channel.Receipt{}
	for i := range found {
		if f := &found[i]; h.Address == "" || strings.EqualFold(h.Address, cmp.Or(f.Address, f.User)) {
			receipts[f.ID] = channel.Receipt{Known: true, Delivered: h.Delivered, Code: h.Code, Error: h.Error}
		}
	}
	learnt := state.Learn(group, found, receipts, now)
	learnt.Later = nil
	return learnt
}

// lookEvery is the time between two looks at what no delivery has waited for, and lookMost how much one takes.
const (
	lookEvery = time.Second
	lookMost  = 500
)

// Run looks again at what no delivery has waited for, until ctx ends.
func (d *Desk) Run(ctx context.Context) {
	tick := time.NewTicker(life.Spread(lookEvery))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if err := errors.Join(d.look(ctx, time.Now()), d.tend(ctx, time.Now())); err != nil && ctx.Err() == nil {
			d.o.Log.Warn("what providers told cannot be looked at again now", "error", err)
		}
	}
}

func (d *Desk) look(ctx context.Context, now time.Time) error {
	list, lost, err := d.o.Book.Unheard(ctx, now, lookMost)
	if err != nil {
		return err
	}
	d.receipts.WithLabelValues("", "lost").Add(float64(lost))
	if len(list) == 0 {
		return nil
	}
	err = d.write(ctx, now, list, 0)
	if posthouse.CodeOf(err) != posthouse.CodeInternal {
		return err
	}
	for i := range list { // one of them cannot be written: the others are
		err = d.write(ctx, now, list[i:i+1], 0)
		if err != nil && posthouse.CodeOf(err) != posthouse.CodeInternal {
			return err
		}
	}
	return err
}

// tend looks whether some of what is kept means members of campaigns whose results came later, and keeps their refs in order.
func (d *Desk) tend(ctx context.Context, now time.Time) error {
	if d.o.Members == nil {
		return nil
	}
	list, last, err := d.o.Book.Kept(ctx, d.kept, lookMost)
	if err != nil {
		return err
	}
	if d.kept = ""; len(list) == lookMost {
		d.kept = last
	}
	rest, err := d.members(ctx, now, list)
	if err == nil {
		rest, err = d.evidence(ctx, now, rest)
	}
	if err != nil {
		return err
	}
	if len(rest) < len(list) {
		meant := slices.DeleteFunc(list, func(h work.Heard) bool { return slices.Contains(rest, h) })
		if err := d.o.Book.ForgetHeard(ctx, now, meant); err != nil {
			return err
		}
	}
	return d.o.Members.Tend(ctx, now)
}
