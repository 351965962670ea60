package api

import "github.com/posthouse/posthouse"

// Route is a line of the route table as tests walk over it.
type Route struct {
	Method, Path string
	Scope        posthouse.Scope
	Own          bool // the agent's own key reaches it too
	Query        []string
}

// Routes lists the route table.
func Routes() []Route {
	var list []Route
	for _, r := range table() {
		list = append(list, Route{r.method, r.path, r.scope, r.own, r.query})
	}
	return list
}

// Describe makes the OpenAPI document.
func Describe() ([]byte, error) { return describe(table()) }
