package fronts

import (
	"fmt"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/web"
)

// warnings say of a front that was stored what would not work now, and may tomorrow: recipients that mean nobody, and what a route that it
// leads to lacks. A look that fails is no warning.
func (f fronts) warnings(c *web.Call, front *posthouse.Front) (list []posthouse.Problem) {
	list = f.vacant(c, "", front.To)
	routes := map[string]bool{}
	add := func(at, name string) {
		if name == "" || routes[name] {
			return
		}
		routes[name] = true
		list = append(list, f.doubts(c, at, name)...)
	}
	add("route", front.Route)
	for i, m := range front.Match {
		at := fmt.Sprintf("match[%d].", i)
		list = append(list, f.vacant(c, at, m.To)...)
		add(at+"route", m.Route)
	}
	return list
}

// vacant warns of rosters and roles that mean nobody now.
func (f fronts) vacant(c *web.Call, at string, to []posthouse.Recipient) (list []posthouse.Problem) {
	for i, one := range to {
		if one.Roster == "" && one.Role == "" {
			continue
		}
		_, missing, err := f.People(c.Context(), c.Tenant(), []posthouse.Recipient{one}, time.Now())
		if err != nil {
			return list
		}
		for _, p := range missing {
			list = append(list, posthouse.Problem{Path: fmt.Sprintf("%sto[%d]%s", at, i, strings.TrimPrefix(p.Path, "to[0]")), Message: p.Message})
		}
	}
	return list
}

// doubts are the warnings about a route, each with the field of the front that names it.
func (f fronts) doubts(c *web.Call, at, name string) (list []posthouse.Problem) {
	r, err := f.Route(c.Context(), c.Tenant(), name, 0)
	if err != nil {
		return nil
	}
	found, err := f.Doubts(c.Context(), &r, time.Now())
	if err != nil {
		return nil
	}
	for _, p := range found {
		list = append(list, posthouse.Problem{Path: at + "." + p.Path, Message: p.Message})
	}
	return list
}
