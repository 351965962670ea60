package web

import (
	"log/slog"
	"net/http"
	"sync"
	"time"
)

// mostRefused bounds the lines a minute of refused requests: of those with a key, and of those of strangers, each.
const mostRefused = 60

// refusedLines writes a line for each request that is refused, so that the id in its answer is found in the log. Strangers can cause them, and programs
// that come again and again: what is beyond the bound of a minute is counted. The zero value is ready.
type refusedLines struct {
	mu     sync.Mutex
	minute time.Time
	lines  [2]int // of strangers, and of those with a key
	silent int
}

// note logs a refusal. A stranger's path is not written: it may hold anything.
func (f *refusedLines) note(log *slog.Logger, now time.Time, r Route, c *Call, status int) {
	if status < http.StatusBadRequest || status >= http.StatusInternalServerError {
		return
	}
	whose, path := 0, r.Path
	if c.Key.ID != "" {
		whose, path = 1, c.URL.Path
	}
	f.mu.Lock()
	silent := 0
	if minute := now.Truncate(time.Minute); !minute.Equal(f.minute) {
		f.minute, f.lines, f.silent, silent = minute, [2]int{}, 0, f.silent
	}
	f.lines[whose]++
	write := f.lines[whose] <= mostRefused
	if !write {
		f.silent++
	}
	f.mu.Unlock()
	if silent > 0 {
		log.Warn("more requests were refused than are logged in a minute", "requests", silent)
	}
	if write {
		log.Info("request refused", "id", RequestID(c.Context()), "method", c.Method, "path", path, "status", status, "code", c.refused, "tenant", c.Key.Tenant, "key", c.Key.ID, "from", AddressOf(c.Request))
	}
}
