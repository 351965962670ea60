package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/sqldb"
)

// A database that is away for two and a half minutes, with fifty errors a second, is worth four lines: one when it goes,
// one a minute and one when it is back. What else the log says is said.
func TestADatabaseThatIsAwayIsSaidOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var text bytes.Buffer
		var gone atomic.Bool
		plain := slog.NewTextHandler(&text, nil)
		a := &away{log: plain, ping: func(context.Context) error {
			if gone.Load() {
				return errors.New("refused")
			}
			return nil
		}}
		log := slog.New(quiet{plain, a}).With("role", "recorder").WithGroup("g")
		lost := &posthouse.Error{Code: posthouse.CodeUnavailable, Message: sqldb.NoAnswer, Cause: errors.New("refused")}
		lines := func() int { synctest.Wait(); return strings.Count(text.String(), "\n") }

		gone.Store(true)
		for range 150 * 50 {
			log.Warn("results cannot be written", "error", fmt.Errorf("record: %w", lost))
			log.Error("request failed", "code", "unavailable", "error", "read: "+lost.Error()+": refused")
			time.Sleep(20 * time.Millisecond)
		}
		if n := lines(); n != 3 {
			t.Errorf("%d lines while it was away:\n%s", n, text.String())
		}
		log.Warn("the disk is full", "error", errors.New("no room"))
		log.Info("all is well")
		log.Error("the run failed", "code", "DATABASE_ERROR", "error", lost.Error(), "stack", "runOnce")
		if n := lines(); n != 6 {
			t.Errorf("other lines are missing:\n%s", text.String())
		}
		gone.Store(false)
		time.Sleep(2 * awayPing)
		log.Warn("a late one", "error", lost)
		if n := lines(); n != 7 || !strings.Contains(text.String(), "the database answers again") || !strings.Contains(text.String(), "lines_left_out=14999") {
			t.Errorf("%d lines after its return:\n%s", n, text.String())
		}
		time.Sleep(awayLate)
		gone.Store(true)
		log.Warn("again", "error", lost)
		if n := lines(); n != 8 {
			t.Errorf("the second time is not said:\n%s", text.String())
		}
		if err := a.end(); err != nil {
			t.Error(err)
		}
		log.Warn("at the end", "error", lost)
		if n := lines(); n != 8 {
			t.Errorf("after the end:\n%s", text.String())
		}
	})
}
