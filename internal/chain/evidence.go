package chain

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// Sealed finds the link that has sealed a message.
type Sealed interface {
	// CheckpointOf is the last link that has sealed an id and has its body, else the last that has sealed it.
	CheckpointOf(ctx context.Context, id string) (c work.Checkpoint, found bool, err error)
}

// Evidence is what the chain says of one message, so that others can compute it again. The zero value is of one that is not sealed.
type Evidence struct {
	// Link has sealed the message, and Text is what the link's hash is the SHA-256 of. Link.Seq is 0 where the message is not sealed yet.
	Link work.Checkpoint
	Text string
	// Line is the message in the link's body, empty where that is gone: then the message is too old to be compared.
	Line string
	// Row is the text whose digest Line has for the message's row; empty where the row is not what was sealed.
	Row string
	// Stories are those of its deliveries, in the order of Line.
	Stories []Story
	// Listed says that the link has its list of what it sealed.
	Listed bool
	// Differences are what is not as it was sealed.
	Differences []string
}

// Story is what a line has of a delivery.
type Story struct {
	Delivery string
	// Sealed is how many of its events were sealed, and Behind how many have followed since.
	Sealed, Behind int
	// Text is what the first digest is of: the constant part of the delivery's row with the events sealed. Row is what the second one is
	// of: the row as these events left it, empty where events have followed or an attempt was under way. Both are empty where they are not
	// what was sealed.
	Text, Row string
}

// EvidenceOf finds what the chain says of a message as it is stored now. What is missing of one that is older than keep may have been
// deleted for its age; a negative keep is for ever.
func EvidenceOf(ctx context.Context, links Sealed, now *work.Whole, at time.Time, keep time.Duration) (e Evidence, err error) {
	e, c, err := linkOf(ctx, links, now.ID)
	if err != nil || c.Seq == 0 {
		return e, err
	}
	for line := range strings.SplitSeq(c.Body, "\n") {
		if id, _, _ := strings.Cut(line, " "); id == now.ID {
			e.Line = line
		}
	}
	if e.Line == "" {
		if e.Listed {
			e.Differences = append(e.Differences, "the link seals a range in which the message was not")
		}
		return e, nil
	}
	gone := false
	for _, kept := range []time.Duration{keep, c.Keep} {
		gone = gone || kept >= 0 && posthouse.IDTime(now.ID).Before(at.Add(-kept))
	}
	e.Differences = append(e.Differences, differences(e.Line, now, gone)...)
	fields := strings.Fields(e.Line)
	if text := textOf(rowOf(now)); len(fields) > 1 && DigestOf(text) == fields[1] {
		e.Row = text
	}
	events := eventsBy(now)
	for _, field := range fields[min(2, len(fields)):] {
		e.Stories = append(e.Stories, storyIn(field, now, events))
	}
	return e, nil
}

// linkOf finds the link that has sealed an id, with what can be said of the link itself. The zero checkpoint is of none.
func linkOf(ctx context.Context, links Sealed, id string) (e Evidence, c work.Checkpoint, err error) {
	c, found, err := links.CheckpointOf(ctx, id)
	if err != nil || !found {
		return e, work.Checkpoint{}, err
	}
	e.Link, e.Text, e.Listed = c, linkText(&c), c.Body != ""
	if c.Hash != linkHash(&c) || e.Listed && bodyHash(c.Body) != c.BodyHash {
		e.Differences = append(e.Differences, "the link is not what it was")
	}
	e.Link.Body = "" // it names messages of others
	return e, c, nil
}

// storyIn is what a field of a line has of a delivery, with the texts of its digests.
func storyIn(field string, now *work.Whole, events map[string][]posthouse.Event) (s Story) {
	parts := strings.Split(field, ":")
	number, _ := strconv.Atoi(parts[0])
	if number < 1 || number > posthouse.MaxDeliveries || len(parts) < 3 {
		return s
	}
	s.Delivery = posthouse.DeliveryID(now.ID, number)
	s.Sealed, _ = strconv.Atoi(parts[1])
	for i := range now.Deliveries {
		d := &now.Deliveries[i]
		if d.ID != s.Delivery {
			continue
		}
		list := events[d.ID]
		count := min(max(s.Sealed, 0), len(list))
		s.Behind = len(list) - count
		s.Text = storyWith(d, list[:count], parts[2])
		if text := textOf(standingOf(d)); len(parts) > 3 && DigestOf(text) == parts[3] {
			s.Row = text
		}
	}
	return s
}
