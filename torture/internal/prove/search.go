package prove

import (
	"context"
	"crypto/sha256"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/ids"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// finding is what a search has come to.
type finding struct {
	scene        *scene
	states       int
	transitions  int
	depth        int
	bases        int // states of the database
	transactions int // distinct ones, which were run
	took         time.Duration
	broken       *violation
	schedule     []string // that leads to it
}

// node is how a state was first come to.
type node struct {
	from  int32
	words string
	rests bool
}

// search visits every state that a scene can come to, nearest first. Once a minute it says how far it is.
func search(ctx context.Context, db *database, s *scene, say func(format string, args ...any)) (f finding, err error) {
	begun := time.Now()
	m := &model{ctx: ctx, scene: s, db: db, memo: map[string]outcome{}}
	if err := m.begin(); err != nil {
		return f, err
	}
	f.scene = s
	g := graph{seen: map[[16]byte]int32{sum(m.start.text()): 0}, nodes: []node{{-1, "", m.rests(&m.start)}}, bases: map[[16]byte]bool{}}
	level, said := []place{{0, m.start}}, begun
	for ; len(level) > 0 && f.broken == nil; f.depth++ {
		var next []place
		for i := range level {
			found, why := m.expand(&g, &level[i])
			if next = append(next, found...); why != nil {
				f.broken, f.schedule = why, append(g.path(level[i].at), why.step)
				break
			}
		}
		level = next
		if time.Since(said) > time.Minute {
			said = time.Now()
			say("%s after %s: %d states to depth %d, of which %d are new", s.name, time.Since(begun).Round(time.Second), len(g.nodes), f.depth, len(level))
		}
	}
	if f.broken == nil {
		if stuck := g.wayless(); stuck >= 0 {
			f.broken, f.schedule = broken(lawWayToEnd, "nothing that may still happen ends them"), g.path(stuck)
		}
	}
	f.states, f.transitions, f.bases, f.transactions, f.took = len(g.nodes), len(g.edges), len(g.bases), m.runs, time.Since(begun)
	return f, nil
}

// place is a state that is to be expanded, with its number.
type place struct {
	at    int32
	world world
}

// graph is all that a search has seen.
type graph struct {
	seen  map[[16]byte]int32
	nodes []node
	edges [][2]int32 // from, to
	bases map[[16]byte]bool
}

// expand takes every step from a state, and returns the states that are new, or the step that breaks a law.
func (m *model) expand(g *graph, from *place) (found []place, v *violation) {
	moves, err := m.moves(&from.world)
	for i := range moves {
		mv := &moves[i]
		if i == len(moves)-1 && err != nil {
			v = broken(lawSuccess, "%v", err)
		} else {
			v = m.judge(&from.world, mv)
		}
		if v != nil {
			v.step = mv.words
			return found, v
		}
		m.normal(&mv.world)
		k := sum(mv.world.text())
		to, known := g.seen[k]
		if !known {
			to = int32(len(g.nodes))
			g.seen[k] = to
			g.nodes = append(g.nodes, node{from.at, mv.words, m.rests(&mv.world)})
			g.bases[sum(mv.world.rows.mostText(nil))] = true
			found = append(found, place{to, mv.world})
		}
		if to != from.at {
			g.edges = append(g.edges, [2]int32{from.at, to})
		}
	}
	return found, nil
}

func sum(text []byte) (k [16]byte) {
	whole := sha256.Sum256(text)
	copy(k[:], whole[:])
	return k
}

// path is the schedule that leads to a state.
func (g *graph) path(to int32) (words []string) {
	for ; to > 0; to = g.nodes[to].from {
		words = append(words, g.nodes[to].words)
	}
	slices.Reverse(words)
	return words
}

// wayless is the first state from which no state at rest can be come to, -1 where there is none.
func (g *graph) wayless() int32 {
	nodes, into := g.nodes, make([][]int32, len(g.nodes))
	for _, e := range g.edges {
		into[e[1]] = append(into[e[1]], e[0])
	}
	ok := make([]bool, len(nodes))
	var todo []int32
	for i := range nodes {
		if nodes[i].rests {
			ok[i] = true
			todo = append(todo, int32(i))
		}
	}
	for len(todo) > 0 {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, from := range into[at] {
			if !ok[from] {
				ok[from] = true
				todo = append(todo, from)
			}
		}
	}
	return int32(slices.Index(ok, false))
}

// begin accepts the scene's messages on an empty database.
func (m *model) begin() error {
	if err := m.open(); err != nil {
		return err
	}
	var empty rows
	for i := range empty {
		empty[i] = m.db.now[i]
		if i != meta {
			empty[i] = nil
		}
	}
	empty[meta] = [][]any{{"epoch", "1"}, {"feed", ""}}
	if err := m.db.load(m.ctx, &empty); err != nil {
		return err
	}
	sub := &work.Submission{Tenant: tenant, Endpoint: "messages", KeyTTL: time.Hour}
	for i := range m.scene.messages {
		sub.Entries = append(sub.Entries, m.entry(i))
		m.first = append(m.first, sub.Entries[i].Deliveries[0].ID)
	}
	if !m.scene.accepts {
		if err := m.accept(sub); err != nil {
			return err
		}
	}
	m.start = world{procs: []process{{life: 1, epoch: 1}, {life: 1, epoch: 1}}, boxes: make([]letterbox, max(m.scene.messages, m.scene.members)), left: m.scene.left, answers: make([]answer, len(m.scene.answers))}
	if m.scene.alone {
		m.start.procs = m.start.procs[:1]
	}
	var err error
	if m.start.rows, err = m.db.read(m.ctx); err != nil {
		return err
	}
	m.normal(&m.start)
	return nil
}

// accept stores what a scene begins with.
func (m *model) accept(sub *work.Submission) error {
	switch {
	case m.scene.members > 0:
		return m.beginCampaign()
	case m.scene.routed():
		return m.beginRoute()
	case m.scene.gathered > 0:
		return m.beginDigest()
	}
	out, err := m.db.Submissions.Accept(m.ctx, epoch0, []*work.Submission{sub})
	if err == nil {
		err = out[0].Err
	}
	if err != nil {
		return fmt.Errorf("accept: %w", err)
	}
	return nil
}

// open resolves the channel's settings.
func (m *model) open() (err error) {
	s, none := m.scene, 0.0
	ch := posthouse.Channel{Name: chanel, Tenant: tenant}
	ch.OnUnknown, ch.Tries, ch.Jitter, ch.Backoff = s.policy, s.tries, &none, []posthouse.Duration{posthouse.Duration(s.wait)}
	if s.cap > 0 {
		ch.Caps = []posthouse.Cap{{Max: s.cap, Per: posthouse.Duration(24 * time.Hour), Then: posthouse.CapSuppress}}
	}
	ch.HoldTimeout, ch.MaxInflight = posthouse.Duration(s.hold), s.slots
	if m.settings, err = state.Resolve(ch, state.Opened{Timeout: timeout, Window: s.window}, time.UTC); err != nil {
		return err
	}
	m.channel = &state.Channel{Key: state.Key{Tenant: tenant, Channel: chanel}, Stored: ch, Settings: m.settings}
	return nil
}

// entry is a message of the scene.
func (m *model) entry(i int) work.Entry {
	id := ids.At(epoch0.Add(time.Duration(i)*time.Millisecond), "message")
	msg := posthouse.Message{
		ID: id, Tenant: tenant, Channel: chanel, Priority: posthouse.Normal, Content: posthouse.Content{Title: "标题", Text: "你好"}, CreatedAt: epoch0,
	}
	d := posthouse.Delivery{
		ID: posthouse.DeliveryID(id, 1), Message: id, Tenant: tenant, Channel: chanel, Priority: posthouse.Normal, State: posthouse.Pending,
		Recipient: posthouse.Recipient{User: fmt.Sprint("u", i), Address: fmt.Sprint("a", i)}, OnUnknown: m.scene.policy, Epoch: 1, CreatedAt: epoch0, DueAt: epoch0,
	}
	d.IdemKey = d.ID
	if len(m.scene.answers) > 0 {
		d.Recipient.Address = phoneNumber
	}
	if m.scene.cap > 0 {
		d.Recipient = capped
	}
	if m.scene.deadline > 0 {
		msg.Deadline, d.Deadline = epoch0.Add(m.scene.deadline), epoch0.Add(m.scene.deadline)
	}
	if m.scene.line {
		msg.OrderingKey, d.Line = key, key
	}
	return work.Entry{Message: msg, Deliveries: []posthouse.Delivery{d}, DedupWindow: time.Hour}
}

// assign scans a row that is at hand.
func assign(row []any, into []any) error {
	for i, v := range row {
		to := reflect.ValueOf(into[i]).Elem()
		from := reflect.ValueOf(v)
		if !from.CanConvert(to.Type()) {
			return fmt.Errorf("column %d is %T", i, v)
		}
		to.Set(from.Convert(to.Type()))
	}
	return nil
}
