package race

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/torture/internal/house"
)

// TestHandOutsAreLinearizable (C1) is the same for what agents fetch: they are handed deliveries, repeat their
// claims, and report. What is counted beside must be what is there.
func TestHandOutsAreLinearizable(t *testing.T) {
	t.Parallel()
	house.EachDatabase(t, func(t *testing.T, db house.Database) {
		a := newArena(t, openStore(t, db.DSN(t), slog.New(slog.DiscardHandler)), house.Size(3_000, 100_000))
		a.pulled = true
		rare := []string{"refused", "repeated", string(claims), string(pushes), string(rescues)}
		a.playAll(rare)
		result, took, parts := check(a.history)
		off := a.miscounted()
		house.Report(t, house.Row{
			Test: "C1", Database: string(db), What: fmt.Sprintf("hand-out, repeated claim, start, report, cancel, rescue by %d agents", clients), N: len(a.history), Unit: "operations",
			Figure: fmt.Sprintf("%s; %d deliveries, %d writes refused, %d rescues, %d claims repeated; counts off: %t; checked in %s",
				result, parts, a.seen["refused"], a.seen[string(rescues)], a.seen["repeated"], off != "", took.Round(time.Millisecond)),
			Bar: "linearizable, and counts that are right", Bound: house.Bound(len(a.history)), Pass: result == porcupine.Ok && off == "",
		})
		if off != "" {
			t.Errorf("the counts (-there +counted):\n%s", off)
		}
		for _, what := range rare {
			if a.seen[what] == 0 {
				t.Errorf("%s never happened: the run proves little", what)
			}
		}
	})
}

// handOut has an agent fetch, with a lease that ends at once, or soon, and at times once more by the same id. Every
// other agent does not say when it starts.
func (p *player) handOut(ctx context.Context) error {
	kind, lease := pushes, 50*time.Millisecond
	if p.number%2 == 0 {
		kind = claims
	}
	if p.random.IntN(3) == 0 {
		lease = time.Millisecond
	}
	h := work.HandOut{
		Tenant: tenant, Agent: fmt.Sprint(p.number), ClaimID: posthouse.NewID(), Max: 1 + p.random.IntN(3), Start: kind == pushes, Epoch: 1,
		Channels: []work.HandOutChannel{{Name: lane.Channel, Lease: lease, Priorities: posthouse.Priorities(), FairAfter: 5 * time.Millisecond}},
	}
	call := time.Now()
	got, err := p.store.Handouts.HandOut(ctx, call, h)
	if err != nil {
		return err
	}
	p.hold(call, kind, got.Items)
	if len(got.Items) == 0 || p.random.IntN(4) > 0 {
		return nil
	}
	call = time.Now()
	if got, err = p.store.Handouts.HandOut(ctx, call, h); err == nil && !got.Repeated {
		err = fmt.Errorf("the claim %s is not known when it is repeated", h.ClaimID)
	}
	p.hold(call, looks, got.Items)
	return err
}

// hold notes what an agent was handed, or found that it still has.
func (p *player) hold(call time.Time, kind kind, items []work.Item) {
	var deeds []deed
	p.mu.Lock()
	for _, item := range items {
		d := item.Delivery
		deeds = append(deeds, deed{kind: kind, delivery: d.ID, version: d.Version, token: d.Token, state: d.State})
		if kind != looks {
			p.hands = append(p.hands, d)
		}
	}
	p.hands = keepRecent(p.hands)
	if kind == looks && len(items) > 0 {
		p.seen["repeated"]++
	}
	p.mu.Unlock()
	p.note(call, deeds...)
}

// report hands in an agent's word on a hand-out, be it lost long ago: it counts if it is still its agent's.
func (p *player) report(ctx context.Context, held posthouse.Delivery) error {
	r := work.Report{ID: posthouse.NewID(), Tenant: tenant, Agent: strings.TrimPrefix(held.LeaseOwner, work.Owner(""))}
	r.AgentReport = posthouse.AgentReport{ReportID: posthouse.NewID(), Delivery: held.ID, Token: held.Token, Outcome: posthouse.OutcomeSent}
	var done deed
	call := time.Now()
	_, err := p.store.Reports.Report(ctx, call, []work.Report{r}, func(now time.Time, r *work.Report, known work.Known) *work.Change {
		d := known.Delivery
		if d == nil || !slices.Contains(known.Tokens, held.Token) {
			p.t.Errorf("delivery %s was handed to %s with token %d, and the store knows of %v", held.ID, r.Agent, held.Token, known.Tokens)
			return nil
		}
		ours := d.State == posthouse.Sending && d.Token == held.Token && d.LeaseOwner == held.LeaseOwner
		done = deed{kind: closesNow, delivery: d.ID, version: d.Version, token: d.Token, state: d.State, refused: !ours}
		if r.Answer = posthouse.ReportStale; !ours {
			return nil
		}
		r.Answer = posthouse.ReportDone
		c := change(*d, sends, now)
		return &c
	})
	if err != nil {
		return err
	}
	if !done.refused {
		p.open.Add(-1)
	}
	p.note(call, done)
	return nil
}

// miscounted says how the counts that are kept beside differ from what is there, empty for not at all.
func (a *arena) miscounted() string {
	a.t.Helper()
	ctx := context.WithoutCancel(a.t.Context())
	kept, err := a.store.Handouts.Tally(ctx, tenant, lane.Channel)
	if err != nil {
		a.t.Fatal(err)
	}
	depths, err := a.store.Queue.Depths(ctx)
	if err != nil {
		a.t.Fatal(err)
	}
	var there work.Tally
	for _, d := range depths {
		switch {
		case d.State == posthouse.Sending:
			there.Processing += d.Count
		case d.State == posthouse.Unknown:
			there.Unknown += d.Count
		case d.Again:
			there.Retry += d.Count
		default:
			there.New += d.Count
		}
	}
	settled, err := a.store.Queue.Counts(ctx, tenant, time.Time{})
	if err != nil {
		a.t.Fatal(err)
	}
	for _, c := range settled {
		if c.State == posthouse.Sent {
			there.Success += c.Count
		} else {
			there.Failed += c.Count
		}
	}
	return cmp.Diff(there, kept)
}
