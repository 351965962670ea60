package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/layout"
	"github.com/posthouse/posthouse/internal/store/reading"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// The feed says what happened to deliveries in one order, for whoever follows it. It holds no event, only which deliveries
// reached which version: the event is in the history, where it was written by the same transaction. What providers tell by
// themselves and how far budgets are spent has version 0, what became of notifications one below 0, and all of these stand in a table of their own. Where nobody follows, nothing is written
// but the latter.
//
// A position is given after the commit. Where one process writes into a file, transactions commit one after the other, and
// each takes the next position. Elsewhere they commit in another order than they began in: they write into an inbox, and
// Sequence, which runs once at a time, moves what it sees there to the end of the feed. So whoever reads on from a position
// never misses a late committer, whatever the clocks say. Of one delivery a version is committed before the next one begins,
// so that whoever sees the second sees the first, and Sequence sorts what it moves by version.
var (
	feedTable  = sqldb.NewTable("posthouse_feed", "pos#", "version#", "at#", "ids")
	inboxTable = sqldb.NewTable("posthouse_feed_inbox", "id", "version#", "at#", "ids")
)

// feedSwitch is what this process knows of whether anybody follows the feed.
type feedSwitch struct {
	checked atomic.Int64 // when it was last looked up, in nanoseconds since made
	wanted  atomic.Bool
	made    time.Time
	recent  *reading.Recent
	news    chan struct{} // holds a token where something was written that has no reader yet
}

func newFeedSwitch(recent *reading.Recent) *feedSwitch {
	return &feedSwitch{made: time.Now(), recent: recent, news: make(chan struct{}, 1)}
}

// feedStale is how old an answer may be before the feed counts as followed.
const feedStale = 3 * time.Second

// FeedDelay is how long after the first follower of a feed every process writes into it: each looks every second, and counts
// an answer that is older than feedStale for nothing.
const FeedDelay = 5 * time.Second

// on reports whether what happens is written into the feed. A process that could not look lately writes.
func (f *feedSwitch) on() bool {
	if f.wanted.Load() {
		return true
	}
	checked := f.checked.Load()
	return checked == 0 || time.Since(f.made)-time.Duration(checked) > feedStale
}

func (f *feedSwitch) set(wanted bool) {
	f.wanted.Store(wanted)
	f.checked.Store(max(1, int64(time.Since(f.made))))
}

// tell says that the feed has grown. Of a database that others write to as well, only what was committed is held: another
// process may have done what this one has tried.
func (f *feedSwitch) tell(told []reading.Tidings, shared bool) {
	if shared {
		f.recent.Put(told)
	}
	f.poke()
}

// poke says that there is something new.
func (f *feedSwitch) poke() {
	select {
	case f.news <- struct{}{}:
	default:
	}
}

// news collects which deliveries reached which version in one transaction; nil is nobody's.
type news struct {
	versions []int64
	of       map[int64]*reading.Tidings
}

// news begins to collect, where somebody wants to know.
func (t *tx) news() *news {
	if !t.feed.on() {
		return nil
	}
	return &news{of: map[int64]*reading.Tidings{}}
}

// add notes an event of a delivery, with its message where that is at hand.
func (n *news) add(d *posthouse.Delivery, e *posthouse.Event, m *posthouse.Message) {
	if n == nil {
		return
	}
	of := n.of[e.Version]
	if of == nil {
		of = &reading.Tidings{Version: e.Version}
		n.of[e.Version], n.versions = of, append(n.versions, e.Version)
	}
	of.IDs = append(of.IDs, d.ID)
	if m != nil {
		of.Events = append(of.Events, reading.EventOf(e, &reading.About{Channel: d.Channel, Kind: m.Kind, Ref: m.Ref, User: d.User}))
	}
}

// accepted notes a clean delivery, whose event follows from its row.
func (n *news) accepted(entry *work.Entry, d *posthouse.Delivery) {
	if n != nil {
		e := layout.AcceptEvent(d)
		n.add(d, &e, &entry.Message)
	}
}

// started notes the start of what was claimed clean.
func (n *news) started(item *work.Item) {
	if d := &item.Delivery; n != nil {
		e := layout.StartOf(d, d.Account, sqldb.Micros(d.StartedAt), sqldb.Micros(d.LeaseUntil), d.Epoch, d.LeaseOwner)
		n.add(d, &e, item.Message)
	}
}

func (n *news) changes(list []work.Change) {
	if n == nil {
		return
	}
	for i := range list {
		c := &list[i]
		for j := range c.Events {
			n.add(&c.Before, &c.Events[j], c.Of)
		}
	}
}

// announce writes news into the feed, in a transaction of what happened: at once, or with the bundle.
func (t *tx) announce(b *sqldb.Bundle, n *news) error {
	if n == nil || len(n.versions) == 0 {
		return nil
	}
	at, err := t.Now()
	if err != nil {
		return err
	}
	var rows [][]any
	for _, version := range n.versions {
		of := n.of[version]
		known := len(of.Events) == len(of.IDs)
		for part := range sqldb.Parts(of.IDs, reading.FeedRow) {
			rows = append(rows, []any{posthouse.NewID(), version, at, layout.IDList(part)})
			told := reading.Tidings{Version: version, IDs: part}
			if known {
				told.Events, of.Events = of.Events[:len(part)], of.Events[len(part):]
			}
			t.told = append(t.told, told)
		}
	}
	if !t.DB.Dialect.OneWriter {
		b.Insert(inboxTable, rows)
		return nil
	}
	t.feed.recent.Put(t.told) // readers see the rows as soon as they are committed
	for _, row := range rows {
		if _, err := t.Exec(appendToFeed, row[1:]...); err != nil {
			return err
		}
	}
	return nil
}

// tell is announce where there is no bundle.
func (t *tx) tell(n *news) error {
	var b sqldb.Bundle
	if err := t.announce(&b, n); err != nil {
		return err
	}
	return t.Run(b)
}

// epochBits is how many positions an epoch has: positions of one epoch never come again in the next, though the database went
// back in between.
const epochBits = 40

var appendToFeed = fmt.Sprintf(`INSERT INTO posthouse_feed (pos, version, at, ids)
SELECT MAX((SELECT COALESCE(MAX(pos), 0) + 1 FROM posthouse_feed), (SELECT ABS(CAST(value AS INTEGER)) << %d FROM posthouse_meta WHERE name = 'epoch')), ?, ?, ?`, epochBits)

// Sequence gives positions to what has none, and returns how many rows it moved. Calls wait for each other.
func (s Feed) Sequence(ctx context.Context, now time.Time) (n int, err error) {
	if s.db.Dialect.OneWriter {
		return 0, nil
	}
	if _, any, err := sqldb.First(s.db.Reads(ctx), sqldb.Word, "SELECT id FROM posthouse_feed_inbox LIMIT 1"); err != nil || !any {
		return 0, s.db.Coded(err, "look into the inbox of the feed")
	}
	err = s.db.Change(ctx, now, "give positions to the feed", func(t *sqldb.Tx) error {
		if _, _, err := sqldb.First(t.Query, sqldb.Word, feedState+t.DB.Dialect.Lock); err != nil {
			return err
		}
		n, err = sequence(t) // by a look that begins after the lock
		return err
	})
	return n, err
}

const feedState = "SELECT value FROM posthouse_meta WHERE name = 'feed'"

func sequence(t *sqldb.Tx) (int, error) {
	var rows [][]any
	var ids []string
	err := t.Query("SELECT id, version, at, ids FROM posthouse_feed_inbox ORDER BY version, id", nil, func(scan sqldb.Scanner) error {
		var id, list string
		var version, at int64
		err := scan(&id, &version, &at, &list)
		ids, rows = append(ids, id), append(rows, []any{int64(0), version, at, list})
		return err
	})
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	last, _, err := sqldb.First(t.Query, sqldb.Number, "SELECT COALESCE(MAX(pos), 0) FROM posthouse_feed")
	if err != nil {
		return 0, err
	}
	epoch, err := readEpoch(t.Query)
	if err != nil {
		return 0, err
	}
	last = max(last, max(epoch, -epoch)<<epochBits-1)
	for i := range rows {
		rows[i][0] = last + 1 + int64(i)
	}
	if err := t.Write(feedTable, rows, ""); err != nil {
		return 0, err
	}
	for part := range sqldb.Parts(ids, sqldb.BulkStep) {
		clause, args := t.In("id", part)
		if _, err := t.Exec("DELETE FROM posthouse_feed_inbox WHERE "+clause, args...); err != nil {
			return 0, err
		}
	}
	return len(rows), nil
}

// Look finds out whether anybody follows the feed, for all that this process writes from now on. Whoever writes calls it every
// second: else everything is written into the feed.
func (s Feed) Look(ctx context.Context) error {
	var until string
	var subscribed int64
	now, err := s.db.Now(ctx)
	if err != nil {
		return err
	}
	err = s.db.Look(ctx, "SELECT value, (SELECT COUNT(*) FROM (SELECT id FROM posthouse_subscriptions LIMIT 1) one) FROM posthouse_meta WHERE name = 'feed'", nil,
		func(scan sqldb.Scanner) error { return scan(&until, &subscribed) })
	if err != nil {
		return s.db.Coded(err, "look who follows the feed")
	}
	wanted, _ := strconv.ParseInt(until, 10, 64) // empty until somebody has followed
	s.feed.set(subscribed > 0 || wanted > sqldb.Micros(now))
	return nil
}

// Want keeps the feed written for a while, by all processes. It returns since when that holds without a gap: FeedDelay from
// now, where nobody has followed before.
func (s Feed) Want(ctx context.Context, now time.Time, lasts time.Duration) (since time.Time, err error) {
	err = s.db.Change(ctx, now, "follow the feed", func(t *sqldb.Tx) error {
		text, _, err := sqldb.First(t.Query, sqldb.Word, feedState+t.DB.Dialect.Lock)
		if err != nil {
			return err
		}
		at, err := t.Now()
		if err != nil {
			return err
		}
		until, _ := strconv.ParseInt(text, 10, 64) // empty at first
		since = sqldb.TimeOf(at)
		if until <= at && !t.DB.Dialect.OneWriter {
			since = since.Add(FeedDelay)
		}
		_, err = t.Exec("UPDATE posthouse_meta SET value = ? WHERE name = 'feed'", strconv.FormatInt(max(until, at+lasts.Microseconds()), 10))
		return err
	})
	if err == nil {
		s.feed.set(true)
	}
	return since, err
}

// News holds a token where this process has written something into the feed since it was last empty.
func (s Feed) News() <-chan struct{} { return s.feed.news }

// Tell writes what providers told by themselves, or a process has seen of a budget, each once: what has the same id is the same. It returns how many were new;
// where nobody follows the feed, none is written.
func (s Feed) Tell(ctx context.Context, now time.Time, list []work.Told) (told int, err error) {
	if !s.feed.on() {
		return 0, nil
	}
	write := func() error {
		return s.change(ctx, now, "write what was told", func(t *tx) (err error) {
			told, err = t.tellOnce(list)
			return err
		})
	}
	err = write()
	for try := 1; try < sqldb.BusyTries && s.db.Taken(err); try++ {
		err = write() // another process was told the same at once: now it is known
	}
	return told, err
}

// tellOnce writes what is not known yet.
func (t *tx) tellOnce(list []work.Told) (told int, err error) {
	at, err := t.Now()
	if err != nil {
		return 0, err
	}
	fresh := &reading.Tidings{}
	for _, one := range list {
		if _, known, err := sqldb.First(t.Query, sqldb.Word, "SELECT id FROM posthouse_callback_events WHERE id = ?", one.ID); err != nil || known {
			if err != nil {
				return 0, err
			}
			continue
		}
		one.At = sqldb.TimeOf(at)
		doc, err := json.Marshal(one.FeedEvent)
		if err != nil {
			return 0, err
		}
		if _, err := t.Exec("INSERT INTO posthouse_callback_events (id, at, doc) VALUES (?, ?, ?)", one.ID, at, string(doc)); err != nil {
			return 0, err
		}
		fresh.IDs, fresh.Events = append(fresh.IDs, one.ID), append(fresh.Events, one.FeedEvent)
	}
	if len(fresh.IDs) == 0 {
		return 0, nil
	}
	return len(fresh.IDs), t.tell(&news{versions: []int64{0}, of: map[int64]*reading.Tidings{0: fresh}})
}

// decisions stands before the versions of notifications in the feed, so that they are less than 0 and still rise: the feed sorts by them. A program
// of an earlier version finds no event by them and passes them over.
const decisions = -1 << 40

// tellDecision writes what has become of a notification, in the transaction that writes its plan: each version of it is written once, also where
// nobody follows, so that verify can compare the plan with it. The event is read back even here, since the transaction may go back to a savepoint
// and on from there.
func (t *tx) tellDecision(now int64, p *work.Plan) error {
	version := p.Version + 1
	e := *p.Tells
	e.At = sqldb.TimeOf(now)
	decided := *e.Notification
	decided.Version, e.Notification = version, &decided
	doc, err := json.Marshal(e)
	if err != nil {
		return err
	}
	id := p.ID + "v" + strconv.FormatInt(version, 10)
	if _, err := t.Exec("INSERT INTO posthouse_callback_events (id, at, doc) VALUES (?, ?, ?)", id, now, string(doc)); err != nil || !t.feed.on() {
		return err
	}
	return t.tell(&news{versions: []int64{decisions + version}, of: map[int64]*reading.Tidings{decisions + version: {Version: decisions + version, IDs: []string{id}}}})
}

// PruneFeed deletes up to max rows that are older than keep, and as much of what providers told. The newest row stays: positions go
// on from it.
func (s Feed) PruneFeed(ctx context.Context, now time.Time, keep time.Duration, max int) (n int, err error) {
	err = s.db.Change(ctx, now, "prune the feed", func(t *sqldb.Tx) error {
		at, err := t.Now()
		if err != nil {
			return err
		}
		said, err := t.Exec("DELETE FROM posthouse_callback_events WHERE id IN (SELECT id FROM (SELECT id FROM posthouse_callback_events WHERE at < ? ORDER BY at LIMIT ?) oldest)", at-keep.Microseconds(), max)
		if err != nil {
			return err
		}
		n = int(said)
		pos, err := sqldb.All(t.Query, sqldb.Number, "SELECT pos FROM (SELECT pos, at FROM posthouse_feed ORDER BY pos LIMIT ?) oldest WHERE at < ? AND pos < (SELECT MAX(pos) FROM posthouse_feed) ORDER BY pos",
			max, at-keep.Microseconds())
		if err != nil || len(pos) == 0 {
			return err
		}
		deleted, err := t.Exec("DELETE FROM posthouse_feed WHERE pos <= ?", pos[len(pos)-1])
		n += int(deleted)
		return err
	})
	return n, err
}
