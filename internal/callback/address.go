package callback

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"errors"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// Path is where an address is reached, below the server's URL.
const Path = "/v1/callbacks/"

// addressLength is that of 160 random bits.
const addressLength = 32

// NewAddress makes an address that cannot be guessed.
func NewAddress() string {
	b := make([]byte, addressLength*5/8)
	_, _ = rand.Read(b) // it never fails: the program would end
	return strings.ToLower(base32.StdEncoding.EncodeToString(b))
}

func isAddress(text string) bool {
	return len(text) == addressLength && strings.Trim(text, "abcdefghijklmnopqrstuvwxyz234567") == ""
}

// Bounds of what is remembered of addresses, and of the questions to the database about addresses that may be made up.
const (
	knownFor  = 5 * time.Second // a deleted one is refused by all processes after that
	mostKnown = 20_000
	looksASec = 50
)

// DefaultRate is how many calls a second one address takes before they are slowed down.
const DefaultRate = 10_000

// errBusy is of an address that cannot be looked up in this second.
var errBusy = errors.New("too many addresses are looked up in this second")

// known finds whose an address is, and remembers it for a moment.
type known struct {
	from  Addresses
	rate  int // calls a second at one address
	mu    sync.Mutex
	found map[string]remembered
	asked map[string]*question
	looks metre
	calls map[string]*line
}

func newKnown(from Addresses, rate int) known {
	return known{from: from, rate: rate, found: map[string]remembered{}, asked: map[string]*question{}, calls: map[string]*line{}}
}

type remembered struct {
	whose work.CallbackAddress
	until time.Time
}

// question is one to the database that is under way: all who ask the same wait for its answer.
type question struct {
	done  chan struct{} // closed when it is answered
	whose work.CallbackAddress
	found bool
	err   error
}

// metre counts what happens in a second.
type metre struct {
	second int64
	n      int
}

func (m *metre) over(most int, now time.Time) bool {
	if s := now.Unix(); s != m.second {
		m.second, m.n = s, 0
	}
	m.n++
	return m.n > most
}

// find is whose an address is; there is none where it is not found. The error is errBusy where it was not looked up.
func (k *known) find(ctx context.Context, address string, now time.Time) (whose work.CallbackAddress, found bool, err error) {
	if !isAddress(address) {
		return whose, false, nil
	}
	k.mu.Lock()
	r, before := k.found[address]
	if before && now.Before(r.until) {
		k.mu.Unlock()
		return r.whose, true, nil
	}
	q := k.asked[address]
	if q != nil { // a provider calls many times at once after a restart
		k.mu.Unlock()
		select {
		case <-q.done:
			return q.whose, q.found, q.err
		case <-ctx.Done():
			return whose, false, ctx.Err()
		}
	}
	if !before && k.looks.over(looksASec, now) { // who has been here before is not one of those who guess
		k.mu.Unlock()
		return whose, false, errBusy
	}
	q = &question{done: make(chan struct{})}
	k.asked[address] = q
	k.mu.Unlock()
	k.ask(context.WithoutCancel(ctx), address, q, now)
	return q.whose, q.found, q.err
}

// ask asks the database, for all who wait.
func (k *known) ask(ctx context.Context, address string, q *question, now time.Time) {
	defer close(q.done)
	whose, err := k.from.Callback(ctx, address)
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.asked, address)
	if err != nil {
		delete(k.found, address)
		if posthouse.CodeOf(err) != posthouse.CodeNotFound {
			q.err = err
		}
		return
	}
	if len(k.found) >= mostKnown {
		maps.DeleteFunc(k.found, func(_ string, r remembered) bool { return !now.Before(r.until) })
	}
	k.found[address] = remembered{whose, now.Add(knownFor)}
	q.whose, q.found = whose, true
}

// line are the calls at one address: each has its moment.
type line struct{ next time.Time }

// burst is how long a rest an address may make up for at once.
const burst = time.Second

// turn is how long a call at an address waits for its moment.
func (k *known) turn(address string, now time.Time) time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	l := k.calls[address]
	if l == nil {
		if len(k.calls) >= mostKnown {
			maps.DeleteFunc(k.calls, func(_ string, l *line) bool { return !now.Before(l.next) })
		}
		l = new(line)
		k.calls[address] = l
	}
	if l.next.Before(now.Add(-burst)) {
		l.next = now.Add(-burst)
	}
	wait := l.next.Sub(now)
	if wait > longestTurn {
		return wait // it is not served, and takes no moment of those who are
	}
	l.next = l.next.Add(time.Second / time.Duration(k.rate))
	return max(0, wait)
}

// longestTurn is how long a call waits for its moment at most: WeChat goes away after five seconds and comes again.
const longestTurn = 4 * time.Second
