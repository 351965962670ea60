package engine

import (
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
)

// FLEET-3, FLEET-8: what was put off, and what waits for another try, begins within a second of its time.
func TestFLEET_WhatComesDueBeginsWithinASecond(t *testing.T) {
	virtual(t, func(r *rig) {
		r.stop()
		r.engine = r.planning(nil, Options{Poll: 250 * time.Millisecond}) // as a server has it where nobody says otherwise
		calls := map[string][]time.Time{}
		r.provider.decide(func(out channel.Outgoing) channel.Result {
			list := append(calls[out.Recipient.User], time.Now())
			if calls[out.Recipient.User] = list; out.Recipient.User == "retried" && len(list) == 1 {
				return channel.Result{Class: posthouse.ClassTransient}
			}
			return channel.Result{Class: posthouse.ClassOK}
		})
		jitter := 0.0
		r.open("c", posthouse.ChannelSettings{Backoff: []posthouse.Duration{posthouse.Duration(20 * time.Second)}, Jitter: &jitter}, idempotent)
		began := time.Now()
		put := text("c", "put-off")
		put.NotBefore = began.Add(30 * time.Second)
		r.send(put)
		r.send(text("c", "retried"))
		r.pass(time.Minute)
		if got := calls["put-off"]; len(got) != 1 || got[0].Before(put.NotBefore) || got[0].Sub(put.NotBefore) > time.Second {
			r.Errorf("what was put off until %v began at %v", put.NotBefore, got)
		}
		if got := calls["retried"]; len(got) != 2 || got[1].Sub(got[0]) < 20*time.Second || got[1].Sub(got[0]) > 21*time.Second {
			r.Errorf("what was to be tried again after 20 s began at %v", got)
		}
	})
}
