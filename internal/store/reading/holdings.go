package reading

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/layout"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// Holding is a message as it is stored: its row, nil where there is none or none that can be read, and the rows of its
// deliveries.
type Holding struct {
	ID         string
	Message    *posthouse.Message
	Recipients int
	Deliveries []posthouse.Delivery
}

// holdingStep is how many deliveries are read at a time.
const holdingStep = 2000

// Holdings calls each for every message of all tenants, by id. It holds no connection while each runs.
func (s History) Holdings(ctx context.Context, each func(Holding) error) error {
	for after := ""; ; {
		list, last, err := s.holdingsAfter(ctx, after)
		if err != nil {
			return s.db.Coded(err, "read what is stored")
		}
		for i := range list {
			if err := each(list[i]); err != nil {
				return err
			}
		}
		if last == "" {
			return nil
		}
		after = last
	}
}

// holdingsAfter reads the messages that follow an id, whole, and returns the last id of the part, empty at the end.
func (s History) holdingsAfter(ctx context.Context, after string) (list []Holding, last string, err error) {
	ids, err := sqldb.All(s.db.Reads(ctx), sqldb.Word, fmt.Sprintf("SELECT id FROM posthouse_deliveries WHERE id > ? ORDER BY id LIMIT %d", holdingStep), after)
	if err != nil {
		return nil, "", err
	}
	more, err := sqldb.All(s.db.Reads(ctx), sqldb.Word, fmt.Sprintf("SELECT id FROM posthouse_messages WHERE id > ? ORDER BY id LIMIT %d", holdingStep), after)
	if err != nil {
		return nil, "", err
	}
	end := ""
	for _, part := range [][]string{ids, more} {
		if n := len(part); n == holdingStep && (end == "" || part[n-1] < end) {
			end = part[n-1]
		}
	}
	if end != "" {
		last = posthouse.LastDeliveryID(posthouse.MessageID(end))
	}
	list, err = s.holdingsWithin(ctx, after, last)
	return list, last, err
}

// holdingsWithin reads messages and deliveries above one id and up to another, which is the end where it is empty.
func (s History) holdingsWithin(ctx context.Context, after, last string) ([]Holding, error) {
	within, args := "id > ?", []any{after}
	if last != "" {
		within, args = within+" AND id <= ?", append(args, last)
	}
	var list []Holding
	place := map[string]int{}
	at := func(message string) *Holding {
		n, known := place[message]
		if !known {
			n = len(list)
			place[message], list = n, append(list, Holding{ID: message})
		}
		return &list[n]
	}
	err := s.db.Look(ctx, "SELECT "+layout.Messages.List+" FROM posthouse_messages WHERE "+within+" ORDER BY id", args, func(scan sqldb.Scanner) error {
		m, recipients, err := layout.ScanMessage(scan)
		if err == nil {
			h := at(m.ID)
			h.Message, h.Recipients = m, recipients
		}
		return err
	})
	if err == nil {
		err = s.db.Look(ctx, "SELECT "+layout.Queue.List+" FROM posthouse_deliveries WHERE "+within+" ORDER BY id", args, func(scan sqldb.Scanner) error {
			d, err := layout.ScanDelivery(scan)
			if err == nil {
				h := at(d.Message)
				h.Deliveries = append(h.Deliveries, *d)
			}
			return err
		})
	}
	slices.SortFunc(list, func(a, b Holding) int { return strings.Compare(a.ID, b.ID) })
	if err != nil || !slices.ContainsFunc(list, func(h Holding) bool { return h.Message == nil }) {
		return list, err
	}
	floor, err := s.parted.Floor(ctx)
	return slices.DeleteFunc(list, func(h Holding) bool { return h.Message == nil && h.ID < floor }), err
}

// KeyHolder is a key with the message that it stands for, and what is there under that id.
type KeyHolder struct {
	Name, Message string
	// Found says that the message is there, or may be gone by the retention. Wrong is what of it is not as the key's row says.
	Found bool
	Wrong string
}

// KeyHolders calls each for every dedup key, for every message that is named by the answer kept for an Idempotency-Key, and for
// what clean deliveries and their messages do not say alike.
func (s History) KeyHolders(ctx context.Context, each func(KeyHolder) error) error {
	var elsewhere []KeyHolder // they stand for messages that follow routes, which are not in the table of messages
	err := s.db.Look(ctx, `SELECT d.tenant, d.channel, d.dedup_key, d.message_id, COALESCE(m.id, ''), COALESCE(m.tenant, ''), COALESCE(m.channel, ''), COALESCE(m.dedup_key, '')
		FROM posthouse_dedup d LEFT JOIN posthouse_messages m ON m.id = d.message_id`, nil, func(scan sqldb.Scanner) error {
		var tenant, channel, key, message, found, ofTenant, ofChannel, ofKey string
		if err := scan(&tenant, &channel, &key, &message, &found, &ofTenant, &ofChannel, &ofKey); err != nil {
			return err
		}
		h := KeyHolder{Name: fmt.Sprintf("dedup key %q of channel %s, tenant %s", key, channel, tenant), Message: message, Found: found != ""}
		if h.Found && (ofTenant != tenant || channel != ToldChannel && (ofChannel != channel || ofKey != key)) {
			h.Wrong = fmt.Sprintf("it stands for the message %s, which has the dedup key %q of channel %s, tenant %s", message, ofKey, ofChannel, ofTenant)
		}
		if !h.Found {
			elsewhere = append(elsewhere, h)
			return nil
		}
		return each(h)
	})
	if err == nil {
		err = s.routedHolders(ctx, elsewhere, each)
	}
	if err == nil {
		err = s.answerHolders(ctx, each)
	}
	if err == nil {
		err = s.cleanHolders(ctx, each)
	}
	return s.db.Coded(err, "read what keys stand for")
}

// routedHolders calls each for keys whose messages are not in the table of messages: where one follows a route, its first notification is
// there, and where it is a collection, its plan is.
func (s History) routedHolders(ctx context.Context, list []KeyHolder, each func(KeyHolder) error) error {
	pruned, _, err := sqldb.First(s.db.Reads(ctx), sqldb.Word, "SELECT value FROM posthouse_meta WHERE name = 'pruned'")
	if err != nil {
		return err
	}
	for part := range sqldb.Parts(list, sqldb.BulkStep) {
		ids := make([]string, len(part))
		for i := range part {
			ids[i] = posthouse.DeliveryID(part[i].Message, 1)
		}
		clause, args := s.db.Dialect.Among("id", ids)
		found, err := sqldb.All(s.db.Reads(ctx), sqldb.Word, "SELECT id FROM posthouse_plans WHERE type = ? AND "+clause, append([]any{string(work.PlanNotification)}, args...)...)
		if err != nil {
			return err
		}
		there := map[string]bool{}
		for _, id := range found {
			there[posthouse.MessageID(id)] = true
		}
		for i := range part {
			ids[i] = part[i].Message
		}
		clause, args = s.db.Dialect.Among("id", ids) // the key of a digest stands for its open collection
		if found, err = sqldb.All(s.db.Reads(ctx), sqldb.Word, "SELECT id FROM posthouse_plans WHERE type = ? AND "+clause, append([]any{string(work.PlanCollection)}, args...)...); err != nil {
			return err
		}
		for _, id := range found {
			there[id] = true
		}
		for i := range part {
			part[i].Found = there[part[i].Message] || part[i].Message < pruned
			if err := each(part[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// answerHolders calls each for the messages that kept answers name.
func (s History) answerHolders(ctx context.Context, each func(KeyHolder) error) error {
	var list []KeyHolder
	err := s.db.Look(ctx, "SELECT tenant, endpoint, idem_key, owner, answer FROM posthouse_idempotency", nil, func(scan sqldb.Scanner) error {
		var tenant, endpoint, key, owner, answer string
		if err := scan(&tenant, &endpoint, &key, &owner, &answer); err != nil {
			return err
		}
		list = append(list, holdersOf(fmt.Sprintf("Idempotency-Key %q of %s, tenant %s", key, endpoint, tenant), owner, answer)...)
		return nil
	})
	if err != nil {
		return err
	}
	for part := range sqldb.Parts(list, sqldb.BulkStep) {
		ids := make([]string, len(part))
		for i := range part {
			ids[i] = part[i].Message
		}
		clause, args := s.db.Dialect.Among("id", ids)
		found, err := sqldb.All(s.db.Reads(ctx), sqldb.Word, "SELECT id FROM posthouse_messages WHERE "+clause, args...)
		if err != nil {
			return err
		}
		there := map[string]bool{}
		for _, id := range found {
			there[id] = true
		}
		var elsewhere []KeyHolder
		for i := range part {
			if !there[part[i].Message] {
				elsewhere = append(elsewhere, part[i])
				continue
			}
			part[i].Found = true
			if err := each(part[i]); err != nil {
				return err
			}
		}
		if err := s.routedHolders(ctx, elsewhere, each); err != nil {
			return err
		}
	}
	return nil
}

// holdersOf are the messages that an answer names: those that were made, and those that it is a duplicate of. Answers about
// other things name none.
func holdersOf(name, owner, answer string) []KeyHolder {
	var accepted []posthouse.Accepted
	if json.Unmarshal([]byte(answer), &accepted) != nil {
		return nil
	}
	var list []KeyHolder
	for i := range accepted {
		a := &accepted[i]
		if len(a.Deliveries) == 0 && a.DuplicateOf == "" {
			continue
		}
		h := KeyHolder{Name: name, Message: a.ID}
		if i == 0 && a.DuplicateOf == "" && a.ID != owner {
			h.Wrong = fmt.Sprintf("it is the key of %s, and its answer names %s", owner, a.ID)
		}
		list = append(list, h)
	}
	return list
}
