package server

import (
	"net/http"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/front/alertmanager"
	"github.com/posthouse/posthouse/internal/front/anyjson"
	"github.com/posthouse/posthouse/internal/front/bark"
	"github.com/posthouse/posthouse/internal/front/dingtalk"
	"github.com/posthouse/posthouse/internal/front/feishu"
	"github.com/posthouse/posthouse/internal/front/fronts"
	"github.com/posthouse/posthouse/internal/front/gotify"
	"github.com/posthouse/posthouse/internal/front/grafana"
	"github.com/posthouse/posthouse/internal/front/messagepusher"
	"github.com/posthouse/posthouse/internal/front/ntfy"
	"github.com/posthouse/posthouse/internal/front/pushplus"
	"github.com/posthouse/posthouse/internal/front/serverchan"
	"github.com/posthouse/posthouse/internal/front/wecom"
	"github.com/posthouse/posthouse/internal/inbound"
	"github.com/posthouse/posthouse/internal/web"
)

// forms are the languages that fronts speak.
func forms() []inbound.Form {
	return []inbound.Form{
		alertmanager.Form(), grafana.Form(), dingtalk.Form(), wecom.Form(), feishu.Form(), gotify.Form(), ntfy.Form(), bark.Form(), serverchan.Form(), anyjson.Form(),
		messagepusher.Form(), pushplus.Form(),
	}
}

// openFronts puts the fronts beside the API.
func openFronts(s *Server) {
	s.fronts = inbound.New(inbound.Options{
		Forms: forms(), Fronts: s.store.Fronts, Intake: s.engine.Intake, Gate: s.gate, Calls: s.store.Fronts, Sealer: s.keyring, Bodies: s.bodies,
		MaxBody: s.o.MaxBody, Markdown: s.sendsMarkdown, Zone: s.zone, Registry: s.o.Registry, Log: s.o.Log,
	})
	both := http.NewServeMux()
	both.Handle("/", s.handler)
	both.Handle(inbound.Path, s.fronts)
	s.handler = both
}

// sendsMarkdown reports whether the driver of a channel says that it sends Markdown.
func (s *Server) sendsMarkdown(tenant, channel string) bool {
	ch := s.engine.Routes.Channel(tenant, channel)
	return ch != nil && ch.Opened.Content != nil && len(ch.Opened.Content(posthouse.Content{Type: posthouse.MarkdownContent, Title: "x", Text: "x"})) == 0
}

// frontRoutes are the resource of fronts.
func (s *Server) frontRoutes() []web.Route {
	return fronts.Routes(fronts.Options{
		Store: s.store.Fronts, Forms: forms(), Channel: s.channels.Get, Template: s.store.Templates.Template, Open: s.keyring.Open, PublicURL: s.o.PublicURL,
	})
}
