package verify

import (
	"slices"

	"github.com/posthouse/posthouse"
)

// allotting judges by which accounts deliveries go.
type allotting struct{ *checker }

// judgeAccount holds that what is pinned starts by its account until it moves, and that what may have arrived starts again by the
// account that it may have arrived by, and does not move (I37). What is pinned was accepted with its account.
func (c allotting) judgeAccount(h history) {
	pinned, by, doubt := pinOf(h), "", -1
	if pinned == "" && !slices.ContainsFunc(h.events, func(e posthouse.Event) bool { return e.Account != "" }) {
		c.checked(account, -1) // its channel has one account
		return
	}
	for i := range h.events {
		e := &h.events[i]
		begins := e.Type == posthouse.EventStart || e.Type == posthouse.EventClaim
		switch {
		case e.Type == posthouse.EventMove && pinned == "":
			c.fail(account, h.id, h.show(0, i), "it moved, and was pinned to no account")
		case e.Type == posthouse.EventMove && doubt >= 0:
			c.fail(account, h.id, h.show(doubt, i), "it moved to the account %q, and may have arrived by %q", e.Account, by)
		case e.Type == posthouse.EventMove:
			pinned = e.Account
		case begins && pinned != "" && e.Account != pinned:
			c.fail(account, h.id, h.show(0, i), "it is pinned to the account %q and started by %q", pinned, e.Account)
		case begins && doubt >= 0 && e.Account != by:
			c.fail(account, h.id, h.show(doubt, i), "it may have arrived by the account %q and started by %q", by, e.Account)
		case begins:
			by = e.Account
		case uncertain(e) && by != "":
			doubt = i
		case absent(e):
			doubt = -1
		}
	}
}

// pinOf is the account that a delivery was accepted for, empty for any.
func pinOf(h history) string {
	if e := &h.events[0]; e.Type == posthouse.EventAccept {
		return e.Account
	}
	return ""
}

// absent reports whether an event says that nothing has arrived so far: a person's word, or the provider's.
func absent(e *posthouse.Event) bool {
	return manual(e) || e.Type == posthouse.EventResolve && e.To == posthouse.Pending
}
