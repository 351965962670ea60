package prove

import (
	"log/slog"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/life"
	"github.com/posthouse/posthouse/internal/metrics"
	"github.com/posthouse/posthouse/internal/rescue"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// waiting are the results of a process that wait to be written.
type waiting []attempt

func (waiting) Stuck() bool { return false }
func (l waiting) Has(d posthouse.Delivery) bool {
	return slices.ContainsFunc(l, func(a attempt) bool {
		return a.phase >= answered && a.item.Delivery.ID == d.ID && a.item.Delivery.Token == d.Token
	})
}

// rescues is what a process does for what nobody else moves.
func (m *model) rescues(w *world, p int, write writer) {
	if m.flies(w) { // also where no lease has ended: it must find nothing then
		write(name(p)+" rescues what has lost its lease", p, func(proc *process) error {
			_, err := m.rescuer(proc).RescueNow(m.ctx)
			return err
		}, nil)
	}
	if m.overdue(w, work.PastDeadline) {
		write(name(p)+" ends what is past its deadline", p, func(*process) error {
			return m.sweep(work.PastDeadline, state.AfterDeadline)
		}, nil)
	}
	if m.overdue(w, work.HoldOver) {
		write(name(p)+" gives up what nobody has resolved", p, func(*process) error {
			return m.sweep(work.HoldOver, state.AfterHold)
		}, nil)
	}
}

func (m *model) rescuer(proc *process) *rescue.Rescuer {
	return &rescue.Rescuer{
		Queue: at{m.db.Queue}, Failures: m.db.Queue.Failures, Results: waiting(proc.attempts),
		Settings: func(state.Key) *state.Settings { return &m.settings }, Reported: func(string) bool { return false },
		Unread: func(*posthouse.Delivery) bool { return false }, Returned: func([]posthouse.Delivery) {},
		Life: life.New(), Log: slog.New(slog.DiscardHandler), Metrics: metrics.New(prometheus.NewRegistry()), Every: time.Second,
	}
}

func (m *model) sweep(kind work.Due, follow func(posthouse.Delivery) work.Change) error {
	_, err := m.revise(work.Selection{Due: kind, Max: rescue.Batch}, func(_ time.Time, found []posthouse.Delivery) (changes []work.Change) {
		for _, d := range found {
			changes = append(changes, follow(d))
		}
		return changes
	})
	return err
}

// flies reports whether anything is held.
func (m *model) flies(w *world) bool {
	return len(w.rows[flights]) > 0 || slices.ContainsFunc(w.rows[queue], func(row []any) bool { return m.db.word(queue, row, "state") == string(posthouse.Sending) })
}

// overdue reports whether the rescuer would find anything of a kind.
func (m *model) overdue(w *world, kind work.Due) bool {
	return slices.ContainsFunc(w.rows[queue], func(row []any) bool {
		is := posthouse.State(m.db.word(queue, row, "state"))
		deadline, at := m.db.number(queue, row, "deadline"), m.db.number(queue, row, "due_at")
		return kind == work.PastDeadline && deadline > 0 && deadline <= now && is == posthouse.Pending ||
			kind == work.HoldOver && is == posthouse.Unknown && at > 0 && at <= now
	})
}
