package console

import (
	"fmt"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/wire"
)

func showChannels(v *visit) error {
	list, err := v.call().Channels.List(v.ctx())
	if err != nil {
		return err
	}
	return v.show("channels", "channels", list)
}

// line is what the page of a channel shows.
type line struct {
	posthouse.Channel
	Windows  []windows
	Rates    []posthouse.Rate
	Accounts []posthouse.Account
	Next     string // of the accounts
	Tried    *tried // a test that was made just now
}

// windows are limits of one kind.
type windows struct {
	Word string
	Of   string
	List []posthouse.Limit
}

func showChannel(v *visit) error {
	l, err := v.lineOf(v.r.PathValue("name"))
	if err != nil {
		return err
	}
	return v.show("channel", "channels", l)
}

// lineOf reads what the page of a channel shows.
func (v *visit) lineOf(name string) (l line, err error) {
	if l.Channel, err = v.call().Channels.Get(v.ctx(), name); err != nil {
		return l, err
	}
	l.Windows = windowsOf(l.Channel)
	if l.Rate != nil {
		if l.Rates, err = v.call().Channels.Rates(v.ctx(), name); err != nil {
			return l, err
		}
	}
	if l.Channel.Accounts {
		page, err := v.call().Accounts.List(v.ctx(), client.Filter{Channel: name, Cursor: v.query("cursor"), Limit: pageLength})
		if err != nil {
			return l, err
		}
		l.Accounts, l.Next = page.Items, page.Next
	}
	return l, nil
}

// windowsOf lists the limits of a channel that are set.
func windowsOf(c posthouse.Channel) []windows {
	var list []windows
	for _, w := range []windows{{"limits_channel", "", c.Limits}, {"limits_account", "", c.AccountLimits}, {"limits_recipient", "", c.RecipientLimits}} {
		if len(w.List) > 0 {
			list = append(list, w)
		}
	}
	return list
}

func pauseChannel(v *visit) error {
	name := v.r.PathValue("name")
	reason := v.form("reason")
	until, err := pausedUntil(v.form("for"), time.Now())
	if err != nil {
		return err
	}
	if _, err := v.call().Channels.PauseUntil(withNote(v.ctx(), reason), name, wire.Pause{Reason: reason, Until: until}); err != nil {
		return err
	}
	return v.goTo(v.at("channels", name) + "?said=paused_said")
}

// pauses are how long a channel can be paused by the form; the API takes any time.
func pauses() []time.Duration {
	return []time.Duration{30 * time.Minute, time.Hour, 2 * time.Hour, 8 * time.Hour, 24 * time.Hour}
}

// pausedUntil is the end of a pause that was chosen in the form, the zero time where a person is to end it.
func pausedUntil(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	lasts, err := time.ParseDuration(text)
	if err != nil || !slices.Contains(pauses(), lasts) {
		return time.Time{}, posthouse.Invalid("the pause cannot be taken", []posthouse.Problem{{Path: "for", Message: fmt.Sprintf("must be one of %v", pauses())}})
	}
	return now.Add(lasts), nil
}

// Pauses are what the form offers.
func (l line) Pauses() []time.Duration { return pauses() }

func resumeChannel(v *visit) error {
	name := v.r.PathValue("name")
	if _, err := v.call().Channels.Resume(withNote(v.ctx(), v.form("reason")), name); err != nil {
		return err
	}
	return v.goTo(v.at("channels", name) + "?said=resumed_said")
}
