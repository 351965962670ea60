package feed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// book is a feed in memory: a row for each delivery that is added.
type book struct {
	mu    sync.Mutex
	rows  []work.FeedRow
	reads int
	lose  map[int64]bool // rows whose events were pruned
}

func (b *book) add(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for range n {
		pos := int64(len(b.rows) + 1)
		b.rows = append(b.rows, work.FeedRow{Pos: pos, Version: 1, At: time.Now(), Deliveries: []string{fmt.Sprintf("d%d", pos), fmt.Sprintf("e%d", pos)}})
	}
}

func (b *book) Head(context.Context) (int64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return int64(len(b.rows)), nil
}

func (b *book) After(_ context.Context, pos int64, max int) ([]work.FeedRow, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reads++
	list := b.rows[min(pos, int64(len(b.rows))):]
	return slices.Clone(list[:min(max, len(list))]), nil
}

func (b *book) Events(_ context.Context, rows []work.FeedRow) (list []work.FeedEvent, err error) {
	for _, r := range rows {
		for i, id := range r.Deliveries {
			if !b.lose[r.Pos] {
				at := posthouse.FeedPosition{Row: r.Pos, Index: i}
				list = append(list, work.FeedEvent{Pos: at, FeedEvent: posthouse.FeedEvent{ID: at.String(), Delivery: id, Tenant: "t" + id[1:2], To: posthouse.Sent}})
			}
		}
	}
	return list, nil
}

func (b *book) At(context.Context, time.Time) (int64, error) { return 1, nil }

func (b *book) Oldest(context.Context) (int64, time.Time, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.rows) == 0 {
		return 0, time.Time{}, nil
	}
	return b.rows[0].Pos, b.rows[0].At, nil
}

func (b *book) Want(context.Context, time.Time, time.Duration) (time.Time, error) {
	return time.Now(), nil
}

// names reads until there are n events.
func names(t *testing.T, l *Log, from posthouse.FeedPosition, n int) (list []string, next posthouse.FeedPosition) {
	t.Helper()
	for len(list) < n {
		part, p, err := l.Next(t.Context(), from)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range part {
			list = append(list, e.Delivery)
		}
		from = p
	}
	return list, from
}

// FLEET-2: a reader that comes back behind any event gets each later one once, however the parts were read before.
func TestAReaderGoesOnBehindAnyEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &book{}
		b.add(100)
		l := NewLog(b)
		all, _ := names(t, l, posthouse.FeedPosition{}, 200)
		for _, cut := range []int{0, 1, 2, 63, 64, 127, 128, 129, 198} {
			from := posthouse.FeedPosition{Row: int64(cut/2 + 1), Index: cut % 2}
			if rest, _ := names(t, l, from, 200-cut-1); !slices.Equal(rest, all[cut+1:]) {
				t.Errorf("behind event %d there is %.60q…; want %.60q…", cut, rest, all[cut+1:])
			}
		}
	})
}

// Many readers that keep up cost one reading.
func TestReadersShareWhatIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &book{}
		b.add(1)
		l := NewLog(b)
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() { names(t, l, Whole(1), 20) })
		}
		synctest.Wait()
		before := b.reads
		b.add(10)
		l.Grow()
		wg.Wait()
		if n := b.reads - before; n > 2 {
			t.Errorf("50 readers of one new part read the database %d times", n)
		}
	})
}

// A reader that has read all there was waits, and does not look once more.
func TestAReaderAtTheEndWaitsWithoutALook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &book{}
		b.add(1)
		l := NewLog(b)
		ended := make(chan struct{})
		go func() {
			names(t, l, posthouse.FeedPosition{}, 6)
			close(ended)
		}()
		synctest.Wait()
		b.add(1)
		l.Grow()
		synctest.Wait()
		if b.reads != 2 {
			t.Errorf("two parts were read in %d looks", b.reads)
		}
		b.add(1) // by another process
		<-ended
	})
}

func TestAReaderSeesWhatOthersHaveWrittenWithoutBeingTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &book{}
		l := NewLog(b)
		go func() {
			time.Sleep(time.Minute)
			b.add(1)
		}()
		began := time.Now()
		if list, _ := names(t, l, posthouse.FeedPosition{}, 2); len(list) != 2 || time.Since(began) > time.Minute+pollEvery {
			t.Errorf("it read %q after %s", list, time.Since(began))
		}
	})
}

// What was pruned from the history is passed by, and holds nobody up.
func TestWhatIsGoneIsPassedBy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &book{lose: map[int64]bool{1: true, 2: true}}
		b.add(200)
		l := NewLog(b)
		if list, _ := names(t, l, posthouse.FeedPosition{}, 396); list[0] != "d3" || len(list) != 396 {
			t.Errorf("it read %d events from %s", len(list), list[0])
		}
	})
}

func TestReadersEndWithTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLog(&book{})
		ended := make(chan error, 1)
		go func() {
			_, _, err := l.Next(t.Context(), posthouse.FeedPosition{})
			ended <- err
		}()
		synctest.Wait()
		l.Close()
		if err := <-ended; !errors.Is(err, ErrClosed) {
			t.Errorf("the reader ended with %v", err)
		}
	})
}

func TestAFilterKeepsTenantsApart(t *testing.T) {
	t.Parallel()
	list := []work.FeedEvent{
		{FeedEvent: posthouse.FeedEvent{Delivery: "1", Tenant: "a", Channel: "c", Kind: "k", Ref: "r", To: posthouse.Sent}},
		{FeedEvent: posthouse.FeedEvent{Delivery: "2", Tenant: "b", Channel: "c", Kind: "k", Ref: "r", To: posthouse.Sent}},
		{FeedEvent: posthouse.FeedEvent{Delivery: "3", Tenant: "a", Channel: "d", Kind: "l", Ref: "s", To: posthouse.Failed}},
	}
	for want, f := range map[string]Filter{
		"1 2 3 ": {}, "1 3 ": {Tenant: "a"}, "1 ": {Tenant: "a", Channels: []string{"c"}}, "3 ": {Tenant: "a", Kinds: []string{"l", "m"}}, "2 ": {Tenant: "b"},
		"": {Tenant: "b", States: []posthouse.State{posthouse.Failed}}, "1 2 ": {Refs: []string{"r"}}, "3  ": {Sight: work.See([]string{"d"}, nil)},
	} {
		if !f.Sight.Sees {
			f.Sight = work.SeeAll()
		}
		got := ""
		for _, e := range f.of(list) {
			got += e.Delivery + " "
		}
		if got != want && got+" " != want {
			t.Errorf("%+v lets pass %q, want %q", f, got, want)
		}
	}
	if list[0].Delivery != "1" || list[2].Delivery != "3" {
		t.Error("a filter changed the list that others read")
	}
}

// A reader that begins before everything gets what there still is; one that comes back to a place that is gone is told so.
func TestABeginningThatIsGoneIsRefused(t *testing.T) {
	t.Parallel()
	b := &book{rows: []work.FeedRow{{Pos: 1 << 40, Version: 1, At: time.Now(), Deliveries: []string{"d1"}}}}
	l := NewLog(b)
	for id, refused := range map[string]bool{
		posthouse.FeedPosition{}.String(): false, posthouse.FeedPosition{Row: 7}.String(): true, posthouse.FeedPosition{Row: 1 << 40}.String(): false,
	} {
		if _, err := l.Position(t.Context(), id, time.Time{}); (err != nil) != refused {
			t.Errorf("to begin behind %s gives %v", id, err)
		}
	}
}

// What subscribers and followers get has no key or link by which a person acts: neither what was pressed, nor what an error repeats.
func TestEventsHaveNoLiveKeys(t *testing.T) {
	t.Parallel()
	const token = "p1.k1.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	pressed := posthouse.FeedEvent{Error: "cannot take https://post.example/ack/" + token, Callback: &posthouse.CallbackEvent{Key: "ack." + token, Fields: map[string]string{"button": "ack." + token, "other": "x"}}}
	mask(&pressed)
	if c := pressed.Callback; c.Key != "ack.***" || c.Fields["button"] != "ack.***" || c.Fields["other"] != "x" || pressed.Error != "cannot take https://post.example/ack/***" {
		t.Errorf("it is told as %+v %+v", pressed, c)
	}
}
