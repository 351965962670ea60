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
