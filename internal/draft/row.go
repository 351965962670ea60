package draft

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/taskbody"
)

// Row is what the column draft of the table outbox holds, as JSON: a draft, an event of a task, or a job of the
// notification document.
type Row struct {
	posthouse.Draft
	TaskEvent *taskbody.NewEvent `json:"task_event,omitempty"`
	Job       json.RawMessage    `json:"job,omitempty"`
	// Traceparent is the writer's span, as the W3C writes it.
	Traceparent string `json:"traceparent,omitempty"`
}

// NoTime names the time of a row that is written down and yet reads as none, "" where there is none of those: the
// first moment of the year 1 must not mean that nothing was said.
func NoTime(text []byte) string {
	if !bytes.Contains(text, []byte("0001-01-01T")) && !bytes.Contains(text, []byte("0000-12-31T")) {
		return ""
	}
	var given struct {
		NotBefore *time.Time `json:"not_before"`
		Deadline  *time.Time `json:"deadline"`
		Clock     struct {
			Until *time.Time `json:"until"`
			Since *time.Time `json:"since"`
		} `json:"clock"`
	}
	if json.Unmarshal(text, &given) != nil {
		return ""
	}
	for _, f := range []struct {
		name string
		at   *time.Time
	}{
		{"not_before", given.NotBefore}, {"deadline", given.Deadline}, {"clock.until", given.Clock.Until}, {"clock.since", given.Clock.Since},
	} {
		if f.at != nil && f.at.IsZero() {
			return f.name
		}
	}
	return ""
}

// A row of the outbox is as a rule named like the message it becomes. Where many may hand in one message,
// since they share a dedup_key, each has a row of its own: what it is about, the message, and a part that
// is its alone, 64 characters with two dashes between.
const (
	aboutLength = 16
	ownLength   = 20
)

const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ" // as posthouse.NewID

// SharedMinute is how long callers who cannot see each other are told the same id, from the beginning
// of each on. A message's id is at most so much older than the message.
const SharedMinute = time.Minute

// MaxAhead is how far in the future a row's id may be: clocks differ. A message with an id of a far future would be kept until
// then, since what is old is found by id.
const MaxAhead = time.Hour

// SharedID names the message that all who hand in a dedup_key within the same minute mean. Generation
// tells those apart that follow each other within it. It has the form of posthouse.NewID.
func SharedID(tenant, channel, key string, at time.Time, generation int) string {
	ms := at.Truncate(SharedMinute).UnixMilli()
	sum := digest(tenant, channel, key, strconv.FormatInt(ms, 10), strconv.Itoa(generation))
	return text(uint64(ms), 10) + text(binary.BigEndian.Uint64(sum[:])&(1<<60-1), 12) + "0000"
}

// About begins the names of all rows of a dedup_key. They lie above About + "-" and below About + ".".
func About(tenant, channel, key string) string {
	sum := digest(tenant, channel, key)
	return text(binary.BigEndian.Uint64(sum[:]), aboutLength/2) + text(binary.BigEndian.Uint64(sum[8:]), aboutLength/2)
}

// SharedRow makes a new name for a row that becomes the message.
func SharedRow(about, message string) string {
	own := posthouse.NewID()
	return about + "-" + message + "-" + own[2:2+ownLength] // its first two letters are those of its century
}

// MessageOf is the message that a row becomes by its name, and whether other rows may become the same;
// "" where the name says nothing.
func MessageOf(row string) (message string, shared bool) {
	parts := strings.Split(row, "-")
	if shared = len(parts) == 3 && len(parts[0]) == aboutLength && len(parts[2]) == ownLength; shared {
		row = parts[1]
	}
	if !posthouse.ValidID(row) || posthouse.DeliveryNumber(row) != 0 {
		return "", false
	}
	return row, shared
}

// digest is of texts and where each ends.
func digest(parts ...string) [sha256.Size]byte {
	var b []byte
	for _, p := range parts {
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(p))), p...)
	}
	return sha256.Sum256(b)
}

// text writes the last 5n bits of a number.
func text(number uint64, n int) string {
	out := make([]byte, n)
	for i := n - 1; i >= 0; i-- {
		out[i] = alphabet[number&31]
		number >>= 5
	}
	return string(out)
}
