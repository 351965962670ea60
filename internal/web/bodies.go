package web

import (
	"cmp"
	"io"
	"log/slog"
	"net/http"
	"sync"

	"github.com/posthouse/posthouse"
)

// Bodies bounds the bytes of request bodies that are in memory at once: of one caller, and of all. It is for all doors of a server.
// A caller has a quarter of it, so that four have to be greedy at once before others wait.
type Bodies struct {
	most, each int64
	refusals   Refusals

	mu   sync.Mutex
	open int64
	of   map[string]int64
}

// usualBodies is how many of the largest bodies are in memory at once: what a body is read into takes several times its bytes.
const usualBodies = 16

// NewBodies bounds bodies, the largest of which has so many bytes. most defaults to 16 of them; less than one is one.
func NewBodies(most, largest int64, log *slog.Logger) *Bodies {
	most = max(cmp.Or(most, usualBodies*largest), largest)
	return &Bodies{most: most, each: max(most/4, largest), refusals: Refusals{Log: log, What: "a body was refused: there are too many in memory"}, of: map[string]int64{}}
}

// Held is what a request holds of the room.
type Held struct {
	in  *Bodies
	who string
	n   int64
}

// Hold begins to count what a request of a caller reads.
func (b *Bodies) Hold(who string) *Held { return &Held{in: b, who: who} }

// Reader counts what is read, as long as there is room for it.
func (h *Held) Reader(from io.Reader) io.Reader { return metered{from, h} }

type metered struct {
	from io.Reader
	held *Held
}

func (c metered) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	if full := c.held.take(int64(n)); full != nil {
		return 0, full
	}
	return n, err
}

// take is an error where there is no room for so many bytes more.
func (h *Held) take(n int64) error {
	b := h.in
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.of[h.who]+n > b.each:
		b.refusals.Note("caller", h.who, "bytes", b.of[h.who])
		return busy("you have %d bytes of requests under way: %d are allowed at once", b.of[h.who], b.each)
	case b.open+n > b.most:
		b.refusals.Note("caller", h.who, "bytes_of_all", b.open)
		return busy("there are %d bytes of requests under way: %d are allowed at once", b.open, b.most)
	case n > 0:
		b.of[h.who] += n
		b.open, h.n = b.open+n, h.n+n
	}
	return nil
}

// Free gives back all that the request held. It may be called again.
func (h *Held) Free() {
	b := h.in
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open -= h.n
	if b.of[h.who] -= h.n; b.of[h.who] <= 0 {
		delete(b.of, h.who)
	}
	h.n = 0
}

// busy is the error of what there is no room for now. It is noted by who refuses, not by the door.
func busy(format string, args ...any) *Fault {
	f := Faultf(http.StatusServiceUnavailable, posthouse.CodeUnavailable, format, args...)
	f.after, f.noted = busyFor, true
	return f
}

// Busyf is for other doors and resources what is said where too much is under way. Who refuses notes it.
func Busyf(format string, args ...any) error { return busy(format, args...) }

// busyFor is after how many seconds there may be room again.
const busyFor = 2
