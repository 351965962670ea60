// Package console is the web console: pages for people, in Chinese and English, drawn on the server. It reads and changes
// everything through the API, in the process and on behalf of the person's role, so that what a page shows and does is what
// the API allows (ADR 0040).
//
// It holds no state but how many requests each person made of late, which forms it is serving, and for seconds how much needs somebody:
// sessions are in the database, filters in the address, and a page that answers a form is kept for its session. It works without JavaScript; htmx only refreshes parts of pages.
package console

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/people"
	"github.com/posthouse/posthouse/internal/web"
)

// Root is where the console is, below the address of the API.
const Root = "/console/"

// Options makes a console. API, Bodies, Desk and Clicks are required.
type Options struct {
	// API serves the requests that pages are made of.
	API http.Handler
	// Bodies bounds what is in memory of forms. Required.
	Bodies *web.Bodies
	// Desk lets people in.
	Desk *people.Desk
	// Clicks remembers which forms were sent. Required.
	Clicks Clicks
	// Provider is who people may come in by beside passwords and links. Defaults to none.
	Provider Provider
	// PublicURL is where browsers see the server, without a slash at its end. Defaults to what each request says, by its Host.
	PublicURL string
	// Zone is of the times on pages. Defaults to UTC.
	Zone *time.Location
	// Sandbox is where the simulator is, of a demo: each page says that nothing reaches a person. Defaults to none.
	Sandbox string
	// Version is shown at the foot of each page.
	Version string
	// Log defaults to slog.Default().
	Log *slog.Logger
}

// console serves the pages.
type console struct {
	o      Options
	api    *client.Client
	pages  pages
	assets assets
	pace   *pace
	needs  *needs
	// flights are forms that are being served.
	flights flights
	spoken  spoken
	// serve are the pages, for one of them to be drawn again.
	serve http.Handler
}

// New makes the handler of all addresses below Root, and of the address "/" for browsers.
func New(o Options) (http.Handler, error) {
	if o.Zone == nil {
		o.Zone = time.UTC
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	api, err := client.New(client.Options{URL: "http://posthouse", HTTP: &http.Client{Transport: inner{o.API}}, Tries: 1})
	if err != nil {
		return nil, err
	}
	drawn, err := readPages()
	if err != nil {
		return nil, err
	}
	files, err := readAssets()
	if err != nil {
		return nil, err
	}
	c := &console{o: o, api: api, pages: drawn, assets: files, pace: &pace{}, needs: &needs{}, flights: flights{under: map[string]chan struct{}{}}}
	return c.handler(), nil
}

// handler is the table of routes behind what all answers carry.
func (c *console) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET "+Root+"assets/{file}", http.HandlerFunc(c.assets.serve))
	for _, r := range doors() {
		mux.Handle(r.method+" "+Root+r.path, c.open(r))
	}
	for _, r := range routes() {
		mux.Handle(r.method+" "+Root+"t/{tenant}/"+r.path, c.closed(r))
	}
	mux.Handle(Root, c.open(door{serve: nowhere}))
	c.serve = mux
	guard := http.NewCrossOriginProtection()
	guard.SetDenyHandler(c.open(door{serve: foreign}))
	return fenced(guard.Handler(mux))
}

// policy allows pages their own files and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// fenced sets what every answer carries.
func fenced(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}
