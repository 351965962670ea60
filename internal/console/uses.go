package console

import (
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/console/removal"
)

// naming are the routes and fronts that name a channel, the fronts that name a route or a digest, and the rosters that name a user from today on, as far as the visitor may see them.
func naming(v *visit, list, name string) (uses []removal.Named) {
	switch list {
	case "channels":
		routes, _ := v.call().Routes.List(v.ctx())
		for i := range routes {
			if slices.ContainsFunc(routes[i].Steps, func(s posthouse.RouteStep) bool { return slices.Contains(s.Channels, name) }) {
				uses = append(uses, removal.Named{Word: "route", Name: routes[i].Name, Link: v.at("routes", routes[i].Name)})
			}
		}
		return append(uses, frontsOf(v, func(f posthouse.Front) bool { return f.Channel == name })...)
	case "routes":
		return frontsOf(v, func(f posthouse.Front) bool { return f.Route == name })
	case "digests":
		return frontsOf(v, func(f posthouse.Front) bool { return f.Digest == name })
	case "directory":
		rosters, _ := v.call().Rosters.List(v.ctx())
		today := time.Now().Add(-24 * time.Hour).Format(time.DateOnly) // in whatever zone
		for i := range rosters {
			r := &rosters[i]
			is := false
			for _, users := range r.Days {
				is = is || slices.Contains(users, name)
			}
			for day, users := range r.Overrides {
				is = is || day >= today && slices.Contains(users, name)
			}
			if is {
				uses = append(uses, removal.Named{Word: "roster", Name: r.Name, Link: v.at("rosters", r.Name)})
			}
		}
	}
	return uses
}

// frontsOf are the fronts that name something.
func frontsOf(v *visit, is func(posthouse.Front) bool) (uses []removal.Named) {
	fronts, _ := v.call().Fronts.List(v.ctx())
	for i := range fronts {
		if is(fronts[i]) {
			uses = append(uses, removal.Named{Word: "front", Name: fronts[i].Name, Link: v.at("fronts", fronts[i].Name)})
		}
	}
	return uses
}
