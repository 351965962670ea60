package console

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/console/form"
	"github.com/posthouse/posthouse/internal/console/plot"
	"github.com/posthouse/posthouse/wire"
)

// accountForm is an account that is made or changed by a form.
type accountForm struct {
	v       *visit
	d       wire.Driver
	channel string
	posthouse.Account
}

func (a accountForm) shown() form.Form { return form.OfAccount(a.d, a.channel, a.Account) }

func (a accountForm) put(ctx context.Context, r *form.Reader) error {
	in := r.Account(a.d, a.Account)
	if in.Name = cmp.Or(in.Name, a.v.form("name"), unnamed); len(r.Problems) > 0 {
		return a.rehearse(in)
	}
	_, _, err := a.v.call().Accounts.Put(ctx, a.channel, in)
	return err
}

// rehearse says what the API would refuse of an account, by the fields of the form.
func (a accountForm) rehearse(in posthouse.Account) error {
	type one struct {
		Name   string         `json:"name"`
		Config map[string]any `json:"config,omitempty"`
		posthouse.AccountSettings
	}
	list, err := json.Marshal(map[string][]one{"accounts": {{in.Name, in.Config, in.AccountSettings}}})
	if err != nil {
		return err
	}
	_, err = a.v.call().Accounts.Import(a.v.ctx(), a.channel, "application/json", list, true)
	var coded *posthouse.Error
	if errors.As(err, &coded) {
		for i := range coded.Problems {
			coded.Problems[i].Path = strings.TrimPrefix(coded.Problems[i].Path, "accounts[0].") // the form has one
		}
	}
	return err
}

func (a accountForm) taken(name string) bool {
	_, err := a.v.call().Accounts.Get(a.v.ctx(), a.channel, name)
	return err == nil
}

func (a accountForm) again() (formed, error) { return accountOf(a.v, a.channel, a.Name) }

func (a accountForm) address() string {
	return a.v.at("channels", a.channel, "accounts", cmp.Or(a.Name, a.v.form("name")))
}

// accountOf is a stored account with the driver of its channel; without a name a new one.
func accountOf(v *visit, channel, name string) (accountForm, error) {
	c, err := channelOf(v, channel)
	a := accountForm{v: v, d: c.d, channel: channel}
	if err == nil && name != "" {
		a.Account, err = v.call().Accounts.Get(v.ctx(), channel, name)
	}
	return a, err
}

// onAccount does something with the form of an account.
func onAccount(do func(*visit, formed) error) func(*visit) error {
	return func(v *visit) error {
		a, err := accountOf(v, v.r.PathValue("name"), v.r.PathValue("account"))
		if err != nil {
			return err
		}
		return do(v, a)
	}
}

// accountLife is what the page of an account shows.
type accountLife struct {
	posthouse.Account
	Windows []wire.Window
	Rate    *posthouse.Rate // nil where it has none, or this process has not sent by it
	Paced   bool            // it has a rate
	plot.Rates
	Tried *tried // a test that was made just now
}

// Pause is it, for the form that ends it.
func (a *accountLife) Pause() string { return pauseOf(a.StateUntil, a.StateReason) }

func showAccount(v *visit) error {
	a, err := accountLifeOf(v)
	if err != nil {
		return err
	}
	return v.show("account", "account", a)
}

// accountLifeOf reads what the page of an account shows.
func accountLifeOf(v *visit) (*accountLife, error) {
	channel, name := v.r.PathValue("name"), v.r.PathValue("account")
	a := &accountLife{}
	var err error
	if a.Account, err = v.call().Accounts.Get(v.ctx(), channel, name); err != nil {
		return nil, err
	}
	if a.Windows, err = windowsOf(v, channel, name); err != nil {
		return nil, err
	}
	a.Rates, a.Paced, err = ratesOf(v, channel, name)
	if err != nil || !a.Paced {
		return a, err
	}
	now, err := ratesNow(v, channel, name)
	if len(now) > 0 {
		a.Rate = &now[0]
	}
	return a, err
}

// windowsOf are how full the windows of a channel and of some of its accounts are: nothing where the channel is not open, which its page
// says.
func windowsOf(v *visit, channel string, accounts ...string) ([]wire.Window, error) {
	list, err := v.call().Channels.Windows(v.ctx(), channel, accounts...)
	if posthouse.CodeOf(err) == posthouse.CodeConflict {
		return nil, nil
	}
	return list, err
}

// ratesOf is the chart of an account's rate over the span that the address names. Paced is false where it has none.
func ratesOf(v *visit, channel, account string) (c plot.Rates, paced bool, err error) {
	c = plot.RatesOver(v.query("span"))
	now := time.Now()
	h, err := v.call().Channels.RateHistory(v.ctx(), channel, account, now.Add(-c.Span.Length))
	switch {
	case posthouse.CodeOf(err) == posthouse.CodeConflict:
		return c, false, nil
	case err != nil:
		return c, false, err
	}
	c.Fill(h, now)
	return c, true, nil
}

// ratesNow are how fast accounts may go, of those that this process has sent by.
func ratesNow(v *visit, channel string, accounts ...string) ([]posthouse.Rate, error) {
	list, err := v.call().Channels.Rates(v.ctx(), channel, accounts...)
	if posthouse.CodeOf(err) == posthouse.CodeConflict {
		return nil, nil // the channel has no rate
	}
	return list, err
}

func pauseAccount(v *visit) error {
	pause, err := pauseFrom(v, time.Now())
	if err != nil {
		return err
	}
	_, err = v.call().Accounts.Pause(withNote(v.ctx(), pause.Reason), v.r.PathValue("name"), v.r.PathValue("account"), pause)
	return toAccount(v, "account_paused_said", err)
}

func resumeAccount(v *visit) error {
	name, account := v.r.PathValue("name"), v.r.PathValue("account")
	err := v.endPause(func() (pause, error) {
		a, err := v.call().Accounts.Get(v.ctx(), name, account)
		return pause{a.Paused, pauseOf(a.StateUntil, a.StateReason), a.StateReason, a.Tag()}, err
	}, "the account was paused anew since this page was opened: %s", func(ctx context.Context) error {
		_, err := v.call().Accounts.Resume(ctx, name, account)
		return err
	})
	return toAccount(v, "account_resumed_said", err)
}

// toAccount leads to the page of an account, which says what was done.
func toAccount(v *visit, said string, err error) error {
	if err != nil {
		return err
	}
	return v.goTo(v.at("channels", v.r.PathValue("name"), "accounts", v.r.PathValue("account")) + "?said=" + said)
}

// testAccount tests a channel by one of its accounts, as testChannel does by its own.
func testAccount(v *visit) error {
	a, err := accountLifeOf(v)
	if err != nil {
		return err
	}
	a.Tried, err = v.try(func(ctx context.Context, in wire.ChannelTest) (wire.ChannelTested, error) {
		return v.call().Accounts.Test(ctx, v.r.PathValue("name"), a.Name, in)
	})
	if err != nil {
		return err
	}
	return v.draw(a.Tried.status(), "account", "channels", a)
}

// saveAccounts writes all accounts of a channel as a CSV without formulas and without secrets.
func saveAccounts(v *visit) error {
	name := v.r.PathValue("name")
	w := downloadOf(v, name+"-accounts.csv")
	return w.end(v.call().Accounts.Export(w.ctx(), w, name, "csv"))
}

// fleetFile is a CSV of accounts that somebody wants to import. It has secrets, so that no page shows it: whoever stores it hands it in
// again, and it must be the one that was looked at.
type fleetFile struct {
	Look     *wire.AccountsStored
	Digest   string
	Problems []posthouse.Problem
}

// importAccounts shows what a CSV would do, and stores it when it is handed in again.
func importAccounts(v *visit) error {
	f := &fleetFile{}
	text, wrong := fileOrText(v)
	if wrong != "" {
		f.Problems = problemAt("file", say(wrong, v.zh))
		return f.draw(v, http.StatusUnprocessableEntity)
	}
	name := v.r.PathValue("name")
	would, err := v.call().Accounts.Import(v.ctx(), name, "text/csv", []byte(text), true)
	var coded *posthouse.Error
	if errors.As(err, &coded) && coded.Code == posthouse.CodeInvalid {
		if f.Problems = coded.Problems; len(f.Problems) == 0 {
			f.Problems = problemAt("file", coded.Message)
		}
		return f.draw(v, http.StatusUnprocessableEntity)
	}
	if err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(text + "\x00" + strconv.Itoa(would.Created)))
	f.Look, f.Digest = &would, hex.EncodeToString(sum[:])
	switch seen := v.form("seen"); {
	case seen == "":
		return f.draw(v, http.StatusOK)
	case seen != f.Digest:
		f.Problems = problemAt("file", say("fleet_other_file", v.zh))
		return f.draw(v, http.StatusConflict)
	}
	if _, err := v.call().Accounts.Import(withNote(v.ctx(), v.form("note")), name, "text/csv", []byte(text), false); err != nil {
		return err
	}
	return v.goTo(v.at("channels", name) + "?said=stored")
}

// fileOrText is the file of a form, or what was pasted in its place; otherwise what is wrong, as a word.
func fileOrText(v *visit) (text, wrong string) {
	text = v.form("csv")
	file, _, err := v.r.FormFile("file")
	if err == nil {
		defer file.Close()
		read, err := io.ReadAll(file)
		if err == nil && len(read) > 0 {
			text = string(read)
		}
	}
	if text == "" {
		return "", "fleet_no_file"
	}
	return text, ""
}

// draw shows the page of the channel with what is known of a file.
func (f *fleetFile) draw(v *visit, status int) error {
	l, err := v.lineOf(v.r.PathValue("name"))
	if err != nil {
		return err
	}
	l.File = f
	return v.draw(status, "channel", "channels", l)
}
