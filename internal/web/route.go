package web

import (
	"net/http"
	"reflect"
	"slices"

	"github.com/posthouse/posthouse"
)

// Route is one line of a table: an address, who may use it, what goes in and what comes out. The OpenAPI document
// is made from the same line.
type Route struct {
	Method, Path string
	// Scope is what a key needs; empty for what needs no key.
	Scope posthouse.Scope
	// Tag is the resource that the route belongs to.
	Tag string
	// Doc says in one sentence what it does.
	Doc string
	// Params are the names of the query.
	Params []string
	// Own lets in the agent that the path names as well, with its own key.
	Own bool

	in     reflect.Type   // of the body; nil for none
	out    []reflect.Type // of the answer, one of them; none for none
	status []int          // of the answer, the usual one first
	kinds  []string       // the media types of the body besides JSON
	may    bool           // the body may be missing
	scheme string         // how the caller shows who they are. Defaults to a key.
	fault  reflect.Type   // of the answer to a wrong request. Defaults to wire.Problem.
	keyed  bool           // an Idempotency-Key may come with it
	// sight says that the handler keeps to what a narrowed key sees, and channel which part of the path is one
	sight   bool
	channel string
	// whole wants a key that is not narrowed at all
	whole bool
	// audited has its use written to the audit log although the scope is not admin
	audited bool
	// witnessed has its answer wait until the audit log has the line
	witnessed bool
	// greets has it look at a key that is shown, though it needs none
	greets bool
	// guarded has it heed If-Match and If-None-Match
	guarded bool
	// aside says that it decides nothing, and copied serves it from a replica; nil without one
	aside  bool
	copied func(*Call) (any, error)
	serve  func(*Call) (any, error)
	file   []string     // the body is a file of one of these forms, read as it comes
	plain  http.Handler // serves in place of serve, for what is no JSON
}

// Get makes a route that reads.
func Get[Out any](path string, scope posthouse.Scope, doc string, serve func(*Call) (Out, error)) Route {
	return routeOf(http.MethodGet, path, scope, doc, serve)
}

// Act makes a POST without a body.
func Act[Out any](path string, scope posthouse.Scope, doc string, serve func(*Call) (Out, error)) Route {
	return routeOf(http.MethodPost, path, scope, doc, serve)
}

// Post makes a POST with a body.
func Post[In, Out any](path string, scope posthouse.Scope, doc string, body Body[In], serve func(*Call, In) (Out, error)) Route {
	return withBody(http.MethodPost, path, scope, doc, body, serve)
}

// Put makes a PUT with a body.
func Put[In, Out any](path string, scope posthouse.Scope, doc string, body Body[In], serve func(*Call, In) (Out, error)) Route {
	return withBody(http.MethodPut, path, scope, doc, body, serve)
}

// Patch makes a PATCH with a body.
func Patch[In, Out any](path string, scope posthouse.Scope, doc string, body Body[In], serve func(*Call, In) (Out, error)) Route {
	return withBody(http.MethodPatch, path, scope, doc, body, serve)
}

// Do makes a POST without a body whose answer is empty.
func Do(path string, scope posthouse.Scope, doc string, serve func(*Call) error) Route {
	return empty(http.MethodPost, path, scope, doc, serve)
}

// Delete makes a route that takes something away.
func Delete(path string, scope posthouse.Scope, doc string, serve func(*Call) error) Route {
	return empty(http.MethodDelete, path, scope, doc, serve)
}

// Plain makes a route that needs no key and that a handler of its own serves.
func Plain(method, path, doc string, h http.Handler) Route {
	return Route{Method: method, Path: path, Doc: doc, status: []int{http.StatusOK}, plain: h}
}

func routeOf[Out any](method, path string, scope posthouse.Scope, doc string, serve func(*Call) (Out, error)) Route {
	r := Route{Method: method, Path: path, Scope: scope, Doc: doc, status: []int{http.StatusOK}}
	if t := reflect.TypeFor[Out](); t != reflect.TypeFor[Raw]() && t.Kind() != reflect.Interface {
		r.out = []reflect.Type{t}
	}
	r.serve = func(c *Call) (any, error) { return serve(c) }
	return r
}

func withBody[In, Out any](method, path string, scope posthouse.Scope, doc string, body Body[In], serve func(*Call, In) (Out, error)) Route {
	r := routeOf(method, path, scope, doc, func(c *Call) (out Out, err error) {
		in, err := body.from(c)
		if err != nil {
			return out, err
		}
		return serve(c, in)
	})
	r.in, r.kinds, r.keyed, r.may = reflect.TypeFor[In](), body.kinds()[1:], body.keyed, body.optional
	return r
}

func empty(method, path string, scope posthouse.Scope, doc string, serve func(*Call) error) Route {
	return Route{
		Method: method, Path: path, Scope: scope, Doc: doc, status: []int{http.StatusNoContent},
		serve: func(c *Call) (any, error) { return nil, serve(c) },
	}
}

// Described makes a route that another door serves: the document describes it.
func Described(method, path string, scope posthouse.Scope, doc string) Route {
	return Route{Method: method, Path: path, Scope: scope, Doc: doc, status: []int{http.StatusOK}}
}

// Basic says that callers show themselves by HTTP Basic, and in which form they are told what is wrong.
func (r Route) Basic(fault any) Route {
	r.scheme, r.fault = basicScheme, reflect.TypeOf(fault)
	return r
}

// Repeatable says that an Idempotency-Key may come with it.
func (r Route) Repeatable() Route {
	r.keyed = true
	return r
}

// Query names what the query may hold.
func (r Route) Query(names ...string) Route {
	r.Params = append(r.Params[:len(r.Params):len(r.Params)], names...)
	return r
}

// Paged is Query for the parts of a list.
func (r Route) Paged() Route { return r.Query("cursor", "limit") }

// Answers are the statuses of the answer, the usual one first. Defaults to 200.
func (r Route) Answers(status ...int) Route {
	r.status = status
	return r
}

// Greets has a route that needs no key look at one that is shown: Call.Key has it.
func (r Route) Greets() Route {
	r.greets = true
	return r
}

// ByAgent lets in the agent that the path names as well, with its own key.
func (r Route) ByAgent() Route {
	r.Own = true
	return r
}

// Sighted opens the route to keys that are narrowed to channels or kinds: its handler, or what it reads by, keeps to what
// Call.Sight says.
func (r Route) Sighted() Route {
	r.sight = true
	return r
}

// OfChannel opens the route to keys that are narrowed to the channel that the path names.
func (r Route) OfChannel(part string) Route {
	r.sight, r.channel = true, part
	return r
}

// Whole closes the route to keys that are narrowed in any way.
func (r Route) Whole() Route {
	r.whole = true
	return r
}

// Aside says that the route decides nothing: a replica of the database may answer it, which is some way behind.
func (r Route) Aside() Route {
	r.aside = true
	return r
}

// Copied gives those routes that decide nothing a second handler, which reads a replica: that of the same line of another table.
func Copied(routes, fromReplica []Route) []Route {
	at := map[string]func(*Call) (any, error){}
	for _, r := range fromReplica {
		at[r.Method+" "+r.Path] = r.serve
	}
	out := slices.Clone(routes)
	for i := range out {
		if out[i].aside {
			out[i].copied = at[out[i].Method+" "+out[i].Path]
		}
	}
	return out
}

// use is what the route wants of a key.
func (r Route) use() Use {
	return Use{Scope: r.Scope, Action: r.Action(), Sight: r.sight, Whole: r.whole}
}

// Actions are the names of what can be done by routes, for keys that are narrowed to some.
func Actions(routes []Route) []string {
	var list []string
	for _, r := range routes {
		if r.Scope != "" && r.Scope != posthouse.ScopeAgent && !r.whole {
			list = append(list, r.Action())
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Of says what the answer may be, for a handler that answers several things.
func (r Route) Of(answers ...any) Route {
	r.out = nil
	for _, a := range answers {
		r.out = append(r.out, reflect.TypeOf(a))
	}
	return r
}

// Takes says what the body is, for a handler whose own type has more in it.
func (r Route) Takes(body any) Route {
	r.in = reflect.TypeOf(body)
	return r
}

// TakesFile says that the body is a file, which the handler reads as it comes: see Call.File. Its forms default to those of
// a list of people.
func (r Route) TakesFile(kinds ...string) Route {
	r.file = kinds
	if len(kinds) == 0 {
		r.file = listKinds()
	}
	return r
}

// Tagged gives routes their resource.
func Tagged(tag string, routes ...Route) []Route {
	for i := range routes {
		routes[i].Tag = tag
	}
	return routes
}
