package console

import (
	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/web"
)

const (
	reads = posthouse.ScopeRead
	admin = posthouse.ScopeAdmin
)

// routes are the pages of a tenant, each with what a role must reach for it.
func routes() []route {
	looks := func(path, action string, serve func(*visit) error) route {
		return route{"GET", path, web.Use{Scope: reads, Action: action}, serve}
	}
	acts := func(path, action string, serve func(*visit) error) route {
		return route{"POST", path, web.Use{Scope: admin, Action: action}, serve}
	}
	return []route{
		looks("search", "deliveries.read", showSearch),
		looks("messages/{id}", "messages.read", showMessage),
		looks("deliveries/{id}", "deliveries.read", showDelivery),
		acts("deliveries/{id}/cancel", "messages.cancel", cancelDelivery),
		acts("deliveries/{id}/replay", "deliveries.replay", replayDelivery),
		acts("deliveries/{id}/resolve", "deliveries.resolve", resolveDelivery),
	}
}

// entry is one of the menu.
type entry struct {
	Word, Path string
	scope      posthouse.Scope
	action     string
}

// menu are the pages that the menu leads to.
func menu() []entry {
	return []entry{
		{"search", "search", reads, "deliveries.read"},
	}
}
