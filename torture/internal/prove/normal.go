package prove

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store"
)

// now is the moment of every step, as the database keeps it.
var now = epoch0.UnixMicro()

// normal brings a state into the form in which two states that go on alike are the same: what has passed has just passed, in its
// order; flights are numbered; versions and tokens are ranks; what only people read is empty.
func (m *model) normal(w *world) {
	w.rows[events], w.rows[tidings] = nil, nil
	m.normalMeta(w)
	m.normalTimes(w)
	m.normalNumbers(w)
	m.normalFlights(w)
	m.normalPlans(w)
	m.normalKeys(w)
	if m.scene.members > 0 {
		m.normalSegments(w)
	}
	for _, table := range []int{flights, sent, queue, settled, lines} {
		slices.SortFunc(w.rows[table], func(a, b []any) int { return strings.Compare(a[0].(string), b[0].(string)) })
	}
}

// edit copies the rows of a table and has change write into each.
func (m *model) edit(w *world, table int, change func(set setter)) {
	list := make([][]any, len(w.rows[table]))
	for i, row := range w.rows[table] {
		list[i] = slices.Clone(row)
		change(setter{m.db, table, list[i]})
	}
	w.rows[table] = list
}

// setter reads and writes the columns of a row.
type setter struct {
	db    *database
	table int
	row   []any
}

func (s setter) word(name string) string  { return s.db.word(s.table, s.row, name) }
func (s setter) number(name string) int64 { return s.db.number(s.table, s.row, name) }
func (s setter) set(name string, v any)   { s.row[s.db.column(s.table, name)] = v }

// clamp sets columns to what change makes of them, but for zeros.
func (s setter) clamp(change func(int64) int64, names ...string) {
	for _, name := range names {
		if v := s.number(name); v != 0 {
			s.set(name, change(v))
		}
	}
}

// normalMeta keeps of the meta table the epoch: the rest is of a history that nobody here asks for.
func (m *model) normalMeta(w *world) {
	var list [][]any
	for _, row := range m.start.rows[meta] {
		if row[0] == "epoch" {
			row = []any{"epoch", fmt.Sprint(m.epoch(w))}
		}
		list = append(list, row)
	}
	w.rows[meta] = list
}

// past makes what has passed the present, and ended what has passed the moment before it.
func past(int64) int64    { return now }
func ended(t int64) int64 { return max(t, now-1) }
func first(of time.Duration) func(int64) int64 {
	return func(t int64) int64 {
		if of == 0 {
			return now
		}
		return max(t, now-of.Microseconds())
	}
}

func (m *model) normalTimes(w *world) {
	order := ranks(m, w)
	began := first(m.settings.Window)
	m.edit(w, queue, func(s setter) {
		s.clamp(past, "created_at", "updated_at", "not_before")
		s.clamp(ended, "lease_until", "deadline")
		s.clamp(began, "started_at", "first_start_at")
		s.set("last_error", "")
		s.set("provider_ref", "")
		s.clamp(func(t int64) int64 { return min(t, 3) }, "attempts")
		switch {
		case s.word("state") == string(posthouse.Sending):
			s.clamp(past, "due_at")
		default:
			s.clamp(func(t int64) int64 {
				if t > now {
					return t
				}
				return now - int64(order[t])
			}, "due_at")
		}
	})
	m.edit(w, settled, func(s setter) {
		s.clamp(past, "created_at", "updated_at", "not_before", "started_at", "first_start_at", "due_at")
		s.clamp(ended, "lease_until", "deadline")
		s.set("last_error", "")
		s.set("provider_ref", "")
		s.clamp(func(t int64) int64 { return min(t, 3) }, "attempts")
	})
	m.edit(w, flights, func(s setter) {
		s.clamp(began, "started_at")
		s.clamp(ended, "lease_until")
	})
	m.edit(w, sent, func(s setter) { s.clamp(past, "at", "started_at", "lease_until") })
	m.edit(w, lines, func(s setter) {
		s.clamp(past, "since", "look_at") // anybody may look at any time: a process that settles something does
	})
	for p := range w.procs {
		w.procs[p].own()
		for i := range w.procs[p].attempts {
			a := &w.procs[p].attempts[i]
			a.leaseEnd, a.end = ended(a.leaseEnd), ended(a.end)
			d := &a.item.Delivery
			for _, t := range []*time.Time{&d.CreatedAt, &d.UpdatedAt, &d.DueAt} {
				clampTime(t, past)
			}
			clampTime(&d.LeaseUntil, ended)
			clampTime(&d.Deadline, ended)
			clampTime(&d.StartedAt, began)
			clampTime(&d.FirstStartAt, began)
			d.Attempts = min(d.Attempts, 3)
		}
	}
	m.normalWindow(w)
	for i := range w.boxes {
		if w.boxes[i].forgets <= now {
			w.boxes[i].forgets = 0
		}
	}
}

// normalWindow forgets what counts no more in the limiter's window.
func (m *model) normalWindow(w *world) {
	over := func(t int64) bool { return t+m.scene.every.Microseconds() <= now }
	w.permits, w.starts = slices.DeleteFunc(w.permits, over), slices.DeleteFunc(w.starts, over)
	for p := range w.procs {
		if t := w.procs[p].permit; t != 0 {
			w.procs[p].permit = max(t, now-m.scene.every.Microseconds())
		}
	}
}

func clampTime(t *time.Time, change func(int64) int64) {
	if !t.IsZero() {
		*t = time.UnixMicro(change(t.UnixMicro())).UTC()
	}
}

// ranks are how many later moments have passed at which something waiting was due.
func ranks(m *model, w *world) map[int64]int {
	var moments []int64
	for _, row := range w.rows[queue] {
		if at := m.db.number(queue, row, "due_at"); at != 0 && at <= now && m.db.word(queue, row, "state") != string(posthouse.Sending) {
			moments = append(moments, at)
		}
	}
	slices.Sort(moments)
	moments = slices.Compact(moments)
	order := map[int64]int{}
	for i, at := range moments {
		order[at] = len(moments) - 1 - i
	}
	return order
}

// normalNumbers makes versions above 3 and tokens above 2 ranks: below, the clean course asks for the numbers themselves.
func (m *model) normalNumbers(w *world) {
	versions, tokens := map[string][]int64{}, map[string][]int64{}
	for _, row := range w.rows[queue] {
		id := row[0].(string)
		versions[id], tokens[id] = []int64{m.db.number(queue, row, "version")}, []int64{m.db.number(queue, row, "token")}
	}
	for _, row := range w.rows[settled] {
		id := row[0].(string)
		tokens[id] = []int64{m.db.number(settled, row, "token")}
	}
	for p := range w.procs {
		for i := range w.procs[p].attempts {
			d := &w.procs[p].attempts[i].item.Delivery
			versions[d.ID], tokens[d.ID] = append(versions[d.ID], d.Version), append(tokens[d.ID], d.Token)
		}
	}
	m.edit(w, queue, func(s setter) {
		id := s.word("id")
		s.set("version", rank(versions[id], s.number("version"), 3))
		s.set("token", rank(tokens[id], s.number("token"), 2))
	})
	m.edit(w, settled, func(s setter) {
		s.set("version", int64(100))
		s.set("token", rank(tokens[s.word("id")], s.number("token"), 2))
	})
	for p := range w.procs {
		for i := range w.procs[p].attempts {
			d := &w.procs[p].attempts[i].item.Delivery
			d.Version, d.Token = rank(versions[d.ID], d.Version, 3), rank(tokens[d.ID], d.Token, 2)
		}
	}
}

// rank is a number where it is at most exact, else how many of the others up to it are beyond that.
func rank(of []int64, n, exact int64) int64 {
	if n <= exact {
		return n
	}
	seen := map[int64]bool{}
	for _, v := range of {
		if v > exact && v <= n {
			seen[v] = true
		}
	}
	return exact + int64(len(seen))
}

// normalFlights numbers the flights, by their rows first.
func (m *model) normalFlights(w *world) {
	type named struct{ key, id string }
	var all []named
	for _, row := range w.rows[flights] {
		all = append(all, named{"0" + string(rowText(nil, row[1:])), row[0].(string)})
	}
	for p := range w.procs {
		for _, f := range w.procs[p].memory.Flights {
			all = append(all, named{fmt.Sprint("1", p, f.Of), f.ID})
		}
		for _, id := range w.procs[p].memory.Empty {
			all = append(all, named{fmt.Sprint("2", p), id})
		}
	}
	slices.SortStableFunc(all, func(a, b named) int { return strings.Compare(a.key, b.key) })
	names := map[string]string{}
	for _, n := range all {
		if names[n.id] == "" {
			names[n.id] = fmt.Sprintf("F%d", len(names)+1)
		}
	}
	m.edit(w, flights, func(s setter) { s.set("id", names[s.word("id")]) })
	for p := range w.procs {
		mem := &w.procs[p].memory
		list := make([]store.Remembered, len(mem.Flights))
		for i, f := range mem.Flights {
			f.ID, f.StartedAt, f.LeaseUntil = names[f.ID], now, now
			list[i] = f
		}
		empty := make([]string, len(mem.Empty))
		for i, id := range mem.Empty {
			empty[i] = names[id]
		}
		mem.Flights, mem.Empty = list, empty
	}
}

// pass lets time pass: all that is stored and remembered lies further back.
func (m *model) pass(w *world, by int64) {
	back := func(t int64) int64 { return t - by }
	m.edit(w, queue, func(s setter) {
		s.clamp(back, "due_at", "deadline", "started_at", "first_start_at", "lease_until")
	})
	m.edit(w, flights, func(s setter) { s.clamp(back, "started_at", "lease_until") })
	m.edit(w, segments, func(s setter) { s.clamp(back, "lease_until") })
	m.edit(w, plans, func(s setter) {
		s.clamp(back, "next_at")
		s.set("doc", string(document([]byte(s.word("doc")), time.Duration(by)*time.Microsecond)))
	})
	for _, list := range [][]int64{w.permits, w.starts} {
		for i := range list {
			list[i] -= by
		}
	}
	for p := range w.procs {
		w.procs[p].own()
		w.procs[p].stretch.leaseEnd -= by
		w.procs[p].due = slices.Clone(w.procs[p].due)
		for i := range w.procs[p].due {
			w.procs[p].due[i].Doc = document(w.procs[p].due[i].Doc, time.Duration(by)*time.Microsecond)
		}
		for i := range w.procs[p].stretch.members {
			w.procs[p].stretch.members[i].end -= by
		}
		if w.procs[p].permit != 0 {
			w.procs[p].permit -= by
		}
		for i := range w.procs[p].attempts {
			a := &w.procs[p].attempts[i]
			a.leaseEnd, a.end = a.leaseEnd-by, a.end-by
			d := &a.item.Delivery
			for _, t := range []*time.Time{&d.DueAt, &d.Deadline, &d.StartedAt, &d.FirstStartAt, &d.LeaseUntil} {
				clampTime(t, back)
			}
		}
	}
	for i := range w.boxes {
		if w.boxes[i].forgets != 0 {
			w.boxes[i].forgets -= by
		}
	}
}
