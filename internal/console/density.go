package console

import (
	"net/http"
	"time"
)

// densityCookie keeps how close the rows of lists stand: it belongs to the browser, as the language does.
const densityCookie = "posthouse-density"

// densest is the value of the cookie for rows that stand close.
const densest = "dense"

func chooseDensity(v *visit) error {
	switch v.r.PathValue("density") {
	case densest:
		setCookie(v.w, v.r, densityCookie, densest, int(365*24*time.Hour/time.Second))
	case "roomy":
		setCookie(v.w, v.r, densityCookie, "", -1)
	default:
		return nowhere(v)
	}
	return v.goTo(backTo(v.query("back")))
}

// Dense reports whether the rows of lists stand close.
func (f frame) Dense() bool { return dense(f.v.r) }

func dense(r *http.Request) bool {
	c, err := r.Cookie(densityCookie)
	return err == nil && c.Value == densest
}

// menuCookie keeps that the menu is folded: it belongs to the browser, too.
const menuCookie = "posthouse-menu"

// folded is the value of the cookie for a menu that is a drawer, and of the address that makes it one.
const folded = "folded"

// foldMenu folds the menu at the side, or lets it stand there again.
func foldMenu(v *visit) error {
	switch v.r.PathValue("menu") {
	case folded:
		setCookie(v.w, v.r, menuCookie, folded, int(365*24*time.Hour/time.Second))
	case "open":
		setCookie(v.w, v.r, menuCookie, "", -1)
	default:
		return nowhere(v)
	}
	return v.goTo(backTo(v.query("back")))
}

// Folded reports whether the menu is folded.
func (f frame) Folded() bool {
	c, err := f.v.r.Cookie(menuCookie)
	return err == nil && c.Value == folded
}

// idShown is how much of an id stands in a list: its end, which tells ids of one moment apart.
const idShown = 8

// idHead is the part of an id that lists hide.
func idHead(id string) string { return id[:max(0, len(id)-idShown)] }

// idTail is the part of an id that lists show.
func idTail(id string) string { return id[max(0, len(id)-idShown):] }

// Never is no time.
func (frame) Never() time.Time { return time.Time{} }

// Lasts is how long ago a time was, as a length.
func (f frame) Lasts(t time.Time) string { return f.Span(max(0, f.Now.Sub(t))) }
