package schema

import (
	"fmt"
	"text/template"

	"github.com/posthouse/posthouse/internal/store/sqldb"
)

// phrasesOf are what the text of a view may call: the database's words, and pieces that several views, or several columns of one,
// are made of.
func phrasesOf(d *sqldb.Dialect) template.FuncMap {
	p := pieces{d}
	return template.FuncMap{
		"greatest": func() string { return d.Phrases.Greatest },
		"time":     d.Phrases.Time, "json": d.Phrases.JSON, "value": d.Phrases.Value, "document": d.Phrases.Document,
		"integer": d.Phrases.Integer, "number": d.Phrases.Number, "word": d.Phrases.Word,
		"cat": p.cat, "object": p.object, "message": func(id string) string { return p.beginning(id, "0000") },
		"sole":       func() string { return p.beginning("m.id", "0001") },
		"deliveries": p.deliveries, "most": p.most, "slots": p.slots, "notMadeGood": p.notMadeGood,
		"kinds": func() string {
			return "('task_created', 'node_done', 'orbit_remind', 'task_finished', 'task_abnormal', 'node_timeout')"
		},
		"held": func() string {
			return "'held for a person: nobody knows whether it arrived. Decide with posthouse resolve: sent, not_sent or retry'"
		},
		"ended": func() string {
			return "'ended while nobody knew whether it had arrived. Nothing more is sent; posthouse resolve sent or not_sent says what became of it'"
		},
		"task": func() string {
			return "CASE WHEN m.dedup_key = " + d.Concat("'lksms:'", "m.ref") + " THEN " + d.Phrases.Word("m.ref") + " ELSE " + d.Phrases.Word("d.id") + " END"
		},
		"phone": func(address string) string {
			return "CASE WHEN " + address + " LIKE '+86%' THEN substr(" + address + ", 4) ELSE " + address + " END"
		},
	}
}

// pieces are parts of the views' texts, in one database's words.
type pieces struct{ *sqldb.Dialect }

// cat joins texts.
func (p pieces) cat(first string, others ...string) string {
	for _, other := range others {
		first = p.Concat(first, other)
	}
	return first
}

// beginning is what the ids of a message and its deliveries begin with, and an end: 0000 of the message, 0001 of its first delivery,
// ZZZZ after the last.
func (p pieces) beginning(id, end string) string {
	return p.Concat("substr("+id+", 1, 22)", "'"+end+"'")
}

// object is a JSON object of names and the expressions of their values, in turn.
func (p pieces) object(pairs ...string) string {
	text := p.Phrases.Object + "("
	for i := 0; i+1 < len(pairs); i += 2 {
		if i > 0 {
			text += ", "
		}
		text += "'" + pairs[i] + "', " + pairs[i+1]
	}
	return text + ")"
}

// deliveries joins the messages r with those of their deliveries d that stand in a table, queue or settled.
func (p pieces) deliveries(table, d, r string) string {
	return fmt.Sprintf("posthouse_messages %[3]s JOIN posthouse_%[1]s %[2]s ON %[2]s.id > %[3]s.id AND %[2]s.id <= %[4]s", table, d, r, p.beginning(r+".id", "ZZZZ"))
}

// most are the greatest values of a column among all deliveries d of the messages r that meet a condition: of open and of settled ones.
func (p pieces) most(column, where string) string {
	one := func(table string) string {
		return fmt.Sprintf("COALESCE((SELECT MAX(d.%s) FROM %s WHERE %s), 0)", column, p.deliveries(table, "d", "r"), where)
	}
	return one("queue") + ", " + one("settled")
}

// slots are the messages that the reminder p became.
func (p pieces) slots(message string) string {
	return fmt.Sprintf("%[1]s.tenant = p.tenant AND %[1]s.kind = p.kind AND %[1]s.ref = p.ref AND %[1]s.options <> '' AND %[2]s = %[3]s",
		message, p.Phrases.JSON(message+".options", "reminder"), p.Phrases.Word("p.id"))
}

// notMadeGood is met by a slot r of the reminder p after which none was sent.
func (p pieces) notMadeGood() string {
	return fmt.Sprintf("NOT EXISTS (SELECT 1 FROM %s WHERE l.id > r.id AND %s AND s.state IN ('sent', 'delivered'))", p.deliveries("settled", "s", "l"), p.slots("l"))
}
