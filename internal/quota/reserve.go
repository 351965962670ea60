package quota

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// How often the database is asked what is open: countEvery while there is room, and where there is none as soon as
// somebody asks again, but not before recountAfter and restShare times what the last count took.
const (
	countEvery   = 5 * time.Second
	recountAfter = time.Second
	restShare    = 20
	countTimeout = 10 * time.Second
)

// count is what is known of one holder's open deliveries.
type count struct {
	mu       sync.Mutex
	open     int           // as last read, and what was reserved since
	reserved int           // not known yet to be stored or not
	at       time.Time     // when it was read
	took     time.Duration // to read it
	used     time.Time     // when it was asked for last
}

func (c *count) idle(now time.Time) bool {
	if !c.mu.TryLock() {
		return false // it is being counted
	}
	defer c.mu.Unlock()
	return c.reserved == 0 && now.Sub(c.used) > idle
}

// bound is one quota of open deliveries that a caller's messages count against.
type bound struct {
	holder
	most int
}

// Reserve makes room for n deliveries of a tenant, and of the key that pays for the caller, or says which of both has none.
// done is to be told how many of them were stored; it is nil where there is no quota.
func (q *Quotas) Reserve(ctx context.Context, tenant string, payer work.Payer, n int) (done func(stored int), err error) {
	bounds := q.bounds(tenant, payer)
	if len(bounds) == 0 || n == 0 {
		return nil, nil
	}
	var taken []*count
	give := func(stored int) {
		for _, c := range taken {
			c.settle(n, stored)
		}
	}
	for _, b := range bounds {
		c := q.count(b.holder)
		if err := q.take(ctx, c, b, n); err != nil {
			give(0)
			return nil, err
		}
		taken = append(taken, c)
	}
	return give, nil
}

// bounds are the quotas of open deliveries that a caller's messages count against.
func (q *Quotas) bounds(tenant string, p work.Payer) []bound {
	var list []bound
	if most := q.ofTenant(tenant).Open; most > 0 {
		list = append(list, bound{holder{posthouse.BoundOfTenant, tenant, tenant}, most})
	}
	if p.Open > 0 {
		list = append(list, bound{holder{posthouse.BoundOfKey, tenant, p.Key}, p.Open})
	}
	return list
}

func (q *Quotas) count(h holder) *count {
	q.mu.Lock()
	defer q.mu.Unlock()
	c := q.counts[h]
	if c == nil {
		c = &count{used: time.Now()}
		q.counts[h] = c
	}
	return c
}

// take reserves n, after a look into the database where the count is old, or leaves no room and may be wrong. Others wait
// for that look: one is enough.
func (q *Quotas) take(ctx context.Context, c *count, b bound, n int) error {
	if n > b.most {
		return posthouse.Errorf(posthouse.CodeTooLarge, "the request has %d recipients, and the %s %.80s may have %d open deliveries at all", n, b.of, b.name, b.most)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	c.used = now
	age := now.Sub(c.at)
	if c.at.IsZero() || age >= countEvery || c.open+n > b.most && age >= c.rest() {
		if err := q.read(ctx, c, b.holder, now); err != nil {
			return err
		}
	}
	if c.open+n > b.most {
		return q.full(c, b, n)
	}
	c.open += n
	c.reserved += n
	return nil
}

// rest is how long a count holds where it leaves no room.
func (c *count) rest() time.Duration { return max(recountAfter, restShare*c.took) }

// read asks the database. What is reserved may be in its answer already or not: it is counted on top, and too much only
// until the next count.
func (q *Quotas) read(ctx context.Context, c *count, h holder, began time.Time) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), countTimeout) // others wait for it
	defer cancel()
	var open int
	var err error
	if h.of == posthouse.BoundOfKey {
		open, err = q.store.OpenOfKey(ctx, began, h.tenant, h.name)
	} else {
		open, err = q.store.OpenOfTenant(ctx, h.tenant)
	}
	if err != nil {
		return fmt.Errorf("count the open deliveries of the %s %s: %w", h.of, h.name, err)
	}
	c.at = time.Now()
	c.open, c.took = open+c.reserved, c.at.Sub(began)
	return nil
}

// full is the refusal of n more.
func (q *Quotas) full(c *count, b bound, n int) error {
	is := posthouse.Bound{Of: b.of, Name: b.name, What: posthouse.BoundOpen, Max: b.most, Open: c.open}
	q.refused(b.tenant, is)
	return &posthouse.Error{
		Code: posthouse.CodeQuota, Bound: &is, Wait: max(recountAfter, c.rest()-time.Since(c.at)),
		Message: fmt.Sprintf("the %s %.80s has %d open deliveries and may have %d: there is no room for %d more until some are settled", b.of, b.name, c.open, b.most, n),
	}
}

// settle ends a reservation of n, of which so many were stored.
func (c *count) settle(n, stored int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reserved -= n
	c.open -= n - min(n, stored)
}
