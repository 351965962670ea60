package prove

import (
	"fmt"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/decide"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// people is what people ask for.
func (m *model) people(w *world, p int, write writer) {
	op := decide.Operator{Queue: at{m.db.Queue}, Rouse: func(state.Key, posthouse.Priority, work.Pin) {}}
	for id, s := range m.stands(w) {
		if w.left.cancels > 0 && s.state.Open() {
			write(fmt.Sprintf("a person cancels %s at %s", m.short(id), name(p)), p, func(*process) error {
				_, err := op.Cancel(m.ctx, tenant, []string{id})
				return err
			}, func(next *world) { next.left.cancels-- })
		}
		if w.left.resolves > 0 && (s.state == posthouse.Unknown || s.state == posthouse.Quarantined) {
			for _, r := range []decide.Resolution{decide.ResolveSent, decide.ResolveFail, decide.ResolveRetry} {
				write(fmt.Sprintf("a person resolves %s as %s at %s", m.short(id), r, name(p)), p, func(*process) error {
					_, err := op.Resolve(m.ctx, tenant, id, r)
					if posthouse.CodeOf(err) == posthouse.CodeConflict {
						err = nil
					}
					return err
				}, func(next *world) {
					next.left.resolves--
					next.boxes[m.box(id)].told = true
				})
			}
		}
		if w.left.replays > 0 && slices.Contains([]posthouse.State{posthouse.Failed, posthouse.Expired, posthouse.Quarantined, posthouse.Undelivered}, s.state) {
			write(fmt.Sprintf("a person replays %s at %s", m.short(id), name(p)), p, func(*process) error {
				_, err := m.db.Submissions.AddReplay(m.ctx, epoch0, tenant, []string{id}, false)
				return err
			}, func(next *world) {
				next.left.replays--
				next.boxes[m.box(id)].persons++
			})
		}
	}
	if w.left.restores > 0 {
		write("a person raises the epoch of a restored database at "+name(p), p, func(*process) error {
			_, err := m.db.Epochs.BumpEpoch(m.ctx, epoch0)
			return err
		}, func(next *world) { next.left.restores-- })
	}
}
