package console

import (
	"errors"
	"net/url"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/console/seek"
	"github.com/posthouse/posthouse/wire"
)

// attention is what the page of what needs a person shows.
type attention struct {
	seek.Question
	times
	States  []posthouse.State
	Names   []string     // of the channels
	Reasons []string     // to choose from, in the visitor's words
	Stopped wire.Stopped // by channel and reason
	List    []posthouse.Delivery
	Next    string
	Short   bool // the page is short of what is behind it
	Picked  bool // all that the page shows are ticked
	Pick    string
	Preview *preview
	Done    *result
}

// preview is a decision before it is made.
type preview struct {
	Outcome string
	Matched int
	Shared  int // beside these: what is decided of the delivery of a digest, by which they left
	Confirm string
	Note    string
	IDs     []string // empty where the decision is by filter
	Filter  bool
}

// result is what became of a decision about some.
type result struct {
	Done    int
	Left    int // that had changed meanwhile
	Stopped string
}

// needing are the states of deliveries that may need a person.
func needing() []posthouse.State {
	return []posthouse.State{posthouse.Unknown, posthouse.Quarantined, posthouse.Failed, posthouse.Undelivered, posthouse.Expired}
}

func showAttention(v *visit) error {
	a, err := attentionOf(v, v.query)
	if err != nil {
		return err
	}
	return v.show("attention", "attention", a)
}

// attentionOf reads a page of what needs a person.
func attentionOf(v *visit, value func(string) string) (a attention, err error) {
	if a.times, err = questionOf(v, value, &a.Question); err != nil {
		return a, err
	}
	a.Words, a.States = "", needing()
	if !slices.Contains(a.States, posthouse.State(a.State)) {
		a.State = string(posthouse.Unknown)
	}
	filter := a.Filter()
	filter.Cursor, filter.Limit = v.query("cursor"), 4*pageLength
	page, err := v.call().Deliveries.List(v.ctx(), filter)
	if err != nil {
		return a, err
	}
	if a.List = page.Items; page.Next != "" {
		q := v.r.URL.Query()
		q.Set("cursor", page.Next)
		a.Next, a.Short = "?"+q.Encode(), len(page.Items) < filter.Limit
	}
	q := v.r.URL.Query()
	q.Set("picked", "1")
	a.Picked, a.Pick = v.query("picked") != "", "?"+q.Encode()
	if a.Stopped, err = v.call().Deliveries.Stopped(v.ctx(), posthouse.State(a.State)); err != nil {
		return a, err
	}
	there := map[string]int{}
	for _, g := range a.Stopped.Groups {
		there[g.Reason] = g.N
	}
	a.Reasons = reasonWords(frame{v: v}, there)
	list, err := v.channels()
	for _, c := range list {
		a.Names = append(a.Names, c.Name)
	}
	return a, err
}

// decideMany shows what a decision would do, and makes it when it is confirmed.
func decideMany(v *visit) error {
	a, err := attentionOf(v, v.form)
	if err != nil {
		return err
	}
	p := &preview{Outcome: v.form("outcome"), Confirm: v.form("confirm"), Note: v.form("note"), Filter: v.form("all") != ""}
	if !p.Filter {
		p.IDs = v.r.PostForm["id"]
	}
	if !slices.Contains([]string{"sent", "not_sent", "retry", "replay"}, p.Outcome) || !p.Filter && len(p.IDs) == 0 {
		return posthouse.Invalid("nothing was decided", []posthouse.Problem{{Path: "outcome", Message: "choose some deliveries and what is to become of them"}})
	}
	switch sure := v.form("sure") != ""; {
	case p.Filter && sure:
		d, err := v.call().Decisions.Begin(withNote(v.ctx(), p.Note), a.decide(p))
		if err != nil {
			return err
		}
		return v.goTo(v.at("decisions", d.ID))
	case p.Filter:
		d, err := v.call().Decisions.Begin(v.ctx(), a.decide(p))
		if err != nil {
			return err
		}
		p.Matched, p.Shared, p.Confirm, a.Preview = d.Matched-d.Shared, d.Shared, d.Confirm, p
	case sure:
		done, err := decideEach(v, p)
		if err != nil {
			return err
		}
		if a, err = attentionOf(v, v.form); err != nil {
			return err
		}
		a.Done = done
	default:
		p.Matched, a.Preview = len(p.IDs), p
	}
	return v.show("attention", "attention", a)
}

// decide is the decision about all that the filter selects; a count where nothing confirms it yet.
func (a attention) decide(p *preview) wire.Decide {
	return wire.Decide{
		Outcome: wire.Outcome(p.Outcome), DryRun: p.Confirm == "", Confirm: p.Confirm,
		Selected: wire.Selected{
			Channel: a.Channel, Kind: a.Kind, Account: a.Account, Reason: a.Reason, States: []posthouse.State{posthouse.State(a.State)}, Since: a.Since, Until: a.Until,
		},
	}
}

// decideEach decides about those that were chosen, one by one. What has changed meanwhile is left alone.
func decideEach(v *visit, p *preview) (*result, error) {
	ctx, r := withNote(v.ctx(), p.Note), &result{}
	for _, id := range p.IDs[:min(len(p.IDs), 4*pageLength)] {
		var err error
		if p.Outcome == "replay" {
			_, err = v.call().Deliveries.Replay(ctx, id, false)
		} else {
			_, err = v.call().Deliveries.Resolve(ctx, id, wire.Outcome(p.Outcome))
		}
		var coded *posthouse.Error
		switch {
		case err == nil:
			r.Done++
		case errors.As(err, &coded) && (coded.Code == posthouse.CodeConflict || coded.Code == posthouse.CodeNotFound):
			r.Left++
		case r.Done > 0:
			r.Stopped = err.Error()
			return r, nil // what was decided stays decided
		default:
			return nil, err
		}
	}
	return r, nil
}

// Resolvable reports whether a person's word is asked of a state, and not a replay.
func (a attention) Resolvable() bool {
	return a.State == string(posthouse.Unknown) || a.State == string(posthouse.Quarantined)
}

// Undecided reports whether nothing was decided about what is shown.
func (a attention) Undecided() bool { return a.Done == nil }

// Narrow reports whether a decision about all of a filter is allowed: it is not about everything.
func (a attention) Narrow() bool {
	return a.Channel+a.Kind+a.Account+a.Reason != "" || !a.Since.IsZero() || !a.Until.IsZero()
}

// More reports whether something is asked for that stands in the folded part of the form.
func (a attention) More() bool { return a.Kind+a.Account+a.From+a.To != "" }

// decision is what the page of a decision about many shows.
type decision struct{ wire.Decision }

func showDecision(v *visit) error {
	d, err := v.call().Decisions.Get(v.ctx(), v.r.PathValue("id"))
	if err != nil {
		return err
	}
	v.drawnIn(string(d.State))
	return v.show("decision", "attention", decision{d})
}

// decisions is the list of them.
type decisions []decision

// Entitled is the title of the list, which is a page of its own.
func (decisions) Entitled(f frame) string { return f.T("decisions") }

func showDecisions(v *visit) error {
	list, err := v.call().Decisions.List(v.ctx())
	if err != nil {
		return err
	}
	out := make(decisions, len(list))
	for i, d := range list {
		out[i] = decision{d}
	}
	return v.show("decisions", "attention", out)
}

func stopDecision(v *visit) error {
	id := v.r.PathValue("id")
	d, err := v.call().Decisions.Get(v.ctx(), id)
	if err != nil {
		return err
	}
	if v.form("state") != string(d.State) {
		return posthouse.Errorf(posthouse.CodeConflict, "the decision is %s now", v.stateIn("decision_", string(d.State)))
	}
	if _, err := v.call().Decisions.Stop(withNote(v.ctx(), v.form("note")), id); err != nil {
		return err
	}
	return v.goTo(v.at("decisions", id))
}

func undoDecision(v *visit) error {
	undo, err := v.call().Decisions.Undo(withNote(v.ctx(), v.form("note")), v.r.PathValue("id"))
	if err != nil {
		return err
	}
	return v.goTo(v.at("decisions", undo.ID))
}

// Live reports whether it goes on.
func (d decision) Live() bool { return d.Decision.State == wire.DecisionRunning }

// Behind is how many were looked at, of those that were counted.
func (d decision) Behind() int { return d.Done + d.Left }

// After is the page and query of what can still be done about what was decided, and its word; empty where there is nothing.
func (d decision) After() (out struct{ Page, Query, Word string }) {
	q := url.Values{}
	for name, value := range map[string]string{"channel": d.Channel, "kind": d.Kind, "account": d.Account} {
		if value != "" {
			q.Set(name, value)
		}
	}
	switch d.Outcome {
	case wire.OutcomeNotSent:
		q.Set("state", string(posthouse.Failed))
		q.Set("reason", "operator_not_sent")
		out.Page, out.Word = "attention", "after_not_sent"
	case wire.OutcomeUndo:
		if len(d.States) > 0 {
			q.Set("state", string(d.States[0]))
		}
		out.Page, out.Word = "attention", "after_undo"
	case wire.OutcomeRetry, wire.OutcomeReplay:
		q.Set("state", string(posthouse.Pending))
		out.Page, out.Word = "search", "after_again"
	default:
		return struct{ Page, Query, Word string }{Word: "after_sent"}
	}
	out.Query = "?" + q.Encode()
	return out
}
