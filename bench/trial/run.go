package trial

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// run is a trial under way.
type run struct {
	Spec
	queue Queue
	meter meter
	tally *tally
}

// Run runs a trial on a queue that is open on an empty database, and closes the queue.
func Run(ctx context.Context, s Spec, q Queue) (o Outcome, err error) {
	defer func() { err = errors.Join(err, q.Close(context.WithoutCancel(ctx))) }()
	r := &run{Spec: s, queue: q, tally: &tally{}}
	works := map[Kind]func(context.Context) (Outcome, error){
		Accept: r.accept, Drain: r.drain, Flow: r.flow, Pace: r.pace,
	}
	work, ok := works[s.Kind]
	if !ok {
		return o, fmt.Errorf("the kind of work is %q: want accept, drain, flow or pace", s.Kind)
	}
	return work(ctx)
}

// warmup is how long producers hand in before they are counted: connections open, statements are prepared.
const warmup = 200 * time.Millisecond

func (r *run) accept(ctx context.Context) (Outcome, error) {
	batch := texts(r.Batch)
	if _, err := r.produce(ctx, batch, warmup, 0); err != nil {
		return Outcome{}, err
	}
	if err := r.begin(); err != nil {
		return Outcome{}, err
	}
	n, err := r.produce(ctx, batch, r.For, 0)
	return r.end(n, err)
}

// produce hands in by all producers for a while, at most limit messages unless it is 0, and says how many are durable.
func (r *run) produce(ctx context.Context, batch []string, d time.Duration, limit int) (int, error) {
	var done, taken atomic.Int64
	var failed atomic.Pointer[error]
	late := time.Now().Add(d)
	var wg sync.WaitGroup
	for range r.Producers {
		wg.Go(func() {
			for time.Now().Before(late) && failed.Load() == nil {
				if limit > 0 && int(taken.Add(int64(len(batch)))) > limit {
					return
				}
				if err := r.queue.Accept(ctx, batch); err != nil {
					failed.Store(&err)
					return
				}
				done.Add(int64(len(batch)))
			}
		})
	}
	wg.Wait()
	if err := failed.Load(); err != nil {
		return int(done.Load()), fmt.Errorf("accept: %w", *err)
	}
	return int(done.Load()), nil
}

func (r *run) drain(ctx context.Context) (Outcome, error) {
	n, err := r.fill(ctx)
	if err == nil {
		err = r.prepare(ctx)
	}
	if err != nil {
		return Outcome{}, err
	}
	if err := r.begin(); err != nil {
		return Outcome{}, err
	}
	if err := r.queue.Start(ctx); err != nil {
		return Outcome{}, err
	}
	return r.finish(ctx, n, time.Now().Add(r.Within))
}

// fill hands in what is to be drained. Nothing of it is measured.
func (r *run) fill(ctx context.Context) (int, error) {
	f := *r
	f.Producers, f.Batch = 4, 500
	if r.Batch == 1 { // the library has no call for many
		f.Producers, f.Batch = 64, 1
	}
	return f.produce(ctx, texts(f.Batch), time.Hour, r.N)
}

func (r *run) prepare(ctx context.Context) error {
	handle, err := r.handler()
	if err != nil {
		return err
	}
	return r.queue.Prepare(ctx, Handling{Workers: r.Workers, Handle: handle, Handled: r.tally.handled, Post: r.Post})
}

// flow hands in and works at the same time. The rate is that of the whole way.
func (r *run) flow(ctx context.Context) (Outcome, error) {
	if err := r.prepare(ctx); err != nil {
		return Outcome{}, err
	}
	if err := r.queue.Start(ctx); err != nil {
		return Outcome{}, err
	}
	if err := r.begin(); err != nil {
		return Outcome{}, err
	}
	late := time.Now().Add(r.Within)
	n, err := r.produce(ctx, texts(1), r.For, r.N)
	if err != nil {
		return Outcome{}, err
	}
	return r.finish(ctx, n, late)
}

// lookEvery is how often a queue is asked whether it is done.
const lookEvery = 10 * time.Millisecond

// finish waits until all n messages have ended, or the time is over, and ends the measured part.
func (r *run) finish(ctx context.Context, n int, late time.Time) (Outcome, error) {
	ended, err := r.await(ctx, n, late)
	if err != nil {
		return Outcome{}, err
	}
	o, err := r.end(ended, nil)
	o.Cut = ended < n
	return o, err
}

// await waits until all n messages have ended, or the time is over, and says how many have.
func (r *run) await(ctx context.Context, n int, late time.Time) (int, error) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		ended, err := r.queue.Ended(ctx, n)
		if err != nil {
			return 0, fmt.Errorf("count what has ended: %w", err)
		}
		if ended >= n || time.Now().After(late) {
			return ended, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// pace hands in at a steady rate, whatever the queue does: a slow answer holds up no other.
func (r *run) pace(ctx context.Context) (Outcome, error) {
	if err := r.prepare(ctx); err != nil {
		return Outcome{}, err
	}
	if err := r.queue.Start(ctx); err != nil {
		return Outcome{}, err
	}
	before, err := r.offer(ctx, warmup, unstamped)
	if err != nil {
		return Outcome{}, err
	}
	if _, err := r.await(ctx, before, time.Now().Add(r.Within)); err != nil {
		return Outcome{}, err
	}
	if err := r.begin(); err != nil {
		return Outcome{}, err
	}
	n, err := r.offer(ctx, r.For, stamped)
	if err != nil {
		return Outcome{}, err
	}
	o, err := r.finish(ctx, n+before, time.Now().Add(r.Within))
	o.N = max(0, o.N-before)
	o.P50, o.P99 = r.tally.quantiles()
	return o, err
}

// offer hands in what a while at the rate comes to.
func (r *run) offer(ctx context.Context, d time.Duration, message func() string) (int, error) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	var failed atomic.Pointer[error]
	var wg sync.WaitGroup
	batch := max(1, r.Batch)
	n, all, start := 0, int(d.Seconds()*float64(r.Rate))/batch*batch, time.Now()
	for n < all { // late, on a machine that is busy, but all
		now := <-tick.C
		for want := min(all, int(now.Sub(start).Seconds()*float64(r.Rate))); n+batch <= want; n += batch {
			wg.Go(func() {
				texts := make([]string, batch)
				for i := range texts {
					texts[i] = message()
				}
				if err := r.queue.Accept(ctx, texts); err != nil {
					failed.Store(&err)
				}
			})
		}
	}
	wg.Wait()
	if err := failed.Load(); err != nil {
		return n, fmt.Errorf("accept: %w", *err)
	}
	return n, nil
}
