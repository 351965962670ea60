package prove

import (
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/state"
)

// capped is the recipient of scenes with a cap: all messages are to one person.
var capped = posthouse.Recipient{User: "u", Address: "a"}

const lawCap = "nobody gets more messages than a cap lets through, but by the word of a person"

// askCap asks for one that was claimed, as the engine does between the claim and the call: the start is stored then, and
// whether the cap was asked stands in the memory of the process alone.
func (m *model) askCap(w *world, a *attempt) {
	a.asked = true
	if state.CapsOf(m.channel.Key, m.settings.Tiers.Caps, nil, &a.item) == nil {
		return // counted before
	}
	if w.counted == m.scene.cap {
		a.phase, a.verdict = answered, suppressed
		return
	}
	w.counted++
	a.counted = true
}

// uncount gives back what the cap has counted of those attempts that are written down and have reached nobody.
func (w *world) uncount(before, left []attempt) {
	for i := range before {
		a := &before[i]
		still := slices.ContainsFunc(left, func(l attempt) bool { return l.item.Delivery.ID == a.item.Delivery.ID })
		if a.counted && !still && (a.verdict != result || state.Unsent(a.class)) {
			w.counted--
		}
	}
}

// judgeCap asks the law of caps.
func (m *model) judgeCap(w *world) *violation {
	if m.scene.cap == 0 {
		return nil
	}
	reached := 0
	for i := range w.boxes {
		if w.boxes[i].arrivals > 0 {
			reached++
		}
	}
	if reached > m.scene.cap {
		return broken(lawCap, "the recipient has got %d messages, and the cap lets %d through", reached, m.scene.cap)
	}
	return nil
}
