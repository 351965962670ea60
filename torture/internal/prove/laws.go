package prove

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/layout"
	"github.com/posthouse/posthouse/internal/transition"
)

// The laws, in the words of a report. Those of a state are asked in each, those of a step at each transaction; the last one when
// all states are known.
const (
	lawPlace    = "each delivery stands in exactly one place"
	lawTwice    = "nobody is reached twice but by a policy or a person whom the log names"
	lawTruth    = "sent is said of what the provider has accepted, and what it has accepted is not said to have ended otherwise without a doubt in the log"
	lawFence    = "a result is written by who holds the delivery, under the token of its start"
	lawToken    = "tokens rise with each start, and never fall"
	lawLease    = "a lease is taken only when it has ended"
	lawLog      = "events are numbered without a gap, lead from state to state, and end where the row stands"
	lawLine     = "of one ordering key one is under way at a time, and the next begins when the one before is settled"
	lawWindow   = "no more deliveries begin in a window than it lets through"
	lawSeats    = "a process has a seat for each delivery under way, no more than its slots, and none when nothing is"
	lawSuccess  = "a transaction succeeds, or says why not"
	lawWayToEnd = "from each state all deliveries can come to an end, or to a person"
)

// violation is a law that does not hold.
type violation struct {
	law, why string
	step     string // by which it came to that
}

func broken(law, why string, args ...any) *violation {
	return &violation{law: law, why: fmt.Sprintf(why, args...)}
}

// stand is how a delivery stands, whichever tables say so.
type stand struct {
	places      []string
	state       posthouse.State
	version     int64
	token       int64
	owner       string
	lease       int64
	own         bool // it has a row of its own, and events
	unconfirmed bool
	line        string
	collection  string // that a digest has gathered it in, or that it is the delivery of
}

// stands are all deliveries of a state.
func (m *model) stands(w *world) map[string]stand {
	all := map[string]stand{}
	add := func(id, place string, s stand) {
		s.places = append(all[id].places, place)
		all[id] = s
	}
	landed, clean := map[string]bool{}, map[string]bool{}
	for _, row := range w.rows[messages] {
		clean[posthouse.DeliveryID(m.db.word(messages, row, "id"), 1)] = m.db.number(messages, row, "sole") == 1
	}
	for _, row := range w.rows[sent] {
		id := m.db.word(sent, row, "id")
		landed[id] = true
		add(id, "posthouse_sent", stand{state: posthouse.Sent, version: 3, token: 1, owner: m.db.word(sent, row, "owner")})
	}
	for _, row := range w.rows[due] {
		add(m.db.word(due, row, "id"), "posthouse_due", stand{state: posthouse.Pending, version: 1})
	}
	for _, row := range w.rows[flights] {
		gone := list(m.db.word(flights, row, "gone"))
		for _, id := range list(m.db.word(flights, row, "ids")) {
			if landed[id] || !clean[id] || slices.Contains(gone, id) {
				continue
			}
			add(id, "posthouse_flights", stand{
				state: posthouse.Sending, version: 2, token: 1, owner: m.db.word(flights, row, "owner"), lease: m.db.number(flights, row, "lease_until"),
			})
		}
	}
	for _, table := range []int{queue, settled} {
		for _, row := range w.rows[table] {
			add(m.db.word(table, row, "id"), tableNames[table], stand{
				state: posthouse.State(m.db.word(table, row, "state")), version: m.db.number(table, row, "version"), token: m.db.number(table, row, "token"),
				owner: m.db.word(table, row, "lease_owner"), lease: m.db.number(table, row, "lease_until"), own: true,
				unconfirmed: m.db.number(table, row, "unconfirmed") != 0, line: m.db.word(table, row, "pin"), collection: m.db.word(table, row, "notification"),
			})
		}
	}
	for _, id := range m.first {
		if _, there := all[id]; !there && m.stored(w, id) {
			all[id] = stand{}
		}
	}
	return all
}

// judgeSeats asks whether what each process holds of its channel is what it has under way.
func (m *model) judgeSeats(w *world) *violation {
	for p := range w.procs {
		proc := &w.procs[p]
		if n := len(proc.attempts); n > m.scene.slots || proc.seats.UnderWay != n || proc.seats.Held != n || n == 0 && proc.seats.Text() != "" {
			return broken(lawSeats, "%s has %d under way of %d slots, and holds %q", name(p), n, m.scene.slots, proc.seats.Text())
		}
	}
	return nil
}

// judge asks the laws of a step and of the state it leads to, and notes in the letterboxes what the log has said.
func (m *model) judge(before *world, mv *move) *violation {
	after := &mv.world
	if m.scene.members > 0 {
		return m.judgeMembers(after)
	}
	if v := m.judgeSeats(after); v != nil {
		return v
	}
	is, was := m.stands(after), m.stands(before)
	if mv.wrote {
		if v := m.judgeStep(before, mv, was, is); v != nil {
			return v
		}
	}
	for _, id := range sortedKeys(is) {
		s := is[id]
		box := m.reading(after, m.box(id))
		reached := box.replay
		if slices.Contains(m.first, id) {
			reached = box.first
		}
		switch {
		case len(s.places) != 1:
			return broken(lawPlace, "%s stands in %d places: %v", m.short(id), len(s.places), s.places)
		case (s.state == posthouse.Sent || s.state == posthouse.Delivered) && !reached && !s.unconfirmed && !box.told:
			return broken(lawTruth, "%s is %s, and the provider has never seen it", m.short(id), s.state)
		case !s.state.Open() && s.state != posthouse.Sent && s.state != posthouse.Delivered && s.state != posthouse.Undelivered && reached && !box.doubt:
			return broken(lawTruth, "%s is %s, and the provider has accepted it", m.short(id), s.state)
		}
	}
	for i := range after.boxes {
		box := m.reading(after, i)
		allowed := 1 + box.persons
		if m.settings.Window == 0 {
			allowed += box.resends
		}
		if box.arrivals > allowed {
			return broken(lawTwice, "the recipient of delivery %d is reached %d times, and the log allows %d", i+1, box.arrivals, allowed)
		}
	}
	if len(after.starts) > 1 {
		return broken(lawWindow, "%d began within %s", len(after.starts), m.scene.every)
	}
	if v := m.judgeCap(after); v != nil {
		return v
	}
	if v := m.judgeAnswers(before, after, was, is); v != nil {
		return v
	}
	if v := m.judgeNotification(before, after, is); v != nil {
		return v
	}
	if v := m.judgeCollections(after, is); v != nil {
		return v
	}
	return m.judgeLine(is)
}

func sortedKeys(of map[string]stand) (keys []string) {
	for id := range of {
		keys = append(keys, id)
	}
	slices.Sort(keys)
	return keys
}

// judgeLine asks the law of ordering keys.
func (m *model) judgeLine(is map[string]stand) *violation {
	if !m.scene.line {
		return nil
	}
	for i, id := range m.first {
		begun := is[id].token > 0
		for _, before := range m.first[:i] {
			if begun && is[before].state.Open() {
				return broken(lawLine, "%s has begun, and %s is %s", m.short(id), m.short(before), is[before].state)
			}
		}
	}
	return nil
}

// judgeStep asks the laws of one transaction.
func (m *model) judgeStep(before *world, mv *move, was, is map[string]stand) *violation {
	said, err := m.events(&mv.world)
	if err != nil {
		return broken(lawLog, "%v", err)
	}
	actor := before.owner(mv.actor)
	for _, id := range sortedKeys(is) {
		b, a, log := was[id], is[id], said[id]
		if v := m.judgeLog(id, b, a, log); v != nil {
			return v
		}
		if a.token < b.token || a.token > b.token+1 {
			return broken(lawToken, "the token of %s went from %d to %d", m.short(id), b.token, a.token)
		}
		if b.state == posthouse.Sending && a.state == posthouse.Sent && !a.own && b.owner != actor {
			return broken(lawFence, "%s writes that %s is sent, which %s holds", actor, m.short(id), b.owner)
		}
		for _, e := range log {
			if v := m.judgeEvent(id, actor, b, e); v != nil {
				return v
			}
			m.note(&mv.world.boxes[m.box(id)], e)
		}
	}
	return nil
}

// judgeLog asks whether the events of a transaction lead from one row to the other.
func (m *model) judgeLog(id string, b, a stand, log []posthouse.Event) *violation {
	if len(log) == 0 {
		if a.own && b.own && (a.version != b.version || a.state != b.state) {
			return broken(lawLog, "%s went from %s to %s without an event", m.short(id), b.state, a.state)
		}
		return nil
	}
	version, state := b.version, b.state
	if !b.own {
		version, state = 0, ""
	}
	for _, e := range log {
		if e.Version != version+1 || e.From != state {
			return broken(lawLog, "%s: event %d from %q follows event %d to %q", m.short(id), e.Version, e.From, version, state)
		}
		version, state = e.Version, e.To
	}
	if a.own && (a.version != version || a.state != state) {
		return broken(lawLog, "%s: the log ends with event %d to %s, the row is %s of version %d", m.short(id), version, state, a.state, a.version)
	}
	return nil
}

// judgeEvent asks the laws of one event, given how its delivery stood before the transaction.
func (m *model) judgeEvent(id, actor string, b stand, e posthouse.Event) *violation {
	if !transition.Legal(e.From, e.Type, e.To) {
		return broken(lawLog, "%s: the state machine has no %s from %s to %s", m.short(id), e.Type, e.From, e.To)
	}
	switch e.Type {
	case posthouse.EventSent, posthouse.EventRetry, posthouse.EventFail, posthouse.EventAmbiguous, posthouse.EventRelease:
		if b.owner != actor || e.Token != b.token {
			return broken(lawFence, "%s writes %s under token %d for %s, which %s holds under token %d", actor, e.Type, e.Token, m.short(id), cmp.Or(b.owner, "nobody"), b.token)
		}
	case posthouse.EventLeaseLost:
		if b.lease >= now {
			return broken(lawLease, "the lease of %s on %s is taken, and has not ended", b.owner, m.short(id))
		}
	}
	return nil
}

// note keeps what the log says of more than one sending.
func (m *model) note(box *letterbox, e posthouse.Event) {
	switch e.Type {
	case posthouse.EventAmbiguous, posthouse.EventEpochHold:
		box.doubt = true
	case posthouse.EventLeaseLost:
		box.doubt = box.doubt || e.To == posthouse.Unknown
	case posthouse.EventResend:
		box.resends = min(box.resends+1, 4)
	case posthouse.EventResolve, posthouse.EventRequeue:
		if e.To == posthouse.Pending {
			box.persons = min(box.persons+1, 4)
		}
	}
}

// events are those of the last transaction, by delivery and in order.
func (m *model) events(w *world) (map[string][]posthouse.Event, error) {
	all := map[string][]posthouse.Event{}
	for _, row := range w.rows[events] {
		e, err := layout.ScanEvent(func(into ...any) error { return assign(row, into) })
		if err != nil {
			return nil, err
		}
		all[e.Delivery] = append(all[e.Delivery], e)
	}
	for _, list := range all {
		slices.SortFunc(list, func(a, b posthouse.Event) int { return cmp.Compare(a.Version, b.Version) })
	}
	return all, nil
}

// rests reports whether a state needs nobody but a person any more: each delivery has ended, waits for a person, or stands in line
// behind one that does.
func (m *model) rests(w *world) bool {
	if m.scene.members > 0 {
		return m.membersRest(w)
	}
	person, inLine := false, false
	for _, s := range m.stands(w) {
		switch {
		case s.state == posthouse.Unknown || s.state == posthouse.Quarantined:
			person = true
		case s.state.Open() && s.line != "" && m.scene.line:
			inLine = true
		case s.state.Open():
			return false
		}
	}
	if inLine && !person {
		return false
	}
	for _, row := range w.rows[plans] {
		if m.db.word(plans, row, "state") == string(posthouse.NotificationWaiting) && m.db.word(plans, row, "held") == "" && !person {
			return false
		}
	}
	for p := range w.procs {
		if len(w.procs[p].attempts) > 0 || w.unheard() {
			return false
		}
	}
	return true
}
