package web

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/posthouse/posthouse"
)

// Options makes a door. Gate is required.
type Options struct {
	Gate *Gate
	// Log defaults to slog.Default().
	Log *slog.Logger
	// MaxBody bounds a request's body, in bytes. Defaults to 4 MiB.
	MaxBody int64
	// Bodies bounds what is in memory of them at once. Defaults to sixteen of the largest.
	Bodies *Bodies
	// Version is shown by the index.
	Version string
	// Rates let requests pass. Defaults to all.
	Rates Rates
	// Audit is told who changed what. Defaults to none.
	Audit Book
	// Replica says when a replica of the database may answer in its place. Defaults to none.
	Replica Replica
	// Terms reads what describes types beyond what Go says of them. It is asked when the OpenAPI document is, which most processes never are.
	// Defaults to none.
	Terms func() (Terms, error)
	// Elsewhere says of a path that is none here what it is of and what to use in its place, such as ", which is of Gotify: …", empty for what is not
	// known. Defaults to nothing.
	Elsewhere func(path string) string
	// Beside are routes that others serve and the document describes too. Defaults to none.
	Beside []Route
}

// Rates bound how many requests keys and tenants make.
type Rates interface {
	// Request is an error of code quota where there are too many.
	Request(ctx context.Context, key posthouse.Key) error
}

// Terms are what the OpenAPI document says of types beyond what Go says of them.
type Terms struct {
	// Words are the values of each type that is a word.
	Words map[reflect.Type][]any
	// Kept are the fields that the server fills in, of the things that are put as they are read.
	Kept map[reflect.Type][]string
	// Names are of types whose own name would stand for two things.
	Names map[reflect.Type]string
	// Fields are what the fields of a type mean, by the type that declares them as %T prints it; of "any" for all others.
	Fields map[string]map[string]Said
	// Params are what parameters mean, by "operation.name", by "tag.name" and by name.
	Params map[string]Said
	// Operations are what generators call the routes, by method and path, and bodies that work.
	Operations map[string]Spoken
	// Tags are the parts of the reference in their order.
	Tags []Tag
	// Intro is what the reference begins with, in Markdown.
	Intro string
}

// Said is what people and generators are told about a field or a parameter. The bounds are JSON Schema's.
type Said struct {
	Doc       string
	Example   any
	MinLength *int `yaml:"minLength"`
	MaxLength *int `yaml:"maxLength"`
	MinItems  *int `yaml:"minItems"`
	MaxItems  *int `yaml:"maxItems"`
	Minimum   *float64
	Maximum   *float64
	Pattern   string
}

// Spoken is an operation's name and a body that works.
type Spoken struct {
	ID   string
	Body any
}

// Tag is a part of the reference.
type Tag struct{ Name, Doc string }

// door serves a table of routes.
type door struct {
	Options
	spec    func() ([]byte, error)
	mux     *http.ServeMux
	refused refusedLines
}

// New makes the handler of a table of routes, with the document that describes it. It serves at once; it starts
// and stops nothing.
func New(o Options, routes []Route) http.Handler {
	o.Log, o.MaxBody = cmp.Or(o.Log, slog.Default()), cmp.Or(o.MaxBody, 4<<20)
	if o.Bodies == nil {
		o.Bodies = NewBodies(0, o.MaxBody, o.Log)
	}
	d := &door{Options: o, mux: http.NewServeMux()}
	routes = append(routes[:len(routes):len(routes)], d.pages()...)
	d.spec = sync.OnceValues(func() ([]byte, error) {
		var t Terms
		var err error
		if o.Terms != nil {
			t, err = o.Terms()
		}
		if err != nil {
			return nil, err
		}
		return describe(t, slices.Concat(routes, o.Beside))
	})
	for _, r := range routes {
		d.mux.Handle(r.Method+" "+r.Path, d.handler(r))
	}
	d.mux.Handle("/", d.handler(Route{status: []int{http.StatusOK}, serve: d.nowhere}))
	return d.mux
}

// Describe makes the OpenAPI 3.1 document of a table of routes. It is committed, and a test compares it.
func Describe(t Terms, routes, beside []Route) ([]byte, error) {
	return describe(t, slices.Concat(routes, Pages(), beside))
}

// elsewhere are paths that other programs call beside those that the options know, and what to use in their place. The first whose path begins so
// counts.
var elsewhere = []struct{ begins, says string }{
	{"/topapi/message/", ", which is of DingTalk: add a channel of the driver dingtalk, and send by POST /v1/messages"},
	{"/webhook", ": messages are handed in by POST /v1/messages, and in the form of other makers at a front, which posthouse front add makes"},
	{"/v2/", ": the API begins with /v1/"},
}

// meantBy says what to use in place of an address that somebody may have meant, empty where that is not known.
func (d *door) meantBy(path string) string {
	if d.Elsewhere != nil {
		if says := d.Elsewhere(path); says != "" {
			return says
		}
	}
	for _, e := range elsewhere {
		if strings.HasPrefix(path, e.begins) {
			return e.says
		}
	}
	return ""
}

// nowhere answers addresses that are not in the table: 405 where another method is.
func (d *door) nowhere(c *Call) (any, error) {
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		probe := c.Clone(c.Context())
		probe.Method = method
		if _, pattern := d.mux.Handler(probe); pattern != "/" && pattern != "" {
			allowed = append(allowed, method)
		}
	}
	if len(allowed) == 0 {
		return nil, Faultf(http.StatusNotFound, posthouse.CodeNotFound, "there is no address %.200q%s; /openapi.json lists all there are", c.URL.Path, d.meantBy(c.URL.Path))
	}
	if slices.Contains(allowed, http.MethodGet) {
		allowed = append(allowed, http.MethodHead)
	}
	for _, method := range allowed {
		c.Writer.Header().Add("Allow", method)
	}
	return nil, Faultf(http.StatusMethodNotAllowed, posthouse.CodeInvalid, "the method %.20q is not allowed here: want one of %s", c.Method, Words(allowed))
}
