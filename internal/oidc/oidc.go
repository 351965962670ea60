// Package oidc signs people in by an OpenID provider: by an authorisation code with PKCE, a state and a nonce, all bound to the
// browser that began (OpenID Connect Core 1.0, RFC 7636). What the provider says of a person becomes an identity with roles.
//
// It knows no pages and keeps nothing: what a sign-in has to remember is sealed, and the browser carries it.
package oidc

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/people"
	"github.com/posthouse/posthouse/internal/secret"
)

// Options make a provider. Issuer, ClientID, Roles and Sealer are required.
type Options struct {
	// Issuer is the provider's URL, as its tokens name it. It is asked for the rest at the first sign-in.
	Issuer string
	// ClientID and ClientSecret are what the provider calls us. Without a secret PKCE alone guards the code.
	ClientID, ClientSecret string
	// Scopes are asked for beside openid. Defaults to profile and email.
	Scopes []string
	// NameClaim is the claim that becomes the name of a person at the first sign-in. Defaults to preferred_username.
	NameClaim string
	// RoleClaim is the claim whose values Roles speak of, such as groups or realm_access.roles. Defaults to groups.
	RoleClaim string
	// Roles say what the values of RoleClaim are worth.
	Roles []Grant
	// Sealer seals what the browser carries during a sign-in.
	Sealer people.Sealer
	// Log defaults to slog.Default().
	Log *slog.Logger
}

const (
	// FlowFor is how long a sign-in at the provider may take.
	FlowFor = 10 * time.Minute
	// patience bounds each request to the provider.
	patience = 10 * time.Second
)

// Provider is an OpenID provider.
type Provider struct {
	o      Options
	client *http.Client

	mu    sync.Mutex
	known *oidc.Provider // once it has answered
}

// New checks the options. The provider need not be there yet.
func New(o Options) (*Provider, error) {
	at, err := url.Parse(o.Issuer)
	if err != nil || at.Host == "" || at.Scheme != "https" && (at.Scheme != "http" || !loopback(at.Hostname())) {
		return nil, fmt.Errorf("oidc_issuer is %q: want an https URL; http is for a provider on this machine", o.Issuer)
	}
	if o.ClientID == "" {
		return nil, fmt.Errorf("oidc_client_id is missing: it is what the provider %s calls Posthouse", o.Issuer)
	}
	if len(o.Roles) == 0 {
		return nil, fmt.Errorf("oidc_roles is missing: without it nobody of %s has a role", o.Issuer)
	}
	if o.Scopes == nil {
		o.Scopes = []string{"profile", "email"}
	}
	if o.NameClaim == "" {
		o.NameClaim = "preferred_username"
	}
	if o.RoleClaim == "" {
		o.RoleClaim = "groups"
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return &Provider{o: o, client: &http.Client{Timeout: patience}}, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// flow is what a sign-in remembers.
type flow struct {
	State    string    `json:"state"`
	Nonce    string    `json:"nonce"`
	Verifier string    `json:"verifier"`
	Back     string    `json:"back"`
	Ends     time.Time `json:"ends"`
}

// place binds a sealed flow to its use.
func place() string { return secret.AAD("oidc", "flow") }

// Begin is where the browser goes, and what it carries meanwhile. redirect is where the provider sends it back to; back is where
// it goes in the end.
func (p *Provider) Begin(ctx context.Context, redirect, back string) (to, carried string, err error) {
	known, err := p.discovered(ctx)
	if err != nil {
		return "", "", err
	}
	f := flow{State: oauth2.GenerateVerifier(), Nonce: oauth2.GenerateVerifier(), Verifier: oauth2.GenerateVerifier(), Back: back, Ends: time.Now().Add(FlowFor)}
	text, err := json.Marshal(f)
	if err != nil {
		return "", "", err
	}
	carried, err = p.o.Sealer.Seal(string(text), place())
	to = p.config(known, redirect).AuthCodeURL(f.State, oauth2.S256ChallengeOption(f.Verifier), oidc.Nonce(f.Nonce))
	return to, carried, err
}

// End is who the provider says it is, given what the browser carried and came back with, and where it goes on to.
func (p *Provider) End(ctx context.Context, redirect, carried string, answer url.Values) (who people.Identity, back string, err error) {
	f, err := p.flowOf(carried, answer.Get("state"))
	if err != nil {
		return who, "", err
	}
	if refused := answer.Get("error"); refused != "" {
		return who, "", posthouse.Errorf(posthouse.CodeForbidden, "the provider refused: %.80q %.200q", refused, answer.Get("error_description"))
	}
	known, err := p.discovered(ctx)
	if err != nil {
		return who, "", err
	}
	ctx = oidc.ClientContext(ctx, p.client)
	config := p.config(known, redirect)
	token, err := config.Exchange(ctx, answer.Get("code"), oauth2.VerifierOption(f.Verifier))
	if err != nil {
		return who, "", p.failed("take the code", err)
	}
	raw, _ := token.Extra("id_token").(string)
	verified, err := known.VerifierContext(ctx, &oidc.Config{ClientID: p.o.ClientID}).Verify(ctx, raw)
	if err != nil {
		return who, "", p.failed("read the identity", err)
	}
	if subtle.ConstantTimeCompare([]byte(verified.Nonce), []byte(f.Nonce)) != 1 {
		return who, "", errOver()
	}
	said := claims{}
	if err := verified.Claims(&said); err != nil {
		return who, "", p.failed("read the claims", err)
	}
	if err := p.ask(ctx, known, config.TokenSource(ctx, token), verified.Subject, said); err != nil {
		return who, "", err
	}
	who, err = p.identity(verified.Subject, said)
	return who, f.Back, err
}

// errOver is of a sign-in that was not begun here, or too long ago.
func errOver() error {
	return posthouse.Errorf(posthouse.CodeUnauthorized, "the sign-in was begun in another browser, or too long ago: begin it again")
}

// flowOf is the sign-in that the browser began, if it is the one that the provider answers.
func (p *Provider) flowOf(carried, state string) (f flow, err error) {
	text, err := p.o.Sealer.Open(carried, place())
	if err != nil {
		return f, errOver()
	}
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		return f, errOver()
	}
	if subtle.ConstantTimeCompare([]byte(f.State), []byte(state)) != 1 || f.State == "" || time.Now().After(f.Ends) {
		return f, errOver()
	}
	return f, nil
}

// ask reads the claims from the provider that the token lacks.
func (p *Provider) ask(ctx context.Context, known *oidc.Provider, source oauth2.TokenSource, subject string, said claims) error {
	if said.has(p.o.NameClaim) && said.has(p.o.RoleClaim) || known.UserInfoEndpoint() == "" {
		return nil
	}
	more, err := known.UserInfo(ctx, source)
	if err != nil {
		return p.failed("ask about the person", err)
	}
	if more.Subject != subject { // Core 1.0, section 5.3.2: else it may be another's
		return errOver()
	}
	var extra claims
	if err := more.Claims(&extra); err != nil {
		return p.failed("read the claims", err)
	}
	for name, value := range extra {
		if _, there := said[name]; !there {
			said[name] = value
		}
	}
	return nil
}

func (p *Provider) config(known *oidc.Provider, redirect string) *oauth2.Config {
	return &oauth2.Config{
		ClientID: p.o.ClientID, ClientSecret: p.o.ClientSecret, Endpoint: known.Endpoint(), RedirectURL: redirect,
		Scopes: append([]string{oidc.ScopeOpenID}, p.o.Scopes...),
	}
}

// discovered asks the provider where things are, until it has answered once.
func (p *Provider) discovered(ctx context.Context) (*oidc.Provider, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known != nil {
		return p.known, nil
	}
	// The keys are fetched with this client later on, beyond the request that asks first.
	known, err := oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(ctx), p.client), p.o.Issuer)
	if err != nil {
		return nil, p.failed("find the provider's addresses", err)
	}
	p.known = known
	return known, nil
}

// failed tells the log why, and the visitor that the provider does not answer as it should.
func (p *Provider) failed(what string, err error) error {
	p.o.Log.Warn("a sign-in by OpenID Connect failed", "issuer", p.o.Issuer, "could_not", what, "error", err)
	return posthouse.Errorf(posthouse.CodeUnavailable, "the identity provider does not answer as it should: the log says more")
}
