package callback

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// When what was told of an address proves something by itself: it is so old that a call which was answered is recorded, and its ref
// would be known; and the delivery became unknown so lately that it can be the one that was told of.
const (
	provesAfter = 15 * time.Second
	provesFor   = 15 * time.Minute
)

// evidence takes what was told of an address, by a ref that nobody knows, as proof for the one delivery or member to that address of
// which it is not known whether it arrived: the ref was lost with the process that made the call. Where there are several, it proves
// nothing. rest are those that prove nothing.
func (d *Desk) evidence(ctx context.Context, now time.Time, list []work.Heard) (rest []work.Heard, err error) {
	byChannel := map[state.Key][]work.Heard{}
	for _, h := range list {
		if h.Address == "" || h.Until.Add(provesAfter-laterFor).After(now) {
			rest = append(rest, h)
			continue
		}
		of := state.Key{Tenant: h.Tenant, Channel: h.Channel}
		byChannel[of] = append(byChannel[of], h)
	}
	var ofMembers []work.Heard
	for of, told := range byChannel {
		members, none, err := d.singles(ctx, now, of, told)
		if err != nil {
			return list, err
		}
		ofMembers, rest = append(ofMembers, members...), append(rest, none...)
	}
	if d.o.Campaigns == nil || len(ofMembers) == 0 {
		return append(rest, ofMembers...), nil
	}
	none, news, err := d.o.Campaigns.Evidence(ctx, now, ofMembers)
	d.news(ctx, ofMembers, news)
	return append(rest, none...), err
}

// singles writes what proves something of single deliveries of a channel. members are those told of addresses to which no single
// delivery is in doubt, and none those that can mean several.
func (d *Desk) singles(ctx context.Context, now time.Time, of state.Key, told []work.Heard) (members, none []work.Heard, err error) {
	addresses := make([]string, len(told))
	for i := range told {
		addresses[i] = told[i].Address
	}
	slices.Sort(addresses)
	found, err := d.o.Book.InDoubt(ctx, of.Tenant, of.Channel, slices.Compact(addresses), now.Add(-provesFor))
	if err != nil {
		return nil, nil, err
	}
	doubted := map[string][]string{}
	for i := range found {
		to := cmp.Or(found[i].Address, found[i].User)
		doubted[to] = append(doubted[to], found[i].ID)
	}
	for _, h := range told {
		ids := doubted[h.Address]
		if len(ids) == 0 {
			members = append(members, h)
			continue
		}
		proved := false
		if len(ids) == 1 {
			if proved, err = d.prove(ctx, now, h, ids[0]); err != nil {
				return nil, nil, err
			}
		}
		if !proved {
			none = append(none, h)
		}
	}
	return members, none, nil
}

// prove writes what was told of an address to the one single delivery that is in doubt, unless a member of a campaign is so too.
func (d *Desk) prove(ctx context.Context, now time.Time, h work.Heard, id string) (proved bool, err error) {
	if d.o.Campaigns != nil {
		if also, err := d.o.Campaigns.InDoubt(ctx, now, h); err != nil || also {
			return false, err
		}
	}
	said := map[string]posthouse.Delivery{}
	err = d.o.Book.Receive(ctx, now, []string{id}, func(_ time.Time, found []posthouse.Delivery) (learnt work.Learnt) {
		clear(said)
		for i := range found {
			r := channel.Receipt{Known: true, Delivered: h.Delivered, Code: h.Code, Error: h.Error}
			if c, is := state.AfterWitness(found[i], h.Ref, r); is {
				learnt.Changes = append(learnt.Changes, c)
				said[c.After.ID] = c.After
			}
		}
		return learnt
	})
	if err != nil {
		return false, err
	}
	d.written(ctx, said, map[string]string{id: h.Code})
	return len(said) > 0, nil
}
