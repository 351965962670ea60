package chain

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse/internal/work"
)

// keyMark begins the lines of keys, which follow those of the messages.
const keyMark = "+"

// keyLine is a key as it is sealed: the id of what it stands for, when it ends, and a hash of its row.
func keyLine(k *work.Key) string {
	return fmt.Sprintf("%s%s %d %s", keyMark, k.ID, k.ExpiresAt.UnixMicro(), keyHash(k))
}

func keyHash(k *work.Key) string {
	sealed := *k
	sealed.CreatedAt, sealed.ExpiresAt = k.CreatedAt.UTC(), k.ExpiresAt.UTC()
	return digest(sealed)
}

// heldKeys are the keys that are stored now: their hashes, by what they stand for. Of a deleted job there is none, by its id.
type heldKeys struct {
	hashes map[string]bool
	freed  map[string]bool
}

func keysOf(list []work.Key) heldKeys {
	h := heldKeys{map[string]bool{}, map[string]bool{}}
	for i := range list {
		if k := &list[i]; k.Freed {
			h.freed[k.ID] = true
		} else {
			h.hashes[k.ID+" "+keyHash(k)] = true
		}
	}
	return h
}

// differs compares the line of a key with what is stored: what is not as it was, empty for nothing. is says that it is the line
// of a key. One that has ended may be gone, or stand for something else.
func (h heldKeys) differs(line string, now time.Time) (id, what string, is bool) {
	line, is = strings.CutPrefix(line, keyMark)
	if !is {
		return "", "", false
	}
	fields := strings.Fields(line)
	if len(fields) != 3 {
		return line, "its line cannot be read", true
	}
	id = fields[0]
	ends, err := strconv.ParseInt(fields[1], 10, 64)
	switch {
	case err != nil:
		return id, "its line cannot be read", true
	case h.hashes[id+" "+fields[2]], h.freed[id], !now.Before(time.UnixMicro(ends)):
		return id, "", true
	}
	return id, "an Idempotency-Key or dedup key that stands for it is not there as it was sealed", true
}
