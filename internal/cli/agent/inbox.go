package agent

import (
	"context"
	"slices"
	"time"

	"github.com/posthouse/posthouse/wire"
)

// The bounds of handing in what a phone gets: how often it is looked at, and how many texts one call holds and are known as handed in.
const (
	inboxPoll   = time.Second
	inboxAtOnce = 100
	inboxKnown  = 1000
)

// inbox hands in the texts that the phone gets, each once: what it has handed in before a restart is a repeat to the server.
type inbox struct {
	app   *App
	phone Inbox
	to    hearer
	known []string // ids of what was handed in, the newest last
}

// newInbox is nil where the phone gets no texts, or the server's protocol has no word for them.
func newInbox(a *App) *inbox {
	phone, gets := a.o.Phone.(Inbox)
	to, takes := a.server.(hearer)
	if !gets || !takes {
		return nil
	}
	return &inbox{app: a, phone: phone, to: to}
}

// run hands in what comes until the context ends. What fails is tried again.
func (i *inbox) run(ctx context.Context) {
	for bad := 0; ; {
		wait := inboxPoll
		if err := i.look(ctx); err != nil && ctx.Err() == nil {
			bad++
			wait = max(wait, backoff(bad))
			i.app.o.Log.Warn("texts that the phone got cannot be handed in; trying again", "error", err, "in", wait.Round(time.Millisecond))
		} else {
			bad = 0
		}
		if !pause(ctx, wait) {
			return
		}
	}
}

// look hands in what is new, as much as one call holds.
func (i *inbox) look(ctx context.Context) error {
	fresh, err := i.fresh(ctx)
	if err != nil || len(fresh) == 0 {
		return err
	}
	return i.hand(ctx, fresh[:min(len(fresh), inboxAtOnce)])
}

// last hands in all that is new, before an app ends that runs once: nobody looks again until its next start, and a step that waits for an answer would begin.
func (i *inbox) last(ctx context.Context) error {
	fresh, err := i.fresh(ctx)
	if err != nil {
		return err
	}
	for some := range slices.Chunk(fresh, inboxAtOnce) {
		if err := i.hand(ctx, some); err != nil {
			return err
		}
	}
	return nil
}

// fresh is what the phone has got and this app has not handed in.
func (i *inbox) fresh(ctx context.Context) ([]wire.ReceivedText, error) {
	all, err := i.phone.Received(ctx)
	if err != nil {
		return nil, err
	}
	var fresh []wire.ReceivedText
	for _, t := range all {
		if !slices.Contains(i.known, t.ID) {
			fresh = append(fresh, t)
		}
	}
	return fresh, nil
}

// hand hands in texts in one call.
func (i *inbox) hand(ctx context.Context, fresh []wire.ReceivedText) error {
	results, err := i.to.received(ctx, fresh)
	if err != nil {
		return err
	}
	for _, r := range results {
		i.known = append(i.known, r.ID)
		i.app.o.Log.Info("a text was handed in", "text", r.ID, "acknowledged", r.Acknowledged)
	}
	i.known = i.known[max(0, len(i.known)-inboxKnown):]
	return nil
}
