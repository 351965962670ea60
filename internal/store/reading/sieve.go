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

// A list whose filter no index answers goes through rows, the newest first. With work.Filter.Look it goes through about so many for a
// page and says where it stopped, so that what is rare in ten million rows costs a page no more than what is common.

// crowdDue is how many waiting clean deliveries are too many to be sorted for a page.
const crowdDue = 2000

// bounded narrows a filter to the rows that one look may go through. It returns the cursor behind them, empty where the filter needs no
// bound or fewer rows are left.
func (s Messages) bounded(ctx context.Context, list string, f work.Filter, before string) (work.Filter, string, error) {
	if f.Look <= 0 || !sieved(f) {
		return f, "", nil
	}
	from, where := "posthouse_messages", sqldb.Where("1 = 1")
	switch {
	case settledStates(f.States):
		from = "posthouse_settled"
		if len(f.States) == 1 && strings.Contains(troubleStates, "'"+string(f.States[0])+"'") {
			where.And("tenant = ?", f.Tenant)
			stateCondition(&where, f.States)
		}
	case slices.Equal(f.States, []posthouse.State{posthouse.Sent}):
		from = "posthouse_sent"
	}
	between(&where, f, before)
	id, found, err := sqldb.First(s.db.Reads(ctx), sqldb.Word, "SELECT id FROM "+from+" WHERE "+where.Text+" ORDER BY id DESC LIMIT 1 OFFSET ?", append(where.Args, f.Look)...)
	if err != nil || !found {
		return f, "", err
	}
	f.Since = layout.TimeOfID(id)
	return f, page.Cursor(list, layout.IDAt(f.Since)), nil
}

// ranged reports whether a list goes through rows by their ids, between its cursor and a bound. Of those that settled in trouble there is an
// index that may be the better way.
func ranged(f work.Filter) bool { return f.Look > 0 && sieved(f) && !settledStates(f.States) }

// chosen reports whether posthouse_settled_trouble has all that a filter asks of deliveries: then rows are read of those alone that fit.
func chosen(f work.Filter) bool {
	other := f.User+f.Account+f.KnownAs+f.Kind+f.Ref+string(f.Priority) != "" || !f.ChangedUntil.IsZero() || f.Tried != work.TriedOrNot || len(f.Sight.Kinds) > 0
	return !other && len(f.States) > 0 && !slices.ContainsFunc(f.States, func(s posthouse.State) bool { return !strings.Contains(troubleStates, "'"+string(s)+"'") })
}

// sieved reports whether no index answers a filter.
func sieved(f work.Filter) bool {
	if f.User != "" || f.Ref != "" {
		return false
	}
	narrowed := f.Channel != "" || f.Kind != "" || f.Account+f.Reason+f.KnownAs+string(f.Priority) != "" || f.Tried != work.TriedOrNot || len(f.Sight.Channels)+len(f.Sight.Kinds) > 0
	if !narrowed && (len(f.States) == 0 || len(f.States) == 1 && strings.Contains(troubleStates, "'"+string(f.States[0])+"'")) {
		return false
	}
	return !allStuck(f.States) // there are few, and posthouse_queue_stuck has them
}

// settledStates reports whether a list wants settled deliveries alone, and no clean ones.
func settledStates(wanted []posthouse.State) bool {
	return len(wanted) > 0 && !slices.ContainsFunc(wanted, func(s posthouse.State) bool { return s.Open() || s == posthouse.Sent })
}

// allStuck reports whether a list wants what is in doubt alone.
func allStuck(wanted []posthouse.State) bool {
	return len(wanted) > 0 && !slices.ContainsFunc(wanted, func(s posthouse.State) bool { return !strings.Contains(stuckStates, "'"+string(s)+"'") })
}

// stuckStates is the condition of the partial index posthouse_queue_stuck, word for word.
const stuckStates = "state IN ('unknown', 'quarantined')"

// manyDue reports whether many clean deliveries wait.
func (s Messages) manyDue(ctx context.Context) (bool, error) {
	_, found, err := sqldb.First(s.db.Reads(ctx), sqldb.Word, "SELECT id FROM posthouse_due LIMIT 1 OFFSET ?", crowdDue)
	return found, err
}
