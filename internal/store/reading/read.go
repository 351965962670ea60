package reading

import (
	"context"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/layout"
	"github.com/posthouse/posthouse/internal/store/page"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// Message reads one message and how many recipients it was accepted with. An id that was told for what
// turned out to be a duplicate reads the message it is a duplicate of.
func (s Messages) Message(ctx context.Context, tenant, id string) (posthouse.Message, int, error) {
	m, found, err := s.messageOf(ctx, tenant, id)
	if err == nil && !found {
		var of string
		of, found, err = sqldb.First(s.db.Reads(ctx), sqldb.Word, "SELECT message_id FROM posthouse_dedup WHERE tenant = ? AND channel = ? AND dedup_key = ?", tenant, ToldChannel, layout.IDOnly(id))
		if err == nil && found {
			m, found, err = s.messageOf(ctx, tenant, of)
		}
	}
	if err != nil {
		return m.Message, 0, s.db.Coded(err, "read a message")
	}
	if !found {
		return m.Message, 0, posthouse.Errorf(posthouse.CodeNotFound, "there is no message %q", id)
	}
	return m.Message, m.Recipients, nil
}

func (s Messages) messageOf(ctx context.Context, tenant, id string) (work.Summary, bool, error) {
	return sqldb.First(s.db.Reads(ctx), layout.ReadSummary, "SELECT "+layout.Messages.List+" FROM posthouse_messages WHERE id = ? AND tenant = ?", layout.IDOnly(id), tenant)
}

// Delivery reads one delivery, open or settled. Both tables are read in one statement: a row
// that moves meanwhile is in one of them.
func (s Messages) Delivery(ctx context.Context, tenant, id string) (posthouse.Delivery, error) {
	list, err := s.deliveryRow(ctx, tenant, id)
	if err == nil {
		err = s.fillFlights(ctx, list)
	}
	if err != nil {
		return posthouse.Delivery{}, s.db.Coded(err, "read a delivery")
	}
	if len(list) == 0 {
		return posthouse.Delivery{}, posthouse.Errorf(posthouse.CodeNotFound, "there is no delivery %q", id)
	}
	return list[0], nil
}

// deliveryRow is a delivery as its row has it, if there is one.
func (s Messages) deliveryRow(ctx context.Context, tenant, id string) ([]posthouse.Delivery, error) {
	sole := everyClean(tenant)
	sole.where.And("m.id = ?", layout.MessageOfSole(id))
	return s.mergedRows(ctx, states{open: true, settled: true}, sqldb.Where("id = ? AND tenant = ?", layout.IDOnly(id), tenant), sole, "id", 1)
}

// DeliveriesOf lists the deliveries of a message in their order, a page at a time, and returns
// the next page's cursor.
func (s Messages) DeliveriesOf(ctx context.Context, tenant, message, cursor string, limit int) ([]posthouse.Delivery, string, error) {
	after, err := page.ID("of", cursor)
	if err != nil {
		return nil, "", err
	}
	low, high := layout.DeliveryRange(message)
	size := page.Size(limit)
	sole := everyClean(tenant)
	sole.where.And("m.id = ?", low)
	sole.above(after)
	list, err := s.merged(ctx, states{open: true, settled: true},
		sqldb.Where("tenant = ? AND id > ? AND id <= ?", tenant, max(low, after), high), sole, "id", size+1)
	if err != nil {
		return nil, "", s.db.Coded(err, "list the deliveries of a message")
	}
	list, next := page.Cut(list, size, "of", deliveryID)
	return list, next, nil
}

// mostReplays bounds how many replays of a message are read at once.
const mostReplays = 1000

// Replays are the deliveries of a message that repeat others of it, in their order; of very many, the latest.
func (s Messages) Replays(ctx context.Context, tenant, message string) ([]posthouse.Delivery, error) {
	low, high := layout.DeliveryRange(message)
	list, err := s.mergedRows(ctx, states{open: true, settled: true}, sqldb.Where("tenant = ? AND id > ? AND id <= ? AND replay_of <> ''", tenant, low, high), nil, "id DESC", mostReplays)
	slices.Reverse(list)
	return list, s.db.Coded(err, "list the replays of a message")
}

func deliveryID(d posthouse.Delivery) string { return d.ID }

// merged reads one page from the tables that states names, in one statement: each table's
// part is short. Order is "id", "id DESC" or byRange.
func (s Messages) merged(ctx context.Context, in states, where sqldb.Condition, sole *clean, order string, limit int) ([]posthouse.Delivery, error) {
	list, err := s.mergedRows(ctx, in, where, sole, order, limit)
	if err != nil {
		return nil, err
	}
	return list, s.fillFlights(ctx, list)
}

// mergedRows is merged without what flights know.
func (s Messages) mergedRows(ctx context.Context, in states, where sqldb.Condition, sole *clean, order string, limit int) ([]posthouse.Delivery, error) {
	var selects []string
	var args []any
	for _, tab := range []*sqldb.Table{layout.Queue, layout.Settled} {
		if (tab == layout.Queue && in.open) || (tab == layout.Settled && in.settled) {
			by := ""
			if in.ranged {
				by = s.db.Dialect.By(sqldb.Primary)
			}
			from := tab.Name + by + " WHERE " + where.Text + " ORDER BY " + order + " LIMIT ?"
			if in.chosen {
				from = "(SELECT id AS chosen FROM " + tab.Name + s.db.Dialect.By("posthouse_settled_trouble") + " WHERE " + where.Text + " ORDER BY " + order + " LIMIT ?) fit JOIN " + tab.Name + " ON id = chosen"
			}
			selects = append(selects, "SELECT * FROM (SELECT "+tab.List+" FROM "+from+") "+tab.Name+"_part")
			args = append(append(args, where.Args...), limit)
		}
	}
	for _, c := range sole.parts() {
		if text, more, any := cleanPart(s.db.Dialect, c, order, limit); any {
			selects, args = append(selects, text), append(args, more...)
		}
	}
	if len(selects) == 0 {
		return nil, nil
	}
	if order == byRange {
		order = "id DESC"
	}
	return sqldb.All(s.db.Reads(ctx), layout.ReadDelivery, strings.Join(selects, " UNION ALL ")+" ORDER BY "+order+" LIMIT ?", append(args, limit)...)
}

// ToldChannel is where the table dedup keeps which message an id stands for that was told before it
// turned out to be a duplicate. No channel has this name.
const ToldChannel = ""
