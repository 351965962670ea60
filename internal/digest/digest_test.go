package digest_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/digest"
	"github.com/posthouse/posthouse/internal/draft"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

var began = time.Date(2026, 5, 4, 9, 0, 0, 0, time.UTC)

// A world has one collection with its deliveries, as a store keeps them: what the law says is done at once.
type world struct {
	t    *testing.T
	now  time.Time
	plan work.Plan
	rows map[string]posthouse.Delivery
	lead string // its delivery, as the collection knows it
	text []string
	made int
}

func (w *world) gathered() work.Gathered {
	return work.Gathered{ID: posthouse.NewID(), Key: "k", By: "disk", Digest: digest.WithDefaults(posthouse.Digest{Name: "d", Version: 1, Window: posthouse.Duration(time.Hour), Max: 5})}
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) collection() posthouse.Collection {
	w.t.Helper()
	c, err := digest.Read(w.plan)
	w.must(err)
	return c
}

// join hands in one more delivery.
func (w *world) join() {
	m := &posthouse.Message{ID: posthouse.NewID(), Kind: "disk"}
	d := posthouse.Delivery{ID: posthouse.DeliveryID(m.ID, 1), Message: m.ID, State: posthouse.Pending, Recipient: posthouse.Recipient{User: "u"}}
	var next work.Plan
	var err error
	joined := true
	if w.plan.ID != "" {
		next, joined, err = digest.Law{}.Join(w.plan, m, &d, w.now)
		w.must(err)
	} else {
		next, err = digest.Law{}.Open(w.gathered(), m, &d, w.now)
		w.must(err)
	}
	if !joined {
		return // it opens another one
	}
	w.plan = next
	w.plan.Version++
	d.Gathered, d.Collection = true, w.plan.ID
	w.rows[d.ID] = d
}

// apply is a change of rows, and what follows from it by the law.
func (w *world) apply(changes ...work.Change) {
	w.t.Helper()
	var after []posthouse.Delivery
	for _, c := range changes {
		w.rows[c.After.ID] = c.After
		after = append(after, c.After)
	}
	next, withdraw, changed, err := digest.Law{}.Heard(w.plan, after, w.now)
	w.must(err)
	if !changed {
		return
	}
	w.plan = next
	w.plan.Version++
	var more []work.Change
	for _, id := range withdraw.IDs {
		if c, ok := (digest.Law{}).Withdrawn(work.PlanCollection, w.rows[id], withdraw, w.now); ok {
			more = append(more, c)
		}
	}
	if len(more) > 0 {
		w.apply(more...)
	}
}

// leave is a member that is taken out of the collection, where the law lets it.
func (w *world) leave(id string) {
	d := w.rows[id]
	lead, err := digest.Law{}.Leads(w.plan)
	w.must(err)
	if d.Gathered && (lead == "" || (digest.Law{}).MayLeave(w.rows[lead])) {
		if c, ok := state.AfterCancel(d); ok {
			w.apply(c)
		}
	}
}

// compose makes the delivery of a collection whose moment has come, as the composer does.
func (w *world) compose() {
	var there []posthouse.Delivery
	for _, m := range w.collection().Members {
		if d := w.rows[m.Delivery]; d.Gathered && d.State == posthouse.Pending {
			there = append(there, d)
		}
	}
	if w.collection().State != posthouse.CollectionWaiting || len(there) < 2 {
		return
	}
	w.text = nil
	for _, d := range there {
		w.text = append(w.text, d.ID)
	}
	w.made++
	id := posthouse.DeliveryID(posthouse.NewID(), 1)
	w.plan = digest.Leaving(w.t, w.plan, id)
	w.rows[id] = posthouse.Delivery{ID: id, State: posthouse.Pending, Collection: w.plan.ID}
	w.lead = id
}

// result is what becomes of an attempt of the collection's delivery.
func (w *world) result(to posthouse.State, reason posthouse.Class) {
	d, there := w.rows[w.lead]
	if !there || !d.State.Open() {
		return
	}
	after := d
	after.State, after.Attempts, after.Reason = to, d.Attempts+1, string(reason)
	w.apply(work.Change{Before: d, After: after})
}

// Whatever happens in whatever order: each member is in the text of the one delivery that began and shares what became of it, or left
// before that, or still waits.
func TestNoMemberIsDropped(t *testing.T) {
	t.Parallel()
	outcomes := map[posthouse.State]int{}
	for seed := range uint64(800) {
		r := rand.New(rand.NewPCG(seed, 7))
		w := &world{t: t, now: began, rows: map[string]posthouse.Delivery{}}
		w.join()
		for range 3 + r.IntN(20) {
			w.now = w.now.Add(time.Minute)
			ids := []string{}
			for _, m := range w.collection().Members {
				ids = append(ids, m.Delivery)
			}
			switch r.IntN(8) {
			case 0, 1, 2:
				w.join()
			case 3:
				w.leave(ids[r.IntN(len(ids))])
			case 4, 5:
				w.compose()
			case 6:
				w.result([]posthouse.State{posthouse.Unknown, posthouse.Pending}[r.IntN(2)], "")
			case 7:
				w.result([]posthouse.State{posthouse.Sent, posthouse.Failed, posthouse.Suppressed, posthouse.Cancelled, posthouse.Expired}[r.IntN(5)], []posthouse.Class{posthouse.ClassContent, posthouse.ClassRecipient}[r.IntN(2)])
			}
			w.holds(fmt.Sprintf("seed %d", seed))
		}
		outcomes[w.collection().Outcome]++
	}
	for _, s := range []posthouse.State{"", posthouse.Pending, posthouse.Unknown, posthouse.Sent, posthouse.Failed} {
		if outcomes[s] == 0 {
			t.Errorf("no run ended with %q: %v", s, outcomes)
		}
	}
}

func (w *world) holds(where string) {
	w.t.Helper()
	c := w.collection()
	lead, led := w.rows[c.Delivery]
	begun := led && lead.Attempts > 0
	for id, d := range w.rows {
		if d.Reason == state.ReasonComposedAnew && d.Attempts > 0 {
			w.t.Fatalf("%s: %s had begun, and another one is made in its place", where, id)
		}
		if d.Gathered || d.ID == c.Delivery || d.Reason == state.ReasonComposedAnew {
			continue
		}
		if d.State == posthouse.Cancelled && slices.Contains(w.text, id) && begun && lead.State != posthouse.Cancelled {
			w.t.Fatalf("%s: %s was cancelled, and is in the text", where, id)
		}
	}
	for _, m := range c.Members {
		d := w.rows[m.Delivery]
		switch {
		case m.Left && d.Gathered:
			w.t.Fatalf("%s: %s has left, and waits", where, m.Delivery)
		case m.Left || !led:
			continue
		case begun && !slices.Contains(w.text, m.Delivery):
			w.t.Fatalf("%s: %s was dropped from the text", where, m.Delivery)
		case d.State != lead.State:
			w.t.Fatalf("%s: %s is %s, and its delivery %s", where, m.Delivery, d.State, lead.State)
		}
	}
	if c.State == posthouse.CollectionLeaving && !lead.State.Open() || c.State == posthouse.CollectionSettled && lead.State.Open() {
		w.t.Fatalf("%s: it is %s, and its delivery %s", where, c.State, lead.State)
	}
}

// A deadline has a collection leave before it, and a size at once.
func TestWhenACollectionLeaves(t *testing.T) {
	t.Parallel()
	w := &world{t: t, now: began, rows: map[string]posthouse.Delivery{}}
	w.join()
	if at := w.collection().LeavesAt; !at.Equal(began.Add(time.Hour)) {
		t.Errorf("it leaves at %s, want its window after the first message", at)
	}
	m := &posthouse.Message{ID: posthouse.NewID(), Kind: "disk"}
	d := posthouse.Delivery{ID: posthouse.DeliveryID(m.ID, 1), State: posthouse.Pending, Deadline: began.Add(10 * time.Minute)}
	next, _, err := digest.Law{}.Join(w.plan, m, &d, began)
	w.must(err)
	if !next.NextAt.Equal(began.Add(9 * time.Minute)) {
		t.Errorf("with a deadline it leaves at %s, want a minute before", next.NextAt)
	}
	for range 4 {
		w.join()
	}
	if at := w.collection().LeavesAt; !at.Equal(began) || len(w.collection().Members) != 5 {
		t.Errorf("a full one leaves at %s with %d members, want at once with 5", at, len(w.collection().Members))
	}
	if w.join(); len(w.collection().Members) != 5 {
		t.Error("a full collection takes one more")
	}
	evening := digest.WithDefaults(posthouse.Digest{Name: "d", Cron: "0 18 * * *", TimeZone: "Asia/Shanghai"})
	p, err := digest.Law{}.Open(work.Gathered{ID: posthouse.NewID(), Digest: evening}, m, &posthouse.Delivery{ID: d.ID}, began)
	w.must(err)
	if want := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC); !p.NextAt.Equal(want) {
		t.Errorf("the evening is at %s, want %s", p.NextAt, want)
	}
}

func TestOddDigestsAreNamed(t *testing.T) {
	t.Parallel()
	hour := posthouse.Duration(time.Hour)
	for path, d := range map[string]posthouse.Digest{
		"window": {}, "cron": {Window: hour, Cron: "0 18 * * *"}, "max": {Window: hour, Max: 1}, "by": {Window: hour, By: "kind +"},
		"time_zone": {Window: hour, TimeZone: "Asia/Shanghai"}, "line": {Window: hour, Line: "${"}, "by of types": {Window: hour, By: "kind + 1"},
		"cron of a step": {Cron: "*/90 * * * *"}, "cron of no date": {Cron: "0 9 31 4 *"},
	} {
		path, _, _ := strings.Cut(path, " ")
		d := digest.WithDefaults(d)
		p := draft.Problems{}
		if digest.Check(&d, &p); len(p.List) != 1 || p.List[0].Path != path {
			t.Errorf("%+v: %v, want one problem of %s", d, p.List, path)
		}
	}
}

// shelf has one digest.
type shelf struct{ of posthouse.Digest }

func (s shelf) Digest(context.Context, string, string, int) (posthouse.Digest, error) {
	return s.of, nil
}

// How messages are gathered decides of none: where the expression fails for one, it is gathered without a value.
func TestAnExpressionThatFailsRefusesNoMessage(t *testing.T) {
	t.Parallel()
	c := &digest.Composer{Digests: shelf{digest.WithDefaults(posthouse.Digest{Name: "d", Window: posthouse.Duration(time.Hour), By: "payload.n > 3"})}, Log: slog.New(slog.DiscardHandler)}
	m := &posthouse.Message{ID: posthouse.NewID(), Tenant: "t", Content: posthouse.Content{Text: "x"}}
	got, err := c.Gather(t.Context(), "d", m, []posthouse.Delivery{{ID: posthouse.DeliveryID(m.ID, 1), State: posthouse.Pending, Channel: "a"}})
	if err != nil || len(got) != 1 || got[0].Key == "" || got[0].By != "" {
		t.Errorf("%+v, %v", got, err)
	}
}

// desk is the store of one collection, and a trial that refuses all texts.
type desk struct {
	*world
	shared []work.Change
}

func (k *desk) Delivery(_ context.Context, _, id string) (posthouse.Delivery, error) {
	return k.rows[id], nil
}

func (k *desk) MessagesOf(_ context.Context, _ string, list []posthouse.Delivery) (map[string]posthouse.Message, error) {
	out := map[string]posthouse.Message{}
	for _, d := range list {
		out[d.Message] = posthouse.Message{ID: d.Message, Kind: "disk", Content: posthouse.Content{Text: "x"}}
	}
	return out, nil
}

func (k *desk) Refused(context.Context, string, posthouse.Draft) (why, err error) {
	return posthouse.Errorf(posthouse.CodeInvalid, "the template is disabled"), nil
}

func (k *desk) Collection(_ context.Context, now time.Time, _, _ string, decide func(work.Plan, time.Time) (work.Plan, work.Withdrawal, bool, error)) (work.Plan, error) {
	next, w, _, err := decide(k.plan, now)
	k.must(err)
	k.plan = next
	for _, id := range w.IDs {
		if c, ok := (digest.Law{}).Withdrawn(work.PlanCollection, k.rows[id], w, now); ok {
			k.shared = append(k.shared, c)
		}
	}
	return next, nil
}

// What no text can be made of does not wait for ever: after a day it has failed, and its members with it.
func TestACollectionThatCannotBeToldFails(t *testing.T) {
	t.Parallel()
	k := &desk{world: &world{t: t, now: began, rows: map[string]posthouse.Delivery{}}}
	k.join()
	k.join()
	c := &digest.Composer{Messages: k, Plans: k, Trial: k}
	if _, _, err := c.Compose(t.Context(), k.plan, began); posthouse.CodeOf(err) != posthouse.CodeInvalid || len(k.shared) > 0 {
		t.Fatalf("at first: %v, %+v, want it to be tried again", err, k.shared)
	}
	k.plan.Failures = 150
	if _, _, err := c.Compose(t.Context(), k.plan, began); posthouse.CodeOf(err) != posthouse.CodeConflict {
		t.Fatalf("after a day: %v", err)
	}
	got := k.collection()
	if got.State != posthouse.CollectionSettled || got.Outcome != posthouse.Failed || !got.LeavesAt.IsZero() || !strings.Contains(got.Error, "disabled") {
		t.Errorf("after a day it is %+v", got)
	}
	if len(k.shared) != 2 || k.shared[1].After.State != posthouse.Failed || !strings.Contains(k.shared[1].After.Error, "disabled") {
		t.Errorf("its members: %+v, want both failed with the reason", k.shared)
	}
}
