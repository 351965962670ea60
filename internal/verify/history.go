package verify

import (
	"github.com/posthouse/posthouse"
)

// history is all that the log says of one delivery, in the order of the log.
type history struct {
	id     string
	events []posthouse.Event // at least one
}

func (h history) last() *posthouse.Event { return &h.events[len(h.events)-1] }

// show is a proof: the given events of the history.
func (h history) show(indexes ...int) func() []string {
	return func() []string {
		var out []string
		for _, i := range indexes {
			if i >= 0 && i < len(h.events) {
				out = append(out, eventText(&h.events[i]))
			}
		}
		return out
	}
}

// judges are the laws that one delivery's events decide alone.
var judges = []struct {
	law   lawID
	judge func(*checker, history)
}{
	{legal, (*checker).judgeLegal},
	{chain, (*checker).judgeChain},
}

func (c *checker) judgeLegal(h history) {
	for i := range h.events {
		e := &h.events[i]
		if !posthouse.Legal(e.From, e.Type, e.To) {
			c.fail(legal, h.id, h.show(i), "the state machine has no %s from %s to %s", e.Type, stateText(e.From), stateText(e.To))
		}
	}
}

func (c *checker) judgeChain(h history) {
	for i := range h.events {
		e := &h.events[i]
		if e.Version != int64(i+1) {
			c.fail(chain, h.id, h.show(i-1, i), "version %d stands where %d is due", e.Version, i+1)
			return // all that follow are off by as much
		}
		if i == 0 {
			if e.From != "" {
				c.fail(chain, h.id, h.show(0), "its first event begins in %s, not with its accept", e.From)
			}
			continue
		}
		before := &h.events[i-1]
		if e.From != before.To {
			c.fail(chain, h.id, h.show(i-1, i), "an event begins in %s, the one before ended in %s", stateText(e.From), stateText(before.To))
		}
		if e.At.Before(before.At) {
			c.fail(chain, h.id, h.show(i-1, i), "time goes back by %s", before.At.Sub(e.At))
		}
	}
}
