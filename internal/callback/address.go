package callback

import (
	"context"
	"crypto/rand"
	"encoding/base32"
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

// NewAddress makes an address that nobody can guess.
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
	callsASec = 2000 // at one address
)

// known finds whose an address is, and remembers it for a moment.
type known struct {
	from  Addresses
	mu    sync.Mutex
	found map[string]remembered
	looks metre
	calls map[string]*metre
}

type remembered struct {
	whose work.CallbackAddress
	until time.Time
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

// find is whose an address is; there is none where it is not found.
func (k *known) find(ctx context.Context, address string, now time.Time) (whose work.CallbackAddress, found bool, err error) {
	if !isAddress(address) {
		return whose, false, nil
	}
	k.mu.Lock()
	if r, ok := k.found[address]; ok && now.Before(r.until) {
		k.mu.Unlock()
		return r.whose, true, nil
	}
	_, before := k.found[address]
	over := !before && k.looks.over(looksASec, now) // who has been here before is not one of those who guess
	k.mu.Unlock()
	if over {
		return whose, false, nil
	}
	whose, err = k.from.Callback(ctx, address)
	k.mu.Lock()
	defer k.mu.Unlock()
	if err != nil {
		delete(k.found, address)
		if posthouse.CodeOf(err) == posthouse.CodeNotFound {
			err = nil
		}
		return whose, false, err
	}
	if len(k.found) >= mostKnown {
		maps.DeleteFunc(k.found, func(_ string, r remembered) bool { return !now.Before(r.until) })
	}
	k.found[address] = remembered{whose, now.Add(knownFor)}
	return whose, true, nil
}

// crowded counts a call to an address, and says whether there are too many in this second.
func (k *known) crowded(address string, now time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	m := k.calls[address]
	if m == nil {
		if len(k.calls) >= mostKnown {
			clear(k.calls)
		}
		m = new(metre)
		k.calls[address] = m
	}
	return m.over(callsASec, now)
}
