package intake

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/draft"
	"github.com/posthouse/posthouse/internal/life"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/rule"
)

// Request is what a front door hands in: one or many drafts that are accepted together or not at all.
type Request struct {
	Tenant string
	// Caller is on whose behalf it is handed in. The zero value may hand in nothing.
	Caller work.Caller
	// Endpoint and Key scope the caller's Idempotency-Key, Hash is of its canonical body.
	Endpoint, Key, Hash string
	Drafts              []posthouse.Draft
	// Plans are written with the messages, each over the version that was read. When one of them has moved
	// on since, the answer is an error of code conflict and nothing is stored. There may be plans alone.
	Plans []work.Plan
	// HandedIn is the time that the drafts are judged by. Defaults to now. A draft whose deadline lies between both
	// is accepted and expires.
	HandedIn time.Time
	// MaxRecipients bounds the recipients of a draft, up to draft.MostRecipients. Defaults to what the Intake has.
	MaxRecipients int
	// BestEffort is for callers that cannot mend a route: a step that cannot send is passed over at its time where another one can, and one
	// whose template does not fit tells the draft's content in its place.
	BestEffort bool
	// Things are what drafts by routes tell of, by their dedup_key: the notifications keep it. Default to nothing.
	Things map[string]work.Things
	// DryRun stores nothing: it says what would be wrong.
	DryRun bool
	// Path names draft i in problems: "messages[i]." or "" for a single one. Defaults to that.
	Path func(i int) string
}

// Answer is what the caller is told. Replayed marks the first answer to a repeated key. Of a request
// without drafts, Accepted has the ids of its plans.
type Answer struct {
	Accepted []posthouse.Accepted
	Replayed bool
	// MentionAll is whether some message calls everybody. A dry run says it too.
	MentionAll bool
	// Judged are what a dry run would have stored of its drafts.
	Judged []work.Entry
}

// Accept validates drafts and stores them. A nil error means committed: message, deliveries and
// key. Every problem of every draft is reported at once, and then nothing is stored.
func (in *Intake) Accept(ctx context.Context, req Request) (Answer, error) {
	if in.o.Tracer != nil {
		traced, span := in.o.Tracer.Start(ctx, "accept", trace.WithAttributes(attribute.Int("posthouse.messages", len(req.Drafts))))
		defer span.End()
		ctx = traced
	}
	sub := &work.Submission{
		Tenant: req.Tenant, Endpoint: req.Endpoint, Key: req.Key, Hash: req.Hash, KeyTTL: in.o.KeyTTL,
		Entries: make([]work.Entry, 0, len(req.Drafts)), Plans: req.Plans,
	}
	if err := within(&req); err != nil {
		return Answer{}, err
	}
	now := cmp.Or(req.HandedIn, in.o.Life.Now())
	way, err := in.routed(ctx, &req, now)
	if err != nil {
		return Answer{}, err
	}
	if sub.Routed = way.list; len(req.Drafts) == 0 {
		sub.ID = posthouse.NewID()
	}
	if err := in.meet(ctx, req.Tenant, req.Drafts); err != nil {
		return Answer{}, err
	}
	for i := range req.Drafts {
		if name := req.Drafts[i].Channel; in.broken(req.Tenant, name) {
			return Answer{}, posthouse.Errorf(posthouse.CodeUnavailable, "channel %q cannot be opened and takes no messages until it is repaired; /readyz says why", name)
		}
	}
	if n := recipients(req.Drafts); n > draft.MostRecipients {
		return Answer{}, posthouse.Invalid("the request cannot be accepted", []posthouse.Problem{{
			Path: "messages", Message: fmt.Sprintf("have %d recipients in all: at most %d are allowed in one request", n, draft.MostRecipients),
		}})
	}
	if err := in.enter(ctx, sub, &req, way.problems, now); err != nil {
		// A process whose place is taken over has no channels any more: that is no fault of the message.
		if away := in.o.Life.Away(); away != nil && posthouse.CodeOf(err) == posthouse.CodeInvalid {
			return Answer{}, away
		}
		return Answer{}, err
	}
	answer := Answer{MentionAll: way.mentionAll || callsOf(sub, nil) > 0}
	if req.DryRun {
		answer.Judged = sub.Entries
		return answer, nil
	}
	outcome, err := in.store(ctx, sub, req.Caller.Payer)
	if err != nil {
		return Answer{}, err
	}
	if !outcome.Replayed {
		in.announce(ctx, sub, outcome)
		in.wakePlanner(sub.AllPlans())
	}
	answer.Accepted, answer.Replayed = way.inOrder(outcome.Accepted), outcome.Replayed
	return answer, nil
}

// store commits a submission for which the quotas have room.
func (in *Intake) store(ctx context.Context, sub *work.Submission, payer work.Payer) (work.Outcome, error) {
	done, err := in.reserve(ctx, sub, payer)
	if err != nil {
		return in.repeated(ctx, sub, err)
	}
	outcome, err := in.accepter.submit(ctx, sub)
	if err == nil {
		err = outcome.Err
	}
	done(outcome, err)
	return outcome, err
}

// repeated is the first answer to a key that comes again, which needs no room; else what was wrong.
func (in *Intake) repeated(ctx context.Context, sub *work.Submission, wrong error) (work.Outcome, error) {
	if sub.Key == "" {
		return work.Outcome{}, wrong
	}
	text, found, err := in.o.Store.Answer(ctx, sub.Tenant, sub.Endpoint, sub.Key, sub.Hash)
	if err != nil || !found {
		return work.Outcome{}, cmp.Or(err, wrong)
	}
	outcome := work.Outcome{Replayed: true}
	return outcome, json.Unmarshal(text, &outcome.Accepted)
}

// within refuses drafts of channels and kinds that their caller's key is not for.
func within(req *Request) error {
	sight := req.Caller.Sight
	if !sight.Sees {
		return posthouse.Errorf(posthouse.CodeForbidden, "the caller may hand in nothing: no key stands behind the request")
	}
	for i := range req.Drafts {
		switch d := &req.Drafts[i]; {
		case d.Route == "" && !sight.Channel(d.Channel):
			return posthouse.Errorf(posthouse.CodeForbidden, "%schannel is %.80q: the key is for %s", req.pathOf(i), d.Channel, strings.Join(sight.Channels, ", "))
		case !sight.Kind(d.Kind):
			return posthouse.Errorf(posthouse.CodeForbidden, "%skind is %.80q: the key is for %s", req.pathOf(i), d.Kind, strings.Join(sight.Kinds, ", "))
		}
	}
	return nil
}

// enter makes an entry of each draft of a request, or says everything that is wrong with any of them.
func (in *Intake) enter(ctx context.Context, sub *work.Submission, req *Request, problems []posthouse.Problem, now time.Time) error {
	drafts, unnamed, err := in.named(ctx, req.Tenant, req.Drafts, now, req.pathOf)
	if err != nil {
		return err
	}
	known, err := in.addresses(ctx, req.Tenant, drafts)
	if err != nil {
		return err
	}
	origin := life.TraceOf(trace.SpanContextFromContext(ctx))
	for i := range drafts {
		d, p := &drafts[i], &draft.Problems{Path: req.pathOf(i), List: unnamed[i]}
		draft.Check(d, cmp.Or(req.MaxRecipients, in.o.MaxRecipients), now, p)
		if entry, err := in.prepare(ctx, req.Caller, req.Tenant, cmp.Or(d.ID, posthouse.NewID()), d, known, now, p); err != nil {
			return err
		} else if len(p.List) == 0 {
			entry.Message.Trace = origin
			sub.Entries = append(sub.Entries, entry)
		}
		problems = append(problems, p.List...)
	}
	return posthouse.Invalid("the message cannot be accepted", problems)
}

// wakePlanner says that plans were written, of which some may be due.
func (in *Intake) wakePlanner(plans []work.Plan) {
	for i := range plans {
		if at := plans[i].NextAt; !at.IsZero() && !at.After(in.o.Life.Now()) {
			select {
			case in.planning <- struct{}{}:
			default:
			}
			return
		}
	}
}

func recipients(drafts []posthouse.Draft) int {
	n := 0
	for i := range drafts {
		n += len(drafts[i].To)
	}
	return n
}

func (r *Request) pathOf(i int) string {
	switch {
	case r.Path != nil:
		return r.Path(i)
	case len(r.Drafts) > 1:
		return fmt.Sprintf("messages[%d].", i)
	}
	return ""
}

// meet sees to it that a channel which another process made just now is known here too.
func (in *Intake) meet(ctx context.Context, tenant string, drafts []posthouse.Draft) error {
	for i := range drafts {
		if drafts[i].Channel != "" && in.o.Refresh != nil && in.o.Channels.Channel(tenant, drafts[i].Channel) == nil {
			return in.o.Refresh(ctx)
		}
	}
	return nil
}

// broken reports whether a channel is configured and cannot be opened.
func (in *Intake) broken(tenant, channel string) bool {
	return in.o.Broken != nil && in.o.Channels.Channel(tenant, channel) == nil && in.o.Broken(tenant, channel)
}

// announce wakes the dispatchers, counts, and says in the log what was created.
func (in *Intake) announce(ctx context.Context, sub *work.Submission, outcome work.Outcome) {
	accepted := outcome.Accepted
	n, channel := 0, "" // not yet counted: most submissions have one channel
	for i := range sub.Entries {
		if accepted[i].DuplicateOf != "" {
			continue
		}
		m := &sub.Entries[i].Message
		if m.Channel != channel && n > 0 {
			in.o.Counted(sub.Tenant, channel, n)
			n = 0
		}
		channel, n = m.Channel, n+len(accepted[i].Deliveries)
		r := in.o.Channels.Channel(m.Tenant, m.Channel)
		for _, d := range accepted[i].Deliveries {
			in.o.Metrics.Accepts.WithLabelValues(m.Channel, string(d.State)).Inc()
			level := levelOf(r, d.State)
			if !in.o.Log.Enabled(ctx, level) {
				continue // its arguments alone cost more than the count
			}
			in.o.Log.Log(ctx, level, "delivery accepted", "tenant", m.Tenant, "channel", m.Channel, "message", m.ID, "delivery", d.ID,
				"user", d.User, "state", d.State, "reason", d.Reason)
		}
		if r != nil && !outcome.SeatAsked(i) {
			in.rouse(r, &sub.Entries[i])
		}
	}
	if n > 0 {
		in.o.Counted(sub.Tenant, channel, n)
	}
}

// rouse says in which lanes of a channel an entry may have something due.
func (in *Intake) rouse(r *state.Channel, e *work.Entry) {
	last := work.Pin("none yet")
	for i := range e.Deliveries {
		if pin := work.PinOf(&e.Deliveries[i]); pin != last {
			in.o.Channels.Rouse(r.Key, e.Message.Priority, pin)
			last = pin
		}
	}
}

// levelOf is the level at which a new delivery is logged: a channel that sends in runs logs each
// one it will send (DUTY-9), a continuous one would log nothing else.
func levelOf(r *state.Channel, s posthouse.State) slog.Level {
	if r != nil && r.Settings.Every > 0 && s == posthouse.Pending {
		return slog.LevelInfo
	}
	return slog.LevelDebug
}

// prepare turns one draft that was checked into an entry with the given message id, collecting every problem. now is
// when the draft was handed in.
func (in *Intake) prepare(ctx context.Context, by work.Caller, tenant, id string, d *posthouse.Draft, known directory, now time.Time, p *draft.Problems) (work.Entry, error) {
	r := in.o.Channels.Channel(tenant, d.Channel)
	if r == nil {
		switch {
		case in.broken(tenant, d.Channel):
			p.Add("channel", "%q cannot be opened now; /readyz says why", d.Channel)
		case d.Channel != "":
			p.Add("channel", "there is no channel %q; %s", d.Channel, channel.OneOf("channels", d.Channel, in.o.Channels.Names(tenant)))
		}
		return work.Entry{}, nil
	}
	m := posthouse.Message{
		ID: id, Tenant: tenant, Channel: d.Channel, Kind: d.Kind, Ref: d.Ref, Priority: draft.Priority(d),
		Payload: d.Payload, Source: d.Source, DedupKey: d.DedupKey, Critical: d.Critical, OnUnknown: d.OnUnknown, Reminder: d.Reminder, Notification: d.Notification, Step: d.Step, FallbackOf: d.FallbackOf, StepUntil: d.StepUntil, Collection: d.Collection, NotBefore: wholeMicros(d.NotBefore), Deadline: d.Deadline,
	}
	if d.Critical {
		if err := by.MayCritical(p.Path + "critical"); err != nil {
			return work.Entry{}, err
		}
	}
	checkAccount(r, d, p)
	m.Account, m.Pool, m.OrderingKey, m.Digest = d.Account, d.Pool, d.OrderingKey, d.Digest
	if d.OnUnknown == posthouse.Query && r.Settings.Policy != posthouse.Query && !r.Queries() {
		p.Add("on_unknown", "the channel's driver cannot be asked: want retry, hold or assume_sent")
	}
	if r.Settings.EndOfDay && m.Deadline.IsZero() {
		m.Deadline = rule.EndOfDay(later(now, m.NotBefore).In(r.Settings.Location))
	}
	if err := in.fill(ctx, r, d, &m, now, p); err != nil || len(p.List) > 0 {
		return work.Entry{}, err
	}
	told := m // its content may be sealed away
	sealed, err := in.seal(d, &m, now, p)
	to := recipientsOf(r, d, known[d.Channel], p)
	if err != nil || len(p.List) > 0 {
		return work.Entry{}, err
	}
	everybody := r.Everybody(&told, to)
	if everybody != "" {
		if err := by.MayMentionAll(p.Path + everybody); err != nil {
			return work.Entry{}, err
		}
	}
	entry := work.Entry{Message: m, DedupWindow: cmp.Or(d.DedupWindow.Std(), r.Settings.DedupWindow), Sealed: sealed, MentionAll: everybody != ""}
	for i, to := range to {
		delivery, err := in.deliver(ctx, r, &m, to, i+1, now)
		if err != nil {
			return work.Entry{}, err
		}
		line(&m, &delivery)
		entry.Deliveries = append(entry.Deliveries, delivery)
	}
	return entry, in.gather(ctx, &entry, p)
}

// deliver makes the nth delivery, after asking the channel's rules about its recipient.
func (in *Intake) deliver(ctx context.Context, r *state.Channel, m *posthouse.Message, to posthouse.Recipient, n int, now time.Time) (posthouse.Delivery, error) {
	d := posthouse.Delivery{
		ID: posthouse.DeliveryID(m.ID, n), Message: m.ID, Tenant: m.Tenant, Channel: m.Channel, Recipient: to, Priority: m.Priority, Pulled: r.Settings.Pulled, Notification: m.Notification, Collection: m.Collection,
		State: posthouse.Pending, OnUnknown: cmp.Or(m.OnUnknown, r.Settings.Policy), Epoch: in.o.Life.Epoch(),
		NotBefore: m.NotBefore, DueAt: m.NotBefore, Deadline: m.Deadline,
	}
	d.IdemKey = d.ID
	pinned(r, m, &d)
	if r.Rules == nil {
		return d, nil
	}
	v, err := r.Rules.Judge(ctx, rule.Subject{Tenant: m.Tenant, Channel: m.Channel, Kind: m.Kind, Recipient: to, Now: now})
	if err != nil {
		return d, fmt.Errorf("ask the rules of channel %s: %w", m.Channel, err)
	}
	switch v.Decision {
	case rule.Skip:
		d.State, d.Reason, d.DueAt = posthouse.Suppressed, v.Reason, time.Time{}
		in.explainSkip(&d, v)
	case rule.Defer:
		d.DueAt, d.Reason = later(d.DueAt, v.Until), v.Reason
	}
	return d, nil
}

// explainSkip says in the log why a recipient is not told: a warning where it may be a mistake.
func (in *Intake) explainSkip(d *posthouse.Delivery, v rule.Verdict) {
	if v.Warn {
		in.o.Metrics.RosterGaps.Inc()
		in.o.Log.Warn("recipient suppressed: "+v.Detail, "code", v.Code, "tenant", d.Tenant, "channel", d.Channel,
			"message", d.Message, "delivery", d.ID, "user", d.User, "reason", v.Reason)
		return
	}
	in.o.Log.Debug("recipient suppressed", "tenant", d.Tenant, "channel", d.Channel, "message", d.Message, "delivery", d.ID, "user", d.User, "reason", v.Reason)
}

// directory is what is known of users: their addresses, by channel.
type directory map[string]map[string]string

// addresses looks up the recipients that are named by user only: one query for each channel of a
// request, however many drafts it has.
func (in *Intake) addresses(ctx context.Context, tenant string, drafts []posthouse.Draft) (directory, error) {
	users := map[string][]string{}
	for i := range drafts {
		d := &drafts[i]
		for _, to := range d.To {
			if to.Address == "" && to.User != "" && in.o.Channels.Channel(tenant, d.Channel) != nil {
				users[d.Channel] = append(users[d.Channel], to.User)
			}
		}
	}
	known := directory{}
	for channel, list := range users {
		slices.Sort(list)
		found, err := in.o.Store.Addresses(ctx, tenant, channel, slices.Compact(list))
		if err != nil {
			return nil, err
		}
		known[channel] = found
	}
	return known, nil
}

// recipients are a draft's, each once, with their addresses as the channel keeps them.
func recipientsOf(r *state.Channel, d *posthouse.Draft, known map[string]string, p *draft.Problems) []posthouse.Recipient {
	list := d.To
	if r.Opened.Address != nil { // two ways to write one address are one recipient
		list = slices.Clone(d.To)
		for i := range list {
			address, err := r.Address(list[i], known)
			switch path := fmt.Sprintf("to[%d].address", i); {
			case err != nil && list[i].Address == "" && known[list[i].User] == "": // the id was taken for one
				p.Add(path, "%.80q has no address on %.80q, and the id is none: %v", list[i].User, r.Stored.Name, err)
			case err != nil:
				p.Add(path, "%v", err)
			}
			list[i].Address = address
		}
	}
	list = distinct(r, list)
	for i := range list {
		if list[i].Address == "" {
			list[i].Address = known[list[i].User]
		}
	}
	return list
}

// distinct drops recipients that were named twice. An id that is itself a way to write the address says nothing more: U50, u50 and the
// address u50 are one where ids have no case.
func distinct(ch *state.Channel, to []posthouse.Recipient) []posthouse.Recipient {
	if len(to) == 1 {
		return slices.Clone(to)
	}
	type key struct{ user, address string }
	seen := make(map[key]bool, len(to))
	out := make([]posthouse.Recipient, 0, len(to))
	for _, r := range to {
		k := key{r.User, r.Address}
		if k.user != "" && k.address != "" && ch.Names(k.user, k.address) {
			k.user = ""
		}
		if !seen[k] {
			seen[k] = true
			out = append(out, r)
		}
	}
	return out
}

// wholeMicros rounds up to what every database keeps, so that nothing starts early.
func wholeMicros(t time.Time) time.Time {
	if whole := t.Truncate(time.Microsecond); whole.Before(t) {
		return whole.Add(time.Microsecond)
	}
	return t
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
