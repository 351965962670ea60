package posthouse

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"sync"
	"time"
)

// Ids are 26 characters of Crockford base 32: 48 bits of milliseconds, 60 bits
// that rise at random within a millisecond, and 20 bits that number what
// belongs to the message. So ids sort by time, cannot be guessed, and a
// message's deliveries stand next to it in every index: delivery n of a message
// is the message's id with n in its last four characters.
const (
	idAlphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	idLength   = 26

	// MaxDeliveries is how many deliveries one message can have, replays included.
	MaxDeliveries = 1<<20 - 1
)

var idClock struct { // makes the ids of one process rise
	sync.Mutex
	last int64
	rnd  uint64
}

// NewID makes the id of a message, or of anything else that wants one. Ids of
// one process rise strictly.
func NewID() string {
	var b [8]byte
	rand.Read(b[:])
	fresh := binary.BigEndian.Uint64(b[:])

	idClock.Lock()
	ms := time.Now().UnixMilli()
	if ms > idClock.last {
		idClock.last, idClock.rnd = ms, fresh>>5 // 59 bits: room to rise
	} else {
		idClock.rnd += fresh>>24 + 1 // a step of at most 2^40
		if idClock.rnd >= 1<<60 {
			idClock.last++
			idClock.rnd = fresh >> 5
		}
	}
	ms, rnd := idClock.last, idClock.rnd
	idClock.Unlock()
	return messageID(ms, rnd)
}

// FirstID is the lowest id that what was made at a time, or later, can have: one end of a range by time.
func FirstID(at time.Time) string { return messageID(max(0, at.UnixMilli()), 0) }

// IDTime is when an id says that it was made, to the millisecond.
func IDTime(id string) time.Time {
	ms := int64(0)
	for i := 0; i < 10 && i < len(id); i++ {
		ms = ms<<5 | int64(idValue(id[i]))
	}
	return time.UnixMilli(ms).UTC()
}

// messageID writes an id that numbers nothing.
func messageID(ms int64, rnd uint64) string {
	var out [idLength]byte
	for i := 9; i >= 0; i-- {
		out[i] = idAlphabet[ms&31]
		ms >>= 5
	}
	for i := 21; i >= 10; i-- {
		out[i] = idAlphabet[rnd&31]
		rnd >>= 5
	}
	copy(out[22:], "0000")
	return string(out[:])
}

// DeliveryID is the id of the nth delivery of a message, counted from 1.
func DeliveryID(message string, n int) string {
	if len(message) != idLength || n < 1 || n > MaxDeliveries {
		panic(fmt.Sprintf("posthouse: no delivery %d of message %q", n, message))
	}
	out := []byte(message)
	for i := idLength - 1; i >= idLength-4; i-- {
		out[i] = idAlphabet[n&31]
		n >>= 5
	}
	return string(out)
}

// MessageID is the id of the message that a delivery belongs to.
func MessageID(delivery string) string {
	if len(delivery) != idLength {
		return ""
	}
	return delivery[:idLength-4] + "0000"
}

// LastDeliveryID is the highest id a delivery of the message can have: the
// upper end of a range over its deliveries.
func LastDeliveryID(message string) string { return DeliveryID(message, MaxDeliveries) }

// DeliveryNumber is which delivery of its message an id names, 0 for the message itself.
func DeliveryNumber(id string) int {
	n := 0
	for i := idLength - 4; i < idLength && i < len(id); i++ {
		n = n<<5 | idValue(id[i])
	}
	return n
}

// ValidID reports whether s has the form of an id.
func ValidID(s string) bool {
	if len(s) != idLength {
		return false
	}
	for i := range len(s) {
		if idValue(s[i]) < 0 {
			return false
		}
	}
	return true
}

func idValue(c byte) int {
	for i := range len(idAlphabet) {
		if idAlphabet[i] == c {
			return i
		}
	}
	return -1
}
