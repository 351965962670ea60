package server_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/wire"
)

// A front that leads to a roster or a role that means nobody tells nobody: it is stored with a warning, as a route is, also where the route that
// it leads to is the one that lacks somebody.
func TestFrontsWarnOfWhomTheyWouldNotReach(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.SQLite(t))
	h.put(posthouse.Channel{Name: "out", Driver: "discard"})
	_, err := h.api.Routes.Put(h.Context(), posthouse.Route{Name: "night", Steps: []posthouse.RouteStep{{Channels: []string{"out"}, To: []posthouse.Recipient{{Roster: "sre"}}}}})
	h.must(err)
	put := func(name string, s posthouse.FrontSettings) (paths []string) {
		made, err := h.api.Fronts.Put(h.Context(), name, wire.PutFront{Kind: "alertmanager", FrontSettings: s})
		h.must(err)
		for _, w := range made.Warnings {
			paths = append(paths, w.Path)
		}
		return paths
	}
	for name, c := range map[string]struct {
		settings posthouse.FrontSettings
		want     []string
	}{
		"a user":         {posthouse.FrontSettings{Channel: "out", To: []posthouse.Recipient{{User: "u1"}}}, nil},
		"a roster":       {posthouse.FrontSettings{Channel: "out", To: []posthouse.Recipient{{User: "u1"}, {Roster: "sre"}}}, []string{"to[1].roster"}},
		"a route":        {posthouse.FrontSettings{Route: "night"}, []string{"route.steps[0].to[0].roster", "route.steps[0].to", "route.steps"}},
		"a line's role":  {posthouse.FrontSettings{Channel: "out", To: []posthouse.Recipient{{User: "u1"}}, Match: []posthouse.FrontMatch{{If: map[string]string{"team": "db"}, To: []posthouse.Recipient{{Role: "dba"}}}}}, []string{"match[0].to[0].role"}},
		"a line's route": {posthouse.FrontSettings{Channel: "out", To: []posthouse.Recipient{{User: "u1"}}, Match: []posthouse.FrontMatch{{If: map[string]string{"team": "db"}, Route: "night"}}}, []string{"match[0].route.steps[0].to[0].roster", "match[0].route.steps[0].to", "match[0].route.steps"}},
	} {
		for range 2 { // made, and replaced
			if diff := cmp.Diff(c.want, put("front", c.settings)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
	}
}
