package server

import (
	"context"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/front/alertmanager"
	"github.com/posthouse/posthouse/internal/front/anyjson"
	"github.com/posthouse/posthouse/internal/front/bark"
	"github.com/posthouse/posthouse/internal/front/dingtalk"
	"github.com/posthouse/posthouse/internal/front/feishu"
	"github.com/posthouse/posthouse/internal/front/fronts"
	"github.com/posthouse/posthouse/internal/front/gotify"
	"github.com/posthouse/posthouse/internal/front/grafana"
	"github.com/posthouse/posthouse/internal/front/mail"
	"github.com/posthouse/posthouse/internal/front/messagepusher"
	"github.com/posthouse/posthouse/internal/front/ntfy"
	"github.com/posthouse/posthouse/internal/front/pushplus"
	"github.com/posthouse/posthouse/internal/front/serverchan"
	"github.com/posthouse/posthouse/internal/front/smsgate"
	"github.com/posthouse/posthouse/internal/front/wecom"
	"github.com/posthouse/posthouse/internal/inbound"
	"github.com/posthouse/posthouse/internal/shellword"
	"github.com/posthouse/posthouse/internal/web"
)

// forms are the languages that fronts speak.
func (s *Server) forms() []inbound.Form {
	return []inbound.Form{
		alertmanager.Form(), grafana.Form(), dingtalk.Form(), wecom.Form(), wecom.App(), feishu.Form(), gotify.Form(), ntfy.Form(), bark.Form(), serverchan.Form(), anyjson.Form(),
		messagepusher.Form(), pushplus.Form(), mail.Form(s.mailReach), smsgate.Form(),
	}
}

// elsewhere says what to use in place of an address that is of another program: a front that speaks its language, or the SMS front door.
func (s *Server) elsewhere(at string) string {
	if strings.HasPrefix(at, "/v1/") { // a mistake in an address of ours
		return ""
	}
	for _, f := range s.forms() {
		if !slices.ContainsFunc(f.Paths, func(p string) bool {
			if strings.HasSuffix(p, "/") {
				return strings.HasPrefix(at, p)
			}
			is, _ := path.Match(p, at)
			return is
		}) {
			continue
		}
		says := fmt.Sprintf(", which is of %s: make a front for its senders by posthouse front add %s", f.Title, shellword.Quote(f.Kind))
		if f.Driver != "" {
			says += fmt.Sprintf(", or a channel of the driver %s, and send by POST /v1/messages", f.Driver)
		}
		return says
	}
	begins := func(p string) bool { return strings.HasPrefix(at, p) }
	if !s.o.SMS.on() && slices.ContainsFunc([]string{"/api/v1/sms/", "/api/v1/admin/", "/sms/"}, begins) {
		return ", which is of the SMS front door: basic_auth_username and basic_auth_password open it"
	}
	return ""
}

// openFronts puts the fronts beside the API.
func (s *Server) openFronts() error {
	reader := s.reader()
	s.fronts = inbound.New(inbound.Options{
		Forms: s.forms(), Fronts: s.store.Fronts, Intake: s.engine.Intake, Gate: s.gate, Calls: s.store.Fronts, Sealer: s.keyring, Bodies: s.bodies,
		MaxBody: s.o.MaxBody, Refuses: s.refuses, Files: s.media, Messages: reader.Messages, Deliveries: reader.Deliveries, Told: s.told, Resolver: s.told, Way: s.way, Zone: s.zone, Registry: s.o.Registry, Log: s.o.Log,
	})
	if err := checkFrontHosts(&s.o, s.fronts.Kinds()); err != nil {
		return err
	}
	both := http.NewServeMux()
	both.Handle("/", s.handler)
	both.Handle(inbound.Path, s.fronts)
	s.handler = frontRoots(s.o.FrontHosts, s.fronts, both)
	return nil
}

// way says what the text of a message of a route depends on.
func (s *Server) way(ctx context.Context, tenant, name string) (way inbound.Way, err error) {
	r, err := s.store.Routes.Route(ctx, tenant, name, 0)
	waits := false
	for i := range r.Steps {
		step := &r.Steps[i]
		if step.Template == "" {
			way.Channels = append(way.Channels, step.Channels...)
		}
		waits = waits || step.Until == posthouse.ProofAcknowledged
	}
	if err == nil && waits && s.router.Link != nil {
		way.Link, err = s.router.Link(tenant, posthouse.DeliveryID(posthouse.NewID(), 1), strings.Repeat("x", 64))
	}
	return way, err
}

// refuses says what of a content the driver of a channel does not send.
func (s *Server) refuses(tenant, name string, c posthouse.Content) []posthouse.Problem {
	ch := s.engine.Routes.Channel(tenant, name)
	if ch == nil || ch.Opened.Content == nil {
		return channel.PlainText(c)
	}
	return ch.Opened.Content(c)
}

// frontRoutes are the resource of fronts.
func (s *Server) frontRoutes() []web.Route {
	return fronts.Routes(fronts.Options{
		Store: s.store.Fronts, Forms: s.forms(), Channel: s.channels.Get, Route: s.store.Routes.Route, Digest: s.store.Digests.Digest, Template: s.store.Templates.Template, Open: s.keyring.Open, PublicURL: s.o.PublicURL,
		People: s.router.Intake.People, Doubts: s.router.Warnings,
		Root: func(kind, base string) string { return rootOf(s.o.FrontHosts, kind, base) },
	})
}
