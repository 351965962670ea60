package chain

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// digest is a hash of a value's JSON, 128 bits of it: no other value with the same can be found.
func digest(v any) string { return DigestOf(textOf(v)) }

// textOf is what a digest is of.
func textOf(v any) string {
	text, _ := json.Marshal(v) // plain values: cannot fail
	return string(text)
}

// DigestOf is the hash of a text as lines have it: the first half of its SHA-256, in base64 for URLs without padding.
func DigestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}

// constant is what never changes of a delivery's row.
type constant struct {
	ID, Tenant, Channel, User, Address, Type, IdemKey, ReplayOf string
	CreatedAt, NotBefore, Deadline                              time.Time
}

// story is what is sealed of a delivery: as much of its events as there were.
type story struct {
	Row    constant
	Events []posthouse.Event
}

func storyOf(d *posthouse.Delivery, events []posthouse.Event) story {
	return story{constant{
		d.ID, d.Tenant, d.Channel, d.User, d.Address, d.Type, d.IdemKey, d.ReplayOf,
		d.CreatedAt.UTC(), d.NotBefore.UTC(), d.Deadline.UTC(),
	}, events}
}

// storyWith is the story whose digest was sealed, as text; empty where what is stored now makes none. What the event of the accept says of the policy
// is read from the row, which changes it where a new epoch or a person holds the delivery: it may be any that there is. Of no events at all and of an
// empty list the digests differ.
func storyWith(d *posthouse.Delivery, events []posthouse.Event, sealed string) string {
	lists := [][]posthouse.Event{events}
	if len(events) == 0 {
		lists = [][]posthouse.Event{nil, {}}
	}
	for _, policy := range posthouse.Policies() {
		if len(events) == 0 || events[0].Type != posthouse.EventAccept || events[0].Policy == policy {
			continue
		}
		list := slices.Clone(events)
		list[0].Policy = policy
		lists = append(lists, list)
	}
	for _, list := range lists {
		if text := textOf(storyOf(d, list)); DigestOf(text) == sealed {
			return text
		}
	}
	return ""
}

// standing is a delivery's row as it is sealed while no event follows. Whether agents fetch it is its channel's matter, and
// changes without an event.
func standing(d *posthouse.Delivery) string { return digest(standingOf(d)) }

func standingOf(d *posthouse.Delivery) posthouse.Delivery {
	sealed := *d
	sealed.Pulled = false
	for _, at := range []*time.Time{&sealed.CreatedAt, &sealed.UpdatedAt, &sealed.DueAt, &sealed.NotBefore, &sealed.Deadline, &sealed.StartedAt, &sealed.FirstStartAt, &sealed.LeaseUntil} {
		*at = at.UTC()
	}
	return sealed
}

// row is what is sealed of a message.
type row struct {
	Message    posthouse.Message
	Recipients int
	Trace      string // which the message does not show
}

// lineOf is a message as it is sealed: its id, the hash of its row, and number:events:hash:row of each delivery. hash is over
// what never changes of its row and its events, row over the row as these have made it. An attempt that is under way is sealed
// later: its lease may be renewed.
func lineOf(w *work.Whole) string {
	var b strings.Builder
	b.WriteString(w.ID)
	b.WriteByte(' ')
	b.WriteString(rowHash(w))
	events := eventsBy(w)
	for i := range w.Deliveries {
		d := &w.Deliveries[i]
		list := events[d.ID]
		if d.State == posthouse.Sending {
			list = nil
		}
		for len(list) > 0 && list[len(list)-1].Version > d.Version { // it came after the row was read: the row is of before it
			list = list[:len(list)-1]
		}
		fmt.Fprintf(&b, " %d:%d:%s", posthouse.DeliveryNumber(d.ID), len(list), digest(storyOf(d, list)))
		if list != nil {
			b.WriteString(":" + standing(d))
		}
	}
	return b.String()
}

func rowHash(w *work.Whole) string {
	if w.Message == nil {
		return "-"
	}
	return digest(rowOf(w))
}

func rowOf(w *work.Whole) row { return row{*w.Message, w.Recipients, w.Message.Trace} }

func eventsBy(w *work.Whole) map[string][]posthouse.Event {
	by := make(map[string][]posthouse.Event, len(w.Deliveries))
	for _, e := range w.Events {
		by[e.Delivery] = append(by[e.Delivery], e)
	}
	return by
}

// differences are what is not as a line has sealed it. gone reports whether what is missing may have been deleted for its age.
func differences(line string, now *work.Whole, gone bool) (list []string) {
	fields := strings.Fields(line)
	if len(fields) < 2 {
		return []string{"its line cannot be read"}
	}
	if now == nil || now.Message == nil {
		if gone || fields[1] == "-" {
			return nil
		}
		return []string{"the message was sealed and is not there"}
	}
	if hash := rowHash(now); fields[1] != "-" && fields[1] != hash {
		list = append(list, "the message's row is not what was sealed")
	}
	events := eventsBy(now)
	for _, field := range fields[2:] {
		if problem := differs(field, now, events, gone); problem != "" {
			list = append(list, problem)
		}
	}
	return list
}

// differs compares one delivery.
func differs(field string, now *work.Whole, events map[string][]posthouse.Event, gone bool) string {
	parts := strings.Split(field, ":")
	if len(parts) < 3 {
		return "its line cannot be read"
	}
	number, _ := strconv.Atoi(parts[0])
	count, _ := strconv.Atoi(parts[1])
	id := posthouse.DeliveryID(now.ID, number)
	for i := range now.Deliveries {
		d := &now.Deliveries[i]
		if d.ID != id {
			continue
		}
		list := events[id]
		switch {
		case len(list) < count:
			return fmt.Sprintf("delivery %s had %d events when it was sealed and has %d", id, count, len(list))
		case storyWith(d, list[:count], parts[2]) == "":
		case len(parts) > 3 && len(list) == count && standing(d) != parts[3]:
			return fmt.Sprintf("the row of delivery %s is not what was sealed, and no event has followed", id)
		default:
			return ""
		}
		return fmt.Sprintf("delivery %s, or one of its first %d events, is not what was sealed", id, count)
	}
	if gone {
		return ""
	}
	return fmt.Sprintf("delivery %s was sealed and is not there", id)
}

// bodyHash is the hash of a body as the link keeps it.
func bodyHash(body string) string {
	sum := sha256.Sum256([]byte(body))
	return hex.EncodeToString(sum[:])
}

// linkHash is the hash of a link: over all of its fields and the link before.
func linkHash(c *work.Checkpoint) string { return bodyHash(linkText(c)) }

func linkText(c *work.Checkpoint) string {
	return fmt.Sprintf("posthouse\n%d\n%d\n%d\n%s\n%s\n%d\n%d\n%s\n%s",
		c.Seq, c.At.UnixMicro(), c.Pass, c.Low, c.High, c.Keep.Microseconds(), c.Messages, c.BodyHash, c.Prev)
}
