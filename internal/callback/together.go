package callback

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// desk is where callbacks wait that came while others were written: whatever came shares the next transaction.
type desk struct {
	mu      sync.Mutex
	waiting []*told
	busy    bool // a write is under way
}

// told is what one callback has to write.
type told struct {
	list []work.Heard
	done chan error // capacity 1
}

// mostTogether bounds the reports of one transaction.
const mostTogether = 500

// together writes reports in groups: a callback that finds no write under way writes for all that come meanwhile.
func (d *Desk) together(ctx context.Context, list []work.Heard) error {
	mine := &told{list: list, done: make(chan error, 1)}
	d.desk.mu.Lock()
	d.desk.waiting = append(d.desk.waiting, mine)
	first := !d.desk.busy
	d.desk.busy = true
	d.desk.mu.Unlock()
	if first {
		d.writeAll(context.WithoutCancel(ctx))
	}
	select {
	case err := <-mine.done:
		return err
	case <-ctx.Done():
		return ctx.Err() // it is written, and the provider comes again
	}
}

// writeAll writes until nothing waits.
func (d *Desk) writeAll(ctx context.Context) {
	for {
		d.desk.mu.Lock()
		group, n := []*told{}, 0
		for len(d.desk.waiting) > 0 && (n == 0 || n+len(d.desk.waiting[0].list) <= mostTogether) {
			group, n = append(group, d.desk.waiting[0]), n+len(d.desk.waiting[0].list)
			d.desk.waiting = d.desk.waiting[1:]
		}
		d.desk.busy = len(group) > 0
		d.desk.mu.Unlock()
		if len(group) == 0 {
			return
		}
		d.writeGroup(ctx, group)
	}
}

// writeGroup writes in one transaction. Where the database refuses that for what it holds, each is written alone.
func (d *Desk) writeGroup(ctx context.Context, group []*told) {
	var list []work.Heard
	for _, t := range group {
		list = append(list, t.list...)
	}
	slices.SortStableFunc(list, func(a, b work.Heard) int { return strings.Compare(a.Ref, b.Ref) }) // in which all transactions lock them
	err := d.write(ctx, time.Now(), list, laterFor)
	if err != nil && len(group) > 1 && posthouse.CodeOf(err) == posthouse.CodeInternal {
		for _, t := range group {
			d.writeGroup(ctx, []*told{t})
		}
		return
	}
	for _, t := range group {
		t.done <- err
	}
}
