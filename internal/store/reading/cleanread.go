package reading

import (
	"context"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/layout"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// cleanPart is the part of a list that has the clean deliveries. Of those that only fly there are few beside those that were sent, and
// most of the time of those that only wait: they are found from where they stand.
func cleanPart(d *sqldb.Dialect, c *clean, order string, limit int) (text string, args []any, any bool) {
	if c == nil || !c.pending && !c.sending && !c.sent {
		return "", nil, false
	}
	where, args := c.where.Text, slices.Clone(c.where.Args)
	by, table := "m.id", "m"
	index := ""
	if c.ranged {
		index = d.By(sqldb.Primary)
	}
	from := layout.SoleRowsBy(d, index)
	switch {
	case c.pending && !c.sending && !c.sent && !c.crowded:
		from = "posthouse_due q JOIN posthouse_messages m ON m.id = " + layout.SoleMessage(d, "q.id") + " LEFT JOIN posthouse_sent s ON s.id = q.id"
	case c.sending && !c.pending && !c.sent:
		where += " AND m.id IN (SELECT " + layout.SoleMessage(d, "j.value") + " FROM " + d.Flown + ")"
	case c.sent && !c.pending && !c.sending && !c.named:
		from, by, table = layout.SoleSent(d), "s.id", "s"
	}
	if table == "m" { // what is found from where it was sent is sent
		where += c.stages()
	}
	bounds, more := c.within(table)
	where, args = where+bounds, append(args, more...)
	if order != "id" {
		by += " DESC"
	}
	return "SELECT * FROM (SELECT " + layout.SoleColumns(d) + " FROM " + from + " WHERE " + where + " ORDER BY " + by + " LIMIT ?) clean_part",
		append(args, limit), true
}

// parts are the parts of a list that have the clean deliveries: one, but where an address or a provider's id is looked for. Those stand in two
// tables, and a row of one would be joined to the other before it could be left out.
func (c *clean) parts() []*clean {
	if c == nil || c.known == "" {
		return []*clean{c}
	}
	byAddress, byRef := *c, *c
	byAddress.where = sqldb.Where(c.where.Text, slices.Clone(c.where.Args)...)
	in, args := oneOf(c.forms)
	byAddress.where.And("m.address IN "+in, args...)
	byRef.where = sqldb.Where(c.where.Text, slices.Clone(c.where.Args)...)
	byRef.where.And("s.ref = ? AND m.address NOT IN "+in, append([]any{c.known}, args...)...)
	byRef.pending, byRef.sending = false, false
	return []*clean{&byAddress, &byRef}
}

// stages is the condition of the states. Where many wait it names those that are left out: PostgreSQL takes an expression to equal a text in
// one row of 200, and to differ from it in all others. Told the first, it joins and sorts everything in range to find a page of what waits.
func (c *clean) stages() string {
	if c.pending && c.sending && c.sent {
		return ""
	}
	var in, out []string
	for _, one := range []struct {
		state  posthouse.State
		wanted bool
	}{{posthouse.Pending, c.pending}, {posthouse.Sending, c.sending}, {posthouse.Sent, c.sent}} {
		word := "'" + string(one.state) + "'"
		if one.wanted {
			in = append(in, word)
		} else {
			out = append(out, word)
		}
	}
	if c.crowded {
		return " AND " + layout.SoleState + " NOT IN (" + strings.Join(out, ", ") + ")"
	}
	return " AND " + layout.SoleState + " IN (" + strings.Join(in, ", ") + ")"
}

// filter adds what a filter says of deliveries, but for kind and ref.
func (c *clean) filter(f work.Filter, before string) {
	if f.Channel != "" {
		c.where.And("m.channel = ?", f.Channel)
	}
	c.where.Among("m.channel", f.Sight.Channels)
	if f.User != "" {
		c.where.And("m.user_id <> '' AND m.user_id = ?", f.User)
	}
	if !f.Since.IsZero() {
		c.bounds = append(c.bounds, bound{">=", layout.IDAt(f.Since)})
	}
	if !f.Until.IsZero() {
		c.bounds = append(c.bounds, bound{"<", layout.IDAt(f.Until)})
	}
	c.below(before)
	c.only(f.States)
}

// cleanCounts counts clean deliveries by message and state.
func cleanCounts(d *sqldb.Dialect, c *clean) (text string, args []any) {
	return "SELECT substr(m.id, 1, 22), " + layout.SoleState + ", 1 FROM " + layout.SoleRows(d) + " WHERE " + c.where.Text, c.where.Args
}

// openClean lists the clean deliveries of messages that are not sent yet.
func (s Messages) openClean(ctx context.Context, tenant string, messages []string) ([]string, error) {
	clause, args := s.db.Dialect.Among("m.id", messages)
	ids, err := sqldb.All(s.db.Reads(ctx), sqldb.Word, "SELECT m.id FROM posthouse_messages m LEFT JOIN posthouse_sent s ON s.id = "+layout.SoleID(s.db.Dialect)+
		" WHERE "+clause+" AND m.sole = 1 AND m.tenant = ? AND s.id IS NULL", append(args, tenant)...)
	for i := range ids {
		ids[i] = posthouse.DeliveryID(ids[i], 1)
	}
	return ids, err
}

// fillFlights adds to clean deliveries in flight what their flights know. One that has landed meanwhile is read again.
func (s Messages) fillFlights(ctx context.Context, list []posthouse.Delivery) error {
	at := map[string]int{}
	for i := range list {
		if d := &list[i]; d.State == posthouse.Sending && d.LeaseOwner == "" && d.LeaseUntil.IsZero() && d.Version == 2 {
			at[d.ID] = i
		}
	}
	if len(at) == 0 {
		return nil
	}
	flights, err := sqldb.All(s.db.Reads(ctx), layout.ReadFlying, "SELECT "+layout.FlyingColumns+" FROM posthouse_flights")
	if err != nil {
		return err
	}
	for _, f := range flights {
		for place, id := range f.IDs {
			if i, wanted := at[id]; wanted {
				layout.TakeOff(&list[i], f.For(place))
				delete(at, id)
			}
		}
	}
	for id, i := range at {
		again, err := s.deliveryRow(ctx, list[i].Tenant, id)
		if err != nil {
			return err
		}
		if len(again) > 0 {
			list[i] = again[0]
		}
	}
	return nil
}
