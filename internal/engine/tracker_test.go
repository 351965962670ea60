package engine

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// courier is a provider that says later what became of a message.
type courier struct {
	provider
	mu    sync.Mutex
	track func(to []posthouse.Recipient) ([]channel.Receipt, error)
	asked []string // "ref user,user"
	when  []time.Time
}

func (c *courier) Track(_ context.Context, ref string, to []posthouse.Recipient) ([]channel.Receipt, error) {
	line := ref
	for _, r := range to {
		line += " " + r.Address
	}
	c.mu.Lock()
	c.asked, c.when = append(c.asked, line), append(c.when, time.Now())
	c.mu.Unlock()
	return c.track(to)
}

// counter reads a counter that has a label of this value.
func (r *rig) counter(name, label string) float64 {
	r.Helper()
	families, err := r.engine.o.Metrics.(*prometheus.Registry).Gather()
	if err != nil {
		r.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if f.GetName() == name && l.GetValue() == label {
					return m.GetCounter().GetValue()
				}
			}
		}
	}
	return 0
}

// accepts answers each send with the reference task and a wait.
func (c *courier) accepts(task string, wait time.Duration) {
	c.answer = func(channel.Outgoing) channel.Result {
		return channel.Result{Class: posthouse.ClassOK, Ref: task, Await: wait}
	}
}

func TestReceiptsDecideWhatArrived(t *testing.T) {
	hours(t)
	virtual(t, func(r *rig) {
		c := &courier{track: func(to []posthouse.Recipient) ([]channel.Receipt, error) {
			var list []channel.Receipt
			for _, u := range to {
				list = append(list, channel.Receipt{Known: true, Delivered: u.User != "u2", Code: map[bool]string{true: "60011"}[u.User == "u2"], Error: map[bool]string{true: "left"}[u.User == "u2"]})
			}
			return list, nil
		}}
		c.accepts("task1", 10*time.Second)
		r.open("c", posthouse.ChannelSettings{}, state.Opened{Driver: c, Window: channel.Forever})
		ids := r.send(text("c", "u1", "u2", "u3"))
		r.pass(5 * time.Second)
		for _, id := range ids {
			r.want(id, posthouse.Sent, "", 0)
		}
		r.pass(30 * time.Second)
		r.want(ids[0], posthouse.Delivered, "", 0)
		bad := r.want(ids[1], posthouse.Undelivered, state.ReasonReceipt, 0)
		if bad.Error != "left" || bad.ProviderRef != "task1" {
			r.Errorf("got error %q and ref %q", bad.Error, bad.ProviderRef)
		}
		if got := r.history(ids[1]); got != "accept start sent receipt " {
			r.Errorf("history %q", got)
		}
		events, _ := r.store.History.Events(r.Context(), r.tenant, ids[1])
		if last := events[len(events)-1]; last.Code != "60011" || last.Error != "left" || last.Ref != "task1" {
			r.Errorf("the receipt's event is %+v", last)
		}
		if diff := cmp.Diff([]string{"task1 u1 u2 u3"}, c.asked); diff != "" {
			r.Error(diff)
		}
		if n := r.counter("posthouse_receipts_total", "delivered"); n != 2 {
			r.Errorf("receipts_total delivered = %v, want 2", n)
		}
		r.pass(10 * time.Minute)
		if len(c.asked) != 1 {
			r.Errorf("asked %d times", len(c.asked))
		}
	})
}

// unanswered are the ways in which a question is not answered.
var unanswered = map[string]func(to []posthouse.Recipient) ([]channel.Receipt, error){
	"not yet": func(to []posthouse.Recipient) ([]channel.Receipt, error) {
		return make([]channel.Receipt, len(to)), nil
	},
	"nothing":  func([]posthouse.Recipient) ([]channel.Receipt, error) { return nil, nil },
	"an error": func([]posthouse.Recipient) ([]channel.Receipt, error) { return nil, errors.New("busy") },
	"a panic":  func([]posthouse.Recipient) ([]channel.Receipt, error) { panic("oh") },
	"no return": func([]posthouse.Recipient) ([]channel.Receipt, error) {
		<-time.After(30 * time.Second)
		return nil, nil
	},
}

func TestAQuestionWithoutAnAnswerIsAskedAgain(t *testing.T) {
	for name, track := range unanswered {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(r *rig) {
				c := &courier{track: track}
				c.accepts("task1", 5*time.Second)
				r.open("c", posthouse.ChannelSettings{Timeout: posthouse.Duration(2 * time.Second)}, state.Opened{Driver: c, Window: channel.Forever})
				id := r.send(text("c", "u1"))[0]
				r.pass(10 * time.Minute)
				r.want(id, posthouse.Sent, "", 0)
				var gaps []time.Duration
				for i := 1; i < min(len(c.when), 5); i++ {
					gaps = append(gaps, c.when[i].Sub(c.when[i-1]))
				}
				wants := []time.Duration{10 * time.Second, 30 * time.Second, time.Minute, 5 * time.Minute}
				ok := slices.EqualFunc(wants, gaps, func(want, got time.Duration) bool { return got >= want && got < want+15*time.Second })
				if !ok {
					r.Errorf("the waits between questions are %v, want %v and a little", gaps, wants)
				}
			})
		})
	}
}

func TestQuestionsEndAfterADay(t *testing.T) {
	t.Parallel()
	now := time.Now()
	group := []work.Awaited{{Delivery: "a", Asks: 99, UntilAt: now.Add(time.Second)}, {Delivery: "b", Asks: 99, UntilAt: now}, {Delivery: "gone", Asks: 99, UntilAt: now.Add(time.Hour)}}
	found := []posthouse.Delivery{{ID: "a", State: posthouse.Sent}, {ID: "b", State: posthouse.Sent}, {ID: "gone", State: posthouse.Delivered}}
	got := state.Learn(group, found, nil, now)
	if diff := cmp.Diff(work.Learnt{Done: []string{"b", "gone"}, Later: []string{"a"}, At: now.Add(10 * time.Minute)}, got); diff != "" {
		t.Error(diff)
	}
}

func TestNobodyAsksWhereThereIsNothingToAskFor(t *testing.T) {
	virtual(t, func(r *rig) {
		c := &courier{track: func(to []posthouse.Recipient) ([]channel.Receipt, error) { return nil, nil }}
		r.open("tracked", posthouse.ChannelSettings{}, state.Opened{Driver: c, Window: channel.Forever})
		r.open("plain", posthouse.ChannelSettings{}, idempotent)
		r.provider.answer = func(channel.Outgoing) channel.Result {
			return channel.Result{Class: posthouse.ClassOK, Ref: "r", Await: time.Second} // of a driver that cannot be asked
		}
		r.send(text("plain", "u1"))
		for _, answer := range []channel.Result{
			{Class: posthouse.ClassOK, Ref: "r"},
			{Class: posthouse.ClassOK, Await: time.Second},
			{Class: posthouse.ClassOK, Ref: "r", Await: time.Second, Delivered: true},
			{Class: posthouse.ClassContent, Ref: "r", Await: time.Second},
		} {
			c.answer = func(channel.Outgoing) channel.Result { return answer }
			r.send(text("tracked", "u1"))
			r.pass(time.Minute)
		}
		if len(c.asked) != 0 {
			r.Errorf("asked %v", c.asked)
		}
	})
}

func TestLateProofIsAskedAboutToo(t *testing.T) {
	hours(t)
	virtual(t, func(r *rig) {
		c := &courier{track: func([]posthouse.Recipient) ([]channel.Receipt, error) {
			return []channel.Receipt{{Known: true, Delivered: true}}, nil
		}}
		c.answer = func(channel.Outgoing) channel.Result {
			<-time.After(10 * time.Minute) // it outlives its lease
			return channel.Result{Class: posthouse.ClassOK, Ref: "r", Await: time.Second}
		}
		r.open("c", posthouse.ChannelSettings{OnUnknown: posthouse.Hold, Timeout: posthouse.Duration(5 * time.Minute)}, state.Opened{Driver: c})
		id := r.send(text("c", "u1"))[0]
		r.pass(time.Second)
		r.late(work.Item{Delivery: older(r.get(id))}, channel.Result{Class: posthouse.ClassOK, Ref: "r", Await: time.Second})
		r.pass(time.Minute)
		r.want(id, posthouse.Delivered, "", 0)
		r.pass(10 * time.Minute)
	})
}

// older is a delivery as a worker knows it that lost its lease.
func older(d posthouse.Delivery) posthouse.Delivery {
	d.Token--
	return d
}
