package store

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/posthouse/posthouse/internal/store/campaigns"
	"github.com/posthouse/posthouse/internal/store/lksms"
	"github.com/posthouse/posthouse/internal/store/partition"
	"github.com/posthouse/posthouse/internal/store/reading"
	"github.com/posthouse/posthouse/internal/store/registry"
	"github.com/posthouse/posthouse/internal/store/schema"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// Store is an open database as its families of tables: each is a value over the same connection, and takes part in the
// transactions of the others. It is safe for concurrent use.
type Store struct {
	DB     *sqldb.DB
	Schema schema.Schema

	// Deliveries from their acceptance to their end, and what is known of them.
	Submissions Submissions
	Queue       Queue
	Handouts    Handouts
	Reports     Reports
	Receipts    Receipts
	Messages    reading.Messages
	History     reading.History
	Contents    Contents
	Plans       Plans
	Outbox      Outbox
	Answers     Answers
	Logs        Logs
	Imports     Imports
	Epochs      Epochs
	Places      Places
	Upkeep      Upkeep
	Chain       reading.Chain
	Feed        Feed
	Tenants     Tenants

	Tides schema.Tides // how far the database has come
	Texts lksms.Texts  // the templates and default contents of the SMS front door

	registry.Registry
	campaigns.Families
}

// The families that read and write deliveries.
type (
	// Submissions stores what was accepted, and replays of it.
	Submissions struct{ *shared }
	// Queue is what waits: it is claimed, started, and settled by its results.
	Queue struct{ *shared }
	// Handouts is what agents fetch and hold.
	Handouts struct{ *shared }
	// Reports are what agents say of it.
	Reports struct{ *shared }
	// Receipts are those that providers are asked for.
	Receipts struct{ *shared }
	// Contents keeps sealed contents until they are forgotten.
	Contents struct{ *shared }
	// Plans are documents with a moment at which they are due.
	Plans struct{ *shared }
	// Outbox is what programs have handed in within their own transactions.
	Outbox struct{ *shared }
	// Answers keeps what was told for an Idempotency-Key.
	Answers struct{ *shared }
	// Logs are of what was received, handed out and reported.
	Logs struct {
		*shared
		reading.Logs
	}
	// Imports stores what another system has done.
	Imports struct{ *shared }
	// Epochs counts how often the database was restored, promoted or cloned.
	Epochs struct{ *shared }
	// Places says which place may send, of several that each have a copy of the database.
	Places struct{ *shared }
	// Upkeep deletes what nobody needs any more.
	Upkeep struct{ *shared }
	// Feed is the order of what happened to deliveries, for who follows it.
	Feed struct {
		*shared
		reading.Feed
	}
	// Tenants are the parties, with their quotas and what counts against those.
	Tenants struct{ *shared }
)

// Options opens a store.
type Options = sqldb.Options

// Open connects to the database and refuses one that cannot carry the work: too old, read-only, unreachable. It changes
// nothing but that it makes a missing SQLite file, or has one keep its log beside it, unless it is opened to read;
// Schema.Migrate does.
func Open(ctx context.Context, o Options) (*Store, error) {
	db, err := sqldb.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	parted := partition.Of(db)
	read := reading.Of(db, parted)
	s := &shared{db: db, feed: newFeedSwitch(read.Feed.Recent), parted: parted, messages: read.Messages, history: read.History}
	return &Store{
		DB: db, Schema: schema.Of(db),
		Submissions: Submissions{s}, Queue: Queue{s}, Handouts: Handouts{s}, Reports: Reports{s}, Receipts: Receipts{s}, Messages: read.Messages, History: read.History,
		Contents: Contents{s}, Plans: Plans{s}, Outbox: Outbox{s}, Answers: Answers{s}, Logs: Logs{s, read.Logs}, Imports: Imports{s},
		Epochs: Epochs{s}, Places: Places{s}, Upkeep: Upkeep{s}, Chain: read.Chain, Feed: Feed{s, read.Feed}, Tenants: Tenants{s}, Tides: schema.TidesOf(db), Texts: lksms.TextsOf(db), Registry: registry.Of(db, openOf), Families: campaigns.Of(db),
	}, nil
}

// Close ends all connections. Writes that are under way finish first.
func (s *Store) Close() error { return s.DB.Close() }

// shared is what the families of deliveries have in common: the connection, and what this process remembers of its claims.
type shared struct {
	db        *sqldb.DB
	lows      lows        // where claims of rows begin
	cleanLows lows        // where claims of clean deliveries begin
	courses   courses     // which of the two a claim begins with
	fresh     fresh       // the clean deliveries that this process has just accepted
	flights   flights     // the clean deliveries that this process has under way
	lined     atomic.Bool // there was a line at the last look
	feed      *feedSwitch
	parted    *partition.Partitions
	walks     walks // of Prune over rows
	messages  reading.Messages
	history   reading.History
	notified  work.Notified  // nil where no routes are known
	gathering work.Gathering // nil where no digests are known
	place     string         // of this process, empty where there are no places
}

// tx is a transaction that may change deliveries. The types over it hold the statements of one subject each.
type tx struct {
	*sqldb.Tx
	flights *flights
	fresh   *fresh
	parted  *partition.Partitions
	feed    *feedSwitch
	told    []reading.Tidings // what it has written into the feed
	// notified decides of notifications; nil where nothing does.
	notified work.Notified
	// gathering decides of collections; nil where nothing does.
	gathering work.Gathering
}

// within runs fn in a transaction that open begins, and says afterwards that the feed has grown, where it has.
func (s *shared) within(fn func(*tx) error, open func(func(*sqldb.Tx) error) error) error {
	var told []reading.Tidings
	var began time.Time
	err := open(func(t *sqldb.Tx) error {
		began = time.Now()
		own := &tx{t, &s.flights, &s.fresh, s.parted, s.feed, nil, s.notified, s.gathering}
		err := fn(own)
		told = own.told
		return err
	})
	if err == nil {
		now := time.Now()
		s.lows.committed(began, now)
		s.cleanLows.committed(began, now)
	}
	if err == nil && len(told) > 0 {
		s.feed.tell(told, !s.db.Dialect.OneWriter)
	}
	return err
}

func (s *shared) change(ctx context.Context, now time.Time, doing string, fn func(*tx) error) error {
	return s.within(fn, func(fn func(*sqldb.Tx) error) error { return s.db.Change(ctx, now, doing, fn) })
}

func (s *shared) changeFirst(ctx context.Context, now time.Time, doing string, fn func(*tx) error) error {
	return s.within(fn, func(fn func(*sqldb.Tx) error) error { return s.db.ChangeFirst(ctx, now, doing, fn) })
}

func (s *shared) changeAtOnce(ctx context.Context, now time.Time, doing string, fn func(*tx) error) error {
	return s.within(fn, func(fn func(*sqldb.Tx) error) error { return s.db.ChangeAtOnce(ctx, now, doing, fn) })
}

// repeat runs fn, a transaction each time, until it finds nothing more to do or has done most
// rows. It returns how many were done and committed.
func (s *shared) repeat(ctx context.Context, now time.Time, doing string, most int, fn func(t *tx, step int) (int, error)) (int, error) {
	total := 0
	for total < most {
		n := 0
		err := s.change(ctx, now, doing, func(t *tx) (err error) {
			n, err = fn(t, min(sqldb.BulkStep, most-total))
			return err
		})
		if err == nil {
			err = ctx.Err()
			total += n
		}
		if err != nil || n == 0 {
			return total, err
		}
	}
	return total, nil
}

// inOrder runs fn, a transaction each time, on what follows the last id it was at, so that it takes no longer for what is done
// already, until it returns no other. It returns how many fn did and committed.
func (s *shared) inOrder(ctx context.Context, now time.Time, doing string, fn func(t *tx, last string) (n int, next string, err error)) (total int, err error) {
	for last := ""; ; {
		n, next := 0, ""
		err := s.change(ctx, now, doing, func(t *tx) (err error) {
			n, next, err = fn(t, last)
			return err
		})
		if err == nil {
			err = ctx.Err()
			total += n
		}
		if err != nil || next == "" || next == last { // an id that is no text follows itself
			return total, err
		}
		last = next
	}
}

// The types over a transaction, each with the statements of one subject.
type (
	accepting struct{ *tx } // submissions, with their keys, duplicates and plans
	claiming  struct{ *tx } // rows of posthouse_queue
	clearing  struct{ *tx } // clean deliveries
	expanding struct{ *tx } // clean deliveries that get rows of their own
	settling  struct{ *tx } // results and other changes
	handing   struct{ *tx } // hand-outs to agents, and what they report
	replaying struct{ *tx } // new deliveries for old ones
	receiving struct{ *tx } // receipts
	relaying  struct{ *tx } // the outbox
	importing struct{ *tx } // what another system has done
	raising   struct{ *tx } // an epoch that begins
	pruning   struct{ *tx } // what nobody needs any more
)
