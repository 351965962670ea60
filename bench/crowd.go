package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/layout"
	"github.com/posthouse/posthouse/internal/store/partition"
	"github.com/posthouse/posthouse/internal/work"
)

// crowd fills a database with what pages and lists have to cope with: settled deliveries of twenty days, open ones of the last day,
// a directory, and counts of a large fleet. A pattern goes through the store, and SQL copies it under other ids, users, refs and channels.
type crowded struct {
	*line
	begun         time.Time
	settled, open int
	cast          string // an integer in the words of this database
}

// What stands around the deliveries.
const (
	crowdUsers    = 100_000
	crowdAccounts = 1000
	crowdFor      = 20 * 24 * time.Hour
)

// crowdChannels are what the copies go by.
var crowdChannels = []string{lane.Channel, "sms", "mail", "push"}

// ids are those of a pattern, from the first to the last.
type ids struct{ first, last string }

// fillCrowd leaves that many settled and open deliveries.
func (c *crowded) fillCrowd(ctx context.Context) error {
	c.begun = time.Now()
	settled, err := c.patternOf(ctx, true)
	if err != nil {
		return err
	}
	open, err := c.patternOf(ctx, false)
	if err != nil {
		return err
	}
	if err := c.multiply(ctx, settled, c.settled, crowdFor, "posthouse_messages", "posthouse_sent", "posthouse_settled", "posthouse_transitions"); err != nil {
		return err
	}
	if err := c.multiply(ctx, open, c.open, 24*time.Hour, "posthouse_messages", "posthouse_due", "posthouse_queue", "posthouse_transitions"); err != nil {
		return err
	}
	return c.around(ctx)
}

// partitions are those that the time of the settled ones would have made.
func (c *crowded) partitions(ctx context.Context) error {
	parted := partition.Of(c.store.DB)
	if !parted.Parted() {
		return nil
	}
	for back := crowdFor + 24*time.Hour; back >= 0; back -= 24 * time.Hour {
		if err := parted.PartitionAt(ctx, time.Now().Add(-back), 2*crowdFor); err != nil {
			return err
		}
	}
	return nil
}

// patternOf lets deliveries through the store: of what settles, one in ten does so badly and three in ten are known to have arrived; of
// what stays open, one in ten was tried and one in a thousand is unknown.
func (c *crowded) patternOf(ctx context.Context, settle bool) (of ids, err error) {
	for at := 0; at < pattern; at += queued {
		list, err := c.accepted(ctx, at)
		if err != nil {
			return of, err
		}
		if of.first == "" {
			of.first = list[0]
		}
		of.last = posthouse.LastDeliveryID(list[len(list)-1])
		taken := len(list)
		if !settle {
			taken /= 10
		}
		for done := 0; done < taken; done += claimed {
			if err := c.ends(ctx, settle); err != nil {
				return of, err
			}
		}
	}
	return of, nil
}

// accepted hands in messages that are numbered from at on, one in ten to an address without a user.
func (c *crowded) accepted(ctx context.Context, at int) ([]string, error) {
	sub := &work.Submission{Tenant: lane.Tenant, Endpoint: "messages"}
	list := make([]string, queued)
	for i := range list {
		n := at + i
		id := posthouse.NewID()
		did := posthouse.DeliveryID(id, 1)
		list[i] = id
		to := posthouse.Recipient{User: fmt.Sprint("u", n), Address: fmt.Sprint("139", 10_000_000+n)}
		if n%10 == 0 {
			to = posthouse.Recipient{Address: fmt.Sprint("o", n)}
		}
		sub.Entries = append(sub.Entries, work.Entry{
			Message: posthouse.Message{ID: id, Tenant: lane.Tenant, Channel: lane.Channel, Kind: "leave", Ref: fmt.Sprint("r", n), Priority: lane.Priority, Content: posthouse.Content{Text: "approved: three days"}},
			Deliveries: []posthouse.Delivery{{
				ID: did, Message: id, Tenant: lane.Tenant, Channel: lane.Channel, Priority: lane.Priority,
				Recipient: to, State: posthouse.Pending, IdemKey: did, OnUnknown: posthouse.Hold, Epoch: 1,
			}},
		})
	}
	outcomes, err := c.store.Submissions.Accept(ctx, time.Now(), []*work.Submission{sub})
	if err == nil {
		err = outcomes[0].Err
	}
	return list, err
}

// ends claims some and records how they end.
func (c *crowded) ends(ctx context.Context, settle bool) error {
	items, err := c.store.Queue.Claim(ctx, time.Now(), work.Claim{Lane: lane, Max: claimed, Owner: "bench", Lease: time.Minute, Epoch: 1})
	if err != nil || len(items) != claimed {
		return fmt.Errorf("claimed %d of %d: %w", len(items), claimed, err)
	}
	changes := make([]work.Change, len(items))
	for i := range items {
		changes[i] = ending(items[i].Delivery, i, settle)
	}
	refused, err := c.store.Queue.Record(ctx, time.Now(), func(time.Time) []work.Change { return changes })
	if err == nil && len(refused) > 0 {
		err = fmt.Errorf("%d of %d results were refused", len(refused), len(changes))
	}
	return err
}

// ending is how the ith of a claim ends.
func ending(d posthouse.Delivery, i int, settle bool) work.Change {
	after := d
	after.FirstStartAt, after.ProviderRef = d.StartedAt, "p"+strings.TrimLeft(d.Recipient.Address, "o")
	after.StartedAt, after.LeaseUntil, after.LeaseOwner = time.Time{}, time.Time{}, ""
	e := posthouse.Event{Token: d.Token, Attempt: d.Attempts, Epoch: d.Epoch, Owner: d.LeaseOwner, Class: posthouse.ClassOK, Ref: after.ProviderRef}
	switch {
	case settle && i%10 > 6:
		after.State, e.Type = posthouse.Delivered, posthouse.EventSent
	case settle && i%10 > 0:
		after.State, e.Type = posthouse.Sent, posthouse.EventSent
	case settle:
		after.State, e.Type, e.Class = posthouse.Failed, posthouse.EventFail, posthouse.ClassRecipient
	case i == 0:
		after.State, e.Type, e.Class, after.Reason = posthouse.Unknown, posthouse.EventAmbiguous, posthouse.ClassUnknown, "no_answer"
		after.DueAt = time.Time{} // until somebody decides
	default:
		after.State, e.Type, e.Class, after.DueAt = posthouse.Pending, posthouse.EventRetry, posthouse.ClassTransient, time.Now().Add(30*24*time.Hour)
	}
	e.To = after.State
	return work.Change{Before: d, After: after, Events: []posthouse.Event{e}}
}

// multiply copies a pattern's rows until there are n deliveries, spread over a time that ends when the fill began.
func (c *crowded) multiply(ctx context.Context, of ids, n int, over time.Duration, tables ...string) error {
	errs := make([]error, len(tables))
	var all sync.WaitGroup
	for i, table := range tables {
		all.Go(func() { errs[i] = c.multiplyIn(ctx, table, of, n/pattern-1, over) })
		if isSQLite(c.raw) { // one writer
			all.Wait()
		}
	}
	all.Wait()
	return errors.Join(errs...)
}

func (c *crowded) multiplyIn(ctx context.Context, table string, of ids, copies int, over time.Duration) error {
	columns, err := c.columns(ctx, table)
	for i := 0; i < copies && err == nil; i++ {
		err = c.copyAt(ctx, table, columns, of, c.begun.Add(-over*time.Duration(copies-i)/time.Duration(copies+1)), i+1)
	}
	if err != nil {
		return fmt.Errorf("copy into %s: %w", table, err)
	}
	return nil
}

// copyAt copies a pattern's rows to a time, under the nth numbers.
func (c *crowded) copyAt(ctx context.Context, table string, columns []string, of ids, at time.Time, nth int) error {
	number := "(CASE WHEN user_id = '' THEN CAST(substr(address, 2) AS " + c.cast + ") ELSE CAST(substr(address, 4) AS " + c.cast + ") - 10000000 END)"
	user := fmt.Sprintf("((%s + %d) %% %d)", number, nth*pattern, crowdUsers)
	key := "id"
	if table == "posthouse_transitions" {
		key = "delivery"
	}
	as := map[string]string{
		key: fmt.Sprintf("CONCAT('%s', substr(%s, 11))", layout.IDAt(at)[:10], key), "channel": "'" + crowdChannels[nth%len(crowdChannels)] + "'", "created_at": fmt.Sprint(at.UnixMicro()), "updated_at": fmt.Sprint(at.UnixMicro()), "at": fmt.Sprint(at.UnixMicro()),
	}
	if slices.Contains(columns, "user_id") {
		as["user_id"] = "CASE WHEN user_id = '' THEN '' ELSE CONCAT('u', " + user + ") END"
		as["address"] = fmt.Sprintf("CASE WHEN user_id = '' THEN CONCAT('o', %s + %d) ELSE CONCAT('139', 10000000 + %s) END", number, nth*pattern, user)
	}
	if table == "posthouse_messages" {
		as["ref"] = fmt.Sprintf("CONCAT('r', CAST(substr(ref, 2) AS %s) + %d)", c.cast, nth*pattern)
	}
	if table == "posthouse_settled" { // what went badly did so in every way
		bad := []posthouse.State{posthouse.Suppressed, posthouse.Failed, posthouse.Undelivered, posthouse.Failed, posthouse.Expired}[nth%5]
		as["state"] = fmt.Sprintf("CASE WHEN state = 'failed' THEN '%s' ELSE state END", bad)
	}
	if table == "posthouse_sent" {
		as["ref"] = fmt.Sprintf("CONCAT(ref, '-%d')", nth)
	}
	values := make([]string, len(columns))
	for i, column := range columns {
		if values[i] = as[column]; values[i] == "" {
			values[i] = column
		}
	}
	_, err := c.raw.ExecContext(ctx, fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM %s WHERE %s >= '%s' AND %s <= '%s' ORDER BY %s",
		table, strings.Join(columns, ", "), strings.Join(values, ", "), table, key, of.first, key, of.last, key))
	return err
}

// around stores the directory and the counts of a fleet, makes the eldest messages those of a channel and a kind of their own, and lets
// the database look at what it holds.
func (c *crowded) around(ctx context.Context) error {
	for at := 0; at < crowdUsers; at += 1000 {
		list := make([]posthouse.User, 1000)
		for i := range list {
			n := at + i
			list[i] = posthouse.User{ID: fmt.Sprint("u", n), Name: fmt.Sprint("张三", n), Roles: []string{fmt.Sprint("team", n%100)}, Addresses: map[string]string{lane.Channel: fmt.Sprint("139", 10_000_000+n)}}
		}
		if err := c.store.Users.PutUsers(ctx, time.Now(), lane.Tenant, list); err != nil {
			return err
		}
	}
	for back := range 60 {
		if err := c.store.Minutes.AddMinutes(ctx, time.Now(), minuteOf(time.Now().Add(-time.Duration(back)*time.Minute).Truncate(time.Minute))); err != nil {
			return err
		}
	}
	var eldest string // of those that failed: a decision is made about it
	if err := c.raw.QueryRowContext(ctx, "SELECT id FROM posthouse_settled WHERE state = 'failed' ORDER BY id LIMIT 1").Scan(&eldest); err != nil {
		return err
	}
	for _, text := range []string{
		"UPDATE posthouse_messages SET channel = 'rare', kind = 'rare' WHERE id = '" + posthouse.MessageID(eldest) + "'",
		"UPDATE posthouse_settled SET channel = 'rare' WHERE id = '" + eldest + "'",
	} {
		if _, err := c.raw.ExecContext(ctx, text); err != nil {
			return err
		}
	}
	return c.settle(ctx)
}

// minuteOf is what a large fleet counts in a minute: a row an account.
func minuteOf(at time.Time) []work.Minute {
	list := make([]work.Minute, crowdAccounts)
	for i := range list {
		list[i] = work.Minute{MinuteKey: work.MinuteKey{At: at, Tenant: lane.Tenant, Channel: "fleet", Account: fmt.Sprint("a", i), Type: "text", Outcome: string(posthouse.ClassOK)}, N: 20, Took: time.Second}
	}
	return list
}
