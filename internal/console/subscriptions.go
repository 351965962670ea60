package console

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/console/form"
	"github.com/posthouse/posthouse/wire"
)

// subscribers is what the page of subscriptions shows.
type subscribers struct {
	List     []wire.Subscription
	Groups   []typeGroup
	Draft    wire.NewSubscription
	Batch    string // as it was typed
	New      *wire.SubscriptionWithSecret
	Problems []posthouse.Problem
}

// Fleeting says that nothing keeps a page with a secret.
func (s subscribers) Fleeting() bool { return s.New != nil }

// typeGroup is a sort of events with its types.
type typeGroup struct {
	Name  string // all of the sort
	Types []eventType
}

// eventType is a type of events and its word.
type eventType struct{ Name, Word string }

// typeGroups are the sorts of events. The types of callbacks are the providers' words, which nobody lists.
func typeGroups() []typeGroup {
	deliveries, notifications, budgets := typeGroup{Name: posthouse.OfDelivery}, typeGroup{Name: posthouse.OfNotification}, typeGroup{Name: posthouse.OfBudget}
	for _, s := range posthouse.States() {
		deliveries.Types = append(deliveries.Types, eventType{posthouse.OfDelivery + "." + string(s), string(s)})
	}
	for _, s := range posthouse.NotificationStates() {
		notifications.Types = append(notifications.Types, eventType{posthouse.OfNotification + "." + string(s), "told_" + string(s)})
	}
	for _, m := range posthouse.BudgetMarks() {
		budgets.Types = append(budgets.Types, eventType{posthouse.OfBudget + "." + string(m), "budget_" + string(m)})
	}
	return []typeGroup{deliveries, notifications, budgets, {Name: posthouse.OfCallback}}
}

// Has reports whether the form chooses a type.
func (s subscribers) Has(name string) bool { return slices.Contains(s.Draft.Types, name) }

// Others are the types of the form that have no tick: those of callbacks by name.
func (s subscribers) Others() (list []string) {
	for _, name := range s.Draft.Types {
		if ticked := slices.ContainsFunc(s.Groups, func(g typeGroup) bool {
			return g.Name == name || slices.ContainsFunc(g.Types, func(t eventType) bool { return t.Name == name })
		}); !ticked {
			list = append(list, name)
		}
	}
	return list
}

func showSubscriptions(v *visit) error { return subscribers{}.draw(v, http.StatusOK) }

func (s subscribers) draw(v *visit, status int) (err error) {
	s.Groups = typeGroups()
	if s.List, err = v.call().Subscriptions.List(v.ctx()); err != nil {
		return err
	}
	return v.draw(status, "subscriptions", "subscriptions", s)
}

// addSubscription has an address told, and shows its signing secret, this once.
func addSubscription(v *visit) error {
	lines := form.Reader{Sent: v.form, Say: func(name string) string { return say(name, v.zh) }}
	s := subscribers{Batch: v.form("batch"), Draft: wire.NewSubscription{
		URL: v.form("url"), Description: v.form("description"), Channels: lines.Lines("channels"), Kinds: lines.Lines("kinds"), Types: append(slices.Clone(v.r.PostForm["types"]), lines.Lines("callbacks")...),
	}}
	if s.Batch != "" {
		n, err := strconv.Atoi(s.Batch)
		if err != nil {
			s.Problems = problemAt("batch", say("want_number", v.zh))
			return s.draw(v, http.StatusUnprocessableEntity)
		}
		s.Draft.Batch = n
	}
	made, err := v.call().Subscriptions.Create(withNote(v.ctx(), v.form("note")), s.Draft)
	if err == nil {
		return subscribers{New: &made}.draw(v, http.StatusOK)
	}
	if s.Problems = refusalOf(err, "url"); s.Problems == nil {
		return err
	}
	return s.draw(v, http.StatusUnprocessableEntity)
}

// subscriber is what the page of a subscription shows.
type subscriber struct {
	wire.Subscription
	Dead    []wire.DeadLetter
	Test    *wire.SubscriptionTest // what became of a test, nil for none
	Actions []string               // what can be done with it now

	Secret   string // the new one, which is shown this once
	Overlap  string // as the form says it
	Since    string // from when the form has it told again
	Problems []posthouse.Problem
}

// Fleeting says that nothing keeps a page with a secret.
func (s subscriber) Fleeting() bool { return s.Secret != "" }

func showSubscription(v *visit) error { return drawSubscription(v, http.StatusOK, subscriber{}) }

// drawSubscription shows the subscription that the address names, beside what was just done with it.
func drawSubscription(v *visit, status int, said subscriber) error {
	s, err := subscriberOf(v)
	if err != nil {
		return err
	}
	s.Secret, s.Overlap, s.Since, s.Problems = said.Secret, said.Overlap, said.Since, said.Problems
	return v.draw(status, "subscription", "subscriptions", s)
}

// onSubscription does something with a subscription that is still in the state that the page showed.
func onSubscription(act func(ctx context.Context, v *visit, id string) error) func(*visit) error {
	return func(v *visit) error {
		s, err := v.call().Subscriptions.Get(v.ctx(), v.r.PathValue("id"))
		if err != nil {
			return err
		}
		if v.form("state") != s.State {
			return posthouse.Errorf(posthouse.CodeConflict, "the subscription is %s now", v.stateIn("sub_", s.State))
		}
		return act(withNote(v.ctx(), v.form("note")), v, s.ID)
	}
}

// rotateSubscription makes another signing secret, which is shown this once.
func rotateSubscription(ctx context.Context, v *visit, id string) error {
	said, overlap := subscriber{Overlap: v.form("overlap")}, overlapOf(v)
	if overlap == nil {
		said.Problems = problemAt("overlap", say("want_overlap", v.zh))
		return drawSubscription(v, http.StatusUnprocessableEntity, said)
	}
	made, err := v.call().Subscriptions.Rotate(ctx, id, overlap)
	if err != nil {
		return err
	}
	said.Secret = made.Secret
	return drawSubscription(v, http.StatusOK, said)
}

// replaySubscription has an address told again of what happened since an instant.
func replaySubscription(ctx context.Context, v *visit, id string) error {
	said := subscriber{Since: v.form("since")}
	since, ok := momentIn(v, said.Since)
	switch {
	case !ok || since.IsZero():
		said.Problems = problemAt("since", say("want_time", v.zh))
	case since.After(time.Now()):
		said.Problems = problemAt("since", say("want_past", v.zh))
	}
	if len(said.Problems) == 0 {
		_, err := v.call().Subscriptions.Replay(ctx, id, wire.ReplayEvents{Since: since})
		if err == nil {
			return v.goTo(v.at("subscriptions", id) + "?said=sub_replayed_said")
		}
		if said.Problems = refusalOf(err, "since"); said.Problems == nil {
			return err
		}
	}
	return drawSubscription(v, http.StatusUnprocessableEntity, said)
}

func subscriberOf(v *visit) (s subscriber, err error) {
	id := v.r.PathValue("id")
	if s.Subscription, err = v.call().Subscriptions.Get(v.ctx(), id); err != nil {
		return s, err
	}
	if s.Subscription.Dead > 0 {
		s.Dead, err = v.call().Subscriptions.DeadLetters(v.ctx(), id)
		s.Dead = s.Dead[:min(len(s.Dead), pageLength)]
	}
	turn := "pause"
	if s.State != "active" {
		turn = "resume"
	}
	if v.may(admin, "subscriptions."+turn) {
		s.Actions = append(s.Actions, turn)
	}
	return s, err
}

// testSubscription posts a test to the address, and shows what became of it.
func testSubscription(v *visit) error {
	s, err := subscriberOf(v)
	if err != nil {
		return err
	}
	made, err := v.call().Subscriptions.Test(v.ctx(), s.ID)
	if err != nil {
		return err
	}
	s.Test = &made
	return v.show("subscription", "subscriptions", s)
}

// actOnSubscription does what a button of the page says, where the subscription is still in the state that the page showed.
func actOnSubscription(action string) func(*visit) error {
	return onSubscription(func(ctx context.Context, v *visit, id string) (err error) {
		api := v.call().Subscriptions
		switch action {
		case "pause":
			err = api.Pause(ctx, id)
		case "resume":
			err = api.Resume(ctx, id)
		}
		if err != nil {
			return err
		}
		return v.goTo(v.at("subscriptions", id) + "?said=changed_said")
	})
}
