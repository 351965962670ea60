package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	_ "modernc.org/sqlite"             // the driver "sqlite"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/work"
)

// line is a queue whose claims are timed, on the store alone: nothing else runs.
type line struct {
	store  *store.Store
	raw    *sql.DB // beside the store, for what it does not do
	drop   func() error
	claims []time.Duration
}

var lane = work.Lane{Tenant: posthouse.DefaultTenant, Channel: "bench", Priority: posthouse.Normal}

func (h *house) openLine(ctx context.Context, backend string) (*line, error) {
	dsn, _, drop, err := h.database(ctx, backend)
	if err != nil {
		return nil, err
	}
	l := &line{drop: drop}
	if l.raw, err = openRaw(dsn); err != nil {
		return nil, err
	}
	if l.store, err = store.Open(ctx, store.Options{DSN: dsn, Log: slog.Default()}); err != nil {
		return nil, err
	}
	_, err = l.store.Schema.Migrate(ctx)
	return l, err
}

func (l *line) close() error { return errors.Join(l.store.Close(), l.raw.Close(), l.drop()) }

// openRaw opens a database by the DSN of ours.
func openRaw(dsn string) (*sql.DB, error) {
	if path, ok := strings.CutPrefix(dsn, "sqlite:"); ok {
		return sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(30000)&_pragma=synchronous(OFF)&_pragma=cache_size(-200000)")
	}
	if strings.HasPrefix(dsn, "postgres:") {
		return sql.Open("pgx", dsn)
	}
	u, err := url.Parse(dsn)
	if err != nil {
		return nil, err
	}
	c := mysql.NewConfig()
	c.Net, c.Addr, c.User, c.DBName = "tcp", u.Host, u.User.Username(), strings.TrimPrefix(u.Path, "/")
	c.Passwd, _ = u.User.Password()
	return sql.Open("mysql", c.FormatDSN())
}

// Depth and width of a timed queue: it holds up to queued deliveries, and a claim takes some of them.
const (
	queued  = 1000
	claimed = 100
)

// pass moves n deliveries through the queue and times their claims.
func (l *line) pass(ctx context.Context, n int) error {
	l.claims = l.claims[:0]
	for ; n > 0; n -= queued {
		if err := l.fill(ctx, queued); err != nil {
			return err
		}
		for range queued / claimed {
			if err := l.step(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// late is the last quarter of the claims: what came before led up to it.
func (l *line) late() []time.Duration { return l.claims[len(l.claims)*3/4:] }

func (l *line) fill(ctx context.Context, n int) error {
	sub := &work.Submission{Tenant: lane.Tenant, Endpoint: "messages"}
	text := strings.Repeat("posthouse ", 26)[:256]
	for range n {
		id := posthouse.NewID()
		did := posthouse.DeliveryID(id, 1)
		sub.Entries = append(sub.Entries, work.Entry{
			Message: posthouse.Message{ID: id, Tenant: lane.Tenant, Channel: lane.Channel, Priority: lane.Priority, Content: posthouse.Content{Text: text}},
			Deliveries: []posthouse.Delivery{{
				ID: did, Message: id, Tenant: lane.Tenant, Channel: lane.Channel, Priority: lane.Priority,
				Recipient: posthouse.Recipient{User: "u1", Address: "a1"}, State: posthouse.Pending, IdemKey: did, OnUnknown: posthouse.Retry, Epoch: 1,
			}},
		})
	}
	outcomes, err := l.store.Submissions.Accept(ctx, time.Now(), []*work.Submission{sub})
	if err == nil {
		err = outcomes[0].Err
	}
	return err
}

// step claims, and records that all was sent.
func (l *line) step(ctx context.Context) error {
	start := time.Now()
	items, err := l.store.Queue.Claim(ctx, start, work.Claim{Lane: lane, Max: claimed, Owner: "bench", Lease: time.Minute, Epoch: 1})
	l.claims = append(l.claims, time.Since(start))
	if err != nil {
		return err
	}
	if len(items) != claimed {
		return fmt.Errorf("claimed %d of %d", len(items), claimed)
	}
	changes := make([]work.Change, len(items))
	for i := range items {
		d := items[i].Delivery
		after := d
		after.State, after.FirstStartAt = posthouse.Sent, d.StartedAt
		after.StartedAt, after.LeaseUntil, after.LeaseOwner = time.Time{}, time.Time{}, ""
		changes[i] = work.Change{Before: d, After: after, Events: []posthouse.Event{{
			Type: posthouse.EventSent, To: posthouse.Sent, Token: d.Token, Attempt: d.Attempts, Epoch: d.Epoch, Owner: d.LeaseOwner, Class: posthouse.ClassOK,
		}}}
	}
	refused, err := l.store.Queue.Record(ctx, time.Now(), func(time.Time) []work.Change { return changes })
	if err == nil && len(refused) > 0 {
		err = fmt.Errorf("%d of %d results were refused", len(refused), len(changes))
	}
	return err
}

// compared is the finding that claims in one state of a database take so many times as long as in a fresh one.
func compared(what, backend string, fresh, other time.Duration, bound float64) finding {
	f := finding{What: what, Database: backend, Value: other.Seconds() / fresh.Seconds(), Bound: fmt.Sprintf("at most %g", bound)}
	f.Text = fmt.Sprintf("%.2f times as long", f.Value)
	f.Note = fmt.Sprintf("claims of %d: p50 %s, fresh %s", claimed, short(other), short(fresh))
	return f.atMost(bound)
}
