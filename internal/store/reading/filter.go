package reading

import (
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/layout"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// clean says which clean deliveries a list wants: the condition is on their messages, m.
type clean struct {
	where                  sqldb.Condition
	pending, sending, sent bool
	crowded                bool     // many wait
	ranged                 bool     // they are looked through by id, in a range
	named                  bool     // the condition names their messages
	known                  string   // the address or the provider's id that they have; empty for any
	forms                  []string // the address, in each form that it may have
	bounds                 []bound
}

// bound is a comparison of messages' ids.
type bound struct{ sign, id string }

// within are the bounds as a condition on the ids of messages, m, or of the deliveries that were sent, s: one on the other table would
// have a planner believe that few fit.
func (c *clean) within(table string) (text string, args []any) {
	for _, b := range c.bounds {
		text += " AND " + table + ".id " + b.sign + " ?"
		if table == "s" && (b.sign == "<=" || b.sign == ">") {
			b.id = posthouse.LastDeliveryID(b.id)
		}
		args = append(args, b.id)
	}
	return text, args
}

// everyClean wants all of a tenant, whatever their state.
func everyClean(tenant string) *clean {
	return &clean{where: sqldb.Where("m.sole = 1 AND m.tenant = ?", tenant), pending: true, sending: true, sent: true}
}

// below bounds the deliveries from above by the id of one that is not among them.
func (c *clean) below(id string) {
	if id == "" {
		return
	}
	sign := "<"
	if posthouse.DeliveryNumber(id) > 1 {
		sign = "<="
	}
	c.bounds = append(c.bounds, bound{sign, posthouse.MessageID(id)})
}

// above bounds them from below likewise.
func (c *clean) above(id string) {
	if id == "" {
		return
	}
	sign := ">"
	if posthouse.DeliveryNumber(id) == 0 {
		sign = ">="
	}
	c.bounds = append(c.bounds, bound{sign, posthouse.MessageID(id)})
}

// only keeps those of the states; all of them where none is named.
func (c *clean) only(wanted []posthouse.State) {
	has := func(s posthouse.State) bool { return len(wanted) == 0 || slices.Contains(wanted, s) }
	c.pending, c.sending, c.sent = c.pending && has(posthouse.Pending), c.sending && has(posthouse.Sending), c.sent && has(posthouse.Sent)
}

// states says which tables can hold what a filter wants.
type states struct {
	open, settled bool
	ranged        bool // they are looked through by id, in a range
	chosen        bool // the index of those in trouble says which they are
}

// between bounds ids from above by a cursor and by the times of the filter: an id begins with
// the time it was made at.
func between(where *sqldb.Condition, f work.Filter, before string) {
	if !f.Since.IsZero() {
		where.And("id >= ?", layout.IDAt(f.Since))
	}
	if !f.Until.IsZero() {
		where.And("id < ?", layout.IDAt(f.Until))
	}
	if before != "" {
		where.And("id < ?", before)
	}
}

// troubleStates is the condition of the partial index posthouse_settled_trouble, word for word: SQLite
// uses it for no other.
const troubleStates = "state IN ('failed', 'undelivered', 'expired', 'suppressed', 'cancelled')"

// stateCondition adds the states to a condition and says which tables can hold them. The
// states stand in the text, not as arguments, so that a partial index is seen to fit.
func stateCondition(where *sqldb.Condition, wanted []posthouse.State) states {
	if len(wanted) == 0 {
		return states{open: true, settled: true}
	}
	var in states
	var words []string
	trouble := true
	for _, s := range posthouse.States() {
		if slices.Contains(wanted, s) {
			word := "'" + string(s) + "'"
			words = append(words, word)
			in.open, in.settled = in.open || s.Open(), in.settled || !s.Open()
			trouble = trouble && strings.Contains(troubleStates, word)
		}
	}
	if len(words) == 0 {
		where.And("1 = 0")
		return states{open: true}
	}
	if trouble {
		where.And(troubleStates)
	}
	if allStuck(wanted) {
		where.And(stuckStates)
	}
	where.And("state IN (" + strings.Join(words, ", ") + ")")
	return in
}

func messageCondition(f work.Filter, before string) sqldb.Condition {
	where := sqldb.Where("tenant = ?", f.Tenant)
	if f.Channel != "" {
		where.And("channel = ?", f.Channel)
	}
	if f.Kind != "" {
		where.And("kind = ?", f.Kind)
	}
	where.Among("channel", f.Sight.Channels)
	where.Among("kind", f.Sight.Kinds)
	if f.Ref != "" {
		where.And("ref <> '' AND ref = ?", f.Ref) // the first half names the partial index
	}
	between(&where, f, before)
	return where
}
