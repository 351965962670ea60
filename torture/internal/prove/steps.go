package prove

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/admission"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/retry"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/usher"
	"github.com/posthouse/posthouse/internal/work"
)

const (
	tenant = "t1"
	chanel = "c1"
	key    = "line" // the ordering key of scenes that have one
)

var lane = work.Lane{Tenant: tenant, Channel: chanel, Priority: posthouse.Normal}

// model is a scene with the store that its steps run on.
type model struct {
	ctx      context.Context
	scene    *scene
	db       *database
	settings state.Settings
	channel  *state.Channel
	start    world
	first    []string           // the deliveries that were accepted
	memo     map[string]outcome // what transactions did, by all that they read
	runs     int                // transactions that were run
}

// outcome is what a transaction has done to the rows and to the process that ran it.
type outcome struct {
	rows rows
	proc process
}

// move is one step that may be taken.
type move struct {
	words string
	actor int // the process that takes it, or -1
	world world
	wrote bool // by a transaction, whose events are in the world's rows
}

// moves are all steps that may be taken in a state. Those that change nothing are among them.
func (m *model) moves(w *world) (list []move, err error) {
	add := func(words string, actor int, change func(*world) error) {
		if err != nil {
			return
		}
		next := w.clone()
		if actor >= 0 {
			next.procs[actor].own()
		}
		if err = change(&next); err != nil {
			err = fmt.Errorf("%s: %w", words, err)
		}
		list = append(list, move{words, actor, next, false})
	}
	write := func(words string, actor int, run func(*process) error, then func(*world)) {
		add(words, actor, func(next *world) error {
			if err := m.transact(next, actor, words, run); err != nil {
				return err
			}
			if then != nil {
				then(next)
			}
			return nil
		})
		list[len(list)-1].wrote = true
	}
	for p := range w.procs {
		if m.scene.members > 0 {
			m.segmentMoves(w, p, add, write)
			m.dies(w, p, add)
			continue
		}
		m.claims(w, p, add, write)
		m.calls(w, p, add)
		m.results(w, p, write)
		m.plans(w, p, write)
		m.dies(w, p, add)
	}
	for _, p := range m.hands(w) {
		if m.scene.members > 0 {
			break
		}
		m.rescues(w, p, write)
		m.people(w, p, write)
		m.hears(w, p, write)
		m.answers(w, p, add, write)
		m.gathers(w, p, write)
	}
	m.passes(w, add)
	return list, err
}

type (
	adder  func(words string, actor int, change func(*world) error)
	writer func(words string, actor int, run func(*process) error, then func(*world))
)

// hands are the processes that may do what any process does: each that has something under way, and one that has not. Those
// that remember nothing differ in nothing.
func (m *model) hands(w *world) (list []int) {
	idle := false
	for p := range w.procs {
		if free := w.procs[p].free(); !free || !idle {
			list = append(list, p)
			idle = idle || free
		}
	}
	return list
}

func (p *process) free() bool {
	memory := reflect.ValueOf(p.memory)
	for i := range memory.NumField() {
		if memory.Field(i).Len() > 0 {
			return false
		}
	}
	return len(p.attempts) == 0 && p.permit == 0 && len(p.due) == 0 && p.hears == nil && p.seats.Text() == "" && !p.stretch.held && len(p.stretch.left) == 0
}

func name(p int) string { return fmt.Sprintf("process %c", 'A'+p) }

// transact runs a transaction, or remembers what it does: it follows from the rows, what is kept of answers, the process and what is done.
func (m *model) transact(w *world, p int, words string, run func(*process) error) error {
	k := string(w.procs[p].text(w.rows.mostText(fmt.Appendf(nil, "%s%v", words, w.answers))))
	if known, ok := m.memo[k]; ok {
		w.rows, w.procs[p] = known.rows, known.proc
		return nil
	}
	if err := m.db.load(m.ctx, &w.rows); err != nil {
		return err
	}
	m.db.Remember(w.procs[p].memory)
	if err := run(&w.procs[p]); err != nil {
		return err
	}
	w.procs[p].memory = m.db.Memory()
	var err error
	if w.rows, err = m.db.read(m.ctx); err != nil {
		return err
	}
	m.runs++
	m.memo[k] = outcome{w.rows, w.procs[p]}
	return nil
}

// claims is the start of deliveries that are due, and of a line's next.
func (m *model) claims(w *world, p int, add adder, write writer) {
	proc := &w.procs[p]
	if p > 0 && proc.free() && w.procs[0].free() && proc.epoch == w.procs[0].epoch {
		return // which of two that hold nothing claims makes no difference
	}
	room := m.room(proc)
	if m.scene.accepts {
		m.accepts(w, p, room, write)
	}
	switch {
	case room <= 0 || !m.waits(w):
	case m.scene.every == 0:
		write(name(p)+" claims", p, m.claim(w.owner(p), room), nil)
	case proc.permit != 0:
		write(name(p)+" claims with its permit", p, m.claim(w.owner(p), 1), func(next *world) { next.spend(p) })
	default:
		add(name(p)+" asks the limiter", p, func(next *world) error {
			m.ask(next, p)
			return nil
		})
	}
	if len(w.rows[lines]) > 0 {
		write(name(p)+" looks who is next in line", p, func(*process) error {
			_, _, err := m.db.Queue.Admit(m.ctx, epoch0, []work.LineKey{{Tenant: tenant, Channel: chanel, Name: key}}, 10, usher.Admission())
			return err
		}, nil)
	}
}

// seated are a process's seats of the channel, as the engine asks for them.
func (m *model) seated(proc *process) *admission.Channel {
	c := admission.New(m.channel, admission.Options{})
	c.Restore(proc.seats)
	return c
}

// room is how many deliveries a process may begin.
func (m *model) room(proc *process) int {
	r := m.seated(proc).ReserveIn(epoch0, admission.Lane{Priority: lane.Priority}, m.scene.slots)
	if r == nil {
		return 0
	}
	return r.N()
}

// claim starts up to n deliveries: seats are reserved for them, and those that nothing was found for go back.
func (m *model) claim(owner string, n int) func(*process) error {
	return func(proc *process) error {
		seats := m.seated(proc)
		reserved := seats.ReserveIn(epoch0, admission.Lane{Priority: lane.Priority}, n)
		items, err := m.db.Queue.Claim(m.ctx, epoch0, work.Claim{Lane: lane, Max: reserved.N(), Owner: owner, Lease: lease, Epoch: proc.epoch})
		for _, item := range items {
			proc.attempts = append(proc.attempts, attempt{item: item, leaseEnd: now + lease.Microseconds()})
			reserved.Begin(epoch0, 0, "", 1, 0)
		}
		reserved.Close()
		proc.seats = seats.State()
		return err
	}
}

// accepts is what callers hand in: it begins where it is accepted, if there is a seat, or is due.
func (m *model) accepts(w *world, p, room int, write writer) {
	for i, id := range m.first {
		if m.stored(w, id) {
			continue
		}
		write(name(p)+" accepts "+m.short(id)+", which is due", p, func(proc *process) error { return m.accepted(proc, i, nil) }, nil)
		if room > 0 {
			write(name(p)+" accepts "+m.short(id)+", which begins by that", p, m.startOne(w.owner(p), i), nil)
		}
	}
}

// stored reports whether the message of a delivery was accepted.
func (m *model) stored(w *world, id string) bool {
	return slices.ContainsFunc(w.rows[messages], func(row []any) bool { return m.db.word(messages, row, "id") == posthouse.MessageID(id) })
}

// startOne accepts a message with a seat.
func (m *model) startOne(owner string, i int) func(*process) error {
	return func(proc *process) error {
		channel := m.seated(proc)
		reserved := channel.ReserveIn(epoch0, admission.Lane{Priority: lane.Priority}, 1)
		before := len(proc.attempts)
		err := m.accepted(proc, i, seats{owner, lease, proc.epoch})
		for range proc.attempts[before:] {
			reserved.Begin(epoch0, 0, "", 1, 0)
		}
		reserved.Close()
		proc.seats = channel.State()
		return err
	}
}

func (m *model) accepted(proc *process, i int, with work.Seats) error {
	e := m.entry(i)
	e.Deliveries[0].Epoch = proc.epoch
	sub := &work.Submission{Tenant: tenant, Endpoint: "messages", KeyTTL: time.Hour, Entries: []work.Entry{e}}
	outcomes, starts, err := m.db.Submissions.AcceptAndStart(m.ctx, epoch0, []*work.Submission{sub}, with)
	if err == nil {
		err = outcomes[0].Err
	}
	for _, of := range starts {
		for _, item := range of.Items {
			proc.attempts = append(proc.attempts, attempt{item: item, leaseEnd: now + lease.Microseconds()})
		}
	}
	return err
}

// vacate ends the seats of so many attempts.
func (m *model) vacate(proc *process, n int) {
	seats := m.seated(proc)
	for range n {
		seats.Resume(admission.Lane{Priority: lane.Priority}, "", 1).End(epoch0, 0)
	}
	proc.seats = seats.State()
}

// ask has the limiter's own rules say whether one may begin, given what they have granted.
func (m *model) ask(w *world, p int) {
	var s limit.State
	windows := []posthouse.Limit{{Max: 1, Per: posthouse.Duration(m.scene.every)}}
	for _, at := range w.permits {
		s.Take(time.UnixMicro(at).UTC(), windows, 1)
	}
	if s.Take(epoch0, windows, 1).N > 0 {
		w.permits, w.procs[p].permit = append(w.permits, now), now
	}
}

// spend uses a permit for what was claimed, or gives it back.
func (w *world) spend(p int) {
	proc := &w.procs[p]
	if len(proc.attempts) > 0 {
		w.starts = append(w.starts, now)
	} else if i := slices.Index(w.permits, proc.permit); i >= 0 {
		w.permits = slices.Delete(w.permits, i, i+1)
	}
	proc.permit = 0
}

// waits reports whether anything may be claimed.
func (m *model) waits(w *world) bool {
	if len(w.rows[due]) > 0 {
		return true
	}
	return slices.ContainsFunc(w.rows[queue], func(row []any) bool {
		return m.db.word(queue, row, "state") == string(posthouse.Pending) && m.db.number(queue, row, "due_at") <= now && m.db.word(queue, row, "pin") == ""
	})
}

// calls is what attempts do: look at the lease, call, be answered.
func (m *model) calls(w *world, p int, add adder) {
	for i := range w.procs[p].attempts {
		a := &w.procs[p].attempts[i]
		d := &a.item.Delivery
		on := name(p) + " " + "%s " + m.short(d.ID)
		step := func(what string, change func(next *world, a *attempt)) {
			add(fmt.Sprintf(on, what), p, func(next *world) error {
				change(next, &next.procs[p].attempts[i])
				return nil
			})
		}
		end := func(v verdict, class posthouse.Class) func(*world, *attempt) {
			return func(_ *world, a *attempt) { a.phase, a.verdict, a.class = answered, v, class }
		}
		begin := func(_ *world, a *attempt) { a.phase, a.end = calling, now+timeout.Microseconds() }
		send := func(next *world, a *attempt) {
			id := a.item.Delivery.ID
			next.boxes[m.box(id)].arrive(m.settings.Window, slices.Contains(m.first, id))
		}
		switch a.phase {
		case held:
			if m.scene.cap > 0 && !a.asked {
				step("asks the cap for", m.askCap)
				continue
			}
			switch {
			case m.repeatIsLate(d, a.leaseEnd-now):
				step("finds it too late to repeat", end(tooLate, ""))
			case now+timeout.Microseconds() > a.leaseEnd:
				step("finds too little of its lease left for", end(released, ""))
				if w.left.lies > 0 {
					step("with a clock that is behind begins to call the provider for", func(next *world, a *attempt) {
						next.left.lies--
						begin(next, a)
					})
				}
			default:
				step("begins to call the provider for", begin)
			}
		case calling:
			if now > a.end {
				step("finds the time for its call over, for", end(result, posthouse.ClassUnknown))
				if w.left.lates > 0 {
					step("has the bytes leave after its time, for", func(next *world, a *attempt) {
						next.left.lates--
						send(next, a)
						end(result, posthouse.ClassUnknown)(next, a)
					})
				}
				continue
			}
			step("reaches the provider with", func(next *world, a *attempt) {
				send(next, a)
				a.phase = arrived
			})
			if !m.scene.sure {
				step("loses its call on the way, with", end(result, posthouse.ClassUnknown))
			}
			for _, class := range m.scene.classes {
				step("is refused ("+string(class)+"), with", end(result, class))
			}
		case arrived:
			step("is answered yes, for", end(result, posthouse.ClassOK))
			if !m.scene.sure {
				step("loses the answer, for", end(result, posthouse.ClassUnknown))
			}
		}
	}
}

// repeatIsLate is what the engine asks before it repeats: see tooLate in internal/engine.
func (m *model) repeatIsLate(d *posthouse.Delivery, left int64) bool {
	at := d.LeaseUntil.Add(-time.Duration(left) * time.Microsecond)
	return state.Doubtful(*d) && !retry.MayResend(at, d.FirstStartAt, m.settings.Window, m.settings.Timeout)
}

// arrive is what the provider does with a call.
func (b *letterbox) arrive(window time.Duration, first bool) {
	b.first, b.replay = b.first || first, b.replay || !first
	if b.forgets > now {
		return // it knows the key, and answers as it did
	}
	b.arrivals = min(b.arrivals+1, 4)
	if window > 0 {
		b.forgets = now + window.Microseconds()
	}
}

// results is how ends of attempts are written: together, and by a look at those that have changed meanwhile.
func (m *model) results(w *world, p int, write writer) {
	in := func(ph phase) bool {
		return slices.ContainsFunc(w.procs[p].attempts, func(a attempt) bool { return a.phase == ph })
	}
	uncount := func(next *world) { next.uncount(w.procs[p].attempts, next.procs[p].attempts) }
	if in(answered) {
		write(name(p)+" writes results", p, m.record, uncount)
	}
	if in(late) {
		write(name(p)+" looks again at what has changed meanwhile", p, m.reconsider, uncount)
	}
}

// change is what follows the end of an attempt.
func (m *model) change(a *attempt, d posthouse.Delivery, at time.Time) work.Change {
	switch a.verdict {
	case released:
		return state.AfterRelease(d, at, state.ReasonShutdown)
	case tooLate:
		return state.AfterWindow(&m.settings, d, at)
	case suppressed:
		return state.AfterNotSent(&m.settings, d, state.ReasonCapped, state.CappedAt(m.settings.Tiers.Caps[0].Windows[0]), at)
	}
	item := a.item
	item.Delivery = d
	return state.AfterResult(&m.settings, &item, a.result(), at)
}

func (m *model) record(proc *process) error {
	var over []*attempt
	for i := range proc.attempts {
		if proc.attempts[i].phase == answered {
			over = append(over, &proc.attempts[i])
		}
	}
	refused, err := m.db.Queue.Record(m.ctx, epoch0, func(at time.Time) []work.Change {
		changes := make([]work.Change, len(over))
		for i, a := range over {
			changes[i] = m.change(a, a.item.Delivery, at)
		}
		return changes
	})
	if err != nil {
		return err
	}
	left := []attempt{}
	for _, a := range proc.attempts {
		switch {
		case a.phase != answered:
			left = append(left, a)
		case slices.Contains(refused, a.item.Delivery.ID):
			a.phase = late
			left = append(left, a)
		}
	}
	m.vacate(proc, len(proc.attempts)-len(left))
	proc.attempts = left
	return nil
}

func (m *model) reconsider(proc *process) error {
	byID := map[string]*attempt{}
	var ids []string
	for i := range proc.attempts {
		if a := &proc.attempts[i]; a.phase == late {
			byID[a.item.Delivery.ID] = a
			ids = append(ids, a.item.Delivery.ID)
		}
	}
	_, err := m.revise(work.Selection{IDs: ids}, func(at time.Time, found []posthouse.Delivery) (changes []work.Change) {
		for _, current := range found {
			a := byID[current.ID]
			r := a.result()
			if a.verdict != result {
				r.Class = ""
			}
			c, ok := state.AfterLate(current, &a.item.Delivery, r, func(current posthouse.Delivery) work.Change { return m.change(a, current, at) })
			if ok {
				changes = append(changes, c)
			}
		}
		return changes
	})
	before := len(proc.attempts)
	proc.attempts = slices.DeleteFunc(proc.attempts, func(a attempt) bool { return a.phase == late })
	m.vacate(proc, before-len(proc.attempts))
	return err
}

func (m *model) revise(sel work.Selection, decide func(at time.Time, found []posthouse.Delivery) []work.Change) ([]posthouse.Delivery, error) {
	return m.db.Queue.Revise(m.ctx, epoch0, sel, decide)
}

// dies is what a process may suffer, and how it begins anew.
func (m *model) dies(w *world, p int, add adder) {
	proc := &w.procs[p]
	restart := func(next *world) {
		next.procs[p] = process{life: proc.life + 1, epoch: m.epoch(next)}
	}
	if w.left.crashes > 0 && !proc.free() {
		add(name(p)+" is killed and started again", p, func(next *world) error {
			next.left.crashes--
			restart(next)
			return nil
		})
	}
	if len(proc.attempts) == 0 && !proc.stretch.held && proc.epoch != m.epoch(w) {
		add(name(p)+" sees that the database was restored, and begins anew", p, func(next *world) error {
			restart(next)
			return nil
		})
	}
}

func (m *model) epoch(w *world) int64 {
	for _, row := range w.rows[meta] {
		if row[0] == "epoch" {
			n, _ := strconv.ParseInt(row[1].(string), 10, 64)
			return n
		}
	}
	return 0
}

// at puts the step's moment in the place of the real one.
type at struct{ store.Queue }

func (q at) Revise(ctx context.Context, _ time.Time, sel work.Selection, decide func(time.Time, []posthouse.Delivery) []work.Change) ([]posthouse.Delivery, error) {
	return q.Queue.Revise(ctx, epoch0, sel, decide)
}

// passes is time: to just behind the next moment at which anything may be done that cannot be done before.
func (m *model) passes(w *world, add adder) {
	var moments []int64
	for _, row := range w.rows[queue] {
		for _, name := range []string{"due_at", "lease_until", "deadline"} {
			moments = append(moments, m.db.number(queue, row, name))
		}
	}
	for _, row := range w.rows[flights] {
		moments = append(moments, m.db.number(flights, row, "lease_until"))
	}
	for _, row := range w.rows[plans] {
		moments = append(moments, m.db.number(plans, row, "next_at"))
	}
	for _, row := range w.rows[segments] {
		moments = append(moments, m.db.number(segments, row, "lease_until"))
	}
	for _, at := range w.permits {
		moments = append(moments, at+m.scene.every.Microseconds())
	}
	next := int64(0)
	for _, at := range moments {
		if at >= now && (next == 0 || at < next) && at != now {
			next = at
		}
	}
	if next == 0 {
		return
	}
	by := next - now + moment.Microseconds()
	frozen, words := 0, "time passes"
	for p := range w.procs {
		if w.procs[p].permit != 0 || w.procs[p].stretch.held && w.procs[p].stretch.leaseEnd >= now && w.procs[p].stretch.leaseEnd <= now+by || slices.ContainsFunc(w.procs[p].attempts, func(a attempt) bool { return a.leaseEnd >= now && a.leaseEnd <= now+by }) {
			frozen, words = frozen+1, words+"; "+name(p)+" stands still beyond its lease or its permit"
		}
	}
	if frozen > w.left.freezes {
		return
	}
	add(words, -1, func(next *world) error {
		next.left.freezes -= frozen
		m.pass(next, by)
		return nil
	})
}

// short is a delivery's name in words.
func (m *model) short(id string) string {
	n := m.box(id) + 1
	if slices.Contains(m.first, id) {
		return fmt.Sprintf("delivery %d", n)
	}
	return fmt.Sprintf("the replay of delivery %d", n)
}

// box is the place of a delivery's recipient.
func (m *model) box(id string) int {
	return slices.IndexFunc(m.first, func(first string) bool { return posthouse.MessageID(first) == posthouse.MessageID(id) })
}
