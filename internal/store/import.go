package store

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/layout"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/transition"
	"github.com/posthouse/posthouse/internal/work"
)

// Import stores what another system has done, each message with its own times. A message that is there
// already, by its id, is passed over, so that an import can be repeated. All are of one tenant. It returns how
// many are new.
func (s Imports) Import(ctx context.Context, now time.Time, tenant string, list []work.Imported) (stored int, err error) {
	err = s.change(ctx, now, "import messages", func(t *tx) error {
		fresh, err := unstored(t, importedMessages, list)
		if err != nil {
			return err
		}
		b, err := importBundle(fresh)
		if err != nil {
			return err
		}
		stored = len(fresh)
		return t.Run(b)
	})
	return stored, err
}

// importBundle is what is written of imported messages. What an agent holds stands in the log of hand-outs
// too, so that its report counts.
func importBundle(list []work.Imported) (sqldb.Bundle, error) {
	var messages, queued, settled, events, handed [][]any
	tally := layout.Counting{}
	for i := range list {
		messages = append(messages, layout.MessageValues(&work.Entry{Message: list[i].Message, Deliveries: list[i].Deliveries}))
		for k := range list[i].Events {
			e := &list[i].Events[k]
			if !transition.Legal(e.From, e.Type, e.To) {
				return nil, fmt.Errorf("the imported delivery %s: no %s leads from %q to %q", e.Delivery, e.Type, e.From, e.To)
			}
			events = append(events, layout.EventValues(e))
		}
		for k := range list[i].Deliveries {
			d := &list[i].Deliveries[k]
			tally.Add(d, 1)
			if d.State.Open() {
				queued = append(queued, layout.DeliveryValues(d))
			} else {
				settled = append(settled, layout.DeliveryValues(d))
			}
			if agent := work.AgentOf(d.LeaseOwner); agent != "" {
				handed = append(handed, []any{d.ID, d.Token, d.Tenant, sqldb.Micros(d.StartedAt), agent, "", ""})
			}
		}
	}
	var b sqldb.Bundle
	b.Insert(layout.Messages, messages)
	b.Insert(layout.Queue, queued)
	layout.InsertSettled(&b, layout.Settled, settled)
	b.Insert(layout.Events, events)
	b.Insert(layout.SendLog, handed)
	tally.Into(&b)
	return b, nil
}

// ImportLines stores lines of a log with the ids, tokens and times they have, and passes over those that are
// there. All are of one tenant. It returns how many are new.
func (s Imports) ImportLines(ctx context.Context, now time.Time, tenant string, log work.Log, lines []work.Line) (stored int, err error) {
	form, ok := importedLogs[log]
	if !ok {
		return 0, fmt.Errorf("there is no log %q", log)
	}
	err = s.change(ctx, now, "import a log", func(t *tx) error {
		fresh, err := unstored(t, form.identity, lines)
		if err != nil {
			return err
		}
		rows := make([][]any, len(fresh))
		for i := range fresh {
			rows[i] = form.values(&fresh[i])
		}
		stored = len(rows)
		return t.Insert(form.table, rows)
	})
	return stored, err
}

// FormerTasks finds the deliveries of imported tasks by the ids that these had before. What is not found is
// left out.
func (s Imports) FormerTasks(ctx context.Context, now time.Time, tenant, kind string, former []string) (map[string]string, error) {
	found := map[string]string{}
	if len(former) == 0 {
		return found, nil
	}
	err := s.change(ctx, now, "look for imported tasks", func(t *tx) error {
		return importing{t}.eachOf("ref, id", "posthouse_messages", "tenant = ? AND kind = ? AND ref <> '' AND ref", []any{tenant, kind}, former, func(scan sqldb.Scanner) error {
			var ref, id string
			err := scan(&ref, &id)
			found[ref] = posthouse.DeliveryID(id, 1)
			return err
		})
	})
	return found, err
}

// eachOf reads the rows of a table that a condition, which ends with a column, finds for any of values. PostgreSQL
// looks each value up by itself: of a table that it knows little of, it would read all and compare each row
// with all values.
func (t importing) eachOf(columns, table, condition string, args []any, values []string, each func(scan sqldb.Scanner) error) error {
	if t.DB.Dialect.Arrays {
		query := "SELECT found.* FROM unnest(?::text[]) AS given(value) CROSS JOIN LATERAL (SELECT " + columns +
			" FROM " + table + " WHERE " + condition + " = given.value OFFSET 0) found"
		return t.Query(query, append([]any{values}, args...), each)
	}
	clause, more := t.In(condition, values)
	return t.Query("SELECT "+columns+" FROM "+table+" WHERE "+clause, append(args, more...), each)
}

// identity is how rows that an import brings are known again.
type identity[T any] struct {
	columns, table string
	by             string // the column they are looked up by
	value          func(T) string
	key            func(T) string
	stored         func(scan sqldb.Scanner) (string, error) // the key of a row of columns
}

var importedMessages = identity[work.Imported]{"id", "posthouse_messages", "id", importedID, importedID, sqldb.Word}

func importedID(i work.Imported) string  { return i.Message.ID }
func lineID(l work.Line) string          { return l.ID }
func lineDelivery(l work.Line) string    { return l.Delivery }
func handedKey(d string, t int64) string { return d + ":" + strconv.FormatInt(t, 10) }

// importedLogs is how lines of each log are stored and known again. A hand-out has no id of its own.
var importedLogs = map[work.Log]struct {
	identity[work.Line]
	table  *sqldb.Table
	values func(*work.Line) []any
}{
	work.ReceiveLog: {identity[work.Line]{"id", "posthouse_receive_log", "id", lineID, lineID, sqldb.Word}, layout.ReceiveLog, layout.ReceiveValues},
	work.ReportLog:  {identity[work.Line]{"id", "posthouse_report_log", "delivery", lineDelivery, lineID, sqldb.Word}, layout.ReportLog, reportedValues},
	work.SendLog: {identity[work.Line]{
		"delivery, token", "posthouse_send_log", "delivery", lineDelivery,
		func(l work.Line) string { return handedKey(l.Delivery, l.Token) },
		func(scan sqldb.Scanner) (string, error) {
			var delivery string
			var token int64
			err := scan(&delivery, &token)
			return handedKey(delivery, token), err
		},
	}, layout.SendLog, handedValues},
}

func handedValues(l *work.Line) []any {
	return []any{l.Delivery, l.Token, l.Tenant, sqldb.Micros(l.At), l.Agent, l.ClaimID, string(l.Request)}
}

func reportedValues(l *work.Line) []any {
	return []any{
		l.Tenant, l.Agent, l.ReportID, l.ID, sqldb.Micros(l.At), l.Delivery, l.Token,
		l.Outcome, "", l.Error, layout.RetryUnsaid, "", string(l.Request), l.Answer, "",
	}
}

// unstored are those of list whose keys no row has, each key once.
func unstored[T any](t *tx, i identity[T], list []T) ([]T, error) {
	if len(list) == 0 {
		return nil, nil
	}
	values := make([]string, len(list))
	for k, v := range list {
		values[k] = i.value(v)
	}
	var stored []string
	err := importing{t}.eachOf(i.columns, i.table, i.by, nil, values, func(scan sqldb.Scanner) error {
		key, err := i.stored(scan)
		stored = append(stored, key)
		return err
	})
	return sqldb.Without(list, stored, i.key), err
}
