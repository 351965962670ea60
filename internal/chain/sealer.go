package chain

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// Book is where links are kept, and what they seal.
type Book interface {
	// WholeAfter reads the messages of all tenants that follow an id, some at a time, and returns the last id of the part, empty
	// at the end.
	WholeAfter(ctx context.Context, after string) (list []work.Whole, last string, err error)
	// KeysWithin reads the keys that stand for what has an id above one and up to another.
	KeysWithin(ctx context.Context, after, last string) ([]work.Key, error)
	// AcksWithin reads the notifications that somebody has acknowledged and whose ids are above one and up to another.
	AcksWithin(ctx context.Context, after, last string) ([]posthouse.Notification, error)
	// LastCheckpoint is the last link of a pass, or of all for AnyPass.
	LastCheckpoint(ctx context.Context, pass int) (c work.Checkpoint, found bool, err error)
	// AddCheckpoint adds a link behind the one whose hash is its Prev; an error of code conflict where that is not the last any
	// more. Bodies that the link makes needless go, and those that end before an id.
	AddCheckpoint(ctx context.Context, now time.Time, c work.Checkpoint, forget string) error
}

// AnyPass asks for the last link of all.
const AnyPass = -1

// passes are how old messages are when they are sealed, as multiples of Sealer.After: at 1m, after a minute, an hour, a day
// and thirty days.
var passes = [...]int{1, 60, 24 * 60, 30 * 24 * 60}

// Sealer seals what is stored, for as long as Run runs. Several processes may run one each: they take turns.
type Sealer struct {
	Book Book
	// After is how old messages are when they are sealed first.
	After time.Duration
	// Keep is how long settled deliveries are kept; negative keeps all.
	Keep time.Duration
	Log  *slog.Logger
}

// Run seals again and again, until ctx ends.
func (s Sealer) Run(ctx context.Context) {
	tick := time.NewTicker(min(max(s.After, 10*time.Millisecond), time.Minute))
	defer tick.Stop()
	for {
		err := s.Seal(ctx, time.Now())
		if err != nil && ctx.Err() == nil && posthouse.CodeOf(err) != posthouse.CodeConflict {
			s.Log.Warn("the hash chain cannot go on now", "error", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// Seal seals all that is old enough. An error of code conflict says that another process is at it.
func (s Sealer) Seal(ctx context.Context, now time.Time) error {
	if err := s.noteKeep(ctx, now); err != nil {
		return err
	}
	for pass, times := range passes {
		for {
			more, err := s.part(ctx, now, pass, posthouse.FirstID(now.Add(-s.After * time.Duration(times)))[:timeDigits])
			if err != nil {
				return err
			}
			if !more {
				break
			}
		}
	}
	return nil
}

// keep is Keep in whole microseconds, as links have it: one less than none where all is kept.
func (s Sealer) keep() time.Duration {
	if s.Keep < 0 {
		return -time.Microsecond
	}
	return s.Keep.Truncate(time.Microsecond)
}

// timeDigits is how much of an id is its time.
const timeDigits = 10

// part seals the next messages of a pass that are older than a time, and reports whether there may be more.
func (s Sealer) part(ctx context.Context, now time.Time, pass int, before string) (more bool, err error) {
	last, _, err := s.Book.LastCheckpoint(ctx, pass)
	if err != nil {
		return false, err
	}
	list, end, err := s.Book.WholeAfter(ctx, last.High)
	if err != nil {
		return false, err
	}
	lines := make([]string, 0, len(list))
	high := ""
	for i := range list {
		if list[i].ID[:timeDigits] >= before {
			end = ""
			break
		}
		lines = append(lines, lineOf(&list[i]))
		high = posthouse.LastDeliveryID(list[i].ID)
	}
	if len(lines) == 0 {
		return false, nil
	}
	messages := len(lines)
	keys, err := s.Book.KeysWithin(ctx, last.High, high)
	if err != nil {
		return false, err
	}
	for i := range keys {
		if !keys[i].Freed {
			lines = append(lines, keyLine(&keys[i]))
		}
	}
	acks, err := s.Book.AcksWithin(ctx, last.High, high)
	if err != nil {
		return false, err
	}
	for i := range acks {
		lines = append(lines, ackLine(&acks[i]))
	}
	err = s.add(ctx, now, work.Checkpoint{Pass: pass, Low: last.High, High: high, Messages: messages, Body: strings.Join(lines, "\n")})
	return end != "", err
}

// noteKeep seals that what is old goes sooner or later than before, so that what is missing then is judged by it.
func (s Sealer) noteKeep(ctx context.Context, now time.Time) error {
	last, found, err := s.Book.LastCheckpoint(ctx, AnyPass)
	if err != nil || !found || last.Keep == s.keep() {
		return err
	}
	first, _, err := s.Book.LastCheckpoint(ctx, 0)
	if err != nil {
		return err
	}
	return s.add(ctx, now, work.Checkpoint{Low: first.High, High: first.High})
}

// add makes a link of what was sealed.
func (s Sealer) add(ctx context.Context, now time.Time, c work.Checkpoint) error {
	last, _, err := s.Book.LastCheckpoint(ctx, AnyPass)
	if err != nil {
		return err
	}
	c.Seq, c.At, c.Keep, c.Prev = last.Seq+1, now.UTC().Truncate(time.Microsecond), s.keep(), last.Hash
	c.BodyHash = bodyHash(c.Body)
	c.Hash = linkHash(&c)
	if err := s.Book.AddCheckpoint(ctx, now, c, forgettable(now, s.keep())); err != nil {
		return err
	}
	s.Log.Debug("sealed", "link", c.Seq, "hash", c.Hash, "messages", c.Messages)
	return nil
}

// forgettable is the time before which nothing is there any more that a body could be compared with: an id begins with it.
func forgettable(now time.Time, keep time.Duration) string {
	if keep < 0 {
		return ""
	}
	return posthouse.FirstID(now.Add(-2*keep - lastPass))[:timeDigits]
}

// lastPass is more than the age at which messages are sealed for the last time.
const lastPass = 60 * 24 * time.Hour
