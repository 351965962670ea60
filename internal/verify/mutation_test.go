package verify_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/verify"
)

// mutation spoils one thing in a legal run and reports whether there was something to spoil.
type mutation struct {
	name string
	do   func(r *run) bool
}

// some picks one of a list at random by a condition, -1 for none.
func some[T any](r *run, list []T, fits func(i int) bool) int {
	if len(list) == 0 {
		return -1
	}
	from := r.rng.IntN(len(list))
	for n := range list {
		if i := (from + n) % len(list); fits(i) {
			return i
		}
	}
	return -1
}

// event spoils one event that fits.
func event(fits func(*posthouse.Event) bool, spoil func(*posthouse.Event)) func(*run) bool {
	return func(r *run) bool {
		i := some(r, r.events, func(i int) bool { return fits(&r.events[i]) })
		if i >= 0 {
			spoil(&r.events[i])
		}
		return i >= 0
	}
}

// pair spoils an event and the next one of the same delivery.
func pair(fits func(a, b *posthouse.Event) bool, spoil func(r *run, i int)) func(*run) bool {
	return func(r *run) bool {
		i := some(r, r.events, func(i int) bool {
			return i+1 < len(r.events) && r.events[i].Delivery == r.events[i+1].Delivery && fits(&r.events[i], &r.events[i+1])
		})
		if i >= 0 {
			spoil(r, i)
		}
		return i >= 0
	}
}

func is(kinds ...posthouse.EventType) func(*posthouse.Event) bool {
	return func(e *posthouse.Event) bool { return slices.Contains(kinds, e.Type) }
}

func anyPair(_, _ *posthouse.Event) bool { return true }

// arrival spoils one arrival that fits.
func arrival(fits func(*verify.ArrivalLine) bool, spoil func(r *run, i int)) func(*run) bool {
	return func(r *run) bool {
		i := some(r, r.arrivals, func(i int) bool { return fits(&r.arrivals[i]) })
		if i >= 0 {
			spoil(r, i)
		}
		return i >= 0
	}
}

func accepted(a *verify.ArrivalLine) bool { return a.Answer == verify.ArrivalAccepted }

// sends reports whether an accepted message was told to its caller.
func told(c *verify.ClientLine) bool { return c.Op == verify.OpSend && c.Message != "" }

// word spoils one line of the agents' journal that fits.
func word(fits func(*verify.AgentLine) bool, spoil func(r *run, i int)) func(*run) bool {
	return func(r *run) bool {
		i := some(r, r.words, func(i int) bool { return fits(&r.words[i]) })
		if i >= 0 {
			spoil(r, i)
		}
		return i >= 0
	}
}

func isWord(op, answer string) func(*verify.AgentLine) bool {
	return func(w *verify.AgentLine) bool { return w.Op == op && w.Answer == answer }
}

func call(fits func(*verify.ClientLine) bool, spoil func(r *run, i int)) func(*run) bool {
	return func(r *run) bool {
		i := some(r, r.calls, func(i int) bool { return fits(&r.calls[i]) })
		if i >= 0 {
			spoil(r, i)
		}
		return i >= 0
	}
}

// last gives the index of the delivery's last event.
func last(r *run, i int) int {
	for i+1 < len(r.events) && r.events[i+1].Delivery == r.events[i].Delivery {
		i++
	}
	return i
}

// follow inserts an event after one of the same delivery, with the next version.
func follow(r *run, i int, kind posthouse.EventType, to posthouse.State, more func(*posthouse.Event)) {
	e := r.events[i]
	e.Version, e.Type, e.From, e.To, e.Reason, e.Due = e.Version+1, kind, e.To, to, "", time.Time{}
	e.Class, e.Code = "", ""
	more(&e)
	r.events = slices.Insert(r.events, i+1, e)
	for j := i + 2; j < len(r.events) && r.events[j].Delivery == e.Delivery; j++ {
		r.events[j].Version++
	}
}

// restart appends a start to an open delivery, as one that nothing stops would.
func restart(r *run, i int) {
	number := 0
	for j := i; j >= 0 && r.events[j].Delivery == r.events[i].Delivery; j-- {
		number = max(number, r.events[j].Attempt)
	}
	follow(r, i, posthouse.EventStart, posthouse.Sending, func(e *posthouse.Event) {
		e.Token, e.Attempt, e.Owner, e.LeaseUntil = e.Token+1, number+1, "vm-9-z", e.At.Add(time.Second)
	})
}

// mutations are all ways to spoil a run that the property test tries. Each must be found wherever it is
// made: a checker that misses one has a hole.
var mutations = []mutation{
	{"an event is missing", pair(anyPair, func(r *run, i int) { r.events = slices.Delete(r.events, i, i+1) })},
	{"the end of an attempt is missing", func(r *run) bool {
		i := some(r, r.events, func(i int) bool { return last(r, i) == i && r.events[i].From == posthouse.Sending })
		if i >= 0 {
			r.events = slices.Delete(r.events, i, i+1)
		}
		return i >= 0
	}},
	{"an event is written twice", pair(anyPair, func(r *run, i int) { r.events = slices.Insert(r.events, i, r.events[i]) })},
	{"two events are exchanged", pair(anyPair, func(r *run, i int) { r.events[i], r.events[i+1] = r.events[i+1], r.events[i] })},
	{"time goes back", pair(func(a, b *posthouse.Event) bool { return true }, func(r *run, i int) {
		r.events[i+1].At = r.events[i].At.Add(-time.Microsecond)
	})},
	{"a state is another", event(is(posthouse.EventStart), func(e *posthouse.Event) { e.To = posthouse.Unknown })},
	{"a delivery is not in the log", func(r *run) bool {
		i := some(r, r.events, func(i int) bool {
			return r.events[i].Type == posthouse.EventAccept && r.events[i].Reason != "replay" && acknowledged(r, r.events[i].Message)
		})
		if i >= 0 {
			r.events = slices.Delete(r.events, i, last(r, i)+1)
		}
		return i >= 0
	}},
	{"an acknowledged message is not in the log", call(told, func(r *run, i int) {
		id := r.calls[i].Message
		r.events = slices.DeleteFunc(r.events, func(e posthouse.Event) bool { return e.Message == id })
	})},
	{"a claim does not raise the token", event(is(posthouse.EventStart), func(e *posthouse.Event) { e.Token-- })},
	{"a claim raises the token by two", event(is(posthouse.EventStart), func(e *posthouse.Event) { e.Token++ })},
	{"a result has an old token", event(is(posthouse.EventSent, posthouse.EventRetry, posthouse.EventFail), func(e *posthouse.Event) { e.Token-- })},
	{"a result has a future token", event(is(posthouse.EventSent, posthouse.EventRetry, posthouse.EventFail), func(e *posthouse.Event) { e.Token++ })},
	{"a result is another process's", event(is(posthouse.EventSent, posthouse.EventRetry, posthouse.EventAmbiguous), func(e *posthouse.Event) { e.Owner = "vm-9-z" })},
	{"it is held without a lease", event(is(posthouse.EventStart, posthouse.EventClaim), func(e *posthouse.Event) { e.LeaseUntil = time.Time{} })},
	{"a claim is nobody's", event(is(posthouse.EventClaim), func(e *posthouse.Event) { e.Owner = "" })},
	{"a result is nobody's", event(is(posthouse.EventSent, posthouse.EventRetry, posthouse.EventAmbiguous), func(e *posthouse.Event) { e.Owner = "" })},
	{"a result is of another attempt", event(is(posthouse.EventSent, posthouse.EventRetry, posthouse.EventFail, posthouse.EventAmbiguous), func(e *posthouse.Event) {
		e.Attempt++
	})},
	{"a result has no attempt", event(is(posthouse.EventSent, posthouse.EventRetry, posthouse.EventFail, posthouse.EventAmbiguous), func(e *posthouse.Event) {
		e.Attempt = 0
	})},
	{"nobody knows its policy", event(func(*posthouse.Event) bool { return true }, func(e *posthouse.Event) { e.Policy = "holdd" })},
	{"a lease is taken early", pair(func(_, b *posthouse.Event) bool { return b.Type == posthouse.EventLeaseLost }, func(r *run, i int) {
		r.events[i+1].At = r.events[i+1].At.Add(-3 * time.Second)
	})},
	{"a retry starts before its wait is over", pair(func(a, b *posthouse.Event) bool {
		return (a.Type == posthouse.EventRetry || a.Type == posthouse.EventResend) && b.Type == posthouse.EventStart
	}, func(r *run, i int) { r.events[i+1].At = r.events[i].Due.Add(-time.Microsecond) })},
	{"a scheduled one starts early", pair(func(a, b *posthouse.Event) bool {
		return a.Type == posthouse.EventAccept && b.Type == posthouse.EventStart && a.Due.After(a.At)
	}, func(r *run, i int) { r.events[i+1].At = r.events[i].Due.Add(-time.Microsecond) })},
	{"a start is after the deadline", event(is(posthouse.EventStart), func(e *posthouse.Event) { e.Deadline = e.At })},
	{"an attempt is numbered twice", event(is(posthouse.EventStart), func(e *posthouse.Event) { e.Attempt++ })},
	{"a failure counts twice", event(is(posthouse.EventRetry, posthouse.EventFail, posthouse.EventAmbiguous), func(e *posthouse.Event) { e.Tries++ })},
	{"something follows a settled state", func(r *run) bool {
		i := some(r, r.events, func(i int) bool { return last(r, i) == i && !r.events[i].To.Open() })
		if i >= 0 {
			restart(r, i)
		}
		return i >= 0
	}},
	{"it is sent twice", func(r *run) bool {
		i := some(r, r.events, func(i int) bool { return r.events[i].Type == posthouse.EventSent })
		if i >= 0 {
			r.events = slices.Insert(r.events, i+1, r.events[i])
			r.events[i+1].Version++
		}
		return i >= 0
	}},
	{"a tenant is another's", pair(anyPair, func(r *run, i int) { r.events[i+1].Tenant = "mallory" })},
	{"an answer is to another tenant", call(told, func(r *run, i int) { r.calls[i].Tenant = "mallory" })},
	{"the key changes", pair(anyPair, func(r *run, i int) { r.events[i+1].Idem = posthouse.DeliveryID(r.events[i].Message, 999) })},
	{"a retry has a new key", arrival(func(a *verify.ArrivalLine) bool { return true }, func(r *run, i int) {
		r.arrivals[i].Key = posthouse.DeliveryID(posthouse.MessageID(r.arrivals[i].Key), 999)
	})},
	{"an arrival is of nobody", arrival(accepted, func(r *run, i int) {
		a := r.arrivals[i]
		a.Key = posthouse.DeliveryID(posthouse.NewID(), 1)
		r.arrivals = append(r.arrivals, a)
	})},
	{"what counts as sent never arrived", func(r *run) bool {
		i := some(r, r.events, func(i int) bool { return r.events[i].Type == posthouse.EventSent })
		if i >= 0 {
			r.arrivals = slices.DeleteFunc(r.arrivals, func(a verify.ArrivalLine) bool { return a.Key == r.events[i].Idem })
		}
		return i >= 0
	}},
	{"what counts as sent was refused", func(r *run) bool {
		i := some(r, r.events, func(i int) bool { return r.events[i].Type == posthouse.EventSent })
		for j := range r.arrivals {
			if i >= 0 && r.arrivals[j].Key == r.events[i].Idem {
				r.arrivals[j].Answer = verify.ArrivalRefused
			}
		}
		return i >= 0
	}},
	{"the transport sends twice", arrival(func(a *verify.ArrivalLine) bool { return accepted(a) && !a.Repeat }, func(r *run, i int) {
		a := r.arrivals[i]
		a.At, a.Repeat = a.At.Add(time.Millisecond), true
		r.arrivals = append(r.arrivals, a)
	})},
	{"it arrives before its start is written", arrival(func(a *verify.ArrivalLine) bool { return !a.Repeat }, func(r *run, i int) {
		r.arrivals[i].At = began.Add(-time.Second)
	})},
	{"it arrives long after its lease", arrival(func(a *verify.ArrivalLine) bool { return accepted(a) }, func(r *run, i int) {
		r.arrivals[i].At = r.arrivals[i].At.Add(100 * 24 * time.Hour)
	})},
	{"the policy was hold and it is repeated", func(r *run) bool {
		i := some(r, r.events, func(i int) bool {
			return r.events[i].Type == posthouse.EventResend && last(r, i) > i && r.events[i+1].Type == posthouse.EventStart
		})
		if i < 0 {
			return false
		}
		id := r.events[i].Delivery
		for j := range r.events {
			if r.events[j].Delivery == id {
				r.events[j].Policy = posthouse.Hold
			}
		}
		return true
	}},
	{"it is repeated after the provider forgot the key", func(r *run) bool {
		i := some(r, r.events, func(i int) bool {
			return r.events[i].Type == posthouse.EventResend && last(r, i) > i && r.events[i+1].Type == posthouse.EventStart
		})
		for j := i + 1; i >= 0 && j < len(r.events) && r.events[j].Delivery == r.events[i].Delivery; j++ {
			r.events[j].At = r.events[j].At.Add(keyWindow)
			if !r.events[j].LeaseUntil.IsZero() {
				if !r.events[j].LeaseUntil.IsZero() {
					r.events[j].LeaseUntil = r.events[j].LeaseUntil.Add(keyWindow)
				}
			}
		}
		return i >= 0
	}},
	{"it starts after a cancel that came too late", pair(func(a, b *posthouse.Event) bool {
		return a.Type == posthouse.EventRetry && b.Type == posthouse.EventCancel
	}, func(r *run, i int) {
		r.events = slices.Delete(r.events, i+1, i+2)
		restart(r, i)
		r.events[i+1].At = r.events[i].Due
	})},
	{"it was told as cancelled and is not", func(r *run) bool {
		i := some(r, r.events, func(i int) bool { return r.events[i].To == posthouse.Sent })
		if i >= 0 {
			e := &r.events[i]
			r.calls = append(r.calls, verify.ClientLine{At: e.At, Asked: e.At, Op: verify.OpCancel, Tenant: e.Tenant, Answer: verify.AnswerCancelled, Delivery: e.Delivery})
		}
		return i >= 0
	}},
	{"it was told as final and was not", func(r *run) bool {
		i := some(r, r.events, func(i int) bool { return r.events[i].Type == posthouse.EventSent })
		if i >= 0 {
			e := &r.events[i]
			at := e.At.Add(-time.Hour)
			r.calls = append(r.calls, verify.ClientLine{At: at, Asked: at, Op: verify.OpCancel, Tenant: e.Tenant, Answer: verify.AnswerFinal, Delivery: e.Delivery})
		}
		return i >= 0
	}},
	{"one key is told two messages", func(r *run) bool {
		i := some(r, r.calls, func(i int) bool { return told(&r.calls[i]) && r.calls[i].Answer == verify.AnswerReplayed })
		j := some(r, r.calls, func(j int) bool { return told(&r.calls[j]) && i >= 0 && r.calls[j].Key != r.calls[i].Key })
		if i < 0 || j < 0 || !repeated(r, i) {
			return false
		}
		r.calls[i].Message = r.calls[j].Message
		return true
	}},
	{"another body is accepted under a key", func(r *run) bool {
		i := some(r, r.calls, func(i int) bool {
			return told(&r.calls[i]) && r.calls[i].Answer == verify.AnswerReplayed && repeated(r, i)
		})
		if i >= 0 {
			r.calls[i].Body = "another"
		}
		return i >= 0
	}},
	{"the same body is refused as another", func(r *run) bool {
		i := some(r, r.calls, func(i int) bool { return r.calls[i].Code == "key_reused" })
		if i >= 0 {
			r.calls[i].Body = r.calls[i-1].Body
		}
		return i >= 0
	}},
	{"a key made a second message", call(told, func(r *run, i int) {
		key := r.calls[i].Key
		r.calls = slices.DeleteFunc(r.calls, func(c verify.ClientLine) bool { return c.Key == key })
	})},
	{"a window holds too many grants", func(r *run) bool {
		i := some(r, r.grants, func(i int) bool { return r.grants[i].Granted > 0 })
		if i >= 0 {
			r.grants[i].Granted += 100
			r.grants[i].Want += 100
		}
		return i >= 0
	}},
	{"a refused request is charged", func(r *run) bool {
		i := some(r, r.grants, func(i int) bool {
			return r.grants[i].Op == verify.OpTake && i < 5 && r.grants[i].Want == r.grants[i].Granted
		})
		if i >= 0 {
			r.grants[i].Granted, r.grants[i].RefusedBy = 0, 1
		}
		return i >= 0
	}},
	{"a process of an old epoch goes on", func(r *run) bool {
		i := some(r, r.events, func(i int) bool { return last(r, i) == i && r.events[i].To == posthouse.Unknown })
		if i >= 0 {
			r.events[i].Type, r.events[i].From, r.events[i].Epoch = posthouse.EventEpochHold, posthouse.Pending, 2
			r.events[i].At = began
		}
		return i >= 0
	}},
	{"what was tried in an old epoch starts in the new one", pair(func(a, b *posthouse.Event) bool {
		return a.Type == posthouse.EventRetry && b.Type == posthouse.EventStart
	}, func(r *run, i int) { r.events[i+1].Epoch = 2 })},
	{"a count is wrong", func(r *run) bool {
		for tenant := range r.stored {
			r.stored[tenant][posthouse.Sent]++
			return true
		}
		return false
	}},
	{"a claim has no token of its own", event(is(posthouse.EventClaim), func(e *posthouse.Event) { e.Token-- })},
	{"a claim is before its time", pair(func(a, b *posthouse.Event) bool {
		return b.Type == posthouse.EventClaim && !a.Due.IsZero()
	}, func(r *run, i int) { r.events[i].Due = r.events[i+1].At.Add(time.Microsecond) })},
	{"a start is another agent's", event(func(e *posthouse.Event) bool { return e.Type == posthouse.EventStart && e.From == posthouse.Sending },
		func(e *posthouse.Event) { e.Owner = "agent/phone-9" })},
	{"a report of an agent that has it no more is written", event(func(e *posthouse.Event) bool {
		return e.Type == posthouse.EventSent && strings.HasPrefix(e.Owner, "agent/")
	}, func(e *posthouse.Event) { e.Owner = "agent/phone-9" })},
	{"late proof is from an agent that never had it", event(func(e *posthouse.Event) bool {
		return e.Type == posthouse.EventEvidence && strings.HasPrefix(e.Owner, "agent/")
	}, func(e *posthouse.Event) { e.Owner = "agent/phone-9" })},
	{"what had started goes back as if it had not", event(func(e *posthouse.Event) bool {
		return e.Type == posthouse.EventLeaseLost && e.To == posthouse.Unknown
	}, func(e *posthouse.Event) { e.To = posthouse.Pending })},
	{"what had not started counts as unknown", event(func(e *posthouse.Event) bool {
		return e.Type == posthouse.EventLeaseLost && e.To == posthouse.Pending
	}, func(e *posthouse.Event) { e.To = posthouse.Unknown })},
	{"an unstarted lease burns a try", event(func(e *posthouse.Event) bool {
		return e.Type == posthouse.EventLeaseLost && e.To == posthouse.Pending
	}, func(e *posthouse.Event) { e.Tries++ })},
	{"two agents are handed one token", word(isWord(verify.OpClaim, verify.AnswerHanded), func(r *run, i int) {
		w := r.words[i]
		w.Agent = "phone-9"
		r.words = append(r.words, w)
	})},
	{"a start is told and not written", word(isWord(verify.OpStart, verify.AnswerOK), func(r *run, i int) { r.words[i].Token += 100 })},
	{"a report is told as counting and is not written", word(isWord(verify.OpReport, "stale"), func(r *run, i int) { r.words[i].Answer = "done" })},
	{"a report is told as proof and is not written", word(isWord(verify.OpReport, "done"), func(r *run, i int) { r.words[i].Answer = "evidence" })},
	{"a report counts twice", word(isWord(verify.OpReport, "done"), func(r *run, i int) {
		w := r.words[i]
		w.Report += "-again"
		r.words = append(r.words, w)
	})},
	{"a report is turned round", word(isWord(verify.OpReport, "done"), func(r *run, i int) {
		for j := range r.words {
			if r.words[j].Report == r.words[i].Report {
				r.words[j].Outcome = map[posthouse.Outcome]posthouse.Outcome{
					posthouse.OutcomeSent: posthouse.OutcomeNotSent, posthouse.OutcomeNotSent: posthouse.OutcomeUnknown, posthouse.OutcomeUnknown: posthouse.OutcomeSent,
				}[r.words[j].Outcome]
			}
		}
	})},
	{"nobody reported it", word(isWord(verify.OpReport, "done"), func(r *run, i int) {
		id := r.words[i].Delivery
		r.words = slices.DeleteFunc(r.words, func(w verify.AgentLine) bool { return w.Delivery == id && w.Op == verify.OpReport })
	})},
	{"an agent has what is not in the log", word(isWord(verify.OpClaim, verify.AnswerHanded), func(r *run, i int) {
		r.words[i].Delivery = posthouse.DeliveryID(posthouse.NewID(), 1)
	})},
	{"what is pinned is sent by another account", func(r *run) bool {
		i := some(r, r.events, func(i int) bool { return r.events[i].Type == posthouse.EventStart && r.events[i].Account == "pinned" })
		if i >= 0 {
			toAnother(r, i)
		}
		return i >= 0
	}},
	{"what may have arrived is repeated by another account", pair(func(a, b *posthouse.Event) bool {
		return a.Type == posthouse.EventResend && b.Type == posthouse.EventStart && b.Account != ""
	}, func(r *run, i int) { toAnother(r, i+1) })},
	{"it loses lease after lease", func(r *run) bool {
		i := some(r, r.events, func(i int) bool {
			return r.events[i].Type == posthouse.EventLeaseLost && last(r, i) == i
		})
		for n := 0; i >= 0 && n < 5; n++ {
			i = last(r, i)
			follow(r, i, posthouse.EventResend, posthouse.Pending, func(e *posthouse.Event) { e.Due = e.At })
			restart(r, i+1)
			follow(r, i+2, posthouse.EventLeaseLost, posthouse.Unknown, func(e *posthouse.Event) { e.Tries++; e.At = e.LeaseUntil })
		}
		return i >= 0
	}},
}

// repeated reports whether the key of a call was accepted before.
func repeated(r *run, i int) bool {
	return slices.ContainsFunc(r.calls[:i], func(c verify.ClientLine) bool {
		return told(&c) && c.Key == r.calls[i].Key && c.Tenant == r.calls[i].Tenant
	})
}

func acknowledged(r *run, message string) bool {
	return slices.ContainsFunc(r.calls, func(c verify.ClientLine) bool { return told(&c) && c.Message == message })
}

// Each mutation of a legal run is found, wherever it is made.
func TestSingleMutationsAreFound(t *testing.T) {
	t.Parallel()
	found, made := 0, 0
	for _, m := range mutations {
		tried := 0
		for seed := uint64(0); seed < 60 && tried < 5; seed++ {
			r := madeRun(seed, 60)
			if !m.do(r) {
				continue
			}
			tried++
			made++
			report := check(t, r.inputs())
			if report.Verdict == verify.Violated {
				found++
			} else {
				t.Errorf("%s (seed %d) is not found", m.name, seed)
			}
		}
		if tried == 0 {
			t.Errorf("no run has anything to spoil for: %s", m.name)
		}
	}
	fmt.Fprintf(t.Output(), "%d of %d single mutations of legal runs are found, of %d kinds\n", found, made, len(mutations))
}
