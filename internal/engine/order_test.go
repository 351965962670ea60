package engine

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/decide"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/usher"
	"github.com/posthouse/posthouse/internal/work"
)

// ordered is a message with an ordering key.
func ordered(key string, users ...string) posthouse.Draft {
	d := text("c", users...)
	d.OrderingKey = key
	return d
}

// FLEET-1: what has one ordering key goes one after the other, a failed try of the first holds the others up, and other keys
// do not wait for it.
func TestMessagesOfOneOrderingKeyGoInOrder(t *testing.T) {
	virtual(t, func(r *rig) {
		r.open("c", posthouse.ChannelSettings{Backoff: []posthouse.Duration{posthouse.Duration(10 * time.Second)}}, state.Opened{Window: channel.Forever})
		failing := true
		r.provider.decide(func(out channel.Outgoing) channel.Result {
			if failing && out.Recipient.User == "a1" {
				failing = false
				return channel.Result{Class: posthouse.ClassTransient}
			}
			return channel.Result{Class: posthouse.ClassOK}
		})
		var a, b []string
		for i := range 5 {
			a = append(a, r.send(ordered("a", fmt.Sprint("a", i)))...)
			b = append(b, r.send(ordered("b", fmt.Sprint("b", i), fmt.Sprint("b", i, "+")))...)
		}
		r.pass(5 * time.Second)
		for _, id := range b {
			if d := r.get(id); d.State != posthouse.Sent {
				r.Errorf("a message of the other key is %s", d.State)
			}
		}
		if n := len(r.provider.sent()); n != 12 {
			r.Errorf("%d calls, want ten of the other key and two of the one that waits", n)
		}
		waiting := r.get(a[2])
		if waiting.State != posthouse.Pending || waiting.Line == "" {
			r.Errorf("the third is %s, in the line %q", waiting.State, waiting.Line)
		}
		x := r.engine.Explainer.Explain(r.Context(), waiting)
		if len(x.Waits) == 0 || x.Waits[0].Cause != "order" || x.Waits[0].Detail != "the message "+posthouse.MessageID(a[1])+", which has the same ordering_key, is not settled yet" {
			r.Errorf("explained as %+v", x.Waits)
		}
		r.pass(10 * time.Second)
		var got []string
		for _, out := range r.provider.sent() {
			if out.Recipient.User[0] == 'a' {
				got = append(got, out.Recipient.User)
			}
		}
		if want := []string{"a0", "a1", "a1", "a2", "a3", "a4"}; !slices.Equal(got, want) {
			r.Errorf("sent %v, want %v", got, want)
		}
	})
}

// What nobody knows the end of holds its line up until a person says; what is cancelled in line is passed over.
func TestALineWaitsForAnUnknownHead(t *testing.T) {
	hours(t)
	virtual(t, func(r *rig) {
		r.open("c", posthouse.ChannelSettings{OnUnknown: posthouse.Hold}, state.Opened{Window: channel.Forever})
		r.provider.answer = func(out channel.Outgoing) channel.Result {
			if out.Recipient.User == "u0" {
				return channel.Result{Class: posthouse.ClassUnknown}
			}
			return channel.Result{Class: posthouse.ClassOK}
		}
		var ids []string
		for i := range 3 {
			ids = append(ids, r.send(ordered("k", fmt.Sprint("u", i)))...)
		}
		late := ordered("k", "late")
		late.NotBefore = time.Now().Add(time.Hour)
		ids = append(ids, r.send(late)...)
		r.pass(time.Minute)
		if d := r.get(ids[1]); d.State != posthouse.Pending || d.Line == "" {
			r.Fatalf("the second is %s while the first is %s", d.State, r.get(ids[0]).State)
		}
		if _, err := r.engine.Operator.Cancel(r.Context(), r.tenant, ids[1:2]); err != nil {
			r.Fatal(err)
		}
		if _, err := r.engine.Operator.Resolve(r.Context(), r.tenant, ids[0], decide.ResolveSent); err != nil {
			r.Fatal(err)
		}
		r.pass(100 * time.Millisecond) // the person's word wakes the usher
		for i, want := range []posthouse.State{posthouse.Sent, posthouse.Cancelled, posthouse.Sent, posthouse.Pending} {
			if d := r.get(ids[i]); d.State != want {
				r.Errorf("message %d is %s, want %s", i, d.State, want)
			}
		}
		r.pass(time.Hour)
		if d := r.get(ids[3]); d.State != posthouse.Sent {
			r.Errorf("the one that was put off is %s", d.State)
		}
		r.pass(15 * time.Second)
		if _, looked, err := r.store.Queue.Admit(r.Context(), time.Now(), []work.LineKey{{Tenant: r.tenant, Channel: "c", Name: work.LineOf("k")}}, 1, usher.Admission()); looked != 0 || err != nil {
			r.Errorf("%d lines are left, %v", looked, err)
		}
	})
}

// The next in a line goes on at once, whoever settles its head: an agent that reports, and a person whose word another
// process takes, one that sends nothing itself.
func TestWhoeverSettlesAHeadLetsTheNextOneGoOn(t *testing.T) {
	virtual(t, func(r *rig) {
		r.pull("sms", posthouse.ChannelSettings{})
		door := r.planning(nil, Options{AcceptOnly: true})
		defer func() {
			if err := door.Stop(context.Background()); err != nil {
				r.Error(err)
			}
		}()
		var ids []string
		for i := range 3 {
			d := ordered("k", fmt.Sprint("u", i))
			d.Channel = "sms"
			ids = append(ids, r.send(d)...)
		}
		a := r.phone("a", nil, "sms")
		h := r.one(a)
		r.pass(time.Minute) // by now the line is looked at each ten seconds
		r.say(a, h, posthouse.OutcomeSent)
		r.pass(100 * time.Millisecond)
		if d := r.get(ids[1]); d.Line != "" {
			r.Fatalf("the second stands in line still, and the first is %s", r.get(ids[0]).State)
		}
		r.pass(time.Minute)
		if _, err := door.Operator.Cancel(r.Context(), r.tenant, ids[1:2]); err != nil {
			r.Fatal(err)
		}
		r.pass(100 * time.Millisecond)
		if d := r.get(ids[2]); d.Line != "" {
			r.Errorf("the third stands in line still, and the second is %s", r.get(ids[1]).State)
		}
	})
}
