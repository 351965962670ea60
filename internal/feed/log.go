package feed

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/secret"
	"github.com/posthouse/posthouse/internal/work"
)

// Source is the store's feed, for those who read it.
type Source interface {
	// Head is the position of the newest row.
	Head(ctx context.Context) (int64, error)
	// After reads up to max rows behind a position.
	After(ctx context.Context, pos int64, max int) ([]work.FeedRow, error)
	// Events reads the events of rows, in their order.
	Events(ctx context.Context, rows []work.FeedRow) ([]work.FeedEvent, error)
	// At is a position from which everything of a time or later is found.
	At(ctx context.Context, at time.Time) (int64, error)
	// Oldest is the oldest position there is, and its time; 0 for none.
	Oldest(ctx context.Context) (int64, time.Time, error)
}

// ErrClosed ends readers whose server stops.
var ErrClosed = errors.New("the server stops")

const (
	// pageRows is how many rows are read at once: each is of one transaction.
	pageRows = 64
	// pollEvery is how often a waiting reader looks for what other processes have written.
	pollEvery = 200 * time.Millisecond
	// keptEvents bounds the events that are kept for readers that are nearly up to date: whoever is not reads the database.
	keptEvents = 20_000
)

// Log reads the feed for many at once: each part of it once, as long as they keep up.
type Log struct {
	source Source

	reading sync.Mutex // held by who reads on at the end
	mu      sync.Mutex
	pages   []page        // follow each other
	events  int           // in all pages
	grown   chan struct{} // closed when there is more
	dry     chan struct{} // the value of grown where all was read since it was made
	closed  chan struct{}
}

// page is a part of the feed: all that is behind one position, up to and with another.
type page struct {
	after, last int64
	rows        int
	events      []work.FeedEvent
}

// NewLog makes a log.
func NewLog(source Source) *Log {
	return &Log{source: source, grown: make(chan struct{}), closed: make(chan struct{})}
}

// Close ends all readers.
func (l *Log) Close() { close(l.closed) }

// Closed is closed with the log.
func (l *Log) Closed() <-chan struct{} { return l.closed }

// Grow says that there may be more.
func (l *Log) Grow() {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.grown)
	l.grown = make(chan struct{})
}

// Whole is the position behind all events of a row.
func Whole(row int64) posthouse.FeedPosition { return posthouse.FeedPosition{Row: row, Index: 1 << 30} }

// Next waits for events behind a position, and returns some with the position to go on from. It returns none where what there
// was is no longer in the history.
func (l *Log) Next(ctx context.Context, after posthouse.FeedPosition) ([]work.FeedEvent, posthouse.FeedPosition, error) {
	for {
		l.mu.Lock()
		grown := l.grown
		l.mu.Unlock()
		if !l.atEnd(grown, after) {
			p, found, err := l.page(ctx, grown, after)
			if err != nil {
				return nil, after, err
			}
			if found {
				return behind(p.events, after), Whole(p.last), nil
			}
		}
		var err error
		poll := time.NewTimer(pollEvery)
		select {
		case <-grown:
		case <-poll.C:
			l.dried(nil) // others may have written
		case <-l.closed:
			err = ErrClosed
		case <-ctx.Done():
			err = ctx.Err()
		}
		poll.Stop()
		if err != nil {
			return nil, after, err
		}
	}
}

// atEnd reports whether a position is behind all that there was when somebody read last, and nothing is known to have come since.
func (l *Log) atEnd(grown chan struct{}, after posthouse.FeedPosition) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dry == grown && len(l.pages) > 0 && after == Whole(l.pages[len(l.pages)-1].last)
}

// dried notes that all was read of what there was when grown was made, or, by nil, that this is no longer known.
func (l *Log) dried(grown chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dry = grown
}

// behind leaves out the events of a page up to a position.
func behind(list []work.FeedEvent, after posthouse.FeedPosition) []work.FeedEvent {
	for i := range list {
		if after.Before(list[i].Pos) {
			return list[i:]
		}
	}
	return nil
}

// page finds the part of the feed behind a position: one that is kept, or the next one from the database.
func (l *Log) page(ctx context.Context, grown chan struct{}, after posthouse.FeedPosition) (p page, found bool, err error) {
	row := after.Row
	if after.Index < Whole(0).Index {
		row = max(row-1, 0) // more of that row may be wanted
	}
	if p, found = l.kept(row); found {
		return p, true, nil
	}
	end, ok := l.end()
	if ok && row < end {
		return l.read(ctx, row) // an older part: read for this one alone
	}
	l.reading.Lock()
	defer l.reading.Unlock()
	if p, found = l.kept(row); found { // another reader has read it meanwhile
		return p, true, nil
	}
	if p, found, err = l.read(ctx, row); err == nil && found {
		l.keep(p)
		if p.rows < pageRows {
			l.dried(grown)
		}
	}
	return p, found, err
}

func (l *Log) read(ctx context.Context, after int64) (page, bool, error) {
	rows, err := l.source.After(ctx, after, pageRows)
	if err != nil || len(rows) == 0 {
		return page{}, false, err
	}
	events, err := l.source.Events(ctx, rows)
	for i := range events {
		mask(&events[i].FeedEvent)
	}
	return page{after, rows[len(rows)-1].Pos, len(rows), events}, err == nil, err
}

// mask takes the keys and links by which a person acts out of an event: whoever follows the feed would act as that person by them.
func mask(e *posthouse.FeedEvent) {
	e.Error, e.ProviderRef = secret.MaskTokens(e.Error), secret.MaskTokens(e.ProviderRef)
	c := e.Callback
	if c == nil {
		return
	}
	c.Key = secret.MaskTokens(c.Key)
	for name, text := range c.Fields {
		c.Fields[name] = secret.MaskTokens(text)
	}
}

// kept is the kept page that holds what follows a row.
func (l *Log) kept(row int64) (page, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := len(l.pages) - 1; i >= 0; i-- {
		if p := l.pages[i]; p.after <= row && row < p.last {
			return p, true
		}
	}
	return page{}, false
}

func (l *Log) end() (int64, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.pages) == 0 {
		return 0, false
	}
	return l.pages[len(l.pages)-1].last, true
}

// keep adds a page behind the others; where it does not follow them, they go.
func (l *Log) keep(p page) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.pages); n > 0 && l.pages[n-1].last != p.after {
		l.pages, l.events = nil, 0
	}
	l.pages = append(l.pages, p)
	l.events += len(p.events)
	for l.events > keptEvents && len(l.pages) > 1 {
		l.events -= len(l.pages[0].events)
		l.pages[0] = page{}
		l.pages = l.pages[1:]
	}
}

// Position finds where to begin: behind an event, at a time, or, where both are empty, behind what there is now. What is asked
// for and no longer kept is an error.
func (l *Log) Position(ctx context.Context, id string, since time.Time) (posthouse.FeedPosition, error) {
	if id == "" && since.IsZero() {
		head, err := l.source.Head(ctx)
		return Whole(head), err
	}
	oldest, at, err := l.source.Oldest(ctx)
	if err != nil {
		return posthouse.FeedPosition{}, err
	}
	if id != "" {
		p, err := posthouse.ParseFeedPosition(id)
		if err == nil && p.Row > 0 && p.Row < oldest-1 { // the zero position is before all that there is
			err = posthouse.Errorf(posthouse.CodeInvalid, "the events behind %s are no longer kept: the oldest that are begin at %s", id, at.UTC().Format(time.RFC3339))
		}
		return p, err
	}
	row, err := l.source.At(ctx, since)
	if err != nil {
		return posthouse.FeedPosition{}, err
	}
	return Whole(row - 1), nil
}

// Behind is when the first event behind a position happened; the zero time where there is none.
func (l *Log) Behind(ctx context.Context, at posthouse.FeedPosition) (time.Time, error) {
	rows, err := l.source.After(ctx, at.Row, 1)
	if err != nil || len(rows) == 0 {
		return time.Time{}, err
	}
	return rows[0].At, nil
}
