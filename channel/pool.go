package channel

import (
	"slices"
	"sync"
	"time"
)

// pool keeps the idle connections of a wire, a bounded number for each address and none for longer
// than idleTimeout. The youngest is taken first, so that those that are not needed grow old.
type pool struct {
	mu    sync.Mutex
	idle  map[string][]*wireConn // the youngest last
	sweep *time.Timer            // set while there is any
}

// take takes an idle connection to an address out of the pool, nil where there is none that is young enough.
func (p *pool) take(address string) *wireConn {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.idle[address]
	last := len(list) - 1
	if last < 0 || time.Since(list[last].since) >= idleTimeout {
		return nil
	}
	c := list[last]
	list[last] = nil
	p.idle[address] = list[:last]
	return c
}

// put keeps a connection that is free. Where there are enough, it is closed.
func (p *pool) put(c *wireConn) {
	c.since = time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.idle[c.address]
	if len(list) >= idleConnections {
		c.Close()
		return
	}
	if p.idle == nil {
		p.idle = map[string][]*wireConn{}
	}
	p.idle[c.address] = append(list, c)
	if p.sweep == nil {
		p.sweep = time.AfterFunc(idleTimeout, p.age)
	}
}

// age closes what is too old, and comes again while there is any.
func (p *pool) age() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sweep = nil
	p.drop(time.Now().Add(-idleTimeout))
	if len(p.idle) > 0 {
		p.sweep = time.AfterFunc(idleTimeout/4, p.age)
	}
}

// close closes all connections that are idle.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sweep != nil {
		p.sweep.Stop()
		p.sweep = nil
	}
	p.drop(time.Now())
}

// drop closes what has been idle since a time or longer.
func (p *pool) drop(since time.Time) {
	for address, list := range p.idle {
		old := slices.IndexFunc(list, func(c *wireConn) bool { return c.since.After(since) })
		if old < 0 {
			old = len(list)
		}
		for _, c := range list[:old] {
			c.Close()
		}
		if p.idle[address] = slices.Delete(list, 0, old); old == len(list) {
			delete(p.idle, address)
		}
	}
}
