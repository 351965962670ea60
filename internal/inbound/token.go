package inbound

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
)

// tokenBytes is how many random bytes a token has. It is written as twice as many hexadecimal digits, which stand in every path, header
// and user name, and are what several senders take for a key of their own.
const tokenBytes = 32

// NewToken draws a token. It is shown once, and stored as its HashToken alone.
func NewToken() string {
	b := make([]byte, tokenBytes)
	_, _ = rand.Read(b) // it never fails: the program would end
	return hex.EncodeToString(b)
}

// HashToken is what is stored of a token. It is fast on purpose: nobody guesses 256 random bits.
func HashToken(token string) string {
	mac := hmac.New(sha256.New, []byte("posthouse front token v1"))
	mac.Write([]byte(token))
	return hex.EncodeToString(mac.Sum(nil))
}

// IsToken reports whether a text has the form of a token.
func IsToken(text string) bool {
	if len(text) != 2*tokenBytes {
		return false
	}
	for i := range len(text) {
		if c := text[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// knownFor is how long a front is remembered, and mostKnown how many are: a token that was changed works that long.
const (
	knownFor  = 2 * time.Second
	mostKnown = 10_000
)

// known remembers fronts by the hashes of their tokens for a moment: some senders call many times a second.
type known struct {
	from  Fronts
	mu    sync.Mutex
	found map[string]remembered
}

type remembered struct {
	front posthouse.Front
	until time.Time
}

func newKnown(from Fronts) known { return known{from: from, found: map[string]remembered{}} }

func (k *known) find(ctx context.Context, hash string, now time.Time) (posthouse.Front, bool, error) {
	k.mu.Lock()
	r, ok := k.found[hash]
	k.mu.Unlock()
	if ok && now.Before(r.until) {
		return r.front, true, nil
	}
	f, found, err := k.from.FrontByToken(ctx, hash)
	if err != nil || !found {
		return f, false, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.found) >= mostKnown {
		clear(k.found)
	}
	k.found[hash] = remembered{f, now.Add(knownFor)}
	return f, true, nil
}
