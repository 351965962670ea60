package verify

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/verify/packed"
)

// lineOwner begins the owner in the accept and the admit of what stands in a line.
const lineOwner = "line/"

// inLine is the line that a delivery was accepted into, and whether there is one.
func (h history) inLine() (of [2]string, in bool) {
	e := &h.events[0]
	if e.Type != posthouse.EventAccept || !strings.HasPrefix(e.Owner, lineOwner) {
		return of, false
	}
	return [2]string{e.Tenant, e.Owner}, true
}

// admitted is when it was admitted, by its turn or by a person, -1 for never.
func (h history) admitted() int {
	return slices.IndexFunc(h.events, func(e posthouse.Event) bool { return e.Type == posthouse.EventAdmit || manual(&e) })
}

// stood is a message that stood in a line, by the events of its deliveries.
type stood struct {
	id            packed.ID // of its first delivery that stood there
	message       string
	accepted, due time.Time
	first         time.Time // its first start, zero for none
	settled       time.Time // the end of its last delivery
	open          bool      // a delivery of it was admitted and is not settled
	swerved       bool      // a person let it go on
}

// lines are the messages that stood in each line, by tenant and line.
type lines map[[2]string][]stood

// ordering judges what stood in lines.
type ordering struct{ *checker }

// judgeOrder notes what stood in a line, and holds that nothing starts there before it is admitted (I24).
func (c ordering) judgeOrder(h history) {
	of, in := h.inLine()
	if !in {
		c.checked(order, -1) // it stood in none
		return
	}
	admitted := h.admitted()
	if early := slices.IndexFunc(h.events, func(e posthouse.Event) bool { return claims(&e) }); early >= 0 && (admitted < 0 || early < admitted) {
		c.fail(order, h.id, h.show(0, early), "it started before it was admitted")
		return
	}
	list := c.lines[of]
	message := posthouse.MessageID(h.id)
	if len(list) == 0 || list[len(list)-1].message != message {
		id, _ := c.packer.ID(h.id)
		list = append(list, stood{id: id, message: message, accepted: h.events[0].At, due: h.events[0].Due})
	}
	list[len(list)-1].add(h, admitted)
	c.lines[of] = list
}

// add takes up what happened to a delivery of the message.
func (s *stood) add(h history, admitted int) {
	if admitted < 0 {
		return
	}
	for i := admitted; i < len(h.events); i++ {
		e := &h.events[i]
		if claims(e) && (s.first.IsZero() || e.At.Before(s.first)) {
			s.first = e.At
		}
		if !e.To.Open() && (e.From == "" || e.From.Open()) && e.At.After(s.settled) {
			s.settled = e.At
		}
		s.swerved = s.swerved || manual(e)
	}
	s.open = s.open || h.last().To.Open()
}

// finishOrder holds that the messages of a line were under way one after the other, in the order in which they came due, and
// that none waits behind nobody (I24, I4).
func (c ordering) finishOrder() {
	for _, of := range slices.SortedFunc(maps.Keys(c.lines), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		list := slices.DeleteFunc(slices.Clone(c.lines[of]), func(s stood) bool { return s.first.IsZero() })
		slices.SortStableFunc(list, func(a, b stood) int { return a.first.Compare(b.first) })
		for i := 1; i < len(list); i++ {
			c.judgePair(&list[i-1], &list[i])
		}
	}
}

// longAccept is more than a transaction takes that accepts: what was accepted so long before a start was seen by it.
const longAccept = 5 * time.Second

func (c ordering) judgePair(before, after *stood) {
	show := func() []string {
		return []string{
			fmt.Sprintf("%s  due %s, started %s, settled %s", before.id.Text(), stampText(before.due), stampText(before.first), stampText(before.settled)),
			fmt.Sprintf("%s  due %s, started %s", after.id.Text(), stampText(after.due), stampText(after.first)),
		}
	}
	switch {
	case before.swerved, after.swerved:
	case before.open || after.first.Before(before.settled):
		c.fail(order, after.id.Text(), show, "it started while one before it was under way")
	case after.due.Before(before.due) && after.accepted.Add(longAccept).Before(before.first):
		c.fail(order, after.id.Text(), show, "it was due before one that started before it")
	}
}

// held reports whether a message of a line was admitted and is not settled: others may wait for it.
func (l lines) held(of [2]string) bool {
	return slices.ContainsFunc(l[of], func(s stood) bool { return s.open })
}
