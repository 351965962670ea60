package archive

import (
	"bufio"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"iter"
	"time"

	"github.com/posthouse/posthouse"
)

// Stored is a message as it is stored, with its deliveries; Message is nil where the row cannot be read.
type Stored struct {
	ID         string
	Message    *posthouse.Message
	Recipients int
	Deliveries []posthouse.Delivery
	// Notifications are those that the deliveries belong to, as far as they are kept.
	Notifications []posthouse.Notification
}

// Source is what is stored, each part in the order of ids. Both may go on changing while they are read.
type Source struct {
	Messages iter.Seq2[Stored, error]
	// Events are those of all deliveries, by delivery and version.
	Events iter.Seq2[posthouse.Event, error]
	// Sign signs what it is given, and names the key. Defaults to no signature.
	Sign func(text []byte) (keyID string, signature []byte)
}

// Written says what Write did.
type Written struct {
	Totals
	SHA256 string
	// Left are the ids of messages that belong in the range and are not in the archive: they changed while they were read, or
	// are not stored whole.
	Left []string
}

// ahead is how far the clock by which ids are made may be before the database's, and more than an id may be by itself.
const ahead = 2 * time.Hour

// Write writes the messages of a range. It holds one message in memory, and whatever the source holds.
func Write(to io.Writer, in Source, asked Range) (done Written, err error) {
	packed := gzip.NewWriter(to)
	out := &lines{to: bufio.NewWriterSize(packed, 256<<10), sum: sha256.New()}
	if err := out.write(head{format, version, asked}); err != nil {
		return done, err
	}
	events, stop := iter.Pull2(in.Events)
	defer stop()
	log := &history{next: events}
	end := posthouse.FirstID(asked.Before.Add(ahead)) // nothing settles before it is made
	for m, err := range in.Messages {
		if err != nil {
			return done, err
		}
		if m.ID >= end {
			break
		}
		if !asked.fits(m.Deliveries) || asked.Tenant != "" && m.Deliveries[0].Tenant != asked.Tenant {
			continue
		}
		r, whole, err := log.of(m)
		if err != nil {
			return done, err
		}
		if !whole {
			done.Left = append(done.Left, m.ID)
			continue
		}
		if err := out.write(r); err != nil {
			return done, err
		}
		done.add(&r)
	}
	done.SHA256 = hex.EncodeToString(out.sum.Sum(nil))
	last := foot{Totals: done.Totals, SHA256: done.SHA256}
	if in.Sign != nil {
		last.KeyID, last.Signature = in.Sign(Signed(done.SHA256))
	}
	if err := out.write(last); err != nil {
		return done, err
	}
	if err := out.to.Flush(); err != nil {
		return done, fmt.Errorf("write the archive: %w", err)
	}
	if err := packed.Close(); err != nil {
		return done, fmt.Errorf("write the archive: %w", err)
	}
	return done, nil
}

// history walks over the events beside the messages.
type history struct {
	next  func() (posthouse.Event, error, bool)
	ahead *posthouse.Event // read, and not yet asked for
}

// of is a message with its events, and whether these lead to what is stored: each delivery's from its first version to the one
// that its row has.
func (h *history) of(m Stored) (r Record, whole bool, err error) {
	r.Deliveries, r.Notifications = m.Deliveries, m.Notifications
	for {
		if h.ahead == nil {
			e, err, more := h.next()
			if err != nil {
				return r, false, err
			}
			if !more {
				break
			}
			h.ahead = &e
		}
		if h.ahead.Message > m.ID {
			break
		}
		if h.ahead.Message == m.ID {
			r.Events = append(r.Events, *h.ahead)
		}
		h.ahead = nil
	}
	if m.Message == nil {
		return r, false, nil
	}
	r.Message, r.Recipients, r.Trace = *m.Message, m.Recipients, m.Message.Trace
	return r, complete(r.Deliveries, r.Events), nil
}

// complete tells whether events, by delivery and version, are the whole life of each delivery.
func complete(deliveries []posthouse.Delivery, events []posthouse.Event) bool {
	for i := range deliveries {
		d, n := &deliveries[i], int64(0)
		for len(events) > 0 && events[0].Delivery == d.ID {
			if n++; events[0].Version != n {
				return false
			}
			events = events[1:]
		}
		if n != d.Version {
			return false
		}
	}
	return len(events) == 0
}

// lines writes JSON objects, one a line, and sums them up.
type lines struct {
	to  *bufio.Writer
	sum hash.Hash
}

func (l *lines) write(v any) error {
	text, err := json.Marshal(v)
	if err == nil {
		text = append(text, '\n')
		l.sum.Write(text) //nolint:errcheck // a hash takes everything
		_, err = l.to.Write(text)
	}
	if err != nil {
		return fmt.Errorf("write the archive: %w", err)
	}
	return nil
}
