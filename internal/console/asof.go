package console

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/posthouse/posthouse/internal/web"
)

// asOfCookie keeps when a person last changed something, by the database's clock: what they look at afterwards is not older, whichever
// process of ours shows it. A replica has it within seconds, so it need not be kept for long.
const (
	asOfCookie = "posthouse-as-of"
	asOfKept   = 10 * time.Minute
)

// oldShown is from which age on a page says how old it is: a replica is always about a second behind.
const oldShown = 3 * time.Second

// asOf is how old what one visit shows may be, and is.
type asOf struct {
	w     http.ResponseWriter
	r     *http.Request
	since string        // nothing older may be shown; empty for no matter
	age   time.Duration // of the oldest answer
}

type asOfKey struct{}

// asOfVisit reads what the browser keeps. What is no time is nothing.
func asOfVisit(w http.ResponseWriter, r *http.Request) *asOf {
	a := &asOf{w: w, r: r}
	if c, err := r.Cookie(asOfCookie); err == nil {
		if _, err := time.Parse(time.RFC3339Nano, c.Value); err == nil {
			a.since = c.Value
		}
	}
	return a
}

// asks adds to a call of the API how old its answer may be.
func (a *asOf) asks(h http.Header) {
	if a != nil && a.since != "" {
		h.Set(web.AsOfHeader, a.since)
	}
}

// answered takes note of an answer.
func (a *asOf) answered(method string, h http.Header) {
	at := h.Get(web.AsOfHeader)
	if a == nil || at == "" {
		return
	}
	if method == http.MethodGet {
		seconds, _ := strconv.Atoi(h.Get("Age")) // none is none
		a.age = max(a.age, time.Duration(seconds)*time.Second)
		return
	}
	a.since = at
	setCookie(a.w, a.r, asOfCookie, at, int(asOfKept/time.Second))
}

func asOfOf(ctx context.Context) *asOf {
	a, _ := ctx.Value(asOfKey{}).(*asOf)
	return a
}

// AsOf says how old the page is, empty where it is of now.
func (f frame) AsOf() string {
	if f.v.asOf == nil || f.v.asOf.age < oldShown {
		return ""
	}
	return f.Ago(f.Now.Add(-f.v.asOf.age))
}
