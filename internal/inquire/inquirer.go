package inquire

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/life"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// Inquirer asks providers about unknowns.
type Inquirer struct {
	Doors
	Queue    Reviser
	Failures func(ctx context.Context, ids []string) (map[string]work.Failures, error) // what has failed before, of each
	Messages Messages
}

// Bounds of asking: how many providers are asked at once, and how many unknowns are looked for at once.
const (
	maxAsked = 16
	askBatch = 200
)

// Run asks providers about unknowns whose policy is query. It is a role of its own, since providers
// take their time and leases do not wait.
func (q *Inquirer) Run(ctx context.Context) {
	for q.Life.Pause(life.Spread(q.Every)) {
		asked, err := q.Queue.Revise(ctx, time.Now(), work.Selection{Due: work.QueryDue, Max: askBatch},
			func(time.Time, []posthouse.Delivery) []work.Change { return nil })
		if err != nil {
			q.Log.Warn("unknowns that are to be asked about cannot be read", "error", err)
			continue
		}
		slots := make(chan struct{}, maxAsked)
		var asking sync.WaitGroup
		for _, d := range asked {
			slots <- struct{}{}
			asking.Go(func() {
				q.ask(ctx, d)
				<-slots
			})
		}
		asking.Wait()
	}
}

// ask queries the provider about one unknown and writes down what it says. Without an answer it asks
// again after as long as it has waited so far, for a day.
func (q *Inquirer) ask(ctx context.Context, d posthouse.Delivery) {
	finding, res := q.find(ctx, d)
	past := q.past(ctx, d, finding)
	_, err := q.Queue.Revise(ctx, time.Now(), work.Selection{Tenant: d.Tenant, IDs: []string{d.ID}}, func(now time.Time, found []posthouse.Delivery) []work.Change {
		if len(found) != 1 || found[0].Version != d.Version {
			return nil
		}
		return []work.Change{state.AfterQuery(q.Channels.Settings(state.KeyOf(&d)), found[0], past, finding, res, now)}
	})
	q.Log.Info("the provider was asked about an unknown", "channel", d.Channel, "delivery", d.ID, "finding", finding, "error", err)
}

// past is what has failed before of what has not arrived, where its channel's retry profile has ladders of their own for some
// classes. Where it cannot be read, all that failed counts.
func (q *Inquirer) past(ctx context.Context, d posthouse.Delivery, f channel.Finding) work.Failures {
	if f != channel.Absent || !q.Channels.Settings(state.KeyOf(&d)).Recalls(&d, posthouse.ClassUnknown) {
		return nil
	}
	past, err := q.Failures(ctx, []string{d.ID})
	if err != nil {
		q.Log.Warn("what failed before cannot be read: all of it counts", "delivery", d.ID, "error", err)
	}
	return past[d.ID]
}

// finding is a provider's word on an unknown.
type finding struct {
	found  channel.Finding
	result channel.Result
}

// find is what the provider says. Whatever keeps it from being asked is no answer, so that it is asked
// later.
func (q *Inquirer) find(ctx context.Context, d posthouse.Delivery) (channel.Finding, channel.Result) {
	r, done := q.Channels.Ask(d.Tenant, d.Channel)
	defer done()
	if r == nil {
		return channel.NoAnswer, channel.Result{}
	}
	querier, ok := r.Opened.By(d.Account).(channel.Querier)
	if !ok {
		return channel.NoAnswer, channel.Result{}
	}
	m, _, err := q.Messages.Message(ctx, d.Tenant, d.Message)
	if err != nil {
		q.Log.Warn("the message of an unknown delivery cannot be read", "delivery", d.ID, "error", err)
		return channel.NoAnswer, channel.Result{}
	}
	answer := &finding{found: channel.NoAnswer}
	returned := q.Bounded(time.Now().Add(r.Settings.Timeout), q.Grace, func(ctx context.Context) {
		defer func() {
			if p := recover(); p != nil {
				q.Log.Error("the driver panicked when it was asked about an unknown", "channel", d.Channel, "driver", r.Stored.Driver,
					"delivery", d.ID, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			}
		}()
		answer.found, answer.result = querier.Query(ctx, r.Outgoing(work.Item{Delivery: d, Message: &m}))
	})
	if !returned {
		q.Log.Error("the driver did not return at its time-out when it was asked about an unknown", "channel", d.Channel, "driver", r.Stored.Driver, "delivery", d.ID)
		return channel.NoAnswer, channel.Result{}
	}
	state.Fit(&answer.result)
	return answer.found, answer.result
}
