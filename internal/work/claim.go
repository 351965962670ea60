package work

import (
	"iter"
	"slices"
	"time"
)

// Claim asks for due deliveries of a lane.
type Claim struct {
	Lane
	Max int
	// By are the accounts by which what is taken is sent, each as much as its share, in this order; together they are Max and
	// Messages. Nil where a channel has one account without a name.
	By    []Share
	Owner string
	Lease time.Duration
	// DueBefore bounds what a run takes. Zero means now.
	DueBefore time.Time
	// Whole takes of a message all that is due or nothing, so that one call can hold all of it. Cut allows a
	// claim that is full to hold a part of one message: it may be larger than any claim.
	Whole, Cut bool
	// Messages bounds how many messages what is taken may be of. Defaults to 0, no bound.
	Messages int
	// Epoch is the epoch this process was started in; a claim in another finds nothing.
	Epoch int64
}

// Share is what one account is given of a claim, in the words of that.
type Share struct {
	Account       string
	Max, Messages int
	Cut           bool
}

// Took takes off a claim what was found, and reports whether there is room for more.
func (c *Claim) Took(items []Item) bool {
	left := c.By[:0:0]
	for _, share := range c.By {
		own := OwnOf(items, share.Account)
		if share.Filled(len(own), MessagesOf(own)) {
			continue
		}
		share.Max -= len(own)
		share.Messages = max(0, share.Messages-MessagesOf(own))
		left = append(left, share)
	}
	several := len(c.By) > 0
	c.By = left
	if c.Max -= len(items); several {
		c.Max = min(c.Max, c.Places())
	}
	if c.Messages == 0 {
		return c.Max > 0
	}
	c.Messages -= MessagesOf(items)
	return c.Max > 0 && c.Messages > 0
}

// Filled reports whether an account has all that it may have of a claim.
func (s Share) Filled(deliveries, messages int) bool {
	return deliveries >= s.Max || s.Messages > 0 && messages >= s.Messages
}

// Places is how many deliveries the accounts of a claim may be given together.
func (c *Claim) Places() (n int) {
	for _, share := range c.By {
		n += share.Max
	}
	return n
}

// Each are the claims that one of several accounts is made of.
func (c Claim) Each() []Claim {
	if len(c.By) < 2 {
		return []Claim{c}
	}
	list := make([]Claim, len(c.By))
	for i, share := range c.By {
		list[i] = c
		list[i].By, list[i].Max, list[i].Messages, list[i].Cut = c.By[i:i+1], share.Max, share.Messages, share.Cut
	}
	return list
}

// Seats are the accounts of what is found, in its order, where each message is by itself: each account as often as its share is
// large. Of whole messages each has a seat, of size deliveries at most. Nil where there is one account without a name, or no
// bound on the messages.
func (c *Claim) Seats() (seats []string, size int) {
	if !c.Whole {
		for _, share := range c.By {
			seats = append(seats, slices.Repeat([]string{share.Account}, share.Max)...)
		}
		return seats, 1
	}
	for i, share := range c.By {
		if share.Messages == 0 {
			return nil, 0
		}
		n := min(share.Messages, share.Max)
		if room := share.Max / n; i == 0 || room < size {
			size = room
		}
		seats = append(seats, slices.Repeat([]string{share.Account}, n)...)
	}
	return seats, size
}

// Board gives what was found its accounts, and leaves out what has no seat.
func (c *Claim) Board(items []Item) (seated []Item) {
	seats, size := c.Seats()
	of, parts := map[string]string{}, map[string]int{} // by message, or by delivery
	unit := func(i *Item) string {
		if c.Whole {
			return i.Delivery.Message
		}
		return i.Delivery.ID
	}
	for i := range items {
		parts[unit(&items[i])]++
	}
	for i := range items {
		key := unit(&items[i])
		account, known := of[key]
		if !known {
			if len(seats) == 0 || parts[key] > size {
				continue
			}
			account, seats = seats[0], seats[1:]
			of[key] = account
		}
		item := items[i]
		item.Delivery.Account = account
		seated = append(seated, item)
	}
	return seated
}

// OwnOf are the items that an account was given.
func OwnOf(items []Item, account string) (own []Item) {
	for i := range items {
		if items[i].Delivery.Account == account {
			own = append(own, items[i])
		}
	}
	return own
}

// Each is a look at each of some lists, one list after the other.
func Each(lists ...[]Item) iter.Seq[*Item] {
	return func(yield func(*Item) bool) {
		for _, items := range lists {
			for i := range items {
				if !yield(&items[i]) {
					return
				}
			}
		}
	}
}

// MessagesOf is how many messages items are of, which stand together.
func MessagesOf(items []Item) (n int) {
	for i := range items {
		if i == 0 || items[i].Delivery.Message != items[i-1].Delivery.Message {
			n++
		}
	}
	return n
}
