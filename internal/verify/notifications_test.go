package verify_test

import (
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/verify"
)

// followed is a notification of the message 01KMJ000000000000000AA0000, whose steps wait an hour for a receipt; each of its deliveries is a
// step. change makes it another one than the log tells of.
func followed(change func(*verify.Notified), steps ...*hand) *hand {
	const message = "01KMJ000000000000000AA0000"
	n := verify.Notified{Notification: posthouse.Notification{
		ID: posthouse.DeliveryID(message, 1), Message: message, Tenant: "bank", State: posthouse.NotificationTold, Version: 3, Step: len(steps), Round: 1, CreatedAt: began,
	}, Follows: posthouse.Route{Kind: posthouse.RouteFirst, For: posthouse.RouteEach, OnUnknown: posthouse.UnknownWait}}
	h := steps[0]
	for i, s := range steps {
		s.events[0].Owner = "notification/" + n.ID
		last := s.events[len(s.events)-1]
		state := last.To
		if state == posthouse.Sending {
			state = posthouse.Pending
		}
		n.Steps = append(n.Steps, posthouse.NotificationStep{Step: i + 1, Round: 1, At: s.events[0].At})
		n.Over = s.events[0].At.Add(time.Hour)
		if n.UpdatedAt.Before(last.At) {
			n.UpdatedAt = last.At
		}
		n.Deliveries = append(n.Deliveries, posthouse.NotificationDelivery{ID: s.id, Step: i + 1, Round: 1, State: state, At: last.At})
		n.Follows.Steps = append(n.Follows.Steps, posthouse.RouteStep{Until: posthouse.ProofSent, Within: posthouse.Duration(time.Hour)})
		if i > 0 {
			h.events, h.arrivals = append(h.events, s.events...), append(h.arrivals, s.arrivals...)
		}
	}
	h.calls[0].Message = message
	if change != nil {
		change(&n)
	}
	h.notified = append(h.notified, n)
	return h
}

// second is the delivery of another step, accepted so long after the run began.
func second(after time.Duration) *hand {
	h := newHand(posthouse.Retry)
	h.id = posthouse.DeliveryID("01KMJ000000000000000AC0000", 1)
	h.idem, h.at = h.id, began.Add(after)
	return h.accept()
}

// refused was accepted, and refused for good.
func refused() *hand {
	return newHand(posthouse.Retry).accept().start().arrived(verify.ArrivalRefused).fails()
}

func (h *hand) fails() *hand {
	h.tries++
	return h.do(posthouse.EventFail, posthouse.Failed, h.ends(posthouse.ClassRecipient, "NO"))
}

// arrivedAs arrives with a number of its own.
func arrivedAs(h *hand, seq int64) *hand {
	h.arrived(verify.ArrivalAccepted)
	h.arrivals[0].Seq = seq
	return h
}

// toldCases are those of notifications.
func toldCases() (list []lawCase) {
	told := func(holds, breaks func() *hand) {
		list = append(list, lawCase{law: "I38", holds: holds, breaks: breaks})
	}
	is := func(s posthouse.NotificationState) func(*verify.Notified) {
		return func(n *verify.Notified) { n.State = s }
	}
	untilDelivered := func(n *verify.Notified) {
		n.State, n.Follows.Steps[0].Until = posthouse.NotificationWaiting, posthouse.ProofDelivered
		n.NextAt = n.Over
	}
	whole := func() *hand { return followed(nil, plain()) }
	held := func(as posthouse.State) func() *hand { // its notification is not told of the epoch that holds it
		return func() *hand {
			return followed(func(n *verify.Notified) {
				n.State, n.NextAt, n.Deliveries[0].State = posthouse.NotificationWaiting, n.Over, as
			}, newHand(posthouse.Hold).accept().do(posthouse.EventEpochHold, posthouse.Unknown, inEpoch(2)))
		}
	}
	told(held(posthouse.Pending), held(posthouse.Sent))
	inEpoch := func(epoch int64) func() *hand { // it is held until a person lets it go: what was accepted before stays, and nothing follows
		return func() *hand {
			return followed(func(n *verify.Notified) {
				untilDelivered(n)
				n.Held, n.NextAt = "epoch_hold", time.Time{}
			}, plain()).row(nil).inEpochOf(epoch)
		}
	}
	told(inEpoch(2), inEpoch(1))
	resumed := func(after time.Duration, in int64) func() *hand { // a person has let it go: nothing of it began before, in the epoch that held it
		return func() *hand {
			return followed(func(n *verify.Notified) { n.Resumed = verify.Resumed{At: began.Add(after), Epoch: in} }, plain())
		}
	}
	told(resumed(time.Second, 1), resumed(time.Minute, 1))
	told(resumed(time.Minute, 2), resumed(time.Minute, 1))
	alone := func(until time.Time) func() *hand { // nobody waits for whom quiet hours leave alone for good, and nothing of it begins
		return func() *hand {
			return followed(func(n *verify.Notified) {
				n.State, n.Reason, n.Follows.Steps[0].Until, n.QuietUntil = posthouse.NotificationNotTold, "quiet_hours", posthouse.ProofAcknowledged, until
			}, plain())
		}
	}
	told(alone(time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)), alone(began.Add(time.Hour)))
	told(whole, func() *hand { return followed(is(posthouse.NotificationWaiting), plain()) })
	told(whole, func() *hand { return followed(is(posthouse.NotificationAcknowledged), plain()) })
	told(whole, func() *hand { // it heard of a failure, and the log of a success
		return followed(func(n *verify.Notified) {
			n.State, n.Deliveries[0].State = posthouse.NotificationNotTold, posthouse.Failed
		}, plain())
	})
	told(whole, func() *hand {
		return followed(func(n *verify.Notified) { n.Deliveries[0].ID = "01KMJ000000000000000AX0001" }, plain())
	})
	told(whole, func() *hand {
		return followed(func(n *verify.Notified) { n.State, n.Deliveries = posthouse.NotificationNotTold, nil }, plain())
	})
	told(whole, func() *hand {
		h := whole()
		h.notified[0].ID = posthouse.DeliveryID("01KMJ000000000000000AA0000", 2)
		h.notified[0].Deliveries = nil
		h.notified[0].State = posthouse.NotificationNotTold
		return h
	})
	told(func() *hand { return followed(is(posthouse.NotificationNotTold), refused()) }, func() *hand { return followed(nil, refused()) })
	told(func() *hand { // the second began when the first had failed
		return followed(nil, refused(), arrivedAs(second(10*time.Second).start(), 2).sent())
	}, func() *hand { // and before
		h := plain() // which is told at 3s
		return followed(nil, h, arrivedAs(second(5*time.Second).start(), 2).sent())
	})
	told(func() *hand { // its time was over, and nothing was proven
		h := arrivedAs(second(time.Hour+10*time.Second).start(), 2).sent()
		return followed(func(n *verify.Notified) { n.Follows.Steps[0].Until = posthouse.ProofDelivered }, plain(), h)
	}, func() *hand {
		h := arrivedAs(second(time.Minute).start(), 2).sent()
		return followed(func(n *verify.Notified) { n.Follows.Steps[0].Until = posthouse.ProofDelivered }, plain(), h)
	})
	late := func(begun time.Duration) func() *hand { // what was begun is stored later, where a process stood still, and its time counts from its begin
		return func() *hand {
			h := arrivedAs(second(time.Hour-4*time.Second).start(), 2).sent()
			return followed(func(n *verify.Notified) {
				n.Follows.Steps[0].Until, n.CreatedAt, n.Steps[0].At = posthouse.ProofDelivered, began.Add(begun), began.Add(begun)
			}, plain(), h)
		}
	}
	told(late(-4*time.Second), late(0))
	told(func() *hand { // in doubt, and the route falls back
		return followed(func(n *verify.Notified) { n.Follows.OnUnknown = posthouse.UnknownFallBack }, doubted(posthouse.Hold), arrivedAs(second(10*time.Second).start(), 2).sent())
	}, func() *hand {
		return followed(nil, doubted(posthouse.Hold), arrivedAs(second(10*time.Second).start(), 2).sent())
	})
	untilAcknowledged := func(n *verify.Notified) { n.Follows.Steps[0].Until = posthouse.ProofAcknowledged }
	told(func() *hand { // in doubt, and its time was over
		return followed(untilAcknowledged, doubted(posthouse.Hold), arrivedAs(second(time.Hour+10*time.Second).start(), 2).sent())
	}, func() *hand {
		return followed(untilAcknowledged, doubted(posthouse.Hold), arrivedAs(second(time.Minute).start(), 2).sent())
	})
	told(func() *hand { return followed(nil, refused(), arrivedAs(second(10*time.Second).start(), 2).sent()) }, func() *hand {
		return followed(is(posthouse.NotificationTold), newHand(posthouse.Retry).accept().wait(), arrivedAs(second(10*time.Second).start(), 2).sent())
	})
	escalated := func(by string) func(n *verify.Notified) {
		return func(n *verify.Notified) {
			n.To, n.State, n.Reason = []posthouse.Recipient{{User: "u1"}}, posthouse.NotificationNotTold, "escalated"
			n.Deliveries[0].User = by
		}
	}
	told(func() *hand { return followed(escalated("lead"), plain()) }, func() *hand { return followed(escalated("u1"), plain()) })
	told(func() *hand { return followed(escalated("lead"), plain()) }, func() *hand {
		return followed(func(n *verify.Notified) { escalated("lead")(n); n.State = posthouse.NotificationTold }, plain())
	})
	told(func() *hand { return followed(escalated("lead"), plain()) }, func() *hand { return followed(escalated("lead"), refused()) })
	acked := func(after time.Duration) func(n *verify.Notified) {
		return func(n *verify.Notified) {
			n.State, n.Ack = posthouse.NotificationAcknowledged, &posthouse.Acknowledgement{By: "u1", At: began.Add(after)}
		}
	}
	told(func() *hand { return followed(acked(10*time.Second), plain()) }, func() *hand { return followed(acked(-time.Minute), plain()) })
	told(func() *hand { // who acknowledged found it under way, however long before its transaction had begun
		return followed(acked(-time.Minute), newHand(posthouse.Retry).accept().start().do(posthouse.EventCancelRequest, posthouse.Sending).arrived(verify.ArrivalAccepted).sent())
	}, func() *hand { return followed(acked(-time.Minute), plain()) })
	told(func() *hand { return followed(untilDelivered, plain()) }, func() *hand {
		return followed(func(n *verify.Notified) { untilDelivered(n); n.NextAt = began }, plain())
	})
	told(func() *hand { return followed(untilDelivered, plain()) }, func() *hand {
		return followed(func(n *verify.Notified) { untilDelivered(n); n.NextAt = time.Time{} }, plain())
	})
	to := func(user, address string) func() *hand { // a channel keeps an address in its own way
		return func() *hand {
			h := followed(func(n *verify.Notified) { n.Deliveries[0].User = "138 0013 8000" }, plain())
			return h.row(func(d *posthouse.Delivery) { d.User, d.Address = user, address })
		}
	}
	told(to("", "+8613800138000"), to("wang", "+8613800138000"))
	list = append(list, timesCases()...)
	return append(list, lawCase{law: "I1", holds: whole, breaks: func() *hand {
		h := whole()
		h.calls[0].Recipients = 2
		return h
	}})
}

// timesCases are those of the times of notifications, of what was withdrawn for them and of how they end.
func timesCases() (list []lawCase) {
	told := func(run func() *hand, holds, breaks func(*verify.Notified)) {
		list = append(list, lawCase{law: "I38", holds: func() *hand { return followed(holds, run()) }, breaks: func() *hand { return followed(breaks, run()) }})
	}
	waits := func(n *verify.Notified) {
		n.Follows.Steps[0].Until, n.State, n.NextAt, n.Listed = posthouse.ProofAcknowledged, posthouse.NotificationWaiting, n.Over, posthouse.NotificationWaiting
	}
	waiting := func(change func(*verify.Notified)) func(*verify.Notified) {
		return func(n *verify.Notified) { waits(n); change(n) }
	}
	ended := func(reason string, change func(*verify.Notified)) func(*verify.Notified) {
		return waiting(func(n *verify.Notified) {
			n.State, n.Listed, n.NextAt, n.Reason, n.UpdatedAt = posthouse.NotificationNotTold, "", time.Time{}, reason, n.Over
			change(n)
		})
	}
	same := func(*verify.Notified) {}
	told(plain, waits, waiting(func(n *verify.Notified) { n.NextAt, n.Over = time.Time{}, time.Time{} }))
	told(plain, waiting(func(n *verify.Notified) { n.QuietUntil, n.NextAt = n.Over.Add(time.Hour), n.Over.Add(time.Hour) }), waiting(func(n *verify.Notified) { n.NextAt = n.Over.Add(time.Hour) }))
	told(plain, waiting(func(n *verify.Notified) { n.PutOff, n.NextAt = true, n.Over.Add(time.Hour) }), waiting(func(n *verify.Notified) { n.Over = n.Over.Add(-time.Minute) }))
	told(plain, waits, waiting(func(n *verify.Notified) { n.Listed = posthouse.NotificationTold }))
	told(plain, ended("not_acknowledged", same), ended("not_acknowledged", func(n *verify.Notified) { n.UpdatedAt = began.Add(time.Minute) }))
	told(plain, ended("not_acknowledged", same), ended("not_acknowledged", func(n *verify.Notified) {
		n.Decisions = []verify.Decision{decision(n, 2, posthouse.NotificationWaiting, posthouse.NotificationNotTold)}
		n.Decisions[0].At = began.Add(time.Minute)
	}))
	told(refused, ended("failed", func(n *verify.Notified) { n.UpdatedAt = began.Add(time.Minute) }), ended("failed", func(n *verify.Notified) {
		n.UpdatedAt, n.Follows.Steps = began.Add(time.Minute), append(n.Follows.Steps, n.Follows.Steps[0])
	}))
	told(refused, ended("failed", func(n *verify.Notified) {
		n.Follows.Repeat, n.Round, n.Steps[0].Round, n.Deliveries[0].Round = 1, 2, 2, 2
	}), ended("failed", func(n *verify.Notified) { n.Follows.Repeat = 1 }))
	told(plain, ended("cancelled", func(n *verify.Notified) { n.Closed = true }), ended("cancelled", same))
	told(plain, ended("expired", func(n *verify.Notified) { n.Deadline = n.UpdatedAt }), ended("expired", func(n *verify.Notified) { n.Deadline = n.UpdatedAt.Add(time.Hour) }))
	told(plain, ended("resolved", func(n *verify.Notified) { n.Closed, n.ResolvedAt = true, n.UpdatedAt }), ended("resolved", func(n *verify.Notified) { n.ResolvedAt = n.UpdatedAt }))
	told(plain, func(n *verify.Notified) { n.ResolvedAt = began.Add(time.Minute) }, func(n *verify.Notified) { n.ResolvedAt = began.Add(-time.Minute) })
	told(plain, func(n *verify.Notified) { n.CreatedAt = began.Add(time.Second) }, func(n *verify.Notified) { n.CreatedAt = began.Add(time.Hour) })
	told(plain, ended("forgotten", func(n *verify.Notified) { n.Sensitive = true }), ended("forgotten", same))
	told(plain, ended("preference", func(n *verify.Notified) {
		n.Steps = append(n.Steps, posthouse.NotificationStep{Step: 1, Round: 1, At: began, Skipped: "preference"})
	}), ended("preference", same))
	told(refused, ended("capped", func(n *verify.Notified) {
		n.Deliveries[0].State, n.Deliveries[0].Reason = posthouse.Failed, ""
		n.Reason = "failed"
	}), ended("capped", same))
	withdrawn := func() *hand { return newHand(posthouse.Retry).accept().do(posthouse.EventCancel, posthouse.Cancelled) }
	taken := func(ack *posthouse.Acknowledgement, state posthouse.NotificationState) func(*verify.Notified) {
		return func(n *verify.Notified) {
			n.Deliveries[0].Reason, n.State, n.Ack, n.Reason = "told", state, ack, map[bool]string{true: "not_delivered"}[ack == nil]
		}
	}
	told(withdrawn, taken(&posthouse.Acknowledgement{By: "u1", At: began.Add(time.Minute)}, posthouse.NotificationAcknowledged), taken(nil, posthouse.NotificationNotTold))
	return append(list, decidedCases()...)
}

// decision is what the journal says of a notification that is as it says.
func decision(n *verify.Notified, version int64, from, to posthouse.NotificationState) verify.Decision {
	return verify.Decision{At: n.UpdatedAt, NotificationEvent: posthouse.NotificationEvent{
		ID: n.ID, Version: version, From: from, State: to, Route: n.Route, RouteVersion: n.RouteVersion, To: n.To, Recipients: len(n.To),
		ToldBy: n.ToldBy, ToldUser: n.ToldUser, ToldAt: n.ToldAt, Ack: n.Ack, Reason: n.Reason,
	}}
}

// decidedCases hold notifications against the journal of their decisions.
func decidedCases() (list []lawCase) {
	recorded := func(change func(*verify.Notified)) func() *hand {
		return func() *hand {
			return followed(func(n *verify.Notified) {
				n.To, n.Recorded, n.Kept, n.ToldUser, n.ToldAt = []posthouse.Recipient{{User: "u1"}}, true, began, "u1", began.Add(3*time.Second)
				n.Deliveries[0].User, n.ToldBy = "u1", n.Deliveries[0].ID
				told := decision(n, 2, posthouse.NotificationWaiting, posthouse.NotificationTold)
				n.State, n.Ack = posthouse.NotificationAcknowledged, &posthouse.Acknowledgement{By: "u1", Via: posthouse.AckLink, At: began.Add(time.Minute)}
				n.Decisions = []verify.Decision{told, decision(n, 3, posthouse.NotificationTold, posthouse.NotificationAcknowledged)}
				change(n)
			}, plain())
		}
	}
	same := recorded(func(*verify.Notified) {})
	decided := func(holds func() *hand, change func(*verify.Notified)) {
		list = append(list, lawCase{law: "I40", holds: holds, breaks: recorded(change)})
	}
	decided(same, func(n *verify.Notified) { n.State, n.Ack = posthouse.NotificationTold, nil })
	decided(same, func(n *verify.Notified) {
		n.Recorded, n.Version = false, 9 // an earlier program may have decided without its event, but not taken an acknowledgement back
		n.State, n.Ack = posthouse.NotificationTold, nil
	})
	ack := func(change func(*posthouse.Acknowledgement)) func(*verify.Notified) {
		return func(n *verify.Notified) {
			other := *n.Ack
			change(&other)
			n.Ack = &other
		}
	}
	decided(same, ack(func(a *posthouse.Acknowledgement) { a.By = "u2" }))
	decided(same, ack(func(a *posthouse.Acknowledgement) { a.Via = posthouse.AckCard }))
	decided(same, ack(func(a *posthouse.Acknowledgement) { a.At = a.At.Add(time.Microsecond) }))
	decided(same, func(n *verify.Notified) { n.To = []posthouse.Recipient{{User: "u1"}, {User: "u2"}} })
	decided(same, func(n *verify.Notified) { n.Version = 2 })
	over := func(since time.Time) func(*verify.Notified) {
		return func(n *verify.Notified) {
			n.Follows.Steps[0].Until = posthouse.ProofAcknowledged
			n.State, n.Ack, n.ToldBy, n.ToldUser, n.ToldAt = posthouse.NotificationNotTold, nil, "", "", time.Time{}
			n.Reason, n.Closed, n.ResolvedAt, n.Deliveries[0].Reason = "resolved", true, since, ""
			n.Decisions = []verify.Decision{decision(n, 2, posthouse.NotificationWaiting, posthouse.NotificationNotTold)}
		}
	}
	decided(recorded(over(began.Add(time.Hour))), over(time.Time{}))
	decided(recorded(func(n *verify.Notified) { // an earlier program wrote it since, and knows of neither
		over(time.Time{})(n)
		n.Recorded, n.Version = false, 9
	}), over(time.Time{}))
	decided(recorded(func(n *verify.Notified) { n.Decisions = n.Decisions[1:] }), func(n *verify.Notified) { n.Decisions = n.Decisions[:1] })
	decided(recorded(func(n *verify.Notified) { n.Decisions, n.Kept = nil, began.Add(time.Hour) }), func(n *verify.Notified) { n.Decisions = nil })
	decided(recorded(func(n *verify.Notified) {
		n.Decisions, n.Recorded = nil, false
		n.Decisions = append(n.Decisions, decision(n, 2, posthouse.NotificationWaiting, posthouse.NotificationAcknowledged))
	}), func(n *verify.Notified) {
		n.Decisions[1].From = posthouse.NotificationWaiting
	})
	return list
}

// What changed a moment ago is not judged, since the log may be older than its row: the report says that, and from when on it is.
func TestWhatIsTooYoungToBeJudgedSaysWhenItIs(t *testing.T) {
	t.Parallel()
	in := followed(nil, plain()).journals()
	last := in.Now
	for n, err := range in.Notifications {
		if err != nil {
			t.Fatal(err)
		}
		last = n.UpdatedAt
	}
	in.AtRest, in.Now = false, last.Add(20*time.Second)
	young := check(t, in)
	want := "all that there is changed within the last 1m: the first of it is looked at from " + last.Add(time.Minute+time.Second).UTC().Format(time.DateTime) + " UTC on"
	for _, id := range []string{"I38", "I40"} {
		if got := young.Invariant(id); got.Status != verify.NotChecked || got.Why != want {
			t.Errorf("%s is %s, %q; want %q", id, got.Status, got.Why, want)
		}
	}
	in = followed(nil, plain()).journals()
	in.AtRest, in.Now = false, last.Add(2*time.Minute)
	if got := check(t, in).Invariant("I38"); got.Status != verify.Held || got.Why != "" {
		t.Errorf("a minute later it is %s, %q; want it held", got.Status, got.Why)
	}
}
