package callback

import (
	"crypto/sha256"
	"sync"
	"time"
)

// rememberedFor is longer than any driver lets a callback be old, or ahead of our clock; mostRemembered bounds each half of
// the memory, of about 100 bytes an entry.
const (
	rememberedFor  = 15 * time.Minute
	mostRemembered = 200_000
)

// once remembers callbacks that were acted on, in two halves: the older one is dropped whole.
type once struct {
	mu       sync.Mutex
	now, old map[mark]mark // what names a callback, and its body
	turned   time.Time
}

type mark [sha256.Size]byte

func markOf(parts ...string) mark {
	h := sha256.New()
	for _, p := range parts {
		h.Write([]byte(p))
		h.Write([]byte{0})
	}
	return mark(h.Sum(nil))
}

// seen says whether a callback was acted on, and whether it had the same body then.
func (o *once) seen(name, body mark) (before, same bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	was, before := o.now[name]
	if !before {
		was, before = o.old[name]
	}
	return before, was == body
}

func (o *once) remember(name, body mark, at time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.now == nil || len(o.now) >= mostRemembered || at.Sub(o.turned) > rememberedFor {
		o.now, o.old, o.turned = map[mark]mark{}, o.now, at
	}
	o.now[name] = body
}
