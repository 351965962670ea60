package layout

import (
	"strings"

	"github.com/posthouse/posthouse/internal/store/sqldb"
)

// SoleID is the id of the delivery that a message m carries.
func SoleID(d *sqldb.Dialect) string { return d.Concat("substr(m.id, 1, 22)", "'0001'") }

// SoleMessage is the id of the message that carries a delivery.
func SoleMessage(d *sqldb.Dialect, id string) string {
	return d.Concat("substr("+id+", 1, 22)", "'0000'")
}

// SoleRows are clean deliveries with where they stand: s is there where they were sent, q where they wait; else they are in
// flight.
func SoleRows(d *sqldb.Dialect) string { return SoleRowsBy(d, "") }

// SoleRowsBy are SoleRows whose messages are found as by says, which is a Dialect.By or empty.
func SoleRowsBy(d *sqldb.Dialect, by string) string {
	id := SoleID(d)
	return "posthouse_messages m" + by + " LEFT JOIN posthouse_sent s ON s.id = " + id + soleDue(id)
}

// SoleSent are those of SoleRows that were sent, found from there.
func SoleSent(d *sqldb.Dialect) string {
	return "posthouse_sent s JOIN posthouse_messages m ON m.id = " + SoleMessage(d, "s.id") + soleDue("s.id")
}

func soleDue(id string) string {
	return ` LEFT JOIN posthouse_due q
		ON q.tenant = m.tenant AND q.channel = m.channel AND q.priority = m.priority AND q.due_at = m.due_at AND q.id = ` + id
}

// SoleState is where a clean delivery of SoleRows stands.
const SoleState = "CASE WHEN s.id IS NOT NULL THEN 'sent' WHEN q.id IS NOT NULL THEN 'pending' ELSE 'sending' END"

// StillFlying is a FROM with a WHERE: one row for each clean delivery in flight.
func StillFlying(d *sqldb.Dialect) string {
	return d.Flown + " JOIN posthouse_messages m ON m.id = " + SoleMessage(d, "j.value") + " AND m.sole = 1 WHERE NOT EXISTS (SELECT 1 FROM posthouse_sent s WHERE s.id = j.value)"
}

// SoleColumns are those of deliveryColumns. What a flight knows is filled in by fillFlights.
func SoleColumns(d *sqldb.Dialect) string {
	id := SoleID(d)
	sent := func(then, other string) string {
		return "CASE WHEN s.id IS NOT NULL THEN " + then + " ELSE " + other + " END"
	}
	stage := func(waits, flies, sent string) string {
		return "CASE WHEN s.id IS NOT NULL THEN " + sent + " WHEN q.id IS NOT NULL THEN " + waits + " ELSE " + flies + " END"
	}
	values := []string{
		id, "m.tenant", "m.channel", sent("s.account", "m.account"), "''", "m.priority", "m.user_id", "m.address", "m.recipient_type",
		SoleState, "''", "''", stage("1", "2", "3"), stage("0", "1", "1"), stage("0", "1", "1"), "0", "0",
		"CASE WHEN m.idem_key = '' THEN " + id + " ELSE m.idem_key END", "m.policy", sent("s.ref", "''"), "0", "0", "''", "''", sent("s.epoch", "m.epoch"),
		"m.created_at", sent("s.at", "m.created_at"), "m.due_at", "m.not_before", "0", "0", sent("s.started_at", "0"), "0", "''",
	}
	for i, c := range Queue.Columns {
		values[i] += " AS " + c
	}
	return strings.Join(values, ", ")
}

// SoleList are the columns of Clean of an alias.
func SoleList(alias string) string { return prefixed(alias, Clean) }

func prefixed(alias string, tab *sqldb.Table) string {
	list := ""
	for i, c := range tab.Columns {
		if i > 0 {
			list += ", "
		}
		list += alias + "." + c
	}
	return list
}

// LandingColumns are those of posthouse_sent but its id, tenant and channel, empty where the row is not there.
func LandingColumns(alias string) string {
	list := ""
	for i, c := range Sent.Columns[3:] {
		empty := "''"
		if Sent.Numbers[i+3] {
			empty = "0"
		}
		if i > 0 {
			list += ", "
		}
		list += "COALESCE(" + alias + "." + c + ", " + empty + ")"
	}
	return list
}
