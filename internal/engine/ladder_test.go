package engine

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// FLEET-7: each class of failure has a ladder of its own, which goes on where it stood when another class came between; a refused
// account counts in by what is tried of it; what would come too late is not tried.
func TestEachClassOfFailureHasItsOwnLadder(t *testing.T) {
	hours(t)
	const (
		busy    = posthouse.ClassTransient
		limited = posthouse.ClassRate
		refused = posthouse.ClassAuth
	)
	s, m := time.Second, time.Minute
	for name, c := range map[string]struct {
		fails    []posthouse.Class
		deadline time.Duration
		waits    []time.Duration
		state    posthouse.State
		reason   string
	}{
		"others between": {[]posthouse.Class{busy, busy, limited, limited, busy, limited, busy, busy}, 0,
			[]time.Duration{s, 2 * s, m, 90 * s, 4 * s, 135 * s}, posthouse.Failed, state.ReasonTriesUsedUp},
		"ends well":     {[]posthouse.Class{busy, busy, busy, limited, limited}, 0, []time.Duration{s, 2 * s, 4 * s, m, 90 * s}, posthouse.Sent, ""},
		"refused twice": {[]posthouse.Class{busy, refused, refused}, 0, []time.Duration{s, 5 * m}, posthouse.Failed, state.ReasonTriesUsedUp},
		"too late":      {[]posthouse.Class{busy, limited, busy}, 30 * s, []time.Duration{s}, posthouse.Expired, state.ReasonDeadlineBefore},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(r *rig) {
				var calls []time.Time
				r.provider.decide(func(channel.Outgoing) channel.Result {
					calls = append(calls, time.Now())
					if n := len(calls); n <= len(c.fails) {
						return channel.Result{Class: c.fails[n-1]}
					}
					return channel.Result{Class: posthouse.ClassOK}
				})
				jitter := 0.0
				r.open("c", posthouse.ChannelSettings{Profile: "wecom", Jitter: &jitter}, idempotent)
				d := text("c", "u1")
				if c.deadline > 0 {
					d.Deadline = time.Now().Add(c.deadline)
				}
				id := r.send(d)[0]
				r.pass(time.Hour)
				if got := r.get(id); got.State != c.state || got.Reason != c.reason {
					r.Errorf("it is %s, %s; want %s, %s", got.State, got.Reason, c.state, c.reason)
				}
				var waits []time.Duration
				for i := range calls[1:] {
					waits = append(waits, calls[i+1].Sub(calls[i]))
				}
				if !slices.EqualFunc(waits, c.waits, func(got, want time.Duration) bool { return got >= want && got < want+5*s }) {
					r.Errorf("waited %v, want %v and a moment each", waits, c.waits)
				}
			})
		})
	}
}

// FLEET-7: an unknown of which the provider says that it has not arrived goes on the ladder of unknowns, whatever failed otherwise.
func TestWhatHasNotArrivedGoesOnTheLadderOfUnknowns(t *testing.T) {
	hours(t)
	virtual(t, func(r *rig) {
		calls := 0
		r.provider.decide(func(channel.Outgoing) channel.Result {
			switch calls++; {
			case calls <= 4:
				return channel.Result{Class: posthouse.ClassRate}
			case calls == 5:
				return channel.Result{Class: posthouse.ClassUnknown}
			}
			return channel.Result{Class: posthouse.ClassOK}
		})
		absent := &asking{provider: r.provider, findings: []channel.Finding{channel.Absent}}
		r.open("c", posthouse.ChannelSettings{Profile: "wecom", OnUnknown: posthouse.Query}, state.Opened{Window: channel.Forever, Driver: absent})
		id := r.send(text("c", "u1"))[0]
		r.pass(time.Hour)
		r.want(id, posthouse.Sent, "", 5)
	})
}

// FLEET-7, PULL-7: what agents report, and what is taken from them, goes on the ladder of its class.
func TestWhatAgentsReportGoesOnTheLadderOfItsClass(t *testing.T) {
	virtual(t, func(r *rig) {
		jitter := 0.0
		r.pull("sms", posthouse.ChannelSettings{
			Profile: "wecom", Jitter: &jitter, OnUnknown: posthouse.Retry, Codes: map[string]posthouse.Class{"LIMITED": posthouse.ClassRate},
		})
		a := r.phone("a", nil, "sms")
		id := r.send(text("sms", "u1"))[0]
		waits := func(want time.Duration, after string) {
			d := r.get(id)
			if got := d.DueAt.Sub(d.UpdatedAt); d.State != posthouse.Pending || got != want {
				r.Errorf("after %s it is %s, %s and waits %s; want %s", after, d.State, d.Reason, got, want)
			}
			r.pass(want)
		}
		for _, c := range []struct {
			code string
			wait time.Duration
		}{{"BUSY", time.Second}, {"BUSY", 2 * time.Second}, {"LIMITED", time.Minute}, {"LIMITED", 90 * time.Second}, {"BUSY", 4 * time.Second}} {
			h := r.one(a)
			r.begin(a, h)
			r.say(a, h, posthouse.OutcomeNotSent, func(rep *work.Report) { rep.Code = c.code })
			waits(c.wait, c.code)
		}
		for _, wait := range []time.Duration{2 * time.Second, 4 * time.Second} {
			r.begin(a, r.one(a))
			if _, err := r.engine.Pull.Reassign(context.Background(), r.tenant, a.ID, "it is lost"); err != nil {
				r.Fatal(err)
			}
			waits(wait, "it was taken")
		}
		h := r.one(a)
		r.begin(a, h)
		r.say(a, h, posthouse.OutcomeUnknown)
		waits(8*time.Second, "nobody knows")
	})
}
