package server

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/posthouse/posthouse/internal/console"
	"github.com/posthouse/posthouse/internal/people"
)

// openPeople makes the desk that lets people in, and at the first start the first person.
func openPeople(ctx context.Context, s *Server) error {
	s.people = people.NewDesk(people.Options{
		Persons: s.store.People, Links: s.store.People, Sessions: s.store.People, Codes: s.store.People, Sealer: s.keyring, RequireTOTP: s.o.RequireTOTP, Gate: s.gate, Book: bookOf(s), Log: s.o.Log,
	})
	if s.o.AnnounceLink == nil {
		return nil
	}
	link, err := s.people.First(ctx)
	if err == nil && link != "" {
		s.o.AnnounceLink(linkPath(link))
	}
	return err
}

// links makes links to the console.
type links struct{ desk *people.Desk }

// Link makes a link by which a person signs in to the console, once and within a day: the part behind the server's URL.
func (l links) Link(ctx context.Context, name string) (path string, ends time.Time, err error) {
	token, ends, err := l.desk.Link(ctx, name)
	return linkPath(token), ends, err
}

// linkPath is where a link to the console leads, behind the server's URL.
func linkPath(link string) string { return console.Root + "enter?link=" + url.QueryEscape(link) }

// openConsole puts the console beside the API, and leads browsers to it.
func openConsole(s *Server) error {
	pages, err := console.New(console.Options{
		API: s.handler, Desk: s.people, Zone: s.zone, Sandbox: s.o.Sandbox, Version: s.o.Version, Log: s.o.Log,
	})
	if err != nil {
		return err
	}
	api := s.handler
	both := http.NewServeMux()
	both.Handle("/", api)
	both.Handle(console.Root, pages)
	both.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.Header.Get("Accept"), "text/html") {
			http.Redirect(w, r, console.Root, http.StatusSeeOther)
			return
		}
		api.ServeHTTP(w, r)
	})
	s.handler = both
	return nil
}
