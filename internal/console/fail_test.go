package console

import (
	"html"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
)

// Each error has a page in words; a database that is away loads the page again by itself, but never sends a form again.
func TestErrorsArePages(t *testing.T) {
	t.Parallel()
	drawn, err := readPages()
	if err != nil {
		t.Fatal(err)
	}
	c := &console{o: Options{Zone: time.UTC, Log: slog.New(slog.DiscardHandler)}, pages: drawn}
	for _, e := range []struct {
		method string
		code   posthouse.Code
		status int
		text   string
		again  bool
	}{
		{http.MethodGet, posthouse.CodeUnavailable, http.StatusServiceUnavailable, "数据库暂时没有应答", true},
		{http.MethodPost, posthouse.CodeUnavailable, http.StatusServiceUnavailable, "数据库暂时没有应答", false},
		{http.MethodGet, posthouse.CodeForbidden, http.StatusForbidden, "你的角色不能执行此操作", false},
		{http.MethodGet, posthouse.CodeQuota, http.StatusTooManyRequests, "请求太多", false},
		{http.MethodPost, posthouse.CodeConflict, http.StatusConflict, "没有执行任何操作", false},
		{http.MethodPost, posthouse.CodeInvalid, http.StatusUnprocessableEntity, "无法按此执行", false},
		{http.MethodGet, posthouse.CodeInternal, http.StatusInternalServerError, "程序出错", false},
		{http.MethodGet, posthouse.CodeUnauthorized, http.StatusSeeOther, "/console/sign-in", false},
	} {
		w := httptest.NewRecorder()
		v := &visit{console: c, w: w, r: httptest.NewRequest(e.method, "/console/t/default/search?q=u1", nil), zh: true}
		v.fail(posthouse.Errorf(e.code, "as the test says"))
		if w.Code != e.status || !strings.Contains(w.Body.String()+w.Header().Get("Location"), e.text) {
			t.Errorf("%s %s: %d\n%s", e.method, e.code, w.Code, w.Body)
		}
		if again := strings.Contains(w.Body.String(), `http-equiv="refresh"`); again != e.again {
			t.Errorf("%s %s loads itself again: %v", e.method, e.code, again)
		}
	}
}

// A part of a page that refreshes itself leads the whole page to the sign-in.
func TestAPartOfAPageLeadsTheWholeToTheSignIn(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, "/console/t/default/", nil)
	r.Header.Set("HX-Request", "true")
	v := &visit{console: &console{}, w: w, r: r}
	v.fail(posthouse.Errorf(posthouse.CodeUnauthorized, "over"))
	if got := w.Header().Get("HX-Redirect"); w.Code != http.StatusUnauthorized || got != "/console/sign-in?back=%2Fconsole%2Ft%2Fdefault%2F" {
		t.Errorf("got %d to %q", w.Code, got)
	}
}

// The counts of a menu, which each page asks for by itself, say with no page of their own that the database is gone, and lead nowhere where the
// session has ended.
func TestTheCountsSayThatTheDatabaseIsGone(t *testing.T) {
	t.Parallel()
	c := &console{o: Options{Zone: time.UTC, Log: slog.New(slog.DiscardHandler)}}
	for code, want := range map[posthouse.Code]int{posthouse.CodeUnavailable: http.StatusServiceUnavailable, posthouse.CodeUnauthorized: http.StatusNoContent, posthouse.CodeForbidden: http.StatusNoContent} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, "/console/t/default/counts", http.NoBody)
		r.Header.Set("HX-Request", "true")
		r.Header.Set("HX-Trigger", asideTrigger)
		(&visit{console: c, w: w, r: r}).fail(posthouse.Errorf(code, "as the test says"))
		if w.Code != want || w.Body.Len() > 0 || w.Header().Get("HX-Retarget") != "" {
			t.Errorf("%s: got %d, %q, to %q", code, w.Code, w.Body, w.Header().Get("HX-Retarget"))
		}
	}
}

// A form leads back to the page where it stands: over the sign-in where the session is over, and from the page that answers it.
func TestAFormLeadsBackToItsPage(t *testing.T) {
	t.Parallel()
	drawn, err := readPages()
	if err != nil {
		t.Fatal(err)
	}
	c := &console{o: Options{Zone: time.UTC, Log: slog.New(slog.DiscardHandler)}, pages: drawn}
	for _, e := range []struct{ query, body, back string }{
		{"", "here=%2Fconsole%2Ft%2Fdefault%2Fchannels%2Fdesk%3Fx%3D1", "/console/t/default/channels/desk?x=1"},
		{"?click=c&here=%2Fconsole%2Ft%2Fdefault%2Fcampaigns%2Fspring", "", "/console/t/default/campaigns/spring"},
		{"?here=https%3A%2F%2Fevil.example%2Fconsole%2F", "", "/console/"},
		{"", "here=%2F%2Fevil.example%2F", "/console/"},
		{"", "", "/console/"},
	} {
		post := func(code posthouse.Code) *httptest.ResponseRecorder {
			w := httptest.NewRecorder()
			r := httptest.NewRequest(http.MethodPost, "/console/t/default/anything"+e.query, strings.NewReader(e.body))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			(&visit{console: c, w: w, r: r}).fail(posthouse.Errorf(code, "as the test says"))
			return w
		}
		if page := post(posthouse.CodeUnauthorized).Body.String(); !strings.Contains(page, `name="back" value="`+html.EscapeString(e.back)+`"`) || !strings.Contains(page, `name="kept" value="`) {
			t.Errorf("%s %s: the sign-in leads not to %s:\n%s", e.query, e.body, e.back, page)
		}
		if page := post(posthouse.CodeConflict).Body.String(); !strings.Contains(page, `<p><a href="`+e.back+`">`) {
			t.Errorf("%s %s: no way back to %s in\n%s", e.query, e.body, e.back, page)
		}
	}
}

// A page is read when it is first drawn: none of them fails then.
func TestEachPageCanBeRead(t *testing.T) {
	t.Parallel()
	all, err := readPages()
	if err != nil || len(all) < 30 {
		t.Fatalf("%d pages, %v", len(all), err)
	}
	for name, read := range all {
		if page, err := read(); err != nil || page.Lookup("frame") == nil || page.Lookup("main") == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
