package console

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/people"
	"github.com/posthouse/posthouse/internal/web"
)

// Provider says who people are, after they have been at its own pages.
type Provider interface {
	// Begin is where the browser goes, and what it carries until it is back at the address redirect.
	Begin(ctx context.Context, redirect, back string) (to, carried string, err error)
	// End is who came back, and where the browser was to go on to.
	End(ctx context.Context, redirect, carried string, answer url.Values) (who people.Identity, back string, err error)
}

const (
	flowCookie = "-sign-in" // behind the name of the session's
	flowFor    = 10 * time.Minute
)

// callback is where a provider sends the browser back to. It takes no address but those that it was told beforehand.
func callback(v *visit) string { return frame{v: v}.URL() + Root + "oidc/callback" }

func goToProvider(v *visit) error {
	if v.o.Provider == nil {
		return nowhere(v)
	}
	back := backTo(v.query("back"))
	to, carried, err := v.o.Provider.Begin(v.r.Context(), callback(v), back)
	if err != nil {
		return afterProvider(v, back, err)
	}
	setCookie(v.w, v.r, cookieName(v.r)+flowCookie, carried, int(flowFor/time.Second))
	return v.goTo(to)
}

func backFromProvider(v *visit) error {
	if v.o.Provider == nil {
		return nowhere(v)
	}
	carried := ""
	if c, err := v.r.Cookie(cookieName(v.r) + flowCookie); err == nil {
		carried = c.Value
	}
	who, back, err := v.o.Provider.End(v.r.Context(), callback(v), carried, v.r.URL.Query())
	if posthouse.CodeOf(err) != posthouse.CodeUnauthorized { // a stranger's address does not end a sign-in that is under way
		setCookie(v.w, v.r, cookieName(v.r)+flowCookie, "", -1)
	}
	var in people.Entry
	if err == nil {
		in, err = v.o.Desk.Vouched(v.r.Context(), who, web.AddressOf(v.r))
	}
	if err != nil {
		return afterProvider(v, back, err)
	}
	return letIn(v, in, backTo(back), "")
}

// afterProvider is the page of why a provider's word lets nobody in.
func afterProvider(v *visit, back string, err error) error {
	in := signingIn{Back: backTo(back), Provided: true}
	var status int
	switch posthouse.CodeOf(err) {
	case posthouse.CodeUnauthorized:
		in.Wrong, status = "oidc_over", http.StatusUnauthorized
	case posthouse.CodeUnavailable:
		in.Wrong, status = "oidc_away", http.StatusServiceUnavailable
	case posthouse.CodeConflict:
		in.Wrong, status = "oidc_taken", http.StatusConflict
	default:
		return err
	}
	return v.draw(status, "sign-in", "sign_in", in)
}
