package console_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/posthouse/posthouse/internal/consoletest"
	"github.com/posthouse/posthouse/server"
)

// house is a consoletest.House with what the tests here ask of it.
type house struct {
	testing.TB
	all       *consoletest.House
	serve     http.Handler
	link, key string
}

// open is a house; with nobody it has no people but the first.
func open(tb testing.TB, nobody bool, change ...func(*server.Options)) *house {
	tb.Helper()
	all := consoletest.Open(tb, nobody, change...)
	return &house{tb, all, all.Serve, all.Link, all.Key}
}

// reply is what came back.
type reply struct {
	status int
	body   string
	header http.Header
}

// to is where a reply leads.
func (r reply) to() string { return r.header.Get("Location") }

func (h *house) ask(session, path string, form url.Values, change ...func(*http.Request)) reply {
	h.Helper()
	got := h.all.Ask(session, path, form, change...)
	return reply{got.Status, got.Body, got.Header}
}

func (h *house) page(session, path string, change ...func(*http.Request)) string {
	h.Helper()
	return h.all.Page(session, path, change...)
}

func (h *house) shows(page string, texts ...string) {
	h.Helper()
	h.all.Shows(page, texts...)
}

func (h *house) api(method, path, body string, out any) {
	h.Helper()
	h.all.API(method, path, body, out)
}

func (h *house) waiting(text string) string {
	h.Helper()
	return h.all.Waiting(text)
}

func (h *house) exec(text string) {
	h.Helper()
	h.all.Exec(text)
}

func versionOf(page string) string { return consoletest.VersionOf(page) }
