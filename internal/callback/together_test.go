package callback

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
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// ledger is a book that takes a second for each transaction, and refuses those with the ref "bad".
type ledger struct {
	mu   sync.Mutex
	sets [][]string
}

func (l *ledger) Hear(_ context.Context, _ time.Time, list []work.Heard, _ time.Duration,
	_ func(time.Time, work.Heard, []work.Awaited, []posthouse.Delivery) work.Learnt,
) (int, error) {
	<-time.After(time.Second)
	var refs []string
	for _, h := range list {
		refs = append(refs, h.Ref)
	}
	if slices.Contains(refs, "bad") {
		return 0, errors.New("this cannot be written")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sets = append(l.sets, refs)
	return len(list), nil
}

func (l *ledger) Unheard(context.Context, time.Time, int) ([]work.Heard, int64, error) {
	return nil, 0, nil
}

func (l *ledger) Kept(context.Context, string, int) ([]work.Heard, string, error) {
	return nil, "", nil
}

func (l *ledger) ForgetHeard(context.Context, time.Time, []work.Heard) error { return nil }

func (l *ledger) InDoubt(context.Context, string, string, []string, time.Time) ([]posthouse.Delivery, error) {
	return nil, nil
}

func (l *ledger) Receive(context.Context, time.Time, []string, func(time.Time, []posthouse.Delivery) work.Learnt) error {
	return nil
}

// Receipts that come while others are written share a transaction, and one that cannot be written fails alone.
func TestReceiptsShareTransactions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		book := &ledger{}
		d, err := New(Options{
			Addresses: &addresses{}, Book: book, Channel: func(string, string) *state.Channel { return nil },
			Again: func(context.Context, string, string, []string) error { return nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		tell := func(ref string, good bool) {
			wg.Go(func() {
				if err := d.together(t.Context(), []work.Heard{{Ref: ref}}); (err == nil) != good {
					t.Errorf("%s: %v", ref, err)
				}
			})
			synctest.Wait()
		}
		tell("first", true)
		for i := range 5 {
			tell(fmt.Sprint("r", 5-i), true)
		}
		wg.Wait()
		tell("last", true)
		tell("bad", false)
		tell("good", true)
		wg.Wait()
		want := [][]string{{"first"}, {"r1", "r2", "r3", "r4", "r5"}, {"last"}, {"good"}}
		if !slices.EqualFunc(book.sets, want, slices.Equal[[]string]) {
			t.Errorf("written %v, want %v", book.sets, want)
		}
	})
}
