package console

import (
	"context"
	"maps"
	"net/url"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/console/plot"
	"github.com/posthouse/posthouse/wire"
)

// line is what the page of a channel shows.
type line struct {
	posthouse.Channel
	Filled   []wire.Window // how full those are that hold for all that it sends, or for its one account
	Set      []windows     // limits that are counted for each recipient, content or template, or that are not kept here
	Rate     *posthouse.Rate
	Paced    bool // its one account has a rate
	Accounts []seat
	Next     string // of the accounts
	Parked   bool   // only those that the provider refuses
	Trouble  []wire.OverviewTrouble
	Since    time.Time // of what went wrong
	plot.Rates
	Tried *tried     // a test that was made just now
	File  *fleetFile // of accounts, that somebody wants to import
}

// Undecided says that accounts of a file which are shown are not stored; a test is sent.
func (l line) Undecided() bool { return l.Tried == nil }

// windows are limits of one kind.
type windows struct {
	Word string
	List []posthouse.Limit
}

// seat is a line of the list of accounts.
type seat struct {
	posthouse.Account
	Windows []wire.Window
	Rate    *posthouse.Rate
}

func showChannel(v *visit) error {
	l, err := v.lineOf(v.r.PathValue("name"))
	if err != nil {
		return err
	}
	return v.show("channel", "channels", l)
}

// lineOf reads what the page of a channel shows.
func (v *visit) lineOf(name string) (*line, error) {
	l := &line{}
	var err error
	if l.Channel, err = v.call().Channels.Get(v.ctx(), name); err != nil {
		return nil, err
	}
	if err := l.wentWrong(v); err != nil {
		return nil, err
	}
	if l.Channel.Accounts {
		err = l.fleet(v)
	} else {
		err = l.alone(v)
	}
	l.Set = setOf(l.Channel, len(l.Filled) > 0)
	return l, err
}

// wentWrong reads what attempts of the last day ended badly by.
func (l *line) wentWrong(v *visit) error {
	o, err := v.call().Overview(v.ctx(), l.Name, int(lookedBack/time.Minute))
	l.Trouble, l.Since = o.Trouble, o.At.Add(-lookedBack).Truncate(o.Step.Std())
	return err
}

// lookedBack is how far back the page of a channel looks for what went wrong.
const lookedBack = 24 * time.Hour

// alone reads the windows and the rate of a channel that sends by one account.
func (l *line) alone(v *visit) (err error) {
	if l.Filled, err = windowsOf(v, l.Name); err != nil || l.Channel.Rate == nil {
		return err
	}
	if l.Rates, l.Paced, err = ratesOf(v, l.Name, ""); err != nil {
		return err
	}
	now, err := ratesNow(v, l.Name)
	if len(now) > 0 {
		l.Rate = &now[0]
	}
	return err
}

// fleet reads a page of the accounts of a channel, with the windows and the rate of each.
func (l *line) fleet(v *visit) error {
	list := v.call().Accounts.List
	if l.Parked = v.query("state") == string(posthouse.AccountParked); l.Parked {
		list = v.call().Accounts.Parked
	}
	page, err := list(v.ctx(), client.Filter{Channel: l.Name, Cursor: v.query("cursor"), Limit: pageLength})
	if err != nil {
		return err
	}
	l.Next = page.Next
	names := []string{none}
	for _, a := range page.Items {
		names, l.Accounts = append(names, a.Name), append(l.Accounts, seat{Account: a})
	}
	filled, err := windowsOf(v, l.Name, names...)
	if err != nil {
		return err
	}
	rates, err := ratesNow(v, l.Name, names...)
	if err != nil {
		return err
	}
	of := map[string]*seat{}
	for i := range l.Accounts {
		of[l.Accounts[i].Name] = &l.Accounts[i]
	}
	for _, w := range filled {
		if s := of[w.Account]; s != nil {
			s.Windows = append(s.Windows, w)
		} else {
			l.Filled = append(l.Filled, w)
		}
	}
	for i := range rates {
		if s := of[rates[i].Account]; s != nil {
			s.Rate = &rates[i]
		}
	}
	return nil
}

// none is the name of no account: where a page has none, those of the channel alone are asked for.
const none = "-"

// setOf lists limits of a channel that are set, besides those of which it is known how full they are.
func setOf(c posthouse.Channel, filled bool) (list []windows) {
	all := []windows{{"limits_recipient", c.RecipientLimits}}
	if !filled {
		all = append([]windows{{"limits_channel", c.Limits}, {"limits_account", c.AccountLimits}}, all...)
	}
	for _, w := range all {
		if len(w.List) > 0 {
			list = append(list, w)
		}
	}
	return list
}

// behind is where deliveries are that ended or wait because of a class of results.
type behind struct{ Word, Address string }

// Behind are the pages of the deliveries that attempts of a class stand behind: those that ended so, and those that are tried again. What was
// sent since is on neither.
func (l *line) Behind(f frame, c posthouse.Class) []behind { return behindClass(f, l.Name, c) }

func behindClass(f frame, channel string, c posthouse.Class) []behind {
	q := url.Values{"channel": {channel}}
	with := func(page string, pairs ...string) string {
		q := maps.Clone(q)
		for i := 0; i < len(pairs); i += 2 {
			q.Set(pairs[i], pairs[i+1])
		}
		return f.At(page) + "?" + q.Encode()
	}
	switch {
	case c == posthouse.ClassUnknown:
		return []behind{{"unknown", with("attention", "state", "unknown")}}
	case c.Final():
		return []behind{{"failed", with("attention", "state", "failed", "reason", string(c))}}
	}
	return []behind{{"pending", with("search", "state", "pending")}, {"failed", with("attention", "state", "failed", "reason", "tries_used_up")}}
}

func pauseChannel(v *visit) error {
	name := v.r.PathValue("name")
	pause, err := pauseFrom(v, time.Now())
	if err != nil {
		return err
	}
	if _, err := v.call().Channels.PauseUntil(withNote(v.ctx(), pause.Reason), name, pause); err != nil {
		return err
	}
	return v.goTo(afterPause(v, name) + "?said=paused_said")
}

// mostReads bounds how often something is read anew whose settings somebody changes between the look at its pause and the end of that.
const mostReads = 3

// resumeChannel ends the pause of a channel that the form has seen.
func resumeChannel(v *visit) error {
	name := v.r.PathValue("name")
	err := v.endPause(func() (pause, error) {
		c, err := v.call().Channels.Get(v.ctx(), name)
		return pause{c.Paused, pauseOf(c.StateUntil, c.StateReason), c.StateReason, c.Tag()}, err
	}, "the channel was paused anew since this page was opened: %s", func(ctx context.Context) error {
		_, err := v.call().Channels.Resume(ctx, name)
		return err
	})
	if err != nil {
		return err
	}
	return v.goTo(afterPause(v, name) + "?said=resumed_said")
}

// pause is how something that may be paused stands: whether it is, by which pause and why, and its tag.
type pause struct {
	on               bool
	key, reason, tag string
}

// endPause ends the pause that the form has seen, and none that came later: anew is what refuses that. The write is for the thing as it was read,
// so that it ends no pause that came between either.
func (v *visit) endPause(look func() (pause, error), anew string, resume func(ctx context.Context) error) error {
	for n := 1; ; n++ {
		now, err := look()
		if err != nil {
			return err
		}
		if now.on && now.key != v.form("pause") {
			return posthouse.Errorf(posthouse.CodeConflict, anew, now.reason)
		}
		err = resume(client.IfMatch(withNote(v.ctx(), v.form("reason")), now.tag))
		if posthouse.CodeOf(err) != posthouse.CodeChanged || n == mostReads {
			return err
		}
	}
}

// pauseOf tells a pause from a later one. The form that ends it carries it, since its page may be old.
func pauseOf(until time.Time, reason string) string {
	return strings.TrimSpace(until.UTC().Format(time.RFC3339) + " " + reason) // as fields of forms are read
}

// Pause is it, for the form that ends it.
func (l *line) Pause() string { return pauseOf(l.StateUntil, l.StateReason) }

// Pause is the same for a row's form.
func (r boardRow) Pause() string { return pauseOf(r.StateUntil, r.StateReason) }

// afterPause is the page that is shown when a channel was paused or resumed: the one with the form.
func afterPause(v *visit, name string) string {
	if v.form("from") == "board" {
		return v.at("channels")
	}
	return v.at("channels", name)
}
