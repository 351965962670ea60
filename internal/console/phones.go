package console

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/console/form"
	"github.com/posthouse/posthouse/internal/limittext"
	"github.com/posthouse/posthouse/wire"
)

// phone is a line of the list of phones and other programs that fetch what they send.
type phone struct{ wire.Agent }

// aliveFor is how long after its last call a phone counts as alive: one that waits for work calls each minute.
const aliveFor = 3 * time.Minute

// Alive says, as a word, whether a phone calls.
func (p phone) Alive() string {
	switch {
	case p.LastSeenAt.IsZero():
		return "phone_never"
	case time.Since(p.LastSeenAt) <= aliveFor:
		return "phone_alive"
	}
	return "phone_silent"
}

// Class is the colour of that word.
func (p phone) Class() string {
	if p.Alive() == "phone_alive" {
		return "ok"
	}
	return "parked"
}

// Colour is that of its state.
func (p phone) Colour() string {
	if p.State == posthouse.AgentActive {
		return "ok"
	}
	return "paused"
}

// phonesPage is a page of the list.
type phonesPage struct {
	List   []phone
	States []choice // to choose from, with their counts
	Any    bool     // there is a phone
	Next   string

	Draft    posthouse.Agent // as the form says it
	Windows  string          // its limits as they were typed
	New      *wire.NewAgent  // whose secret is shown this once
	Problems []posthouse.Problem
}

// Fleeting says that nothing keeps a page with a secret.
func (p phonesPage) Fleeting() bool { return p.New != nil }

const (
	// mostPhones is how many phones are counted by how they stand, and phonesLength how many of them are on a page.
	mostPhones, phonesLength = 1000, 50
)

func showPhones(v *visit) error { return phonesPage{}.draw(v, http.StatusOK) }

// addPhone registers a phone and shows the secret of its key, this once.
func addPhone(v *visit) error {
	r := form.Reader{Sent: v.form, Say: func(name string) string { return say(name, v.zh) }}
	p := phonesPage{Windows: v.form("limits"), Draft: posthouse.Agent{ID: v.form("id"), Name: v.form("name"), Channels: r.Lines("channels"), Limits: r.Windows("limits")}}
	if p.Problems = r.Problems; len(p.Problems) == 0 {
		made, err := v.call().Agents.Add(withNote(v.ctx(), v.form("note")), p.Draft)
		if err == nil {
			return phonesPage{New: &made}.draw(v, http.StatusOK)
		}
		if p.Problems = refusalOf(err, "id"); p.Problems == nil {
			return err
		}
	}
	return p.draw(v, http.StatusUnprocessableEntity)
}

// draw shows a page of the list.
func (p phonesPage) draw(v *visit, status int) error {
	page, err := v.call().Agents.List(v.ctx(), client.Filter{Cursor: v.query("cursor"), Limit: mostPhones})
	if err != nil {
		return err
	}
	state := v.query("state")
	p.Any = len(page.Items) > 0
	p.States = phoneStates(v, page.Items, state)
	list := slices.DeleteFunc(page.Items, func(a posthouse.Agent) bool { return state != "" && stands(a) != state })
	list, p.Next = cut(v, list, phonesLength)
	if p.Next == "" {
		p.Next = v.onward(page.Next)
	}
	for _, a := range list {
		one, err := v.call().Agents.Get(v.ctx(), a.ID) // with what it holds
		if posthouse.CodeOf(err) == posthouse.CodeNotFound {
			continue // it was taken away meanwhile
		}
		if err != nil {
			return err
		}
		p.List = append(p.List, phone{one})
	}
	return v.draw(status, "phones", "phones", p)
}

// stands is how a phone stands, by which the list is narrowed: what a person said of it, and else whether it calls.
func stands(a posthouse.Agent) string {
	if a.State != posthouse.AgentActive {
		return string(a.State)
	}
	return strings.TrimPrefix(phone{wire.Agent{Agent: a}}.Alive(), "phone_")
}

// phoneStates are how phones stand, with how many of a list do.
func phoneStates(v *visit, list []posthouse.Agent, chosen string) []choice {
	counts := map[string]int{}
	for _, a := range list {
		counts[stands(a)]++
	}
	out := []choice{{Word: "all_phones", N: len(list), Link: v.at("phones"), Current: chosen == ""}}
	for _, s := range []string{"alive", "silent", "never", string(posthouse.AgentPaused), string(posthouse.AgentDraining)} {
		if n := counts[s]; n > 0 || chosen == s {
			out = append(out, choice{Name: s, Word: "phone_" + s, N: n, Link: v.at("phones") + "?state=" + s, Current: chosen == s})
		}
	}
	return out
}

// phoneLife is what the page of a phone shows.
type phoneLife struct {
	phone
	Held    []wire.Held
	More    int // that it holds and the page does not show
	Reports []wire.Line
	Actions []string // what can be done with it now

	Draft    posthouse.Agent // as the form says it
	Windows  string          // its limits as they were typed
	Changing bool            // the form was refused
	New      *wire.NewKey    // which is shown this once
	Problems []posthouse.Problem
}

// Fleeting says that nothing keeps a page with a secret.
func (p phoneLife) Fleeting() bool { return p.New != nil }

// Seen tells a phone as the page shows it from one that somebody else has changed since.
func (p phoneLife) Seen() string {
	return seenAs(p.Agent.Name, p.Agent.Channels, p.Agent.Limits)
}

// Left is what is left of the lease of a delivery.
func (phoneLife) Left(h wire.Held) time.Duration {
	return max(0, time.Duration(h.LeaseMillis)*time.Millisecond)
}

// mostHeld bounds how many deliveries the page of a phone shows.
const mostHeld = 100

func showPhone(v *visit) error { return phoneLife{}.draw(v, http.StatusOK) }

// draw fills in the phone that the address names.
func (p phoneLife) draw(v *visit, status int) error {
	id := v.r.PathValue("id")
	a, err := v.call().Agents.Get(v.ctx(), id)
	if err != nil {
		return err
	}
	if p.phone = (phone{a}); !p.Changing {
		p.Draft, p.Windows = a.Agent, limittext.Text(a.Limits, "\n")
	}
	if p.Held, err = v.call().Handouts.List(v.ctx(), id); err != nil {
		return err
	}
	if n := len(p.Held); n > mostHeld {
		p.Held, p.More = p.Held[:mostHeld], n-mostHeld
	}
	reports, err := v.call().Logs.List(v.ctx(), wire.ReportLog, client.LogFilter{Agent: id, Limit: pageLength})
	if err != nil {
		return err
	}
	p.Reports = reports.Items
	for _, action := range phoneActions(a.State) {
		if v.may(admin, "agents."+action) {
			p.Actions = append(p.Actions, action)
		}
	}
	return v.draw(status, "phone", "phones", p)
}

// changePhone stores what the form says of a phone, where it is still as the page showed. What the phone can do stays.
func changePhone(v *visit) error {
	a, err := v.call().Agents.Get(v.ctx(), v.r.PathValue("id"))
	if err != nil {
		return err
	}
	if v.form("seen") != (phoneLife{phone: phone{a}}).Seen() {
		return posthouse.Errorf(posthouse.CodeConflict, "the phone was changed meanwhile")
	}
	r := form.Reader{Sent: v.form, Say: func(name string) string { return say(name, v.zh) }}
	p := phoneLife{Changing: true, Windows: v.form("limits"), Draft: a.Agent}
	p.Draft.Name, p.Draft.Channels, p.Draft.Limits = v.form("name"), r.Lines("channels"), r.Windows("limits")
	if p.Problems = r.Problems; len(p.Problems) == 0 {
		_, err := v.call().Agents.Put(withNote(v.ctx(), v.form("note")), p.Draft)
		if err == nil {
			return v.goTo(v.at("phones", a.ID) + "?said=stored")
		}
		if p.Problems = refusalOf(err, "channels"); p.Problems == nil {
			return err
		}
	}
	return p.draw(v, http.StatusUnprocessableEntity)
}

// giveKey makes a phone another key, which is shown this once.
func giveKey(v *visit) error {
	old := v.form("old")
	if old != "keep" && old != "revoke" {
		return phoneLife{Problems: problemAt("old", say("want_old_keys", v.zh))}.draw(v, http.StatusUnprocessableEntity)
	}
	made, err := v.call().Agents.NewKey(withNote(v.ctx(), v.form("note")), v.r.PathValue("id"), old == "revoke")
	if err != nil {
		return err
	}
	return phoneLife{New: &made}.draw(v, http.StatusOK)
}

// phoneActions are what people do with a phone, by its state.
func phoneActions(s posthouse.AgentState) []string {
	switch s {
	case posthouse.AgentActive:
		return []string{"pause", "drain", "reassign"}
	case posthouse.AgentPaused:
		return []string{"resume", "drain", "reassign"}
	}
	return []string{"resume", "reassign"}
}

// actOnPhone does what a button of the page says, where the phone is still in the state that the page showed.
func actOnPhone(act func(c client.Agents, ctx context.Context, id, reason string) error) func(*visit) error {
	return func(v *visit) error {
		id, reason := v.r.PathValue("id"), v.form("reason")
		a, err := v.call().Agents.Get(v.ctx(), id)
		if err != nil {
			return err
		}
		if v.form("state") != string(a.State) {
			return posthouse.Errorf(posthouse.CodeConflict, "the phone is %s now", v.stateIn("phone_", string(a.State)))
		}
		if err := act(v.call().Agents, withNote(v.ctx(), reason), id, reason); err != nil {
			return err
		}
		return v.goTo(v.at("phones", id) + "?said=changed_said")
	}
}

// phoneActs are the decisions about a phone by their names.
func phoneActs() map[string]func(*visit) error {
	return map[string]func(*visit) error{
		"pause": actOnPhone(func(c client.Agents, ctx context.Context, id, reason string) error {
			_, err := c.Pause(ctx, id, reason)
			return err
		}),
		"drain": actOnPhone(func(c client.Agents, ctx context.Context, id, reason string) error {
			_, err := c.Drain(ctx, id, reason)
			return err
		}),
		"resume": actOnPhone(func(c client.Agents, ctx context.Context, id, _ string) error {
			_, err := c.Resume(ctx, id)
			return err
		}),
		"reassign": actOnPhone(func(c client.Agents, ctx context.Context, id, reason string) error {
			_, err := c.Reassign(ctx, id, reason)
			return err
		}),
	}
}
