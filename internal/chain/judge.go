package chain

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// Links reads the chain, and what it sealed as it is stored now.
type Links interface {
	// WholeAfter reads the messages of all tenants that follow an id, some at a time, and returns the last id of the part, empty
	// at the end.
	WholeAfter(ctx context.Context, after string) (list []work.Whole, last string, err error)
	// KeysWithin reads the keys that stand for what has an id above one and up to another.
	KeysWithin(ctx context.Context, after, last string) ([]work.Key, error)
	// AcksWithin reads the notifications that somebody has acknowledged and whose ids are above one and up to another.
	AcksWithin(ctx context.Context, after, last string) ([]posthouse.Notification, error)
	// Checkpoints reads links in their order, some at a time.
	Checkpoints(ctx context.Context, after int64) ([]work.Checkpoint, error)
}

// Finding is something that was sealed and looked at. What is empty where it is as it was.
type Finding struct{ Subject, What string }

// Head names a link as it is kept elsewhere: its number and its hash.
func Head(c work.Checkpoint) string { return fmt.Sprintf("%d:%s", c.Seq, c.Hash) }

// Check compares the chain with itself and with what is stored, and tells each of its findings. head is a link that was kept
// elsewhere and must be in it, empty for none. It reports how many links there are.
func Check(ctx context.Context, links Links, now time.Time, head string, each func(Finding) error) (int, error) {
	frame := &frame{heads: map[string]bool{}, keep: -1}
	if err := frame.read(ctx, links, each); err != nil {
		return 0, err
	}
	if head != "" && !frame.heads[head] {
		if err := each(Finding{"link " + head, "the chain does not have this link any more"}); err != nil {
			return 0, err
		}
	}
	var empty []work.Checkpoint
	err := visit(ctx, links, 0, func(c *work.Checkpoint) error {
		if c.Body == "" {
			empty = append(empty, *c)
			return nil
		}
		return frame.judgeBody(ctx, links, c, now, each)
	})
	if err == nil { // a server goes on: its next pass may have emptied what the frame knows nothing of yet
		err = frame.read(ctx, links, each)
	}
	for i := 0; i < len(empty) && err == nil; i++ {
		err = frame.judgeEmpty(&empty[i], now, each)
	}
	return len(frame.heads), err
}

// frame is what the whole chain says.
type frame struct {
	last  work.Checkpoint // as far as it was read
	heads map[string]bool
	high  [len(passes)]string // how far each pass has come
	keep  time.Duration       // the shortest there was; negative for never deleting
}

// visit goes through the links that follow one.
func visit(ctx context.Context, links Links, after int64, each func(c *work.Checkpoint) error) error {
	for {
		list, err := links.Checkpoints(ctx, after)
		if err != nil || len(list) == 0 {
			return err
		}
		for i := range list {
			if err := each(&list[i]); err != nil {
				return err
			}
			after = list[i].Seq
		}
	}
}

// read goes through the links that came since, and compares each with the one before.
func (f *frame) read(ctx context.Context, links Links, each func(Finding) error) error {
	return visit(ctx, links, f.last.Seq, func(c *work.Checkpoint) error {
		what := ""
		switch {
		case c.Seq != f.last.Seq+1:
			what = fmt.Sprintf("it follows link %d: those between are gone", f.last.Seq)
		case c.Prev != f.last.Hash:
			what = "it does not follow the link before"
		case c.Hash != linkHash(c) || c.Pass < 0 || c.Pass >= len(passes):
			what = "it is not what it was"
		case c.Body != "" && bodyHash(c.Body) != c.BodyHash:
			what = "what it sealed is not what it was"
		default:
			f.high[c.Pass] = max(f.high[c.Pass], c.High)
		}
		if c.Keep >= 0 && (f.keep < 0 || c.Keep < f.keep) {
			f.keep = c.Keep
		}
		f.heads[Head(*c)] = true
		f.last = *c
		return each(Finding{fmt.Sprintf("link %d", c.Seq), what})
	})
}

// judgeEmpty holds that a body is gone for one of its reasons alone.
func (f *frame) judgeEmpty(c *work.Checkpoint, now time.Time, each func(Finding) error) error {
	next := c.Pass + 1
	if c.Messages == 0 || next < len(f.high) && f.high[next] >= c.High || c.High < forgettable(now, f.keep) {
		return nil
	}
	return each(Finding{fmt.Sprintf("link %d", c.Seq), "what it sealed is gone"})
}

// judgeBody compares the messages of a link with what is stored.
func (f *frame) judgeBody(ctx context.Context, links Links, c *work.Checkpoint, now time.Time, each func(Finding) error) error {
	stored, err := within(ctx, links, c.Low, c.High)
	if err != nil {
		return err
	}
	keys, err := links.KeysWithin(ctx, c.Low, c.High)
	if err != nil {
		return err
	}
	acks, err := links.AcksWithin(ctx, c.Low, c.High)
	if err != nil {
		return err
	}
	held, taken, old := keysOf(keys), acksOf(acks), oldest(now, f.keep)
	for line := range strings.SplitSeq(c.Body, "\n") {
		id, what, is := taken.differs(line, old)
		if !is {
			id, what, is = held.differs(line, now)
		}
		if is {
			if err := each(Finding{id, what}); err != nil {
				return err
			}
			continue
		}
		id, _, _ = strings.Cut(line, " ")
		found := differences(line, stored[id], id < old)
		if len(found) == 0 {
			found = []string{""}
		}
		for _, what := range found {
			if err := each(Finding{id, what}); err != nil {
				return err
			}
		}
	}
	return nil
}

// within reads the messages of a range.
func within(ctx context.Context, links Links, low, high string) (map[string]*work.Whole, error) {
	stored := map[string]*work.Whole{}
	for after := low; ; {
		list, last, err := links.WholeAfter(ctx, after)
		if err != nil {
			return nil, err
		}
		for i := range list {
			if list[i].ID > high {
				return stored, nil
			}
			stored[list[i].ID] = &list[i]
		}
		if last == "" || last >= high {
			return stored, nil
		}
		after = last
	}
}
