package campaign

import (
	"context"
	"hash/maphash"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// barredAtOnce is how many suppressions are held against an audience in one pass: some 20 MB of memory.
const barredAtOnce = 1_000_000

// barredPage is how many suppressions are read at once.
const barredPage = 1000

// suppressed counts the members to whose addresses nothing is sent at the moment. It reads the suppressions and the audience, each in its
// order, and asks about nobody: a tenant with few suppressions and many members is answered as soon as the audience is read.
func (d *Desk) suppressed(ctx context.Context, c *work.Campaign, a *work.Audience, ch *state.Channel) (n int64, err error) {
	if d.o.Suppressed == nil || a.State != posthouse.AudienceReady || ch.Settings.Exempt(c.Kind) {
		return 0, nil
	}
	list := barred{d.o.Suppressed, c, time.Now(), maphash.MakeSeed(), ""}
	for {
		some, more, err := list.next(ctx)
		if err != nil || len(some) == 0 {
			return n, err
		}
		found, err := d.among(ctx, a, list.seed, some)
		if n += found; err != nil || !more {
			return n, err
		}
	}
}

// barred reads the suppressions of a campaign's channel.
type barred struct {
	from   OptedOut
	of     *work.Campaign
	now    time.Time
	seed   maphash.Seed
	cursor string
}

// next are the hashes of further addresses. more says that these are not the last.
func (b *barred) next(ctx context.Context) (some map[uint64]bool, more bool, err error) {
	some = map[uint64]bool{}
	for len(some) < barredAtOnce {
		list, next, err := b.from.Suppressions(ctx, b.of.Tenant, work.SuppressionsOf{}, b.cursor, barredPage)
		if err != nil {
			return nil, false, err
		}
		for i := range list {
			s := &list[i]
			if (s.Channel == "" || s.Channel == b.of.Channel) && (s.Until.IsZero() || s.Until.After(b.now)) {
				some[maphash.String(b.seed, s.Address)] = true
			}
		}
		if b.cursor = next; next == "" {
			return some, false, nil
		}
	}
	return some, true, nil
}

// among counts the members of an audience whose addresses are among those of the hashes.
func (d *Desk) among(ctx context.Context, a *work.Audience, seed maphash.Seed, some map[uint64]bool) (n int64, err error) {
	twice := d.o.Importer.Repeated(ctx, *a)
	err = d.o.Importer.eachBlock(ctx, a.ID, work.PartMembers, 1, func(b work.Block) error {
		return d.o.Importer.codec.Addresses(b.Bytes, func(i int, address []byte) error {
			if !some[maphash.Bytes(seed, address)] {
				return nil
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
