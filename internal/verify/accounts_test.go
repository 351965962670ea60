package verify_test

import (
	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/verify"
)

// by are the accounts that the events of a delivery name, one after the other; the last one stays.
func (h *hand) by(accounts ...string) *hand {
	for i := range h.events {
		h.events[i].Account = accounts[min(i, len(accounts)-1)]
	}
	return h
}

// moved is given to another account.
func (h *hand) moved() *hand {
	return h.do(posthouse.EventMove, posthouse.Pending, reason("failover"), func(e *posthouse.Event) { e.Due = h.due })
}

// elsewhere was tried by another account at once after a result of a class.
func elsewhere(class posthouse.Class) *hand {
	h := newHand(posthouse.Retry).accept().start()
	h.do(posthouse.EventRetry, posthouse.Pending, h.ends(class, "45009"), reason("failover"), func(e *posthouse.Event) { e.Due = e.At })
	h.due = h.at
	return h.start().arrived(verify.ArrivalAccepted).sent().by("", "a", "a", "b")
}

// toAnother makes an event and what follows it of another account.
func toAnother(r *run, i int) {
	for j := i; j <= last(r, i); j++ {
		r.events[j].Account = "another"
	}
}

// accountOf is the account of a made delivery at an event, empty for none: a third is pinned, and of a third the first start
// chooses it.
func (w *walk) accountOf() string {
	switch w.id[20] % 3 {
	case 0:
		return "pinned"
	case 1:
		if w.token > 0 {
			return "chosen"
		}
	}
	return ""
}
