package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// What phones ask a queue of waiting tasks for: so many claims, each of so many tasks, and how long one in a hundred may
// take at most.
const (
	phoneClaims = 2000
	phoneTasks  = 10
	phoneAtMost = 20 * time.Millisecond
)

// pullClaims times claims of phones on a queue of 10 million waiting tasks: all of them new; then with one in a hundred
// a retry, of which a part has waited so long that it goes first; and then by 8 phones at once.
func (h *house) pullClaims(ctx context.Context) (out []finding, err error) {
	rows := cmp.Or(h.o.finished, 10_000_000)
	for _, backend := range h.ownDatabases() {
		found, err := h.pullClaimsOn(ctx, backend, rows)
		out = append(out, found...)
		if err != nil {
			return out, fmt.Errorf("%s: %w", backend, err)
		}
	}
	return out, nil
}

func (h *house) pullClaimsOn(ctx context.Context, backend string, rows int) (out []finding, err error) {
	l, err := h.openLine(ctx, backend)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	start := time.Now()
	if err := l.wait(ctx, rows); err != nil {
		return nil, err
	}
	filled := time.Since(start).Round(time.Second)
	fmt.Fprintf(os.Stderr, "-  %s tasks wait in %s, filled in %s\n", thousands(rows), backend, filled)
	for _, c := range []struct {
		what   string
		before string // by SQL
		phones int
	}{
		{"all new", "", 1},
		{"one in a hundred a retry", aged(l), 1},
		{"8 phones at once", "", 8},
	} {
		if c.before != "" {
			if _, err := l.raw.ExecContext(ctx, c.before); err != nil {
				return out, err
			}
			if err := l.settle(ctx); err != nil {
				return out, err
			}
		}
		before := h.load()
		took, err := l.phones(ctx, c.phones)
		if err != nil {
			return out, err
		}
		f := claimsFinding(backend, rows, c.what, c.phones, took)
		if foreign := h.load().foreign(before); foreign > 0.1 {
			f.Note += fmt.Sprintf("; foreign load %.0f %%", 100*foreign)
		}
		out = append(out, f)
	}
	return out, nil
}

// claimsFinding judges the slowest of a hundred. The bound is PostgreSQL's and a single phone's: 8 at once share two cores.
func claimsFinding(backend string, rows int, what string, phones int, took []time.Duration) finding {
	slices.Sort(took)
	p99 := took[len(took)*99/100]
	f := finding{
		What: "phones' claims of " + fmt.Sprint(phoneTasks) + ", " + thousands(rows) + " tasks wait: " + what, Database: backend, Value: p99.Seconds(),
		Text: "p99 " + short(p99).String(), Note: fmt.Sprintf("p50 %s, slowest %s", short(median(took)), short(took[len(took)-1])),
	}
	if backend != "postgres" || phones > 1 {
		return f
	}
	f.Bound = "at most " + phoneAtMost.String()
	return f.atMost(phoneAtMost.Seconds())
}

// wait leaves n tasks waiting: some come through the store, the rest are copies of theirs by SQL, each copy due a little
// before the last, as if it had come in before it.
func (l *line) wait(ctx context.Context, n int) error {
	for range pattern / queued {
		if err := l.enter(ctx, queued); err != nil {
			return err
		}
	}
	var copies sync.WaitGroup
	tables := []struct{ table, key string }{{"posthouse_messages", "id"}, {"posthouse_queue", "id"}, {"posthouse_transitions", "delivery"}}
	errs := make([]error, len(tables))
	for i, t := range tables {
		copies.Go(func() { errs[i] = l.older(ctx, t.table, t.key, n/pattern) })
		if isSQLite(l.raw) { // one writer
			copies.Wait()
		}
	}
	copies.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if _, err := l.raw.ExecContext(ctx, fmt.Sprintf("UPDATE posthouse_tallies SET n = n * %d", n/pattern)); err != nil {
		return err
	}
	return l.settle(ctx)
}

// enter accepts tasks of a pulled channel.
func (l *line) enter(ctx context.Context, n int) error {
	sub := &work.Submission{Tenant: lane.Tenant, Endpoint: "messages"}
	for range n {
		id := posthouse.NewID()
		did := posthouse.DeliveryID(id, 1)
		sub.Entries = append(sub.Entries, work.Entry{
			Message: posthouse.Message{ID: id, Tenant: lane.Tenant, Channel: lane.Channel, Priority: lane.Priority, Kind: "sms", Content: posthouse.Content{Text: "您的验证码是 123456，五分钟内有效。"}},
			Deliveries: []posthouse.Delivery{{
				ID: did, Message: id, Tenant: lane.Tenant, Channel: lane.Channel, Priority: lane.Priority, Pulled: true,
				Recipient: posthouse.Recipient{Address: "+8613800138000"}, State: posthouse.Pending, IdemKey: did, OnUnknown: posthouse.Retry, Epoch: 1,
			}},
		})
	}
	outcomes, err := l.store.Submissions.Accept(ctx, time.Now(), []*work.Submission{sub})
	if err == nil {
		err = outcomes[0].Err
	}
	return err
}

// older fills a table up to n patterns, under older ids; see copy.
func (l *line) older(ctx context.Context, table, key string, n int) error {
	columns, err := l.columns(ctx, table)
	for i := 1; i < n && err == nil; i++ {
		values := slices.Clone(columns)
		for c, name := range columns {
			switch name {
			case key:
				values[c] = fmt.Sprintf("CONCAT('%010d', substr(%s, 11))", n-i, key)
			case "due_at":
				values[c] = fmt.Sprintf("due_at - %d", i*int(time.Second/time.Microsecond))
			}
		}
		_, err = l.raw.ExecContext(ctx, fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM %s WHERE %s >= '01' ORDER BY %s",
			table, strings.Join(columns, ", "), strings.Join(values, ", "), table, key, key))
	}
	if err != nil {
		return fmt.Errorf("copy into %s: %w", table, err)
	}
	return nil
}

// aged makes a retry of one waiting task in a hundred: a tenth of them has waited for more than a minute, the others came due
// in the last one.
func aged(l *line) string {
	now := time.Now().UnixMicro()
	return fmt.Sprintf(`UPDATE posthouse_queue SET tries = 1, priority = 21, due_at = CASE WHEN substr(id, 19, 1) < '3' THEN %[1]d - 90000000 ELSE %[1]d - 1000000 END
		WHERE state = 'pending' AND priority = 11 AND substr(id, 21, 1) = '7' AND substr(id, 20, 1) < 'A'`, now)
}

// phones claims with so many phones at once, and returns how long each claim took.
func (l *line) phones(ctx context.Context, n int) (took []time.Duration, err error) {
	var wg sync.WaitGroup
	times, errs := make([][]time.Duration, n), make([]error, n)
	for i := range n {
		wg.Go(func() { times[i], errs[i] = l.phone(ctx, fmt.Sprint("phone-", i), phoneClaims/n) })
	}
	wg.Wait()
	return slices.Concat(times...), errors.Join(errs...)
}

func (l *line) phone(ctx context.Context, name string, claims int) (took []time.Duration, err error) {
	channel := work.HandOutChannel{Name: lane.Channel, Lease: 5 * time.Minute, Priorities: posthouse.Priorities(), FairAfter: time.Minute}
	for range claims {
		start := time.Now()
		out, err := l.store.Handouts.HandOut(ctx, start, work.HandOut{
			Tenant: lane.Tenant, Agent: name, ClaimID: posthouse.NewID(), Channels: []work.HandOutChannel{channel}, Max: phoneTasks, Epoch: 1,
		})
		if err != nil {
			return took, err
		}
		if len(out.Items) != phoneTasks || out.Items[0].Message == nil {
			return took, fmt.Errorf("a phone was handed %d of %d", len(out.Items), phoneTasks)
		}
		took = append(took, time.Since(start))
	}
	return took, nil
}
