package console

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/console/form"
	"github.com/posthouse/posthouse/wire"
)

// subscribers is what the page of subscriptions shows.
type subscribers struct {
	List     []wire.Subscription
	States   []posthouse.State
	Draft    wire.NewSubscription
	Batch    string // as it was typed
	New      *wire.SubscriptionWithSecret
	Problems []posthouse.Problem
}

// Fleeting says that nothing keeps a page with a secret.
func (s subscribers) Fleeting() bool { return s.New != nil }

// Has reports whether the form chooses a state.
func (s subscribers) Has(state posthouse.State) bool { return slices.Contains(s.Draft.States, state) }

func showSubscriptions(v *visit) error { return subscribers{}.draw(v, http.StatusOK) }

func (s subscribers) draw(v *visit, status int) (err error) {
	s.States = posthouse.States()
	if s.List, err = v.call().Subscriptions.List(v.ctx()); err != nil {
		return err
	}
	return v.draw(status, "subscriptions", "subscriptions", s)
}

// addSubscription has an address told, and shows its signing secret, this once.
func addSubscription(v *visit) error {
	lines := form.Reader{Sent: v.form, Say: func(name string) string { return say(name, v.zh) }}
	s := subscribers{Batch: v.form("batch"), Draft: wire.NewSubscription{
		URL: v.form("url"), Description: v.form("description"), Channels: lines.Lines("channels"), Kinds: lines.Lines("kinds"), Types: lines.Lines("types"),
	}}
	for _, state := range v.r.PostForm["states"] {
		s.Draft.States = append(s.Draft.States, posthouse.State(state))
	}
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
}

func showSubscription(v *visit) error {
	s, err := subscriberOf(v)
	if err != nil {
		return err
	}
	return v.show("subscription", "subscriptions", s)
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
	for _, action := range []string{turn, "delete"} {
		if v.may(admin, "subscriptions."+action) {
			s.Actions = append(s.Actions, action)
		}
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
	return func(v *visit) error {
		s, err := v.call().Subscriptions.Get(v.ctx(), v.r.PathValue("id"))
		if err != nil {
			return err
		}
		if v.form("state") != s.State {
			return posthouse.Errorf(posthouse.CodeConflict, "the subscription is %s now", s.State)
		}
		ctx, api := withNote(v.ctx(), v.form("note")), v.call().Subscriptions
		switch action {
		case "pause":
			err = api.Pause(ctx, s.ID)
		case "resume":
			err = api.Resume(ctx, s.ID)
		case "delete":
			if err = api.Delete(ctx, s.ID); err == nil {
				return v.goTo(v.at("subscriptions") + "?said=changed_said")
			}
		}
		if err != nil {
			return err
		}
		return v.goTo(v.at("subscriptions", s.ID) + "?said=changed_said")
	}
}
