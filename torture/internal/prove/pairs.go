package prove

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/decide"
	"github.com/posthouse/posthouse/internal/life"
	"github.com/posthouse/posthouse/internal/metrics"
	"github.com/posthouse/posthouse/internal/rescue"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/store/storetest"
	"github.com/posthouse/posthouse/internal/usher"
	"github.com/posthouse/posthouse/internal/work"
)

// ground is how two deliveries stand before transactions of two sessions meet on them, and the kinds that may meet there.
type ground struct {
	name  string
	line  bool
	lay   func(m *meeting) error
	kinds []string
	short string // the databases on which it is also in the short form
	// lead is what the first session does where the deliveries are accepted by it; each of kinds meets it then.
	lead string
}

// grounds are those there are. What is held is held by the first session, so that it alone has results.
var grounds = []ground{
	{"waiting", false, func(*meeting) error { return nil }, []string{"claim", "cancel", "raise the epoch"}, "postgres mariadb", ""},
	{"waiting again", false, func(m *meeting) error {
		return m.settle(time.Minute, func(d posthouse.Delivery, at time.Time) work.Change {
			return state.AfterRelease(d, at, state.ReasonPaused)
		})
	}, []string{"claim", "cancel", "raise the epoch"}, "", ""},
	{"under way", false, func(m *meeting) error { return m.claim(m.sides[0], time.Minute) }, []string{"record", "cancel", "raise the epoch"}, "", ""},
	{"without its lease", false, func(m *meeting) error { return m.claim(m.sides[0], -time.Second) }, []string{"record", "rescue", "cancel", "raise the epoch"}, "postgres", ""},
	{"unknown", false, func(m *meeting) error { return m.settle(time.Minute, m.after(posthouse.ClassUnknown)) }, []string{"resolve", "cancel", "raise the epoch"}, "", ""},
	{"failed", false, func(m *meeting) error { return m.settle(time.Minute, m.after(posthouse.ClassRecipient)) }, []string{"replay", "raise the epoch"}, "", ""},
	{"in line", true, func(*meeting) error { return nil }, []string{"admit", "cancel", "raise the epoch"}, "", ""},
	{"accepted only now", false, nil, []string{"raise the epoch", "claim", "cancel"}, "postgres mariadb", "start with the accept"},
	{"accepted only now, and sent", false, nil, []string{"raise the epoch", "claim", "cancel", "rescue"}, "", "start with the accept, and record"},
	{"accepted only now, without a lease", false, nil, []string{"raise the epoch", "cancel", "rescue"}, "", "start with the accept and a lease that ends at once, and record"},
}

// side is a session's store with what it holds and was told.
type side struct {
	*store.Store
	owner     string
	gate      *gate
	items     []work.Item
	claimed   []string // by a claim that met another
	returned  []string // with a result that was taken: they are held no more
	cancelled []string
	recorded  []string // with the provider's yes
	raised    bool
}

// meeting is a run: two sessions, two deliveries.
type meeting struct {
	ctx      context.Context
	model    *model
	sides    []*side
	ids      []string
	settings *state.Settings
	sub      *work.Submission // of the deliveries
}

// kinds are what sessions do, each some transactions.
var kinds = map[string]func(m *meeting, s *side) error{
	"claim":  func(m *meeting, s *side) error { return m.claimMeeting(s) },
	"cancel": (*meeting).cancel,
	"raise the epoch": func(m *meeting, s *side) error {
		_, err := s.Epochs.BumpEpoch(m.ctx, time.Now())
		s.raised = true
		return err
	},
	"record":                (*meeting).record,
	"start with the accept": func(m *meeting, s *side) error { return m.start(s, time.Minute) },
	"start with the accept, and record": func(m *meeting, s *side) error {
		return errors.Join(m.start(s, time.Minute), m.record(s))
	},
	"start with the accept and a lease that ends at once, and record": func(m *meeting, s *side) error {
		return errors.Join(m.start(s, -time.Second), m.record(s))
	},
	"rescue": func(m *meeting, s *side) error {
		_, err := m.rescuer(s).RescueNow(m.ctx)
		return err
	},
	"resolve": func(m *meeting, s *side) error {
		_, err := m.operator(s).ResolveAll(m.ctx, tenant, m.ids, decide.ResolveRetry, time.Time{})
		return err
	},
	"replay": func(m *meeting, s *side) error {
		_, err := s.Submissions.AddReplay(m.ctx, time.Now(), tenant, m.ids, false)
		return err
	},
	"admit": func(m *meeting, s *side) error {
		_, _, err := s.Queue.Admit(m.ctx, time.Now(), []work.LineKey{{Tenant: tenant, Channel: chanel, Name: key}}, 10, usher.Admission())
		return err
	},
	"look with locks": func(m *meeting, s *side) error {
		return s.DB.Change(m.ctx, time.Now(), "look", func(t *sqldb.Tx) error {
			return storetest.Hold(t, "posthouse_due", "posthouse_queue")
		})
	},
}

func (m *meeting) claim(s *side, lease time.Duration) (err error) {
	s.items, err = s.Queue.Claim(m.ctx, time.Now(), work.Claim{Lane: lane, Max: 2, Owner: s.owner, Lease: lease, Epoch: 1})
	return err
}

func (m *meeting) claimMeeting(s *side) error {
	err := m.claim(s, time.Minute)
	for i := range s.items {
		s.claimed = append(s.claimed, s.items[i].Delivery.ID)
	}
	return err
}

// seats are those of a session that accepts.
type seats struct {
	owner string
	lease time.Duration
	epoch int64
}

func (seats) Run(time.Time) {}
func (s seats) Ask(_ work.Lane, n int) work.Seating {
	return work.Seating{N: n, Owner: s.owner, Lease: s.lease, Epoch: s.epoch, Flight: posthouse.NewID()}
}

// start accepts the deliveries, which begin by that. It has a key: an accept without one is a single statement on PostgreSQL, which
// cannot be cut.
func (m *meeting) start(s *side, lease time.Duration) error {
	outcomes, starts, err := s.Submissions.AcceptAndStart(m.ctx, time.Now(), []*work.Submission{m.sub}, seats{s.owner, lease, 1})
	if err == nil {
		err = outcomes[0].Err
	}
	for _, of := range starts {
		s.items = append(s.items, of.Items...)
		for i := range of.Items {
			s.claimed = append(s.claimed, of.Items[i].Delivery.ID)
		}
	}
	return err
}

// settle has the first session claim, and write what follows.
func (m *meeting) settle(lease time.Duration, follow func(posthouse.Delivery, time.Time) work.Change) error {
	s := m.sides[0]
	if err := m.claim(s, lease); err != nil {
		return err
	}
	refused, err := s.Queue.Record(m.ctx, time.Now(), func(at time.Time) (changes []work.Change) {
		for _, item := range s.items {
			changes = append(changes, follow(item.Delivery, at))
		}
		return changes
	})
	if err == nil && len(refused)+len(s.items) != len(m.ids) {
		err = fmt.Errorf("%d of %d were claimed, %d refused", len(s.items), len(m.ids), len(refused))
	}
	return err
}

func (m *meeting) after(class posthouse.Class) func(posthouse.Delivery, time.Time) work.Change {
	return func(d posthouse.Delivery, at time.Time) work.Change {
		return state.AfterResult(m.settings, &work.Item{Delivery: d}, channel.Result{Class: class}, at)
	}
}

func (m *meeting) operator(s *side) decide.Operator {
	return decide.Operator{Queue: s.Queue, Rouse: func(state.Key, posthouse.Priority, work.Pin) {}}
}

func (m *meeting) cancel(s *side) error {
	answers, err := m.operator(s).Cancel(m.ctx, tenant, m.ids)
	for _, a := range answers {
		if a.Result == decide.CancelDone {
			s.cancelled = append(s.cancelled, a.Delivery)
		}
	}
	return err
}

// record writes that the first delivery was accepted and the second one refused, as the engine does.
func (m *meeting) record(s *side) error {
	if len(s.items) == 0 {
		return nil // it was accepted in an epoch in which nothing of it began
	}
	class := func(id string) posthouse.Class {
		if id == m.ids[0] {
			return posthouse.ClassOK
		}
		return posthouse.ClassTransient
	}
	refused, err := s.Queue.Record(m.ctx, time.Now(), func(at time.Time) (changes []work.Change) {
		for _, item := range s.items {
			changes = append(changes, m.after(class(item.Delivery.ID))(item.Delivery, at))
		}
		return changes
	})
	for _, item := range s.items {
		if id := item.Delivery.ID; err == nil && !slices.Contains(refused, id) {
			s.returned = append(s.returned, id)
		}
	}
	if err == nil && len(refused) > 0 {
		_, err = s.Queue.Revise(m.ctx, time.Now(), work.Selection{IDs: refused}, func(at time.Time, found []posthouse.Delivery) (changes []work.Change) {
			for _, d := range found {
				held := s.items[slices.IndexFunc(s.items, func(i work.Item) bool { return i.Delivery.ID == d.ID })].Delivery
				c, ok := state.AfterLate(d, &held, channel.Result{Class: class(d.ID)}, func(d posthouse.Delivery) work.Change { return m.after(class(d.ID))(d, at) })
				if ok {
					changes = append(changes, c)
				}
			}
			return changes
		})
	}
	s.recorded = m.ids[:1]
	return err
}

func (m *meeting) rescuer(s *side) *rescue.Rescuer {
	return &rescue.Rescuer{
		Queue: s.Queue, Failures: s.Queue.Failures, Results: waiting(nil),
		Settings: func(state.Key) *state.Settings { return m.settings }, Reported: func(string) bool { return false },
		Unread: func(*posthouse.Delivery) bool { return false }, Returned: func([]posthouse.Delivery) {},
		Life: life.New(), Log: slog.New(slog.DiscardHandler), Metrics: metrics.New(prometheus.NewRegistry()), Every: time.Second,
	}
}

// begin makes the deliveries of a run, and has them stand as a ground says.
func (m *meeting) begin(g *ground) error {
	if err := m.model.db.tables.Clear(m.ctx); err != nil {
		return err
	}
	sub := &work.Submission{Tenant: tenant, Endpoint: "messages", KeyTTL: time.Hour}
	m.ids = nil
	for range 2 {
		id := posthouse.NewID()
		msg := posthouse.Message{ID: id, Tenant: tenant, Channel: chanel, Priority: posthouse.Normal, Content: posthouse.Content{Title: "标题", Text: "你好"}}
		d := posthouse.Delivery{
			ID: posthouse.DeliveryID(id, 1), Message: id, Tenant: tenant, Channel: chanel, Priority: posthouse.Normal, State: posthouse.Pending,
			Recipient: posthouse.Recipient{User: "u", Address: "a"}, IdemKey: posthouse.DeliveryID(id, 1), OnUnknown: posthouse.Hold, Epoch: 1,
		}
		if g.line {
			msg.OrderingKey, d.Line = key, key
		}
		sub.Entries = append(sub.Entries, work.Entry{Message: msg, Deliveries: []posthouse.Delivery{d}, DedupWindow: time.Hour})
		m.ids = append(m.ids, d.ID)
	}
	m.model.first = m.ids
	for _, s := range m.sides {
		s.items, s.claimed, s.returned, s.cancelled, s.recorded, s.raised = nil, nil, nil, nil, nil, false
		s.Remember(store.Memory{})
	}
	if m.sub = sub; g.lead != "" {
		sub.Key, sub.Hash = sub.Name(), "h"
		return nil
	}
	out, err := m.sides[0].Submissions.Accept(m.ctx, time.Now(), []*work.Submission{sub})
	if err == nil {
		err = out[0].Err
	}
	if err == nil {
		err = g.lay(m)
	}
	return err
}

// judge asks the laws of how two sessions have left the deliveries, and of what they were told.
func (m *meeting) judge(list []*session) *violation {
	for _, s := range list {
		if s.err != nil && posthouse.CodeOf(s.err) != posthouse.CodeConflict {
			return broken(lawSuccess, "%s: %v", s.name, s.err)
		}
	}
	var w world
	var err error
	if w.rows, err = m.model.db.read(m.ctx); err != nil {
		return broken(lawSuccess, "%v", err)
	}
	said, err := m.model.events(&w)
	if err != nil {
		return broken(lawLog, "%v", err)
	}
	is := m.model.stands(&w)
	for _, id := range sortedKeys(is) {
		s := is[id]
		if len(s.places) != 1 {
			return broken(lawPlace, "%s stands in %d places: %v", m.model.short(id), len(s.places), s.places)
		}
		if s.own {
			if v := m.model.judgeLog(id, stand{}, s, said[id]); v != nil {
				return v
			}
		}
	}
	return m.judgeTold(is)
}

// The laws of what sessions were told.
const (
	lawOneClaim  = "a delivery that is due is claimed once"
	lawCancelled = "what its caller was told is cancelled is held by nobody"
	lawAccepted  = "what the provider has accepted is sent in the end, whoever was faster"
	lawRaised    = "when an epoch has begun nothing is under way, or free to go, that was before"
)

func (m *meeting) judgeTold(is map[string]stand) *violation {
	for _, id := range m.ids {
		var claimed, held, cancelled, recorded, raised int
		for _, s := range m.sides {
			claimed += has(s.claimed, id)
			held += max(0, has(s.claimed, id)-has(s.returned, id))
			cancelled += has(s.cancelled, id)
			recorded += has(s.recorded, id)
			if s.raised {
				raised++
			}
		}
		at := is[id].state
		switch {
		case claimed > 1:
			return broken(lawOneClaim, "%s was claimed %d times", m.model.short(id), claimed)
		case cancelled > 0 && (held > 0 || at != posthouse.Cancelled):
			return broken(lawCancelled, "%s is %s, and %d sessions hold it", m.model.short(id), at, held)
		case recorded > 0 && at != posthouse.Sent:
			return broken(lawAccepted, "%s is %s", m.model.short(id), at)
		case raised > 0 && at == posthouse.Sending:
			return broken(lawRaised, "%s is %s", m.model.short(id), at)
		}
	}
	return nil
}

func has(list []string, id string) int {
	if slices.Contains(list, id) {
		return 1
	}
	return 0
}
