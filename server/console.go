package server

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/posthouse/posthouse/internal/console"
	"github.com/posthouse/posthouse/internal/oidc"
	"github.com/posthouse/posthouse/internal/people"
)

// openPeople makes the desk that lets people in, and at the first start the first person.
func (s *Server) openPeople(ctx context.Context) error {
	desk := people.Options{
		Persons: s.store.People, Guests: s.store.People, Links: s.store.People, Sessions: s.store.People, Codes: s.store.People, Sealer: s.keyring, RequireTOTP: s.o.RequireTOTP, Gate: s.gate, Book: s.book(), Log: s.o.Log,
	}
	if s.passive() {
		desk = s.visiting(desk)
	}
	s.people = people.NewDesk(desk)
	if s.o.AnnounceLink == nil || s.passive() {
		return nil
	}
	link, err := s.people.First(ctx)
	if err == nil && link != "" {
		s.o.AnnounceLink(linkPath(link))
	}
	return err
}

// OIDC lets people in by the word of an OpenID provider, beside passwords and links.
type OIDC struct {
	// Issuer is the provider's URL. Defaults to none: then nobody comes in this way.
	Issuer string
	// ClientID and ClientSecret are what the provider calls Posthouse. Its redirect URI is /console/oidc/callback.
	ClientID, ClientSecret string
	// Scopes are asked for beside openid. Defaults to profile and email.
	Scopes []string
	// NameClaim becomes the name of a person at the first sign-in. Defaults to preferred_username.
	NameClaim string
	// RoleClaim is the claim that Roles speak of, such as realm_access.roles. Defaults to groups.
	RoleClaim string
	// Roles say who may do what: VALUE=TENANT:ROLE, such as ops=default:operator. Required.
	Roles []string
}

// provider is the OpenID provider, nil for none.
func (o OIDC) provider(s *Server) (console.Provider, error) {
	if o.Issuer == "" {
		return nil, nil //nolint:nilnil // there is none
	}
	var grants []oidc.Grant
	for _, text := range o.Roles {
		g, err := oidc.ParseGrant(text)
		if err != nil {
			return nil, fmt.Errorf("oidc_roles: %w", err)
		}
		grants = append(grants, g)
	}
	return oidc.New(oidc.Options{
		Issuer: o.Issuer, ClientID: o.ClientID, ClientSecret: o.ClientSecret, Scopes: o.Scopes, NameClaim: o.NameClaim, RoleClaim: o.RoleClaim,
		Roles: grants, Sealer: s.keyring, Log: s.o.Log,
	})
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
func (s *Server) openConsole() error {
	provider, err := s.o.OIDC.provider(s)
	if err != nil {
		return err
	}
	pages, err := console.New(console.Options{
		Provider: provider,
		API:      s.handler, Desk: s.people, Bodies: s.bodies, PublicURL: strings.TrimRight(s.o.PublicURL, "/"), Clicks: s.store.Answers, Zone: s.zone, Sandbox: s.o.Sandbox, Version: s.o.Version, Log: s.o.Log,
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
