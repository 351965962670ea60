package flow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// world is a database, a post and a directory in memory: what a Flow works with.
type world struct {
	mu        sync.Mutex
	now       time.Time
	plans     map[string]work.Plan
	messages  map[string]*message // by id
	reminders map[string]posthouse.Reminder
	roles     map[string][]string
	channels  []string
	refuse    func(d posthouse.Draft) string // why a draft is invalid
	lost      []string                       // users without an address on oa
	deaf      bool                           // nothing can be withdrawn
	conflicts int                            // so many submissions meet a writer that was faster
	rivals    int                            // and so many after each that did not
	asked     int                            // how often whom messages reached
	aborted   []string                       // what was marked so: keys and reminders
	log       strings.Builder
}

// message is one that was accepted.
type message struct {
	posthouse.Draft
	state posthouse.State // pending, sent or cancelled
}

// noon is when the tests begin.
var noon = time.Date(2026, 11, 20, 4, 0, 0, 0, time.UTC)

func newWorld() *world {
	return &world{
		now: noon, plans: map[string]work.Plan{}, messages: map[string]*message{}, reminders: map[string]posthouse.Reminder{}, channels: []string{"dingtalk", "oa"},
		roles: map[string][]string{"planner": {"u1", "u2"}, "operator": {"u2", "u3"}, "head": {"boss"}},
	}
}

func (w *world) flow(t testing.TB) *Flow {
	t.Helper()
	f, err := New(Options{
		Book: w, Post: w, Resolver: Directory{w}, Zone: time.FixedZone("CST", 8*3600), Clock: func() time.Time { return w.now },
		Aborter:  w,
		Channels: func(context.Context, string) ([]string, error) { return w.channels, nil },
		Name: func(_ context.Context, _, user string) (string, error) {
			return map[string]string{"boss": "张三"}[user], nil
		},
		Log: slog.New(slog.NewTextHandler(&w.log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func (w *world) Plan(_ context.Context, tenant string, kind work.PlanType, id string) (work.Plan, bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if kind == work.PlanReminder {
		r, found := w.reminders[id]
		return work.Plan{Tenant: tenant, Type: kind, ID: id, Doc: canonical(r), Version: r.Version}, found, nil
	}
	p, found := w.plans[id]
	return p, found, nil
}

func (w *world) Plans(context.Context, string, work.PlanType, string, int) ([]work.Plan, string, error) {
	var out []work.Plan
	for _, id := range slices.Sorted(maps.Keys(w.plans)) {
		out = append(out, w.plans[id])
	}
	return out, "", nil
}

func (w *world) PlansByRef(_ context.Context, tenant string, kind work.PlanType, about, ref string) ([]work.Plan, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []work.Plan
	for id, r := range w.reminders {
		if r.Draft.Kind == about && r.Draft.Ref == ref {
			out = append(out, work.Plan{Tenant: tenant, Type: kind, ID: id, Doc: canonical(r), Version: r.Version, CreatedAt: r.CreatedAt})
		}
	}
	return out, nil
}

func (w *world) Submit(_ context.Context, s Submission) ([]posthouse.Accepted, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.conflicts > 0 || s.Task.Version != w.plans[s.Task.ID].Version {
		w.conflicts--
		return nil, posthouse.Errorf(posthouse.CodeConflict, "somebody was faster")
	}
	var problems []posthouse.Problem
	for i, d := range s.Drafts {
		if w.refuse != nil && w.refuse(d) != "" {
			problems = append(problems, posthouse.Problem{Path: fmt.Sprintf("drafts[%d].template", i), Message: w.refuse(d)})
		}
		if at := slices.IndexFunc(d.To, w.isLost); at >= 0 && d.Channel == "oa" {
			problems = append(problems, posthouse.Problem{Path: fmt.Sprintf("drafts[%d].to[%d].address", i, at), Message: "is no number"})
		}
	}
	if err := posthouse.Invalid("no", problems); err != nil {
		return nil, err
	}
	accepted := make([]posthouse.Accepted, len(s.Drafts))
	for i, d := range s.Drafts {
		accepted[i].ID = d.ID
		for id, other := range w.messages {
			if other.Channel == d.Channel && other.DedupKey == d.DedupKey {
				accepted[i] = posthouse.Accepted{ID: id, DuplicateOf: id}
			}
		}
		if accepted[i].DuplicateOf == "" {
			w.messages[d.ID] = &message{d, posthouse.Pending}
		}
	}
	for _, r := range s.Reminders {
		if r.Version != w.reminders[r.ID].Version {
			return nil, errors.New("the reminder has moved on")
		}
		r.Version, r.State = r.Version+1, posthouse.ReminderOpen
		w.reminders[r.ID] = r
	}
	s.Task.Version++
	w.plans[s.Task.ID], w.conflicts = s.Task, w.rivals
	return accepted, nil
}

func (w *world) Withdraw(_ context.Context, _ string, ids []string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.deaf {
		return errors.New("the line is dead")
	}
	for _, id := range ids {
		if m := w.messages[id]; m != nil && m.state == posthouse.Pending {
			m.state = posthouse.Cancelled
		}
	}
	return nil
}

// Abort marks what still waits: a message for each, and its reminders.
func (w *world) Abort(_ context.Context, _, _, _ string, ids []string, _ string) error {
	for _, id := range ids {
		if m := w.messages[id]; m != nil && m.state == posthouse.Pending {
			w.aborted = append(w.aborted, m.DedupKey)
		}
		if r, found := w.reminders[id]; found && r.State == posthouse.ReminderOpen {
			w.aborted = append(w.aborted, id)
		}
	}
	slices.Sort(w.aborted)
	return nil
}

func (w *world) isLost(r posthouse.Recipient) bool { return slices.Contains(w.lost, r.User) }

func (w *world) Misaddressed(_ context.Context, _, channel string, to []posthouse.Recipient) (map[int]string, error) {
	why := map[int]string{}
	for i, r := range to {
		if channel == "oa" && w.isLost(r) {
			why[i] = "is no number"
		}
	}
	return why, nil
}

func (w *world) EndReminder(_ context.Context, _, id, reason string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r, found := w.reminders[id]; found && r.State == posthouse.ReminderOpen {
		r.State, r.Reason, r.Version = posthouse.ReminderEnded, reason, r.Version+1
		w.reminders[id] = r
	}
	return nil
}

func (w *world) Reached(_ context.Context, _ string, ids []string) (map[string][]posthouse.Recipient, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked++
	out := map[string][]posthouse.Recipient{}
	for _, id := range ids {
		if m := w.messages[id]; m != nil {
			out[id] = nil
			if m.state != posthouse.Cancelled {
				out[id] = m.To
			}
		}
	}
	return out, nil
}

func (w *world) UsersOf(_ context.Context, _ string, roles []string) (map[string][]string, error) {
	out := map[string][]string{}
	for _, role := range roles {
		if users := w.roles[role]; len(users) > 0 {
			out[role] = users
		}
	}
	return out, nil
}

// crowd makes so many more people planners.
func (w *world) crowd(n int) {
	for i := range n {
		w.roles["planner"] = append(w.roles["planner"], "u"+time.Duration(i).String())
	}
}

// send sends everything whose time has come.
func (w *world) send() {
	for _, m := range w.messages {
		if m.state == posthouse.Pending && !m.NotBefore.After(w.now) {
			m.state = posthouse.Sent
		}
	}
}

// deliveries are what people get or will get: a line for each recipient, with everything that makes a
// difference to him. Keys have the marks of a repeated telling and of a part left out.
func (w *world) deliveries() []string {
	var out []string
	for _, m := range w.messages {
		if m.state != posthouse.Cancelled {
			out = append(out, m.lines()...)
		}
	}
	for id, r := range w.reminders {
		if r.State == posthouse.ReminderOpen {
			out = append(out, fmt.Sprintf("reminder %s of %s/%s by %s from %s every %s max %d: %s", id, r.Draft.Kind, r.Draft.Ref, r.Draft.Channel,
				r.Repeat.From.Format(time.RFC3339), r.Repeat.Every, r.Repeat.Max, r.Draft.Payload))
		}
	}
	slices.Sort(out)
	return out
}

func (m *message) lines() []string {
	key, _, _ := strings.Cut(m.DedupKey, "/")
	key, _, _ = strings.Cut(key, "~")
	clock, _ := json.Marshal(m.Clock)
	var out []string
	for _, to := range m.To {
		out = append(out, fmt.Sprintf("%s %s/%s by %s to %s at %s until %s clock %s: %s", key, m.Kind, m.Ref, m.Channel, to.User,
			m.NotBefore.Format(time.RFC3339), m.Deadline.Format(time.RFC3339), clock, m.Payload))
	}
	return out
}

// told are the recipients of a kind on a channel, by key.
func (w *world) told(kind, channel string) map[string][]string {
	out := map[string][]string{}
	for _, m := range w.messages {
		if m.Kind == kind && m.Channel == channel && m.state != posthouse.Cancelled {
			for _, to := range m.To {
				out[m.DedupKey] = append(out[m.DedupKey], to.User)
			}
			slices.Sort(out[m.DedupKey])
		}
	}
	return out
}
