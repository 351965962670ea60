package feed

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// journal is a feed whose transactions come at a steady pace.
type journal struct {
	news   chan struct{}
	rounds atomic.Int64
}

func (*journal) Look(context.Context) error                                            { return nil }
func (*journal) PruneFeed(context.Context, time.Time, time.Duration, int) (int, error) { return 0, nil }
func (j *journal) News() <-chan struct{}                                               { return j.news }
func (j *journal) Sequence(context.Context, time.Time) (int, error)                    { j.rounds.Add(1); return 1, nil }

// What comes after a pause is read soon; of a stream many transactions share a round.
func TestAStreamSharesRounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &journal{news: make(chan struct{}, 1)}
		l := NewLog(&book{})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			Keeper{Journal: j, Log: l, Logger: slog.New(slog.DiscardHandler)}.Run(ctx)
			close(ended)
		}()
		defer func() { cancel(); <-ended }()
		began := time.Now()
		grown := l.grown
		j.news <- struct{}{}
		<-grown
		if took := time.Since(began); took != gather || j.rounds.Load() != 1 {
			t.Errorf("the first event was read after %s, in round %d", took, j.rounds.Load())
		}
		for range 60 { // 600 ms
			select {
			case j.news <- struct{}{}:
			default:
			}
			<-time.After(10 * time.Millisecond)
		}
		if n := j.rounds.Load() - 1; n < 9 || n > 11 {
			t.Errorf("a stream of 600 ms took %d rounds, want one each %s", n, gatherStream)
		}
	})
}
