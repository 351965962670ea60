package verify

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/verify/packed"
	"github.com/posthouse/posthouse/internal/verify/words"
)

// judgeAcceptance holds a message of the log against what its callers were told (I1, I28). Messages come
// in the order of their ids.
func (c accepting) judgeAcceptance(id string, list []history) {
	for i := range list {
		if list[i].events[0].Tenant != list[0].events[0].Tenant {
			c.fail(tenant, list[i].id, list[i].show(0), "its message belongs to tenant %s", list[0].events[0].Tenant)
		}
	}
	if c.calls == nil {
		return
	}
	message, _ := c.packer.ID(id)
	sends := c.calls.sends
	for c.told < len(sends) && sends[c.told].subject.Compare(message) < 0 {
		c.told += c.missing(sends[c.told:])
	}
	from := c.told
	for c.told < len(sends) && sends[c.told].subject == message {
		if own := list[0].events[0].Tenant; c.calls.names.Word(sends[c.told].tenant) != own {
			l := &sends[c.told]
			c.fail(tenant, id, calling{c.checker}.showCalls(l), "its caller is of tenant %s, it of tenant %s", c.calls.names.Word(l.tenant), own)
		}
		c.told++
	}
	told := sends[from:c.told] // repeats, and such as have the same dedup key
	if !slices.ContainsFunc(told, func(l call) bool { return l.acknowledged() }) {
		if first := &list[0].events[0]; strings.HasPrefix(first.Owner, notificationOwner) || strings.HasPrefix(first.Owner, collectionOwner) && first.Reason != reasonGathered {
			return // a route has made it: its caller was told of another id
		}
		c.totals.Recovered++
		if len(c.untold) < maxUntold {
			c.untold = append(c.untold, eventText(&list[0].events[0])+", message "+id)
		}
		return
	}
	c.totals.Acknowledged++
	c.checked(noLoss, 1)
	made := uint32(0)
	for i := range list {
		if !list[i].replay() {
			made++
		}
	}
	if l := miscounted(told, made); l != nil {
		c.totals.Lost++
		c.fail(noLoss, id, calling{c.checker}.showCalls(l), "it was accepted for %d recipients and has %d deliveries", l.recipients, made)
		return
	}
	c.totals.OK++
}

// miscounted is the first send that was accepted for another number of recipients than there are deliveries, nil
// for none. One with another key and the same dedup key may name others: its message stood already.
func miscounted(told []call, made uint32) *call {
	for i := range told {
		l := &told[i]
		counts := l.acknowledged() && l.recipients != 0
		if counts && l.recipients != made && !slices.ContainsFunc(told, func(o call) bool {
			return o.acknowledged() && o.recipients == made && o.key != l.key
		}) {
			return l
		}
	}
	return nil
}

// missing keeps the first of some sends, whose message is not in the log, and says how many sends are
// of that message.
func (c accepting) missing(sends []call) int {
	n := 1
	for n < len(sends) && sends[n].subject == sends[0].subject {
		n++
	}
	i := slices.IndexFunc(sends[:n], func(l call) bool { return l.acknowledged() })
	if i < 0 || (sends[i].subject == packed.ID{}) {
		return n
	}
	c.absent = append(c.absent, sends[i])
	return n
}

// judgeAbsent judges what was told as accepted and is not in the log: a route sends it by messages of their own (I1).
func (c accepting) judgeAbsent() {
	for i := range c.absent {
		l := &c.absent[i]
		c.totals.Acknowledged++
		c.checked(noLoss, 1)
		notifications, routed := c.routed[l.subject]
		switch {
		case routed && (notifications == 0 || l.recipients == 0 || notifications == l.recipients):
			c.totals.OK++
		case c.faults.undone(l.at, c.slack):
			c.totals.Excused++
		case routed:
			c.totals.Lost++
			c.fail(noLoss, l.subject.Text(), calling{c.checker}.showCalls(l), "it was accepted for %d recipients and has %d notifications", l.recipients, notifications)
		default:
			c.totals.Lost++
			c.fail(noLoss, l.subject.Text(), calling{c.checker}.showCalls(l), "it was told as accepted and is not in the log")
		}
	}
}

// maxUntold is how many messages are shown that no caller was told of.
const maxUntold = 5

// judgeUntold holds that no more messages are in the log, without anybody having been told, than there
// are keys whose callers do not know what became: else a key stands for two messages (I27).
func (c accepting) judgeUntold() {
	if extra := c.totals.Recovered - c.undecided; extra > 0 {
		c.fail(idempotent, words.Plural(extra, "message"), func() []string { return c.untold },
			"the log has %s that no caller was told of, and %s in the client journal can have made them", words.Plural(c.totals.Recovered, "message"), words.Plural(c.undecided, "key"))
	}
}

// finishAcceptance finds what the log ends before, and what nobody can have sent.
func (c accepting) finishAcceptance() {
	if c.calls == nil {
		return
	}
	for c.told < len(c.calls.sends) {
		c.told += c.missing(c.calls.sends[c.told:])
	}
	c.judgeAbsent()
	c.judgeUntold()
	for i := range c.calls.cancels {
		l := &c.calls.cancels[i]
		if !c.cancelled[i] && l.answer == callCancelled && !c.faults.undone(l.at, c.slack) {
			c.fail(cancel, l.subject.Text(), c.showCancel(l), "it was told as cancelled and is not in the log")
		}
	}
}

// judgeCancelCalls holds what callers of cancel were told against the log (I21).
func (c accepting) judgeCancelCalls(h history) {
	id, _ := c.packer.ID(h.id)
	list := c.calls.cancelsOf(id)
	for i := range list {
		l := &list[i]
		c.checked(cancel, 1)
		c.cancelled[c.calls.indexOfCancel(l)] = true
		if own := h.events[0].Tenant; c.calls.names.Word(l.tenant) != own && l.answer <= callFinal {
			c.fail(tenant, h.id, c.showCancel(l), "tenant %s cancelled a delivery of tenant %s", c.calls.names.Word(l.tenant), own)
		}
		if c.faults.undone(l.at, c.slack) {
			continue
		}
		switch l.answer {
		case callCancelled:
			if h.last().To != posthouse.Cancelled {
				c.fail(cancel, h.id, with(c.showCancel(l), h.show(len(h.events)-1)), "it was told as cancelled and is %s", h.last().To)
			}
		case callFinal:
			if i := h.settled(); i < 0 || h.events[i].At.After(time.Unix(0, l.at).Add(c.slack)) {
				c.fail(cancel, h.id, with(c.showCancel(l), h.show(len(h.events)-1)), "it was told as already final and was not")
			}
		case callTooLate:
			if !h.tooLate(l.asked-int64(c.slack), l.at+int64(c.slack)) {
				c.fail(cancel, h.id, with(c.showCancel(l), h.show(len(h.events)-1)), "it was told as too late, and no cancel was noted")
			}
		}
	}
}

// tooLate reports whether a cancel between two times may have been too late: one has been noted by the end, or
// the delivery was quarantined then, and it was open.
func (h history) tooLate(from, to int64) bool {
	noted := false
	for i := range h.events {
		e := &h.events[i]
		if e.At.UnixNano() > to {
			break
		}
		noted = noted || e.Type == posthouse.EventCancelRequest
		lasted := i+1 == len(h.events) || h.events[i+1].At.UnixNano() >= from
		if lasted && e.To.Open() && (noted || e.To == posthouse.Quarantined) {
			return true
		}
	}
	return false
}

// settled is the first event that settled the delivery, -1 for none.
func (h history) settled() int {
	for i := range h.events {
		if !h.events[i].To.Open() {
			return i
		}
	}
	return -1
}

func (c accepting) showCancel(l *call) func() []string {
	return func() []string { return []string{c.calls.text(l, "cancel")} }
}

// with joins proofs.
func with(list ...func() []string) func() []string {
	return func() []string {
		var out []string
		for _, proof := range list {
			out = append(out, proof()...)
		}
		return out
	}
}

// judgeChainKey holds that a key is of one delivery and its replays (I17).
func (c accepting) judgeChainKey(list []history) {
	for i := range list {
		h := list[i]
		if slices.ContainsFunc(h.events, func(e posthouse.Event) bool { return e.Idem != "" }) {
			c.checked(key, 1)
		}
		for j := range h.events {
			if own := h.events[j].Idem; own != "" && own != h.idem {
				c.fail(key, h.id, h.showKeys(0, j), "its idempotency key changed from %s to %s", h.idem, own)
				break
			}
		}
		repeats := h.replay() && posthouse.MessageID(h.idem) == posthouse.MessageID(h.id) && h.idem < h.id
		if h.idem != h.id && !repeats {
			c.fail(key, h.id, h.showKeys(0), "it has the idempotency key of another delivery, %s, and is no replay of it", h.idem)
		}
	}
}

// showKeys is a proof: events with their idempotency keys.
func (h history) showKeys(indexes ...int) func() []string {
	return func() []string {
		var out []string
		for _, i := range indexes {
			out = append(out, fmt.Sprintf("%s, key %s", eventText(&h.events[i]), h.events[i].Idem))
		}
		return out
	}
}
