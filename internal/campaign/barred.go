package campaign

import (
	"context"
	"hash/maphash"
	"iter"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/suppress"
	"github.com/posthouse/posthouse/internal/work"
)

// barredAtOnce is how many addresses to which nothing is sent are held against an audience in one pass: some 20 MB of memory.
const barredAtOnce = 1_000_000

// barredPage is how many suppressions are read at once.
const barredPage = 1000

// suppressed counts the members who get nothing at the moment. It reads the barred addresses and the audience, each in its order, and looks up
// no member: a tenant with few suppressions and many members is answered as soon as the audience is read.
func (d *Desk) suppressed(ctx context.Context, c *work.Campaign, a *work.Audience, ch *state.Channel) (n int64, err error) {
	if a.State != posthouse.AudienceReady {
		return 0, nil
	}
	seed, some := maphash.MakeSeed(), map[uint64]bool{}
	count := func() error {
		found, err := d.among(ctx, a, seed, some)
		n += found
		clear(some)
		return err
	}
	for address, err := range d.barred(ctx, c, ch) {
		if err != nil {
			return n, err
		}
		if some[maphash.String(seed, address)] = true; len(some) == barredAtOnce {
			if err := count(); err != nil {
				return n, err
			}
		}
	}
	if len(some) > 0 {
		err = count()
	}
	return n, err
}

// barred are the addresses to which a campaign sends nothing now: those that are suppressed, and those of users who do not want it. One may
// come more than once.
func (d *Desk) barred(ctx context.Context, c *work.Campaign, ch *state.Channel) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for cursor, more := "", d.o.Suppressed != nil && !ch.Settings.Exempt(c.Kind); more; more = cursor != "" {
			list, next, err := d.o.Suppressed.Suppressions(ctx, c.Tenant, work.SuppressionsOf{}, cursor, barredPage)
			if err != nil {
				yield("", err)
				return
			}
			now := time.Now()
			for i := range list {
				s := &list[i]
				if (s.Channel == "" || s.Channel == c.Channel) && (s.Until.IsZero() || s.Until.After(now)) && !yield(s.Address, nil) {
					return
				}
			}
			cursor = next
		}
		for after, more := "", d.o.Unwilling != nil && d.o.Directory != nil; more; more = after != "" {
			ids, next, err := d.o.Unwilling.Refusing(ctx, c.Tenant, c.Kind, c.Channel, after)
			var users map[string]posthouse.User
			if err == nil && len(ids) > 0 {
				users, err = d.o.Directory.Profiles(ctx, c.Tenant, ids)
			}
			if err != nil {
				yield("", err)
				return
			}
			for _, u := range users {
				if !yield(reachedAt(ch, &u), nil) {
					return
				}
			}
			after = next
		}
	}
}

// among counts the members of an audience whose addresses are among those of the hashes.
func (d *Desk) among(ctx context.Context, a *work.Audience, seed maphash.Seed, some map[uint64]bool) (n int64, err error) {
	twice := d.o.Importer.Repeated(ctx, *a)
	err = d.o.Importer.eachBlock(ctx, a.ID, work.PartMembers, 1, func(b work.Block) error {
		return d.o.Importer.codec.Addresses(b.Bytes, func(i int, address []byte) error {
			if !some[maphash.Bytes(seed, address)] { // or in a form in which it is suppressed
				whole := string(address)
				if !some[maphash.String(seed, suppress.Fold(whole))] && !some[maphash.String(seed, suppress.Everywhere(whole))] {
					return nil
				}
			}
			again, err := twice(b.First + int64(i))
			if err == nil && !again {
				n++
			}
			return err
		})
	})
	return n, err
}
