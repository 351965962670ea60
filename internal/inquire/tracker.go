package inquire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/content"
	"github.com/posthouse/posthouse/internal/life"
	"github.com/posthouse/posthouse/internal/metrics"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// Tracker asks providers what became of deliveries that they have accepted.
type Tracker struct {
	Doors
	Store    Receipts
	Settled  func(list []posthouse.Delivery) // is told how deliveries stand that were changed
	Contents *content.Contents
	Metrics  *metrics.Metrics
}

// Bounds of the tracker. Who takes deliveries to ask about has them for trackHold: the longest question
// ends within it.
const (
	trackBatch = 1000            // taken at once
	trackGroup = 100             // asked about at once
	trackHold  = 2 * time.Minute // nobody else asks meanwhile
	trackAsk   = time.Minute     // bounds one question
)

// Run asks providers what became of deliveries that they have accepted. It is a role of its own, since
// providers take their time.
func (t *Tracker) Run(ctx context.Context) {
	for t.Life.Pause(life.Spread(t.Every)) {
		for !t.Life.Stopped() && t.trackDue(ctx) == trackBatch {
		}
	}
}

// trackDue asks about what is due, and returns how much that was.
func (t *Tracker) trackDue(ctx context.Context) int {
	end := time.Now().Add(trackHold)
	due, err := t.Store.Awaited(ctx, time.Now(), trackBatch, trackHold)
	if err != nil {
		t.Log.Warn("receipts that are to be asked for cannot be read", "error", err)
		return 0
	}
	slots := make(chan struct{}, maxAsked)
	var asking sync.WaitGroup
	for _, group := range alike(due) {
		slots <- struct{}{}
		if t.Life.Stopped() || time.Until(end) < trackAsk+t.Grace {
			break // they come up again when the hold is over
		}
		asking.Go(func() {
			t.trackGroup(ctx, group)
			<-slots
		})
	}
	asking.Wait()
	return len(due)
}

// alike parts what is due into groups that one question is for.
func alike(due []work.Awaited) [][]work.Awaited {
	order := func(a, b work.Awaited) int {
		return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Channel, b.Channel), cmp.Compare(a.Account, b.Account),
			cmp.Compare(a.Ref, b.Ref), cmp.Compare(a.Asks, b.Asks))
	}
	slices.SortStableFunc(due, order)
	var groups [][]work.Awaited
	for len(due) > 0 {
		n := 1
		for n < min(len(due), trackGroup) && order(due[0], due[n]) == 0 {
			n++
		}
		groups, due = append(groups, due[:n:n]), due[n:]
	}
	return groups
}

// trackGroup asks about one group and writes down what was said.
func (t *Tracker) trackGroup(ctx context.Context, group []work.Awaited) {
	receipts, err := t.receipts(group)
	if err != nil {
		receipts = make([]channel.Receipt, len(group)) // asked again later
		t.Log.Warn("a provider could not be asked for receipts", "channel", group[0].Channel, "deliveries", len(group), "error", err)
	}
	ids := make([]string, len(group))
	said := map[string]channel.Receipt{}
	for i, a := range group {
		ids[i] = a.Delivery
		said[a.Delivery] = receipts[i]
	}
	var learnt work.Learnt
	err = t.Store.Receive(ctx, time.Now(), ids, func(now time.Time, found []posthouse.Delivery) work.Learnt {
		learnt = state.Learn(group, found, said, now)
		return learnt
	})
	if err != nil {
		t.Log.Warn("receipts could not be written: they are asked for again", "channel", group[0].Channel, "deliveries", len(group), "error", err)
		return
	}
	after := make([]posthouse.Delivery, len(learnt.Changes))
	for i := range learnt.Changes {
		after[i] = learnt.Changes[i].After
	}
	t.Settled(after)
	t.reportReceipts(group[0], learnt)
}

// receipts asks the provider about a group: one receipt for each, in order.
func (t *Tracker) receipts(group []work.Awaited) ([]channel.Receipt, error) {
	r, done := t.Channels.Ask(group[0].Tenant, group[0].Channel)
	defer done()
	if r == nil {
		return nil, errors.New("the channel is not open")
	}
	tracker, ok := r.Opened.By(group[0].Account).(channel.Tracker)
	if !ok {
		return nil, fmt.Errorf("the driver %q has no receipts any more", r.Stored.Driver)
	}
	to := make([]posthouse.Recipient, len(group))
	for i, a := range group {
		to[i] = r.Addressed(a.Recipient)
	}
	said, err := t.askTracker(r, tracker, group[0].Ref, to)
	if err != nil {
		return nil, err
	}
	list := make([]channel.Receipt, len(group)) // what was left out is not known yet
	for i := range copy(list, said) {
		list[i].Code, list[i].Error, list[i].Response = state.Plain(list[i].Code, state.MaxCode), state.Plain(list[i].Error, state.MaxError), state.Plain(list[i].Response, state.MaxExcerpt)
	}
	t.Hush(group, list)
	return list, nil
}

// askTracker asks a driver, bounds the time it takes and survives its panic.
func (t *Tracker) askTracker(r *state.Channel, tracker channel.Tracker, ref string, to []posthouse.Recipient) ([]channel.Receipt, error) {
	type answer struct {
		list []channel.Receipt
		err  error
	}
	said := &answer{err: errors.New("the driver panicked")}
	returned := t.Bounded(time.Now().Add(min(r.Settings.Timeout, trackAsk)), t.Grace, func(ctx context.Context) {
		defer func() {
			if p := recover(); p != nil {
				t.Log.Error("the driver panicked when it was asked for receipts", "channel", r.Key.Channel, "driver", r.Stored.Driver,
					"panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			}
		}()
		said.list, said.err = tracker.Track(ctx, ref, to)
	})
	if !returned {
		return nil, errors.New("the driver did not return at its time-out") // said is still the driver's
	}
	return said.list, said.err
}

// reportReceipts says in the log and the metrics what was learnt.
func (t *Tracker) reportReceipts(asked work.Awaited, learnt work.Learnt) {
	counts := map[posthouse.State]int{}
	for i := range learnt.Changes {
		c := &learnt.Changes[i]
		counts[c.After.State]++
		if c.After.State == posthouse.Undelivered {
			t.Log.Info("a delivery did not arrive", "tenant", c.After.Tenant, "channel", c.After.Channel, "message", c.After.Message,
				"delivery", c.After.ID, "code", c.Events[0].Code, "error", c.Events[0].Error)
		}
	}
	given := len(learnt.Done) - len(learnt.Changes)
	for outcome, n := range map[string]int{
		string(posthouse.Delivered): counts[posthouse.Delivered], string(posthouse.Undelivered): counts[posthouse.Undelivered],
		"unknown": len(learnt.Later), "given_up": given,
	} {
		t.Metrics.Receipts.WithLabelValues(asked.Channel, outcome).Add(float64(n))
	}
	t.Log.Debug("the provider was asked for receipts", "channel", asked.Channel, "ref", asked.Ref, "delivered", counts[posthouse.Delivered],
		"undelivered", counts[posthouse.Undelivered], "later", len(learnt.Later), "given_up", given)
}

// Hush drops what a provider wrote besides its answer about sensitive messages, and about those that nobody can
// say of whether they are.
func (t *Tracker) Hush(group []work.Awaited, list []channel.Receipt) {
	mayQuote := t.Contents.MayQuote(t.Life.Context())
	for i := range list {
		if list[i].Response+list[i].Error == "" || mayQuote(group[i].Tenant, posthouse.MessageID(group[i].Delivery)) {
			continue
		}
		list[i].Response, list[i].Error = "", state.Hidden(list[i].Error)
	}
}
