package rescue

import (
	"context"
	"log/slog"
	"reflect"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/life"
	"github.com/posthouse/posthouse/internal/quiet"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// Hours are the quiet hours of a channel, and the zone of who has none.
type Hours struct {
	Own  quiet.Hours
	Zone string
}

// HeldQueue has what waits for quiet hours.
type HeldQueue interface {
	Reviser
	// HeldBack lists pending deliveries that wait for one reason until a time that is to come, by their ids behind one.
	HeldBack(ctx context.Context, now time.Time, reason, behind string, max int) ([]work.HeldBack, error)
}

// Channels are those that are open.
type Channels interface {
	// Hours are those of the channels that have any.
	Hours() map[state.Key]Hours
	// Channel is an open channel, nil where there is none of this name.
	Channel(tenant, name string) *state.Channel
	// Rouse says that a channel may have something due of a priority.
	Rouse(k state.Key, p posthouse.Priority, pin work.Pin)
}

// Waker lets go what quiet hours hold that end sooner than they did when it was put off: they were shortened or removed, a calendar has other
// days, or a recipient lives in another zone. Processes may do so side by side: each change is judged on the row that is locked.
type Waker struct {
	Queue    HeldQueue
	Quiet    *quiet.Keeper
	Channels Channels
	// Woken has what else waits for quiet hours looked at anew. Defaults to nothing.
	Woken func(ctx context.Context, now time.Time) error
	Life  *life.Life
	Log   *slog.Logger
}

const (
	// wakeLook is how soon it is seen that quiet hours were set anew.
	wakeLook = 2 * time.Second
	// wakeEvery is how often all is looked at without that: days of calendars, and zones of recipients, change unseen.
	wakeEvery = 5 * time.Minute
	// wakeShare bounds the time it takes to one in so much: a walk goes over the whole queue.
	wakeShare = 100
	// wakePage is how many are read at once.
	wakePage = 1000
)

// seen are the quiet hours that there were at a look.
type seen struct {
	tenants  map[string]quiet.Hours
	channels map[state.Key]Hours
}

// Run looks until the engine stops. It begins with a walk: the process before may have ended in one.
func (w *Waker) Run(ctx context.Context) {
	var last seen
	var next time.Time
	for w.Life.Pause(life.Spread(wakeLook)) {
		now := seen{w.Quiet.Hours(), w.Channels.Hours()}
		if reflect.DeepEqual(now, last) && time.Now().Before(next) {
			continue
		}
		begun := time.Now()
		woken, err := w.wake(ctx)
		if err == nil && w.Woken != nil {
			err = w.Woken(ctx, w.Life.Now())
		}
		if woken > 0 {
			w.Log.Info("messages come due sooner: the quiet hours that held them were changed", "messages", woken)
		}
		if err != nil {
			if ctx.Err() == nil {
				w.Log.Warn("what quiet hours hold cannot be looked at now", "error", err)
			}
			continue // last is as it was: it begins anew
		}
		last, next = now, begun.Add(max(wakeEvery, wakeShare*time.Since(begun)))
	}
}

// wake walks over all that quiet hours hold, and returns how many come due sooner.
func (w *Waker) wake(ctx context.Context) (woken int, err error) {
	for behind := ""; !w.Life.Stopped(); {
		list, err := w.Queue.HeldBack(ctx, w.Life.Now(), state.ReasonQuietHours, behind, wakePage)
		if err != nil {
			return woken, err
		}
		of := map[state.Key][]work.HeldBack{}
		for i := range list {
			k := state.KeyOf(&list[i].Delivery)
			of[k] = append(of[k], list[i])
		}
		for k, held := range of {
			n, err := w.let(ctx, k, held)
			if woken += n; err != nil {
				return woken, err
			}
		}
		if len(list) < wakePage {
			break
		}
		behind = list[len(list)-1].Delivery.ID
	}
	return woken, nil
}

// let has those of a channel come due whose quiet hours end sooner. What waits for a channel that is not open waits on: its hours are not known.
func (w *Waker) let(ctx context.Context, k state.Key, held []work.HeldBack) (woken int, err error) {
	ch := w.Channels.Channel(k.Tenant, k.Channel)
	if ch == nil {
		return 0, nil
	}
	people := make([]quiet.Whom, len(held))
	for i := range held {
		d := &held[i].Delivery
		people[i] = quiet.Whom{Kind: held[i].Kind, User: d.User, Address: d.Address, Local: ch.Settings.Location, Deadline: d.Deadline}
	}
	now := w.Life.Now()
	ends, err := w.Quiet.Until(ctx, k.Tenant, ch.Settings.Quiet, now, people)
	if err != nil {
		return 0, err
	}
	until := map[string]time.Time{}
	var ids []string
	for i := range held {
		var end time.Time
		if len(ends) > 0 && !ends[i].IsZero() {
			end = ends[i].Add(state.PastQuiet)
		}
		if _, sooner := state.Woken(held[i].Delivery, end, now); sooner {
			ids = append(ids, held[i].Delivery.ID)
			until[held[i].Delivery.ID] = end
		}
	}
	for len(ids) > 0 && !w.Life.Stopped() {
		part := ids[:min(Batch, len(ids))]
		ids = ids[len(part):]
		n := 0
		after, err := w.Queue.Revise(ctx, time.Now(), work.Selection{Tenant: k.Tenant, IDs: part}, func(now time.Time, found []posthouse.Delivery) (changes []work.Change) {
			for i := range found {
				if c, sooner := state.Woken(found[i], until[found[i].ID], now); sooner {
					changes = append(changes, c)
				}
			}
			n = len(changes)
			return changes
		})
		if err != nil {
			return woken, err
		}
		woken += n
		for i := range after {
			w.Channels.Rouse(k, after[i].Priority, work.PinOf(&after[i]))
		}
	}
	return woken, nil
}
