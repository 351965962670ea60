package console

import (
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/people"
	"github.com/posthouse/posthouse/internal/web"
)

// doors are what stands outside of tenants.
func doors() []door {
	return []door{
		{"GET", "{$}", true, begin},
		{"GET", "sign-in", false, showSignIn},
		{"POST", "sign-in", false, signIn},
		{"GET", "enter", false, showEnter},
		{"POST", "enter", false, enterByLink},
		{"GET", "lang/{lang}", false, chooseLanguage},
		{"GET", "density/{density}", false, chooseDensity},
		{"GET", "menu/{menu}", false, foldMenu},
		{"GET", "zone", false, showZone},
		{"POST", "zone", false, chooseZone},
		{"GET", "me", true, showMe},
		{"POST", "me/password", true, setPassword},
		{"POST", "sign-in/code", false, completeSignIn},
		{"POST", "sign-in/kept", false, goOnKept},
		{"GET", "oidc", false, goToProvider},
		{"GET", "oidc/callback", false, backFromProvider},
		{"GET", "me/totp", true, showCodes},
		{"POST", "me/totp", true, takeCodes},
		{"POST", "me/totp/spare", true, renewSpare},
		{"POST", "me/totp/off", true, dropCodes},
		{"POST", "sign-out", true, signOut},
	}
}

// begin leads to the first tenant of the person.
func begin(v *visit) error {
	f := frame{v: v}
	list := f.Tenants()
	if len(list) == 0 {
		return v.show("nothing", "no_roles", nil)
	}
	if _, ok := v.person.Roles[posthouse.DefaultTenant]; ok {
		return v.goTo(addressOf(posthouse.DefaultTenant))
	}
	return v.goTo(addressOf(list[0]))
}

// signingIn is what the page of the sign-in shows.
type signingIn struct {
	Name, Back, Wrong string
	Why               string // one is here, as a word
	Kept              string // a form that is sent when somebody has signed in
	Provided          bool   // by an identity provider too
}

// reasons are why somebody is led to the sign-in.
func reasons() []string { return []string{"session_ended", "form_lost"} }

func showSignIn(v *visit) error {
	in := signingIn{Back: backTo(v.query("back")), Provided: v.o.Provider != nil}
	switch why := v.query("why"); {
	case slices.Contains(reasons(), why):
		in.Why = why
	case in.Back != Root:
		in.Why = "sign_in_first"
	}
	return v.show("sign-in", "sign_in", in)
}

func signIn(v *visit) error {
	in := signingIn{Name: v.form("name"), Back: backTo(v.form("back")), Kept: v.form("kept"), Provided: v.o.Provider != nil}
	code := v.form("code")
	entry, err := v.o.Desk.SignIn(v.r.Context(), people.Attempt{Name: in.Name, Password: v.r.PostFormValue("password"), Code: code, Token: tokenOf(v.r), Of: web.PeerOf(v.r)})
	if err == nil && entry.Half && code != "" {
		return completeWith(v, wanting{Half: entry.Token, Back: in.Back, Kept: in.Kept}, code)
	}
	if in.Wrong = refusal(err); in.Wrong != "" {
		return v.draw(statusOf(in.Wrong), "sign-in", "sign_in", in)
	}
	if err != nil {
		return err
	}
	return letIn(v, entry, in.Back, in.Kept)
}

// refusal is the word of why somebody is not let in, empty where that is not the error.
func refusal(err error) string {
	var slowed *web.Fault
	switch {
	case errors.As(err, &slowed):
		return "slowed"
	case err != nil && posthouse.CodeOf(err) == posthouse.CodeUnauthorized:
		return "wrong"
	}
	return ""
}

func statusOf(refusal string) int {
	if refusal == "slowed" || refusal == "code_held" {
		return http.StatusTooManyRequests
	}
	return http.StatusUnauthorized
}

// entering is what the page of a link shows.
type entering struct {
	Name, Link, Wrong string
}

// showEnter asks before a link is used: programs that look at links in messages would else use it up.
func showEnter(v *visit) error {
	in := entering{Link: v.query("link")}
	name, err := v.o.Desk.WhoseLink(v.r.Context(), in.Link)
	if in.Name, in.Wrong = name, refusal(err); in.Wrong != "" {
		return v.draw(statusOf(in.Wrong), "enter", "enter", in)
	}
	if err != nil {
		return err
	}
	return v.show("enter", "enter", in)
}

func enterByLink(v *visit) error {
	entry, err := v.o.Desk.Enter(v.r.Context(), v.form("link"), web.AddressOf(v.r))
	if wrong := refusal(err); wrong != "" {
		return v.draw(statusOf(wrong), "enter", "enter", entering{Wrong: wrong})
	}
	if err != nil {
		return err
	}
	return letIn(v, entry, Root+"me?said=welcome", v.form("kept"))
}

func signOut(v *visit) error {
	if err := v.o.Desk.SignOut(v.r.Context(), v.person, web.AddressOf(v.r)); err != nil {
		return err
	}
	keep(v.w, v.r, "")
	return v.goTo(Root + "sign-in")
}

func chooseLanguage(v *visit) error {
	lang := v.r.PathValue("lang")
	if lang != "zh" && lang != "en" {
		return nowhere(v)
	}
	setCookie(v.w, v.r, langCookie, lang, int(365*24*time.Hour/time.Second))
	return v.goTo(backTo(v.query("back")))
}

// own is what the page of the own account shows.
type own struct {
	Has      bool // a password
	Least    int
	Problems []posthouse.Problem
}

func showMe(v *visit) error {
	return v.show("me", "me", own{Has: v.person.Password, Least: people.MinPassword})
}

func setPassword(v *visit) error {
	err := v.o.Desk.SetPassword(v.r.Context(), v.person, v.r.PostFormValue("old"), v.r.PostFormValue("password"), web.PeerOf(v.r))
	var coded *posthouse.Error
	if errors.As(err, &coded) && coded.Code == posthouse.CodeInvalid {
		return v.draw(http.StatusUnprocessableEntity, "me", "me", own{Has: v.person.Password, Least: people.MinPassword, Problems: coded.Problems})
	}
	if err != nil {
		return err
	}
	return v.goTo(Root + "me?said=password_set")
}
