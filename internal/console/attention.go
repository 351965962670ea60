package console

import (
	"errors"
	"slices"
	"strconv"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/wire"
)

// attention is what the page of what needs a person shows.
type attention struct {
	State   posthouse.State
	States  []posthouse.State
	Channel string
	Reason  string
	Groups  []group // of what is on the page
	List    []posthouse.Delivery
	Next    string
	Preview *preview
	Done    *result
}

// group is what stopped alike.
type group struct {
	Channel, Reason string
	N               int
}

// preview is a decision before it is made.
type preview struct {
	Outcome string
	Matched int
	Confirm string
	Note    string
	IDs     []string // empty where the decision is by filter
	Most    bool     // there are more than one decision takes
	Filter  bool
}

// result is what became of a decision.
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
	a, err := v.attention(v.query("state"), v.query("channel"), v.query("reason"))
	if err != nil {
		return err
	}
	return v.show("attention", "attention", a)
}

// attention reads a page of what needs a person.
func (v *visit) attention(state, channel, reason string) (a attention, err error) {
	a = attention{State: posthouse.State(state), States: needing(), Channel: channel, Reason: reason}
	if !slices.Contains(a.States, a.State) {
		a.State = posthouse.Unknown
	}
	page, err := v.call().Deliveries.List(v.ctx(), client.Filter{Channel: channel, States: []posthouse.State{a.State}, Cursor: v.query("cursor"), Limit: 4 * pageLength})
	if err != nil {
		return a, err
	}
	for _, d := range page.Items {
		if reason != "" && d.Reason != reason {
			continue
		}
		a.List = append(a.List, d)
		i := slices.IndexFunc(a.Groups, func(g group) bool { return g.Channel == d.Channel && g.Reason == d.Reason })
		if i < 0 {
			i, a.Groups = len(a.Groups), append(a.Groups, group{d.Channel, d.Reason, 0})
		}
		a.Groups[i].N++
	}
	if page.Next != "" {
		q := v.r.URL.Query()
		q.Set("cursor", page.Next)
		a.Next = "?" + q.Encode()
	}
	return a, nil
}

// decideMany shows what a decision would do, and makes it when it is confirmed.
func decideMany(v *visit) error {
	a, err := v.attention(v.form("state"), v.form("channel"), v.form("reason"))
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
	if v.form("sure") == "" {
		if err := v.foresee(a, p); err != nil {
			return err
		}
		a.Preview = p
		return v.show("attention", "attention", a)
	}
	if a.Done, err = v.decide(a, p); err != nil {
		return err
	}
	done := a.Done
	if a, err = v.attention(v.form("state"), v.form("channel"), v.form("reason")); err != nil {
		return err
	}
	a.Done = done
	return v.show("attention", "attention", a)
}

// foresee counts what a decision is about.
func (v *visit) foresee(a attention, p *preview) error {
	if !p.Filter {
		p.Matched = len(p.IDs)
		return nil
	}
	if p.Outcome == "replay" {
		n, err := v.call().Deliveries.ReplayAll(v.ctx(), wire.ReplayAll{Channel: a.Channel, Reason: a.Reason, States: []posthouse.State{a.State}, DryRun: true})
		p.Matched, p.Confirm = n.Matched, strconv.Itoa(n.Matched)
		return err
	}
	n, err := v.call().Deliveries.ResolveAll(v.ctx(), v.resolveAll(a, p, true))
	p.Matched, p.Confirm = n.Matched, n.Confirm
	return err
}

func (v *visit) resolveAll(a attention, p *preview, dry bool) wire.ResolveAll {
	in := wire.ResolveAll{Outcome: wire.Outcome(p.Outcome), Channel: a.Channel, Reason: a.Reason, States: []posthouse.State{a.State}, DryRun: dry}
	if !dry {
		in.Confirm = p.Confirm
	}
	return in
}

// decide makes a decision about many.
func (v *visit) decide(a attention, p *preview) (*result, error) {
	ctx := withNote(v.ctx(), p.Note)
	switch {
	case !p.Filter:
		return v.decideEach(p)
	case p.Outcome == "replay":
		count, err := v.call().Deliveries.ReplayAll(ctx, wire.ReplayAll{Channel: a.Channel, Reason: a.Reason, States: []posthouse.State{a.State}, DryRun: true})
		if err != nil {
			return nil, err
		}
		if p.Confirm != strconv.Itoa(count.Matched) {
			return nil, posthouse.Errorf(posthouse.CodeConflict, "the filter selects %d deliveries now and %.20s were counted", count.Matched, p.Confirm)
		}
		done, err := v.call().Deliveries.ReplayAll(ctx, wire.ReplayAll{Channel: a.Channel, Reason: a.Reason, States: []posthouse.State{a.State}})
		return &result{Done: done.Replayed, Left: done.Matched - done.Replayed}, err
	}
	done, err := v.call().Deliveries.ResolveAll(ctx, v.resolveAll(a, p, false))
	return &result{Done: done.Resolved, Left: done.Matched - done.Resolved, Stopped: done.Stopped}, err
}

// decideEach decides about those that were chosen, one by one. What has changed meanwhile is left alone.
func (v *visit) decideEach(p *preview) (*result, error) {
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
	return a.State == posthouse.Unknown || a.State == posthouse.Quarantined
}

// Replayable reports whether deliveries of a state can be sent again.
func (a attention) Replayable() bool { return a.State != posthouse.Unknown }

// Narrow reports whether a decision about all of a filter is allowed: it needs a channel.
func (a attention) Narrow() bool { return a.Channel != "" }
