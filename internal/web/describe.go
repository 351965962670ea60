package web

import (
	"cmp"
	"net/http"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// How callers show who they are.
const (
	keyScheme   = "key"
	basicScheme = "basic"
)

var pathNames = regexp.MustCompile(`\{([a-z_]+)\}`)

// operation describes a route.
func (t Terms) operation(r Route, all *huma.Components) *huma.Operation {
	spoken := t.Operations[r.Method+" "+r.Path]
	op := &huma.Operation{
		OperationID: cmp.Or(spoken.ID, r.operationID()), Summary: r.Doc, Description: r.needs(), Tags: []string{r.Tag},
		Responses: r.faults(all), Security: r.security(),
	}
	for _, status := range r.status {
		op.Responses[strconv.Itoa(status)] = r.response(status, all.Schemas)
	}
	t.parameters(r, op)
	if r.in != nil {
		op.RequestBody = &huma.RequestBody{Required: !r.may, Content: map[string]*huma.MediaType{"application/json": {Schema: t.request(r, all.Schemas), Example: spoken.Body}}}
		for _, kind := range r.kinds {
			op.RequestBody.Content[kind] = &huma.MediaType{Schema: &huma.Schema{Type: "string"}}
		}
	}
	if len(r.file) > 0 {
		op.RequestBody = &huma.RequestBody{Content: map[string]*huma.MediaType{}}
		for _, kind := range r.file {
			op.RequestBody.Content[kind] = &huma.MediaType{Schema: &huma.Schema{Type: "string", Format: "binary"}}
		}
	}
	return op
}

// listKinds are the forms of a list of people; its first bytes tell whether it is compressed.
func listKinds() []string {
	return []string{"text/csv", "application/x-ndjson", "application/gzip", "application/zstd"}
}

// needs says whose request is served.
func (r Route) needs() string {
	switch {
	case r.greets:
		return "Needs no key, and says more to one of scope read."
	case r.Scope == "":
		return "Needs no key."
	case r.scheme == basicScheme:
		return "Needs the shared pair, or a key of scope " + string(r.Scope) + "."
	case r.Scope == posthouse.ScopeAgent:
		return "Needs the agent's own key."
	case r.Own:
		return "Needs a key of scope " + string(r.Scope) + ", or the agent's own."
	}
	return "Needs a key of scope " + string(r.Scope) + "."
}

func (r Route) security() []map[string][]string {
	switch {
	case r.greets:
		return []map[string][]string{{}, {keyScheme: {}}}
	case r.Scope == "":
		return []map[string][]string{}
	}
	return []map[string][]string{{cmp.Or(r.scheme, keyScheme): {}}}
}

// faults are the answers to requests that are wrong.
func (r Route) faults(all *huma.Components) map[string]*huma.Response {
	body := r.in != nil
	out := map[string]*huma.Response{}
	for status, told := range map[int]bool{
		http.StatusBadRequest: true, http.StatusUnauthorized: r.Scope != "", http.StatusForbidden: r.Scope != "",
		http.StatusNotFound: pathNames.MatchString(r.Path), http.StatusConflict: r.Scope != "" && r.Method != http.MethodGet,
		http.StatusPreconditionFailed: r.guarded, http.StatusRequestEntityTooLarge: body, http.StatusUnsupportedMediaType: body && r.scheme == "", http.StatusUnprocessableEntity: r.Scope != "", http.StatusTooManyRequests: r.Scope != "",
	} {
		if told {
			out[strconv.Itoa(status)] = r.told(strings.ReplaceAll(http.StatusText(status), " ", ""), faultDocs[status], all)
		}
	}
	out["default"] = r.told("Failure", "The server cannot do it now, or the database is away: the code says which, and Retry-After when to come again.", all)
	return out
}

var faultDocs = map[int]string{
	http.StatusBadRequest:            "The request cannot be read.",
	http.StatusUnauthorized:          "No key, or not a valid one.",
	http.StatusForbidden:             "The key's scope does not reach this.",
	http.StatusNotFound:              "There is no such thing.",
	http.StatusConflict:              "Its state does not allow it. Nothing has changed.",
	http.StatusPreconditionFailed:    "It is not as If-Match or If-None-Match say: somebody changed it meanwhile. Nothing has changed.",
	http.StatusRequestEntityTooLarge: "The body is too large.",
	http.StatusUnsupportedMediaType:  "The body is of another type.",
	http.StatusUnprocessableEntity:   "Something in it is wrong: problems names everything with its path. Nothing has changed.",
	http.StatusTooManyRequests:       "Too many wrong keys, or too many requests: come again after Retry-After.",
}

// told refers to an answer that many operations have.
func (r Route) told(name, doc string, all *huma.Components) *huma.Response {
	form, kind := cmp.Or(r.fault, reflect.TypeFor[wire.Problem]()), "application/problem+json"
	if r.fault != nil {
		name, kind = "SMS"+name, "application/json"
	}
	if all.Responses[name] == nil {
		all.Responses[name] = &huma.Response{Description: doc, Content: map[string]*huma.MediaType{kind: {Schema: all.Schemas.Schema(form, true, "Fault")}}}
	}
	return &huma.Response{Ref: "#/components/responses/" + name}
}

// parameters describes what stands in the path, the query and the headers.
func (t Terms) parameters(r Route, op *huma.Operation) {
	for _, name := range pathNames.FindAllStringSubmatch(r.Path, -1) {
		op.Parameters = append(op.Parameters, t.param(r.Tag, op.OperationID, name[1], "path"))
	}
	for _, name := range r.Params {
		op.Parameters = append(op.Parameters, t.param(r.Tag, op.OperationID, name, "query"))
	}
	if r.Audits() {
		op.Parameters = append(op.Parameters, &huma.Param{
			Name: NoteHeader, In: "header", Description: "Why: it stands in the audit log.", Example: "asked for by the branch", Schema: &huma.Schema{Type: "string", MaxLength: new(maxNote)},
		})
	}
	if r.aside {
		op.Parameters = append(op.Parameters, &huma.Param{
			Name: AsOfHeader, In: "header", Description: "What an earlier answer had in its header of this name: where a replica answers lists, this answer is not older.", Example: "2026-11-28T08:30:00.000000Z",
			Schema: &huma.Schema{Type: "string", Format: "date-time"},
		})
	}
	if r.guarded {
		op.Parameters = append(op.Parameters, &huma.Param{
			Name: ifMatch, In: "header", Description: "The ETag of what was read: it is stored where nobody has changed it meanwhile. * is for what is there.", Example: `"1764000000000000"`, Schema: &huma.Schema{Type: "string"},
		}, &huma.Param{
			Name: ifNone, In: "header", Description: "* is for what is not there yet.", Example: "*", Schema: &huma.Schema{Type: "string"},
		})
	}
	if r.keyed {
		op.Parameters = append(op.Parameters, &huma.Param{
			Name: "Idempotency-Key", In: "header", Description: "Makes a repeat of the same request answer as the first did.", Example: "shift-7-evening",
			Schema: &huma.Schema{Type: "string", MinLength: new(1), MaxLength: new(maxIdempotencyKey)},
		})
	}
}

func (t Terms) param(tag, operation, name, in string) *huma.Param {
	said := t.Params[name]
	for _, nearer := range []string{tag, operation} {
		if s, ok := t.Params[nearer+"."+name]; ok {
			said = s
		}
	}
	schema := querySchema(name, said.Example)
	said.describe(schema)
	p := &huma.Param{Name: name, In: in, Required: in == "path", Description: said.Doc, Example: said.Example, Schema: schema}
	schema.Description, schema.Examples = "", nil
	return p
}

// querySchema is the form of a parameter: that of its name, or else of its example.
func querySchema(name string, example any) *huma.Schema {
	switch name {
	case "limit":
		return &huma.Schema{Type: "integer", Minimum: new(1.0), Maximum: new(float64(MaxPage)), Default: 50}
	case "version":
		return &huma.Schema{Type: "integer", Minimum: new(1.0)}
	case "bizType":
		return &huma.Schema{Type: "string", Pattern: "^[0-5](,[0-5])*$"}
	case "log":
		return &huma.Schema{Type: "string", Enum: Any(wire.Logs()...), Default: wire.ReceiveLog}
	case "since", "until", "at":
		return &huma.Schema{Type: "string", Format: "date-time"}
	}
	switch example.(type) {
	case bool:
		return &huma.Schema{Type: "boolean"}
	case int, float64:
		return &huma.Schema{Type: "integer"}
	}
	return &huma.Schema{Type: "string"}
}

// response describes the answer of one status. What is no JSON, such as a page, has no schema.
func (r Route) response(status int, schemas huma.Registry) *huma.Response {
	answer := &huma.Response{Description: http.StatusText(status)}
	if len(r.out) == 0 {
		return answer
	}
	schema := schemas.Schema(r.out[0], true, "Answer")
	if len(r.out) > 1 {
		var of []*huma.Schema
		for _, t := range r.out {
			of = append(of, schemas.Schema(t, true, "Answer"))
		}
		schema = eitherOf(schemas, of...)
	}
	answer.Content = map[string]*huma.MediaType{"application/json": {Schema: schema}}
	return answer
}

// request is the schema of the body.
func (t Terms) request(r Route, schemas huma.Registry) *huma.Schema {
	if s := t.oneOrMany(r.in, schemas); s != nil {
		return s
	}
	return schemas.Schema(r.in, true, "Request")
}

// operationID is unique for each route: "post-v1-messages-id-cancel". Generators read better those that the terms give.
func (r Route) operationID() string {
	words := strings.FieldsFunc(r.Path, func(c rune) bool { return strings.ContainsRune("/{}.$", c) })
	return strings.ToLower(r.Method + "-" + strings.Join(words, "-"))
}
