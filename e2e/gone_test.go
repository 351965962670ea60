package e2e

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"
)

// The server goes away under a live page in each way that one can: the page says that its figures are old, keeps them, and takes the word back
// when the server answers again.
func TestFiguresAreOldWhenTheServerIsGone(t *testing.T) {
	wholeOnly(t)
	h := open(t)
	to, err := url.Parse(h.url)
	if err != nil {
		t.Fatal(err)
	}
	var gone atomic.Pointer[http.HandlerFunc]
	through := httputil.NewSingleHostReverseProxy(to)
	before := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if f := gone.Load(); f != nil {
			(*f)(w, r)
			return
		}
		through.ServeHTTP(w, r)
	}))
	t.Cleanup(before.Close)
	tab := launch(t).open(t, "zh-CN")
	tab.goes(before.URL+strings.TrimPrefix(h.link, h.url), http.StatusOK)
	tab.follows(chromedp.Click(chromedp.CSS("main form button")))
	for name, answer := range map[string]http.HandlerFunc{
		"it refuses":               func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"a proxy says bad gateway": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) },
		"a proxy says unavailable": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) },
		"it stands still":          func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	} {
		gone.Store(nil)
		tab.goes(before.URL+strings.TrimPrefix(h.at(""), h.url), http.StatusOK)
		gone.Store(&answer)
		tab.do(discard(chromedp.WaitVisible(chromedp.CSS("#stale"))))
		if !tab.is(`document.querySelector("#live h1") !== null`) {
			t.Errorf("%s: the page lost its figures:\n%s", name, tab.text())
		}
		gone.Store(nil)
		tab.do(discard(chromedp.WaitNotVisible(chromedp.CSS("#stale"))))
		tab.forgets() // the refreshes that failed
	}
}
