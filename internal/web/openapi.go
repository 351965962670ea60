package web

import (
	"bytes"
	"encoding/json"
	"net/http"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// describe makes the OpenAPI 3.1 document of a table of routes.
func describe(t Terms, routes []Route) ([]byte, error) {
	schemas := huma.NewMapRegistry("#/components/schemas/", t.schemaName)
	doc := &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info: &huma.Info{
			Title: "Posthouse", Version: "1",
			Description: "Takes a message once and gets it to every recipient. Keys go in the header Authorization as \"Bearer ph_…\"; errors are application/problem+json and name every wrong field.",
			License:     &huma.License{Name: "Apache-2.0", Identifier: "Apache-2.0"},
		},
		Paths: map[string]*huma.PathItem{},
		Components: &huma.Components{
			Schemas:         schemas,
			SecuritySchemes: map[string]*huma.SecurityScheme{"key": {Type: "http", Scheme: "bearer", Description: "An API key, such as `ph_7d2kq0v9x4ma_…`."}},
		},
	}
	fault := schemas.Schema(reflect.TypeFor[wire.Problem](), true, "Problem")
	for _, r := range routes {
		path := strings.TrimSuffix(r.Path, "{$}")
		if doc.Paths[path] == nil {
			doc.Paths[path] = &huma.PathItem{}
		}
		r.describeIn(doc.Paths[path], r.operation(schemas, fault))
	}
	t.complete(schemas)
	raw, err := json.Marshal(doc)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, raw, "", "  "); err != nil {
		return nil, err
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}

// schemaName names a type in the document: "Page[...Channel]" becomes "ChannelPage".
func (t Terms) schemaName(of reflect.Type, hint string) string {
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	if name := t.Names[of]; name != "" {
		return name
	}
	if of == reflect.TypeFor[wire.Problem]() {
		return "Fault" // a Problem is one of those it lists
	}
	name := of.Name()
	if base, inner, generic := strings.Cut(name, "["); generic {
		name = strings.TrimSuffix(inner[strings.LastIndexAny(inner, "./")+1:], "]") + base
	}
	if name == "" {
		name = hint
	}
	return strings.ToUpper(name[:1]) + name[1:]
}

var pathNames = regexp.MustCompile(`\{([a-z_]+)\}`)

func (r Route) operation(schemas huma.Registry, fault *huma.Schema) *huma.Operation {
	op := &huma.Operation{
		OperationID: r.operationID(), Summary: r.Doc, Tags: []string{r.Tag},
		Responses: map[string]*huma.Response{
			"default": {Description: "What is wrong.", Content: map[string]*huma.MediaType{"application/problem+json": {Schema: fault}}},
		},
	}
	for _, status := range r.status {
		op.Responses[strconv.Itoa(status)] = r.response(status, schemas)
	}
	if r.Scope != "" {
		op.Security = []map[string][]string{{"key": {}}}
		op.Description = "Needs a key of scope " + string(r.Scope) + "."
		switch {
		case r.Scope == posthouse.ScopeAgent:
			op.Description = "Needs the agent's own key."
		case r.Own:
			op.Description = "Needs a key of scope " + string(r.Scope) + ", or the agent's own."
		}
	}
	r.parameters(op)
	if r.in != nil {
		op.RequestBody = &huma.RequestBody{Content: map[string]*huma.MediaType{"application/json": {Schema: r.request(schemas)}}}
		if r.csv {
			op.RequestBody.Content["text/csv"] = &huma.MediaType{Schema: &huma.Schema{Type: "string"}}
		}
	}
	return op
}

// parameters describes what stands in the path, the query and the headers.
func (r Route) parameters(op *huma.Operation) {
	for _, name := range pathNames.FindAllStringSubmatch(r.Path, -1) {
		op.Parameters = append(op.Parameters, &huma.Param{Name: name[1], In: "path", Required: true, Schema: &huma.Schema{Type: "string"}})
	}
	for _, name := range r.Params {
		op.Parameters = append(op.Parameters, &huma.Param{Name: name, In: "query", Schema: querySchema(name)})
	}
	if r.Audits() {
		op.Parameters = append(op.Parameters, &huma.Param{Name: NoteHeader, In: "header", Description: "Why: it stands in the audit log.", Schema: &huma.Schema{Type: "string", MaxLength: new(maxNote)}})
	}
	if r.keyed {
		op.Parameters = append(op.Parameters, &huma.Param{Name: "Idempotency-Key", In: "header", Description: "Makes a repeat of the same request answer as the first did.", Schema: &huma.Schema{Type: "string"}})
	}
}

func (r Route) describeIn(item *huma.PathItem, op *huma.Operation) {
	switch r.Method {
	case http.MethodGet:
		item.Get = op
	case http.MethodPost:
		item.Post = op
	case http.MethodPut:
		item.Put = op
	case http.MethodDelete:
		item.Delete = op
	}
}

// response describes the answer of one status. What is no JSON, such as a page, has no schema.
func (r Route) response(status int, schemas huma.Registry) *huma.Response {
	answer := &huma.Response{Description: http.StatusText(status)}
	if len(r.out) == 0 {
		return answer
	}
	schema := schemas.Schema(r.out[0], true, "Answer")
	if len(r.out) > 1 {
		either := &huma.Schema{}
		for _, t := range r.out {
			either.OneOf = append(either.OneOf, schemas.Schema(t, true, "Answer"))
		}
		schema = either
	}
	answer.Content = map[string]*huma.MediaType{"application/json": {Schema: schema}}
	return answer
}

// request is the schema of the body.
func (r Route) request(schemas huma.Registry) *huma.Schema {
	if s := oneOrMany(r.in, schemas); s != nil {
		return s
	}
	return schemas.Schema(r.in, true, "Request")
}

func querySchema(name string) *huma.Schema {
	switch name {
	case "limit":
		return &huma.Schema{Type: "integer", Minimum: new(1.0), Maximum: new(float64(MaxPage)), Default: 50}
	case "version":
		return &huma.Schema{Type: "integer", Minimum: new(1.0)}
	case "state":
		return &huma.Schema{Type: "string", Description: "One or more, with commas: " + Words(posthouse.States()) + "."}
	case "log":
		return &huma.Schema{Type: "string", Enum: Any(wire.Logs()...), Default: wire.ReceiveLog}
	case "since", "until":
		return &huma.Schema{Type: "string", Format: "date-time"}
	}
	return &huma.Schema{Type: "string"}
}

// operationID is unique for each route: "post-v1-messages-id-cancel".
func (r Route) operationID() string {
	words := strings.FieldsFunc(r.Path, func(c rune) bool { return strings.ContainsRune("/{}.$", c) })
	return strings.ToLower(r.Method + "-" + strings.Join(words, "-"))
}
