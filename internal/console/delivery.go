package console

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/console/suppressions"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/wire"
)

// life is what the page of a delivery shows.
type life struct {
	wire.Story
	// Name is what the directory calls the user, empty where it does not know one.
	Name  string
	Why   wire.Explanation
	Ready ready
	// Sure is the decision that waits for a confirmation, empty for none.
	Sure string
	// Revealed is the hidden content, where somebody has asked for it just now.
	Revealed *wire.Revealed
	// Outcome is the one that is to be confirmed.
	Outcome string
	// Recipients are how many the message has, and Unsent to how many of them nothing was sent yet: what is decided about the message
	// is decided for all of them.
	Recipients, Unsent int
	// Barred is what keeps messages from the recipient now, of a delivery that was not sent for such a reason.
	Barred barred
}

// barred is what keeps messages from a recipient: the address is suppressed, or the user has said so.
type barred struct {
	Entry  *posthouse.Suppression
	Origin string // the word for how the entry came into the list
	// Over says that the address is not suppressed any more.
	Over bool
	// Choice is the user of the directory who has chosen, empty for none.
	Choice string
}

// Fleeting reports whether the page has what is hidden otherwise.
func (l life) Fleeting() bool { return l.Revealed != nil }

// Every is how often the page looks again, empty for never: what shows hidden content is the answer to a form, and most of what has settled stays
// as it is.
func (l life) Every() string {
	switch {
	case l.Fleeting():
		return ""
	case l.Delivery.State.Open():
		return "5s"
	case l.Delivery.State == posthouse.Sent:
		return "15s"
	}
	return ""
}

// Holds are what holds the delivery beside what the summary says: of several causes all, each with its end.
func (l life) Holds() []wire.Wait {
	if len(l.Why.Waits) == 1 && strings.Contains(l.Why.Summary, strings.TrimSuffix(l.Why.Waits[0].Detail, ".")) {
		return nil
	}
	return l.Why.Waits
}

// Paused reports whether a pause of the channel, or of an account of it, holds the delivery: it is ended on the channel's page.
func (l life) Paused() bool {
	return slices.ContainsFunc(l.Why.Waits, func(w wire.Wait) bool { return w.Cause == "paused" })
}

// ready says what can be decided about a delivery.
type ready struct{ Cancel, Replay, Resolve, Arrived, Recall bool }

func readyFor(d posthouse.Delivery) ready {
	return ready{
		Cancel:  d.State == posthouse.Pending && !d.CancelRequested,
		Replay:  slices.Contains([]posthouse.State{posthouse.Failed, posthouse.Expired, posthouse.Quarantined, posthouse.Undelivered}, d.State),
		Resolve: d.State == posthouse.Unknown || d.State == posthouse.Quarantined,
		Arrived: d.State == posthouse.Unknown,
		Recall:  (d.State == posthouse.Sent || d.State == posthouse.Delivered) && !state.RecallEnded(d.Reason),
	}
}

func showDelivery(v *visit) error {
	l, err := v.lifeOf(v.r.PathValue("id"))
	if err != nil {
		return err
	}
	l.Sure, l.Outcome = v.query("sure"), v.query("outcome")
	return v.show("delivery", "delivery", l)
}

func (v *visit) lifeOf(id string) (l life, err error) {
	if l.Story, err = v.call().Deliveries.Story(v.ctx(), id); err != nil {
		return l, err
	}
	l.Ready = readyFor(l.Delivery)
	if l.Ready.Cancel || l.Ready.Recall {
		m, err := v.call().Messages.Page(v.ctx(), l.Delivery.Message, "", 1)
		if err != nil {
			return l, err
		}
		l.Recipients, l.Unsent = m.Recipients, m.Counts[posthouse.Pending]
	}
	if l.Name, err = v.nameOf(l.Delivery.User); err != nil {
		return l, err
	}
	if l.Barred, err = v.barredBy(l.Delivery); err != nil {
		return l, err
	}
	l.Why, err = v.call().Deliveries.Explain(v.ctx(), id)
	return l, err
}

// nameOf is what the directory calls a user, empty where it knows none, or none that this person may see.
func (v *visit) nameOf(id string) (string, error) {
	if id == "" {
		return "", nil
	}
	u, err := v.call().Users.Get(v.ctx(), id)
	if posthouse.CodeOf(err) == posthouse.CodeNotFound {
		return "", nil
	}
	return u.Name, hiddenFrom(err)
}

// barredBy finds what keeps messages from the recipient of a delivery that was not sent.
func (v *visit) barredBy(d posthouse.Delivery) (b barred, err error) {
	address := cmp.Or(d.Address, d.User)
	switch {
	case d.State != posthouse.Suppressed:
	case d.Reason == state.ReasonPreference || d.Reason == state.ReasonUnwanted:
		b.Choice = d.User
	case d.Reason == state.ReasonSuppressed && address != "":
		page, err := v.call().Suppressions.List(v.ctx(), "", address, client.Filter{})
		if err != nil {
			return b, hiddenFrom(err)
		}
		at := slices.IndexFunc(page.Items, func(s posthouse.Suppression) bool { return s.Channel == "" || s.Channel == d.Channel })
		if b.Over = at < 0; !b.Over {
			b.Entry, b.Origin = &page.Items[at], suppressions.Origin(page.Items[at])
		}
	}
	return b, nil
}

// revealContent shows the hidden content on the page that answers, which nobody can send on: it has no address.
func revealContent(v *visit) error {
	l, err := v.lifeOf(v.r.PathValue("id"))
	if err != nil {
		return err
	}
	shown, err := v.call().Messages.Reveal(v.ctx(), l.Delivery.Message, v.form("reason"))
	if err != nil {
		return err
	}
	l.Revealed = &shown
	return v.show("delivery", "delivery", l)
}

// stillAs is an error where a delivery has moved since the page was drawn: a second click decides nothing.
func (v *visit) stillAs(id string) (posthouse.Delivery, error) {
	d, err := v.call().Deliveries.Get(v.ctx(), id)
	if err != nil {
		return d, err
	}
	if v.form("state") != string(d.State) {
		return d, posthouse.Errorf(posthouse.CodeConflict, "the delivery is %s now", v.stateIn("", string(d.State)))
	}
	return d, nil
}

func cancelDelivery(v *visit) error {
	id := v.r.PathValue("id")
	d, err := v.stillAs(id)
	if err != nil {
		return err
	}
	if _, err := v.call().Messages.Cancel(withNote(v.ctx(), v.form("note")), d.Message); err != nil {
		return err
	}
	return v.goTo(v.at("deliveries", id) + "?said=cancelled_said")
}

func recallDelivery(v *visit) error {
	id := v.r.PathValue("id")
	d, err := v.stillAs(id)
	if err != nil {
		return err
	}
	if _, err := v.call().Messages.Recall(withNote(v.ctx(), v.form("note")), d.Message); err != nil {
		return err
	}
	return v.goTo(v.at("deliveries", id) + "?said=recalled_said")
}

func replayDelivery(v *visit) error {
	id := v.r.PathValue("id")
	if _, err := v.stillAs(id); err != nil {
		return err
	}
	made, err := v.call().Deliveries.Replay(withNote(v.ctx(), v.form("note")), id, v.form("force_new") != "")
	if err != nil {
		return err
	}
	return v.goTo(v.at("deliveries", made.ID) + "?said=replayed")
}

func resolveDelivery(v *visit) error {
	id := v.r.PathValue("id")
	if _, err := v.stillAs(id); err != nil {
		return err
	}
	if _, err := v.call().Deliveries.Resolve(withNote(v.ctx(), v.form("note")), id, wire.Outcome(v.form("outcome"))); err != nil {
		return err
	}
	return v.goTo(v.at("deliveries", id) + "?said=resolved")
}

// told is what the page of a message shows.
type told struct {
	wire.Message
	Sending bool
}

func showMessage(v *visit) error {
	m, err := v.call().Messages.Page(v.ctx(), v.r.PathValue("id"), v.query("cursor"), pageLength)
	if err != nil {
		return err
	}
	return v.draw(http.StatusOK, "message", "message", told{Message: m})
}

// pageLength is the length of lists.
const pageLength = 50

// Took is how long an attempt lasted.
func (f frame) Took(a posthouse.Attempt) string { return f.Length(a.Duration) }
