package api

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
	"github.com/posthouse/posthouse/internal/work"
)

// describe makes the OpenAPI 3.1 document from the route table. It is committed, and a test
// compares it.
func describe(routes []route) ([]byte, error) {
	schemas := huma.NewMapRegistry("#/components/schemas/", schemaName)
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
	fault := schemas.Schema(reflect.TypeFor[problem](), true, "Problem")
	for _, r := range routes {
		path := strings.TrimSuffix(r.path, "{$}")
		item := doc.Paths[path]
		if item == nil {
			item = &huma.PathItem{}
			doc.Paths[path] = item
		}
		operation(r, item, schemas, fault)
	}
	complete(schemas)
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

// schemaName names a type in the document: "messageView" becomes "Message", "page[...Channel]"
// becomes "ChannelPage".
func schemaName(t reflect.Type, hint string) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	name := t.Name()
	if base, of, generic := strings.Cut(name, "["); generic {
		of = strings.TrimSuffix(of[strings.LastIndexAny(of, "./")+1:], "]")
		name = strings.TrimSuffix(of, "View") + strings.ToUpper(base[:1]) + base[1:]
	}
	if name == "" {
		name = hint
	}
	name = strings.TrimSuffix(strings.TrimSuffix(name, "View"), "Body")
	if strings.HasSuffix(t.Name(), "Body") {
		name += "Request"
	}
	switch t {
	case reflect.TypeFor[problem]():
		name = "Fault" // a Problem is one of those it lists
	case reflect.TypeFor[posthouse.Message]():
		name = "StoredMessage" // a Message has counts of its deliveries
	}
	return strings.ToUpper(name[:1]) + name[1:]
}

var pathNames = regexp.MustCompile(`\{([a-z]+)\}`)

func operation(r route, item *huma.PathItem, schemas huma.Registry, fault *huma.Schema) {
	status := r.status
	if status == 0 {
		status = http.StatusOK
	}
	op := &huma.Operation{
		OperationID: operationID(r), Summary: r.doc, Tags: []string{r.tag},
		Responses: map[string]*huma.Response{
			"default": {Description: "What is wrong.", Content: map[string]*huma.MediaType{"application/problem+json": {Schema: fault}}},
		},
	}
	for _, status := range append([]int{status}, r.also...) {
		op.Responses[strconv.Itoa(status)] = response(r, status, schemas)
	}
	if r.scope != "" {
		op.Security = []map[string][]string{{"key": {}}}
		op.Description = "Needs a key of scope " + string(r.scope) + "."
		switch {
		case r.scope == posthouse.ScopeAgent:
			op.Description = "Needs the agent's own key."
		case r.own:
			op.Description = "Needs a key of scope " + string(r.scope) + ", or the agent's own."
		}
	}
	for _, name := range pathNames.FindAllStringSubmatch(r.path, -1) {
		op.Parameters = append(op.Parameters, &huma.Param{Name: name[1], In: "path", Required: true, Schema: &huma.Schema{Type: "string"}})
	}
	for _, name := range r.query {
		op.Parameters = append(op.Parameters, &huma.Param{Name: name, In: "query", Schema: querySchema(name)})
	}
	if r.in != nil {
		op.RequestBody = &huma.RequestBody{Content: map[string]*huma.MediaType{"application/json": {Schema: requestSchema(r.in, schemas)}}}
		if r.csv {
			op.RequestBody.Content["text/csv"] = &huma.MediaType{Schema: &huma.Schema{Type: "string"}}
		}
	}
	if r.path == "/v1/messages" && r.method == http.MethodPost || r.path == "/v1/notices" && r.method == http.MethodPost {
		op.Parameters = append(op.Parameters, &huma.Param{Name: "Idempotency-Key", In: "header", Description: "Makes a repeat of the same request answer as the first did.", Schema: &huma.Schema{Type: "string"}})
	}
	switch r.method {
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
func response(r route, status int, schemas huma.Registry) *huma.Response {
	answer := &huma.Response{Description: http.StatusText(status)}
	if r.out == nil {
		return answer
	}
	schema := schemas.Schema(reflect.TypeOf(r.out), true, "Answer")
	if _, sent := r.in.(sendBody); sent {
		schema = &huma.Schema{OneOf: []*huma.Schema{schema, schemas.Schema(reflect.TypeFor[manyAccepted](), true, "Answer")}}
	}
	answer.Content = map[string]*huma.MediaType{"application/json": {Schema: schema}}
	return answer
}

// requestSchema is the schema of a body; sending and reporting take one or a list.
func requestSchema(in any, schemas huma.Registry) *huma.Schema {
	switch in.(type) {
	case sendBody:
		return oneOrMany(schemas.Schema(reflect.TypeFor[posthouse.Draft](), true, "Draft"), "messages")
	case reportBody:
		return oneOrMany(schemas.Schema(reflect.TypeFor[posthouse.AgentReport](), true, "AgentReport"), "reports")
	}
	return schemas.Schema(reflect.TypeOf(in), true, "Request")
}

// oneOrMany is a thing, or an object with a list of them.
func oneOrMany(one *huma.Schema, name string) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{one, {
		Type: "object", Required: []string{name},
		Properties: map[string]*huma.Schema{name: {Type: "array", Items: one}},
	}}}
}

func querySchema(name string) *huma.Schema {
	switch name {
	case "limit":
		return &huma.Schema{Type: "integer", Minimum: new(1.0), Maximum: new(float64(maxPage)), Default: 50}
	case "version":
		return &huma.Schema{Type: "integer", Minimum: new(1.0)}
	case "state":
		return &huma.Schema{Type: "string", Description: "One or more, with commas: " + words(posthouse.States()) + "."}
	case "log":
		return &huma.Schema{Type: "string", Enum: []any{work.ReceiveLog, work.SendLog, work.ReportLog}, Default: work.ReceiveLog}
	case "since", "until":
		return &huma.Schema{Type: "string", Format: "date-time"}
	}
	return &huma.Schema{Type: "string"}
}

// operationID is unique for each route: "post-v1-messages-id-cancel".
func operationID(r route) string {
	words := strings.FieldsFunc(r.path, func(c rune) bool { return strings.ContainsRune("/{}.$", c) })
	return strings.ToLower(r.method + "-" + strings.Join(words, "-"))
}
