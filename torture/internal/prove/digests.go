package prove

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/digest"
	"github.com/posthouse/posthouse/internal/ids"
	"github.com/posthouse/posthouse/internal/route"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// The laws of what a digest gathers.
const (
	lawMember = "what a digest has gathered is a member of the collection that it names, waits in it or has left it"
	lawText   = "a collection's text has its members, and no other message"
	lawFate   = "a member shares what became of its collection's delivery"
)

// planned reports whether a scene has plans.
func (s *scene) planned() bool { return s.routed() || s.gathered > 0 }

// planNoun is what a scene's plans are.
func (s *scene) planNoun() string {
	if s.gathered > 0 {
		return "collection"
	}
	return "notification"
}

// beginDigest gathers the messages that are there from the beginning.
func (m *model) beginDigest() error {
	m.db.SetNotified(digest.Both{Others: route.Law{}})
	m.db.SetGathering(digest.Law{})
	for i := range m.scene.gathered - m.scene.late {
		if err := m.gather(i, 1); err != nil {
			return err
		}
	}
	return nil
}

// gathers is what comes to the digest while others are under way.
func (m *model) gathers(w *world, p int, write writer) {
	for i := range m.scene.gathered {
		if m.stored(w, m.first[i]) {
			continue
		}
		write(name(p)+" accepts "+m.short(m.first[i])+", which a digest gathers", p, func(proc *process) error { return m.gather(i, proc.epoch) }, nil)
		return // in their order: they differ in nothing else
	}
}

// gather accepts a message that names the digest, as the intake does.
func (m *model) gather(i int, epoch int64) error {
	e := m.entry(i)
	e.Message.Digest, e.Message.Content.Text = "d", word(i)
	e.Message.Content.Title = ""
	d := &e.Deliveries[0]
	d.Recipient, d.Epoch, d.DueAt = posthouse.Recipient{User: "u", Address: "a"}, epoch, time.Time{}
	list, err := m.composer("").Gather(m.ctx, "d", &e.Message, e.Deliveries)
	if err != nil {
		return err
	}
	list[0].ID = ids.At(epoch0.Add(time.Duration(i)*time.Millisecond), "collection") // the same, whatever came before
	e.Gathered, d.Reason = list, state.ReasonDigest
	return m.submit(&work.Submission{Tenant: tenant, Endpoint: "messages", KeyTTL: time.Hour, Entries: []work.Entry{e}})
}

func (m *model) submit(sub *work.Submission) error {
	out, err := m.db.Submissions.Accept(m.ctx, epoch0, []*work.Submission{sub})
	if err == nil {
		err = out[0].Err
	}
	return err
}

// word is what a message says, by which it is found in a text.
func word(i int) string { return fmt.Sprintf("word-%d", i) }

// only is the scene's digest.
type only struct{ of posthouse.Digest }

func (o only) Digest(context.Context, string, string, int) (posthouse.Digest, error) {
	o.of.Name, o.of.Version = "d", 1
	return digest.WithDefaults(o.of), nil
}

// room is how many messages the provider takes in one text.
type room int

func (r room) Refused(_ context.Context, _ string, d posthouse.Draft) (why, err error) {
	if n := strings.Count(d.Content.Text, "word-"); n > int(r) {
		return posthouse.Errorf(posthouse.CodeInvalid, "%d messages are too many for one text", n), nil
	}
	return nil, nil
}

// composer is the product's, whose next message has an id.
func (m *model) composer(next string) *digest.Composer {
	r := &digest.Composer{Digests: only{m.scene.digest}, Messages: m.db.Messages, Plans: atPlans{m}, NewID: func() string { return next }}
	if m.scene.room > 0 {
		r.Trial = room(m.scene.room)
	}
	return r
}

func (a atPlans) Collection(ctx context.Context, _ time.Time, tenant, id string, decide func(work.Plan, time.Time) (work.Plan, work.Withdrawal, bool, error)) (work.Plan, error) {
	return a.m.db.Plans.Collection(ctx, epoch0, tenant, id, decide)
}

// composeCollection is the planner's: what the composer says of a collection, stored over the version that was read.
func (m *model) composeCollection(proc *process, p work.Plan) error {
	i := m.scene.gathered
	for ; i < len(m.first); i++ {
		if _, err := m.db.Messages.Delivery(m.ctx, tenant, m.first[i]); posthouse.CodeOf(err) == posthouse.CodeNotFound {
			break
		} else if err != nil {
			return err
		}
	}
	next := ids.At(epoch0, "one too many") // of a process that has read what is long over
	if i < len(m.first) {
		next = posthouse.MessageID(m.first[i])
	}
	drafts, after, err := m.composer(next).Compose(m.ctx, p, epoch0)
	if err == nil {
		sub := &work.Submission{Tenant: tenant, Endpoint: "plans", KeyTTL: time.Hour, Plans: []work.Plan{after}}
		for _, d := range drafts {
			e := m.entry(i)
			e.Message.ID, e.Deliveries[0].ID, e.Deliveries[0].Message = next, posthouse.DeliveryID(next, 1), next
			e.Message.Collection, e.Message.Content = d.Collection, *d.Content
			to := &e.Deliveries[0]
			to.Collection, to.Epoch, to.Recipient = d.Collection, proc.epoch, d.To[0]
			sub.Entries = append(sub.Entries, e)
		}
		if err = m.submit(sub); err == nil && i == len(m.first) && len(drafts) > 0 {
			return fmt.Errorf("the scene has room for %d texts, and another one is made", i-m.scene.gathered)
		}
	}
	if posthouse.CodeOf(err) == posthouse.CodeConflict {
		return nil // another process was faster, or its one member goes by itself
	}
	return err
}

// noteTexts keeps which messages are in a text that was made by a step.
func (m *model) noteTexts(before, next *world) {
	for i := m.scene.gathered; i < len(m.first) && m.scene.gathered > 0; i++ {
		at := slices.IndexFunc(next.rows[messages], func(row []any) bool { return m.db.word(messages, row, "id") == posthouse.MessageID(m.first[i]) })
		if at < 0 || m.stored(before, m.first[i]) {
			continue
		}
		var holds []int
		for n := range m.scene.gathered {
			if strings.Contains(m.db.word(messages, next.rows[messages][at], "content"), word(n)) {
				holds = append(holds, n)
			}
		}
		next.boxes[i].holds = holds
	}
}

// shares reports whether a delivery is a member of a collection whose fate it shares.
func (m *model) shares(w *world, id string) bool {
	for _, c := range m.collections(w) {
		if c.Delivery != "" && slices.ContainsFunc(c.Members, func(of posthouse.CollectionMember) bool { return of.Delivery == id && !of.Left }) {
			return true
		}
	}
	return false
}

// collections are those of a state.
func (m *model) collections(w *world) (list []posthouse.Collection) {
	if m.scene.gathered == 0 {
		return nil
	}
	for _, row := range w.rows[plans] {
		c, err := digest.Read(m.planOf(row))
		if err != nil {
			panic(err) // the store has written it
		}
		list = append(list, c)
	}
	return list
}

// reading is what has come of a message, by itself and by the texts that it is in.
func (m *model) reading(w *world, i int) letterbox {
	box := w.boxes[i]
	if i >= m.scene.gathered {
		return box
	}
	for _, text := range w.boxes[m.scene.gathered:] {
		if !slices.Contains(text.holds, i) {
			continue
		}
		box.arrivals += text.arrivals
		box.persons, box.resends = box.persons+text.persons, box.resends+text.resends
		box.first, box.doubt, box.told = box.first || text.first, box.doubt || text.doubt, box.told || text.told
	}
	return box
}

// judgeCollections asks the laws of what a digest gathers.
func (m *model) judgeCollections(w *world, is map[string]stand) *violation {
	if m.scene.gathered == 0 {
		return nil
	}
	member := map[string]bool{}
	for _, c := range m.collections(w) {
		var there []int
		for _, of := range c.Members {
			i := m.box(of.Delivery)
			s := is[of.Delivery]
			if member[of.Delivery] {
				return broken(lawMember, "%s is a member of two", m.short(of.Delivery))
			}
			if member[of.Delivery] = true; s.collection != c.ID {
				return broken(lawMember, "%s is a member of %s, and names %q", m.short(of.Delivery), c.ID, s.collection)
			}
			if of.Left {
				if s.state == posthouse.Pending && s.line == string(work.InCollection) {
					return broken(lawMember, "%s waits in its collection, and has left it", m.short(of.Delivery))
				}
				continue
			}
			there = append(there, i)
			if w.boxes[i].doubt {
				continue // a restore holds it, and tells no collection
			}
			if v := m.judgeFate(&c, of.Delivery, s, is); v != nil {
				return v
			}
		}
		if c.Delivery != "" && !slices.Equal(there, w.boxes[m.box(c.Delivery)].holds) {
			return broken(lawText, "its members are %v, and the text of %s has %v", there, m.short(c.Delivery), w.boxes[m.box(c.Delivery)].holds)
		}
	}
	for _, id := range m.first[:m.scene.gathered] {
		if m.stored(w, id) && !member[id] {
			return broken(lawMember, "%s was gathered, and is a member of none", m.short(id))
		}
	}
	return nil
}

// judgeFate asks whether a member that is in its collection stands as its collection's delivery does.
func (m *model) judgeFate(c *posthouse.Collection, id string, s stand, is map[string]stand) *violation {
	if c.Delivery == "" {
		if c.State == posthouse.CollectionWaiting && (s.state != posthouse.Pending || s.line != string(work.InCollection)) {
			return broken(lawFate, "%s is %s with the pin %q, and its collection waits", m.short(id), s.state, s.line)
		}
		return nil
	}
	want := is[c.Delivery].state
	if want == posthouse.Sending && s.state == posthouse.Unknown {
		return nil // what it was before
	}
	if want == posthouse.Sending {
		want = posthouse.Pending
	}
	if s.state != want {
		return broken(lawFate, "%s is %s, and %s is %s", m.short(id), s.state, m.short(c.Delivery), is[c.Delivery].state)
	}
	return nil
}

// normalKeys keeps of a key which collection is open for it.
func (m *model) normalKeys(w *world) {
	m.edit(w, dedup, func(s setter) {
		s.set("created_at", now)
		s.set("expires_at", now+time.Hour.Microseconds())
	})
}
