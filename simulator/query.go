package simulator

import (
	"maps"
	"net/url"
	"slices"
	"strconv"

	"github.com/posthouse/posthouse"
)

// query reads the parameters of a path and collects what is wrong with them.
type query struct {
	values   url.Values
	problems problems
}

func (q *query) allow(names ...string) {
	for _, name := range slices.Sorted(maps.Keys(q.values)) {
		if !slices.Contains(names, name) {
			q.problems.add(name, "there is no such parameter; allowed are %s", words(names))
		}
	}
}

func (q *query) number(name string, otherwise, low, high int64) int64 {
	text := q.values.Get(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < low || n > high {
		q.problems.add(name, "%q is not a number from %d to %d", text, low, high)
	}
	return n
}

func (q *query) err() error { return posthouse.Invalid("the query cannot be read", q.problems) }

func (p panel) providerIn(q *query) string {
	name := q.values.Get("provider")
	if _, err := p.fake(name); name != "" && err != nil {
		q.problems.add("provider", "%q is not a provider; there are %s", name, words(p.Providers()))
	}
	return name
}
