package engine

import (
	"encoding/json"
	"time"

	"github.com/posthouse/posthouse/internal/admission"
	"github.com/posthouse/posthouse/internal/state"
)

// A shared call sends deliveries of different messages that say the same, where the driver takes many recipients in one call
// and says that it looks at nothing of a message but that. Each delivery has a result of its own.

// bag is a shared call that is being filled.
type bag struct {
	*group
	room int             // deliveries that find room
	to   map[string]bool // whom it reaches: who gets the same twice gets it by two calls
}

// share joins units of a claim that one call may send, in the order in which they were claimed. brought says how much they share.
func (ds *deliveries) share(r *route, account string, units []*group) (joined []*group, brought admission.Brought) {
	if r.Opened.Shares == nil || len(units) == 0 {
		return units, brought
	}
	brought.Accounts = 1
	open := map[string]*bag{} // by what they say
	for i, g := range units {
		if i == 0 || g.is.message != units[i-1].is.message {
			brought.Messages++
		}
		says, may := saysOf(r, g)
		if !may {
			joined = append(joined, g)
			continue
		}
		if b := open[says]; b != nil && b.takes(r, g) {
			continue
		}
		most := r.admission.MostShared(time.Now(), account, g.items[0].Message.Content.Kind())
		b := &bag{group: g, to: map[string]bool{}, room: most - len(g.items)}
		for i := range g.items {
			b.to[addressOf(r, g, i)] = true
		}
		brought.Most = max(brought.Most, most)
		open[says], joined = b, append(joined, g)
	}
	brought.Calls = len(joined)
	return joined, brought
}

// takes puts the deliveries of a unit into the call too, and reports whether there was room for them.
func (b *bag) takes(r *route, g *group) bool {
	if len(g.items) > b.room {
		return false
	}
	for i := range g.items {
		if b.to[addressOf(r, g, i)] {
			return false
		}
	}
	for i := range g.items {
		b.to[addressOf(r, g, i)] = true
	}
	b.items = append(b.items, g.items...)
	b.is.size, b.room = len(b.items), b.room-len(g.items)
	return true
}

func addressOf(r *route, g *group, i int) string {
	return r.Addressed(g.items[i].Delivery.Recipient).Address
}

// saysOf is all that a driver sees of the message of a unit but its recipients, and whether the unit may share a call. What may
// have arrived already goes by itself, since a provider recognises a call that is repeated as it was, and so does what has lost
// a lease, which it may be the cause of. What is sent in another language than the message shows is not known yet.
func saysOf(r *route, g *group) (says string, may bool) {
	m := g.items[0].Message
	if m == nil || m.Unreadable != "" || m.Sensitive || m.Clock != nil || g.items[0].Language != "" {
		return "", false
	}
	for i := range g.items {
		d := &g.items[i].Delivery
		if state.Doubtful(*d) || d.ClaimLosses > 0 || !r.Opened.Shares(m.Content, addressOf(r, g, i)) {
			return "", false
		}
	}
	text, err := json.Marshal([]any{m.Content, m.Template, m.TemplateID, m.Payload})
	return string(text), err == nil
}
