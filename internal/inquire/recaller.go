package inquire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/content"
	"github.com/posthouse/posthouse/internal/shellword"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// Recaller asks providers to take back what was sent.
type Recaller struct {
	Doors
	Queue    Reviser
	History  func(ctx context.Context, tenant, delivery, cursor string, limit int) ([]posthouse.Event, string, error)
	Contents *content.Contents
	// Collection is what has gathered a delivery. Defaults to none: where messages went in one text, its delivery is not named.
	Collection func(ctx context.Context, tenant, id string) (posthouse.Collection, error)
}

// The bounds of one request: how many deliveries, how many calls, and how long no further call begins. What is left is left to the next
// request.
const (
	MaxRecalls  = 1000
	recallCalls = 100
	recallFor   = 20 * time.Second
)

// Withdrawn says what became of one delivery that was to be recalled: recalled, not_supported, too_late, failed, unknown or not_sent.
type Withdrawn struct {
	posthouse.Delivery
	Outcome     string
	Code, Error string
}

// The outcomes beside those of package channel.
const (
	RecallUnable  = string(channel.RecallUnable)
	RecallNotSent = "not_sent"
)

// ended is the outcome of a delivery for which no provider needs to be asked, empty for one that was sent.
func ended(d *posthouse.Delivery) (outcome, why string) {
	switch {
	case d.State == posthouse.Sending:
		return string(channel.RecallUnknown), "it is being sent right now: recall it again when that has ended"
	case d.State == posthouse.Unknown:
		return string(channel.RecallUnknown), "nobody knows whether it was sent, and it has no reference by which its provider would know it"
	case d.State != posthouse.Sent && d.State != posthouse.Delivered:
		return RecallNotSent, ""
	case d.Reason == state.ReasonRecalled:
		return string(channel.RecallDone), ""
	case d.Reason == state.ReasonRecallLate:
		return string(channel.RecallLate), ""
	case d.Reason == state.ReasonRecallUnable:
		return RecallUnable, ""
	}
	return "", ""
}

// Settled reports whether no provider needs to be asked to take a delivery back.
func Settled(d *posthouse.Delivery) bool {
	outcome, _ := ended(d)
	return outcome != ""
}

// Recall asks the providers of deliveries of one message to take them back, at most [MaxRecalls], and says what became of each in their
// order. What was recalled before is answered as it was. left are those that no provider was asked about yet, since the request has had its
// share of calls or a provider wants to wait.
func (r *Recaller) Recall(ctx context.Context, tenant string, list []posthouse.Delivery) (done []Withdrawn, left int, err error) {
	end, calls := time.Now().Add(recallFor), 0
	asked := map[string]Withdrawn{}
	for _, group := range together(list) {
		if calls >= recallCalls || time.Now().After(end) || r.Life.Stopped() || ctx.Err() != nil {
			left += len(group)
			continue
		}
		reason, res, called := r.take(ctx, group)
		if called {
			calls++
		}
		if err := r.write(ctx, tenant, group, reason, res); err != nil {
			return nil, left, err
		}
		for i := range group {
			asked[group[i].ID] = Withdrawn{Outcome: outcomeOf(reason), Code: res.Code, Error: res.Error}
		}
		if res.Class == posthouse.ClassRate {
			end = time.Time{} // the provider wants no more calls for now
		}
	}
	for i := range list {
		d := &list[i]
		outcome, why := ended(d)
		w, ok := asked[d.ID]
		switch {
		case outcome == RecallUnable:
			w = Withdrawn{Outcome: outcome, Error: r.unableStill(ctx, d)}
		case outcome != "":
			w = Withdrawn{Outcome: outcome, Error: why}
		case !ok:
			continue
		}
		w.Delivery = *d
		done = append(done, w)
	}
	return done, left, nil
}

func outcomeOf(reason string) string {
	switch reason {
	case state.ReasonRecalled:
		return string(channel.RecallDone)
	case state.ReasonRecallLate:
		return string(channel.RecallLate)
	case state.ReasonRecallFailed:
		return string(channel.RecallRefused)
	case state.ReasonRecallUnable:
		return RecallUnable
	}
	return string(channel.RecallUnknown)
}

// together parts deliveries into those that one call has told. Those that were tried before come last.
func together(list []posthouse.Delivery) (groups [][]posthouse.Delivery) {
	var open []posthouse.Delivery
	for i := range list {
		if outcome, _ := ended(&list[i]); outcome == "" {
			open = append(open, list[i])
		}
	}
	tried := func(d *posthouse.Delivery) int {
		if state.RecallTried(d.Reason) {
			return 1
		}
		return 0
	}
	order := func(a, b posthouse.Delivery) int {
		return cmp.Or(tried(&a)-tried(&b), cmp.Compare(a.Channel, b.Channel), cmp.Compare(a.Account, b.Account), cmp.Compare(a.ProviderRef, b.ProviderRef))
	}
	slices.SortStableFunc(open, order)
	for len(open) > 0 {
		n := 1
		for n < len(open) && open[0].ProviderRef != "" && order(open[0], open[n]) == 0 {
			n++
		}
		groups, open = append(groups, open[:n:n]), open[n:]
	}
	return groups
}

// failed is a recall that no provider was asked for.
func failed(format string, args ...any) (reason string, res channel.Result, called bool) {
	return state.ReasonRecallFailed, channel.Result{Error: fmt.Sprintf(format, args...)}, false
}

// take asks the provider to take back what one call has told, and says what became of it.
func (r *Recaller) take(ctx context.Context, group []posthouse.Delivery) (reason string, res channel.Result, called bool) {
	d := &group[0]
	ch, done := r.Channels.Ask(d.Tenant, d.Channel)
	defer done()
	if ch == nil {
		return failed("the channel %s is not open", d.Channel)
	}
	var driver channel.Driver
	if a := ch.Opened.Account(d.Account); a != nil {
		driver = a.Driver()
	} else if len(ch.Opened.Accounts) == 0 {
		driver = ch.Opened.Driver
	}
	if driver == nil {
		return failed("the account %s that sent it is not in the channel any more: only that account can take it back", d.Account)
	}
	recaller, ok := driver.(channel.Recaller)
	if !ok || ch.Settings.Pulled {
		return state.ReasonRecallUnable, channel.Result{Error: r.unable(ctx, d, ch.Stored.Driver)}, false
	}
	if text, n, went := r.text(ctx, d); went != "" {
		return failed("%s: posthouse recall %s takes back all %d messages of it", went, shellword.Quote(posthouse.MessageID(text)), n)
	}
	if d.ProviderRef == "" {
		return failed("it has no reference by which its provider would know it")
	}
	sent, err := r.sending(ctx, d)
	switch {
	case err != nil:
		r.Log.Warn("the history of a delivery that is to be recalled cannot be read", "delivery", d.ID, "error", err)
		return failed("its history cannot be read right now")
	case !whole(group, sent.Code):
		return failed("the provider was told it in one call with other messages, and would take these back too")
	}
	return r.ask(ch, recaller, d, sent.At)
}

// whole reports whether deliveries are all that the call has told by which they were sent.
func whole(group []posthouse.Delivery, code string) bool {
	n, shared := channel.SharedBy(code)
	return !shared || n > 0 && len(group) >= n
}

// unable says that what a driver has sent cannot be taken back, and of a delivery of a digest in which text it went.
func (r *Recaller) unable(ctx context.Context, d *posthouse.Delivery, driver string) string {
	if _, _, went := r.text(ctx, d); went != "" {
		return fmt.Sprintf("%s; what the driver %s has sent cannot be taken back", went, driver)
	}
	return fmt.Sprintf("what the driver %s has sent cannot be taken back", driver)
}

// unableStill says so of a delivery of which it was said before, empty where its channel is not open any more.
func (r *Recaller) unableStill(ctx context.Context, d *posthouse.Delivery) string {
	ch, done := r.Channels.Ask(d.Tenant, d.Channel)
	defer done()
	if ch == nil {
		return ""
	}
	return r.unable(ctx, d, ch.Stored.Driver)
}

// text is the delivery of the text of a digest in which one went with others, how many went in it, and that in words; nothing for one that went by
// itself.
func (r *Recaller) text(ctx context.Context, d *posthouse.Delivery) (delivery string, n int, went string) {
	if d.Collection == "" || r.Collection == nil {
		return "", 0, ""
	}
	c, err := r.Collection(ctx, d.Tenant, d.Collection)
	if err != nil || !c.Shares(d.ID) {
		return "", 0, ""
	}
	return c.Delivery, c.Together(), fmt.Sprintf("it went in one text with others, by the delivery %s of the digest %s", c.Delivery, c.Digest)
}

// sending is the event by which a delivery was sent: the first that has its reference. What was known of it only later, by a lookup or a callback, has
// the reference too, and was sent no later than that.
func (r *Recaller) sending(ctx context.Context, d *posthouse.Delivery) (found posthouse.Event, err error) {
	const page = 500
	for cursor := ""; ; {
		list, next, err := r.History(ctx, d.Tenant, d.ID, cursor, page)
		if err != nil {
			return found, err
		}
		for i := range list {
			if found.At.IsZero() && list[i].Ref == d.ProviderRef && list[i].Type != posthouse.EventRecall && list[i].Type != posthouse.EventReceipt {
				found = list[i]
			}
		}
		if next == "" {
			if found.At.IsZero() {
				return found, errors.New("no event has its reference")
			}
			return found, nil
		}
		cursor = next
	}
}

// ask calls a driver, bounds the time it takes and survives its panic. What did not come back is unknown.
func (r *Recaller) ask(ch *state.Channel, recaller channel.Recaller, d *posthouse.Delivery, sent time.Time) (reason string, res channel.Result, called bool) {
	type answer struct {
		did channel.Recalled
		res channel.Result
	}
	said := &answer{did: channel.RecallUnknown, res: channel.Result{Error: "the driver panicked"}}
	returned := r.Bounded(time.Now().Add(ch.Settings.Timeout), r.Grace, func(ctx context.Context) {
		defer func() {
			if p := recover(); p != nil {
				r.Log.Error("the driver panicked when it was asked to recall", "channel", d.Channel, "driver", ch.Stored.Driver, "delivery", d.ID,
					"panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			}
		}()
		said.did, said.res = recaller.Recall(ctx, d.ProviderRef, sent)
	})
	if !returned {
		said = &answer{channel.RecallUnknown, channel.Result{Error: "the driver did not return at its time-out"}}
	}
	res = said.res
	res.Code, res.Error, res.Response = state.Plain(res.Code, state.MaxCode), state.Plain(res.Error, state.MaxError), state.Plain(res.Response, state.MaxExcerpt)
	if res.Response+res.Error != "" && !r.Contents.MayQuote(r.Life.Context())(d.Tenant, d.Message) {
		res.Response, res.Error = "", state.Hidden(res.Error)
	}
	r.Log.Info("a provider was asked to recall", "channel", d.Channel, "message", d.Message, "delivery", d.ID, "outcome", said.did, "code", res.Code)
	return state.RecallReason(said.did), res, true
}

// write keeps what became of a recall with each delivery.
func (r *Recaller) write(ctx context.Context, tenant string, group []posthouse.Delivery, reason string, res channel.Result) error {
	ids := make([]string, len(group))
	for i := range group {
		ids[i] = group[i].ID
	}
	_, err := r.Queue.Revise(context.WithoutCancel(ctx), time.Now(), work.Selection{Tenant: tenant, IDs: ids}, func(_ time.Time, found []posthouse.Delivery) (changes []work.Change) {
		for _, d := range found {
			if c, ok := state.AfterRecall(d, reason, res); ok {
				changes = append(changes, c)
			}
		}
		return changes
	})
	return err
}
