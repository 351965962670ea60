package console

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse/internal/web"
)

// What a person has just changed is in the next page, also where a replica answers and another process shows it.
func TestAPageIsNotOlderThanWhatThePersonHasDone(t *testing.T) {
	t.Parallel()
	const written = "2026-11-28T08:30:00.000000Z"
	asked := ""
	api := inner{http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.Header.Get(web.AsOfHeader)
		w.Header().Set(web.AsOfHeader, written)
		if r.Method == http.MethodGet {
			w.Header().Set("Age", "7")
		}
	})}
	call := func(a *asOf, method string) {
		t.Helper()
		r := httptest.NewRequestWithContext(context.WithValue(t.Context(), asOfKey{}, a), method, "http://posthouse/v1/messages", nil)
		r.RequestURI = ""
		if _, err := api.RoundTrip(r); err != nil {
			t.Fatal(err)
		}
	}
	browser := func(cookies ...*http.Cookie) (*asOf, *httptest.ResponseRecorder) {
		r, w := httptest.NewRequest(http.MethodGet, "/console/", nil), httptest.NewRecorder()
		for _, c := range cookies {
			r.AddCookie(c)
		}
		return asOfVisit(w, r), w
	}

	a, w := browser()
	call(a, http.MethodPost)
	kept := w.Result().Cookies() //nolint:bodyclose // a recorder has none
	if asked != "" || len(kept) != 1 || kept[0].Value != written {
		t.Fatalf("asked for %q, kept %v: want nothing asked, and when it was written kept", asked, kept)
	}
	call(a, http.MethodGet)
	if asked != written {
		t.Errorf("the page that answers the form asks for %q, want %q", asked, written)
	}
	next, w := browser(kept...)
	call(next, http.MethodGet)
	if asked != written || len(w.Header()["Set-Cookie"]) > 0 {
		t.Errorf("the next page asks for %q and keeps %v, want %q and nothing", asked, w.Header()["Set-Cookie"], written)
	}
	f := frame{v: &visit{asOf: next}, Now: time.Now()}
	if said := f.AsOf(); !strings.HasPrefix(said, "7s") {
		t.Errorf("the page says that it is of %q, want 7s ago", said)
	}
	odd, _ := browser(&http.Cookie{Name: asOfCookie, Value: "yesterday"}) //nolint:gosec // a request has no attributes of cookies
	call(odd, http.MethodGet)
	if asked != "" {
		t.Errorf("a cookie that is no time asks for %q", asked)
	}
}
