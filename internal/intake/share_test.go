package intake

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse/internal/life"
	"github.com/posthouse/posthouse/internal/work"
)

// emptyOutbox counts how often it is looked at.
type emptyOutbox struct {
	others
	looks int
}

// others are the methods that an empty outbox is not asked for.
type others interface{ Outbox }

func (o *emptyOutbox) Outbox(context.Context, time.Time, work.Kind, int, int) ([]work.Enqueued, error) {
	o.looks++
	return nil, nil
}

// The relay of one of many processes looks as often as leaves the database the looks of eight.
func TestTheRelaysOfManyProcessesShareTheirLooks(t *testing.T) {
	for _, c := range []struct{ processes, least, most int }{{1, 80, 100}, {32, 20, 25}, {200, 10, 12}} {
		synctest.Test(t, func(t *testing.T) {
			box, l := &emptyOutbox{}, life.New()
			l.Share(c.processes)
			r := &Relay{Store: box, Life: l, Log: slog.New(slog.DiscardHandler), Poll: 250 * time.Millisecond}
			go r.Messages(t.Context())
			time.Sleep(25 * time.Second) // in virtual time
			l.Stop()
			synctest.Wait()
			if box.looks < c.least || box.looks > c.most {
				t.Errorf("one of %d processes looked %d times in 25 s, want %d to %d", c.processes, box.looks, c.least, c.most)
			}
		})
	}
}
