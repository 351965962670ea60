package verify

import (
	"cmp"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
)

// collectionOwner begins the owner of a delivery's first event where a digest has gathered it, or it is a collection's own.
const collectionOwner = "collection/"

// reasonGathered is of a delivery that waits in its collection.
const reasonGathered = "digest"

// gatheredOf is what the log says of a delivery of a collection.
type gatheredOf struct {
	stepOf
	own bool // it is the collection's own, not a member
	// waits is set where its last event leaves it in the collection, and alone where the collection has let it go by itself.
	waits, alone bool
	// held is set where the last event is that of a restore, which no collection hears of.
	held bool
}

// gatherings are what the log says of collections, by their ids.
type gatherings struct {
	members map[string][]gatheredOf
}

// noteGathered keeps what the log says of a message that a digest has gathered, or that a collection has made.
func (c *checker) noteGathered(list []history) {
	for _, h := range list {
		first := &h.events[0]
		id, made := strings.CutPrefix(first.Owner, collectionOwner)
		if !made {
			continue
		}
		g := gatheredOf{stepOf: stepOf{id: h.id}, own: first.Reason != reasonGathered}
		for i := range h.events {
			e := &h.events[i]
			g.stands = append(g.stands, standing{e.At, e.To})
			switch e.Type {
			case posthouse.EventStart:
				g.starts = append(g.starts, begun{at: e.At})
			case posthouse.EventGather:
				g.alone = e.To == posthouse.Pending && e.Reason != reasonGathered
				if into, moved := strings.CutPrefix(e.Owner, collectionOwner); moved { // it was cut from the one that gathered it
					id = into
				}
			}
		}
		last := &h.events[len(h.events)-1]
		g.waits, g.held = last.To == posthouse.Pending && last.Reason == reasonGathered, last.Type == posthouse.EventEpochHold
		if c.members == nil {
			c.members = map[string][]gatheredOf{}
		}
		c.members[id] = append(c.members[id], g)
	}
}

// judgeCollections holds that no member of a collection is dropped (I39).
func (c *checker) judgeCollections() error {
	if c.in.Collections == nil {
		return nil
	}
	for one, err := range c.in.Collections {
		if err != nil {
			return err
		}
		known := c.members[one.ID]
		delete(c.members, one.ID)
		if (keeping{c}).settledDown(one.UpdatedAt) {
			c.checked(gathered, 1)
			c.judgeCollection(&one, known)
		}
	}
	for id, list := range c.members { // an old one may have been pruned, but no member waits then
		if i := slices.IndexFunc(list, func(g gatheredOf) bool { return g.waits }); i >= 0 && (keeping{c}).settledDown(list[i].stands[0].at) {
			c.fail(gathered, id, list[i].show(), "%s waits in it, and it is not stored", list[i].id)
		}
	}
	return nil
}

// judgeCollection judges one collection.
func (c *checker) judgeCollection(one *posthouse.Collection, known []gatheredOf) {
	var lead *gatheredOf
	left := map[string]bool{}
	for _, m := range one.Members {
		left[m.Delivery] = m.Left
	}
	for i := range known {
		g := &known[i]
		if g.own {
			if g.id == one.Delivery {
				lead = g
			}
			continue
		}
		if _, listed := left[g.id]; !listed {
			c.fail(gathered, one.ID, g.show(), "it was dropped: %s was gathered, and is no member", g.id)
			return
		}
	}
	if lead == nil && one.Delivery != "" {
		c.fail(gathered, one.ID, line("%s  version %d, %s", stampText(one.UpdatedAt), one.Version, one.State), "its delivery %s is not in the log", one.Delivery)
		return
	}
	for i := range known {
		if g := &known[i]; !g.own && !c.judgeMember(one, g, lead, left[g.id]) {
			return
		}
	}
	now := cmp.Or(c.in.Now, c.report.To)
	if c.in.AtRest && one.State == posthouse.CollectionWaiting && one.LeavesAt.Before(now.Add(-Committing)) {
		c.fail(gathered, one.ID, line("%s  version %d, %s", stampText(one.UpdatedAt), one.Version, one.State), "it was to leave %s before the end", now.Sub(one.LeavesAt))
	}
}

// judgeMember judges a member of a collection, and reports whether it is as it should be.
func (c *checker) judgeMember(one *posthouse.Collection, g, lead *gatheredOf, left bool) bool {
	state := g.stands[len(g.stands)-1].state
	if left {
		if g.waits {
			c.fail(gathered, one.ID, g.show(), "it was dropped: %s waits, and has left the text", g.id)
		}
		return !g.waits
	}
	if len(g.starts) > 0 && !g.alone {
		c.fail(gathered, one.ID, g.show(), "%s is in its text, and started by itself", g.id)
		return false
	}
	want := cmp.Or(one.Outcome, posthouse.Pending)     // without a delivery: its text could not be made
	if g.alone || g.held || lead != nil && lead.held { // a restore tells no collection
		return true
	}
	if lead != nil {
		switch last := lead.stands[len(lead.stands)-1].state; last {
		case posthouse.Sending: // what it was before, a doubt or nothing
			want = state
		case posthouse.Quarantined:
			want = state
		default:
			want = last
		}
	}
	if state != want {
		c.fail(gathered, one.ID, with(g.show(), lead.shown()), "%s is %s, and should be %s as its delivery is", g.id, state, want)
	}
	return state == want
}

// shown is show, of one that may not be there.
func (g *gatheredOf) shown() func() []string {
	if g == nil {
		return func() []string { return nil }
	}
	return g.show()
}
