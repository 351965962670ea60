package e2e

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
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
	// A page that does not refresh itself hears of it by the counts of its menu.
	tab.goes(before.URL+strings.TrimPrefix(h.at("search"), h.url), http.StatusOK)
	refuses := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	gone.Store(&refuses)
	tab.do(discard(chromedp.WaitVisible(chromedp.CSS("#stale"))))
	gone.Store(nil)
	tab.do(discard(chromedp.WaitNotVisible(chromedp.CSS("#stale"))))
	tab.forgets()
}

// program is a server in a process of its own.
type program struct {
	testing.TB
	file, dir, addr string
}

// build builds the program that people get.
func build(tb testing.TB) *program {
	tb.Helper()
	p := &program{TB: tb, dir: tb.TempDir()}
	p.file = filepath.Join(p.dir, "posthouse")
	if out, err := exec.Command("go", "build", "-C", "..", "-o", p.file, "./cmd/posthouse").CombinedOutput(); err != nil {
		tb.Fatalf("go build: %v\n%s", err, out)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	p.addr = l.Addr().String()
	if err := l.Close(); err != nil {
		tb.Fatal(err)
	}
	return p
}

// starts starts the program, and returns the first words that it prints with a beginning, and what ends it as an operator does.
func (p *program) starts(beginning string) (word string, end func()) {
	p.Helper()
	c := exec.Command(p.file, "serve", "--create", "--dsn", "sqlite:"+p.dir+"/posthouse.db", "--addr", p.addr)
	c.Stderr, c.Dir = p.Output(), p.dir
	out, err := c.StdoutPipe()
	if err != nil {
		p.Fatal(err)
	}
	if err := c.Start(); err != nil {
		p.Fatal(err)
	}
	over := false
	end = func() {
		if over {
			return
		}
		over = true
		if err := errors.Join(c.Process.Signal(syscall.SIGTERM), c.Wait()); err != nil {
			p.Errorf("SIGTERM: %v", err)
		}
	}
	p.Cleanup(end)
	lines := bufio.NewScanner(out)
	lines.Split(bufio.ScanWords)
	for lines.Scan() {
		if word = lines.Text(); strings.HasPrefix(word, beginning) {
			go io.Copy(io.Discard, out) //nolint:errcheck // the program never waits for who reads it
			return word, end
		}
	}
	p.Fatalf("the program printed nothing with %q", beginning)
	return "", nil
}

// A server gets SIGTERM under a live page, and another one takes its place: the page goes on, in the same session.
func TestALivePageOutlivesTheProcess(t *testing.T) {
	wholeOnly(t)
	p := build(t)
	at := "http://" + p.addr
	link, end := p.starts(at + "/console/enter")
	tab := launch(t).open(t, "zh-CN")
	tab.goes(link, http.StatusOK)
	tab.follows(chromedp.Click(chromedp.CSS("main form button")))
	tab.goes(at+"/console/t/default/", http.StatusOK)
	end() // a live page keeps no server from ending
	tab.do(discard(chromedp.WaitVisible(chromedp.CSS("#stale"))))
	if !tab.is(`document.querySelector("#live h1") !== null`) {
		t.Errorf("the page lost its figures:\n%s", tab.text())
	}
	p.starts(at)
	tab.do(discard(chromedp.WaitNotVisible(chromedp.CSS("#stale"))))
	tab.forgets() // the refreshes that failed
	tab.goes(at+"/console/t/default/channels", http.StatusOK)
}
