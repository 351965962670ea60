package segment

import (
	"context"
	"time"
)

// Brake says how many more members of a campaign may be started now, all processes together; free says that nothing bounds them any
// more.
type Brake interface {
	Allowed(ctx context.Context, campaign string) (n int64, free bool, err error)
}

// brakes keep what campaigns may yet start here. A brake alone looks at what was answered for, once in a while, and by then as many
// are under way as the channel has slots: so members start by permits that are handed out beforehand.
type brakes struct {
	lock
	asked Brake
	left  map[string]int64 // by campaign
	free  map[string]bool
}

func newBrakes(asked Brake) *brakes {
	return &brakes{lock: newLock(), asked: asked, left: map[string]int64{}, free: map[string]bool{}}
}

// take takes up to so many permits. Other processes take some meanwhile, so half of what is left at a time, but one at least.
func (b *brakes) take(ctx context.Context, campaign string, max int) (int, error) {
	b.Lock()
	defer b.Unlock()
	if b.free[campaign] {
		return max, nil
	}
	if b.left[campaign] == 0 {
		n, free, err := b.asked.Allowed(ctx, campaign)
		if err != nil {
			return 0, err
		}
		if free {
			b.free[campaign] = true
			delete(b.left, campaign)
			return max, nil
		}
		b.left[campaign] = (n + 1) / 2
	}
	n := min(b.left[campaign], int64(max))
	b.left[campaign] -= n
	return int(n), nil
}

// back returns what started no member.
func (b *brakes) back(campaign string, n int) {
	b.Lock()
	defer b.Unlock()
	if n > 0 && !b.free[campaign] {
		b.left[campaign] += int64(n)
	}
}

// forget forgets a campaign of which no segment is held.
func (b *brakes) forget(campaign string) {
	b.Lock()
	defer b.Unlock()
	delete(b.left, campaign)
	delete(b.free, campaign)
}

// braked is how long a segment rests that its campaign's brake lets nobody of start, unless a result comes before.
const braked = time.Second
