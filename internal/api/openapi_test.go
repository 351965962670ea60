package api_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse/internal/api"
	"github.com/posthouse/posthouse/internal/api/terms"
	"github.com/posthouse/posthouse/internal/front/decisions"
	"github.com/posthouse/posthouse/internal/front/doctor"
	"github.com/posthouse/posthouse/internal/front/duty"
	"github.com/posthouse/posthouse/internal/front/fronts"
	"github.com/posthouse/posthouse/internal/front/gauges"
	"github.com/posthouse/posthouse/internal/front/lksms"
	"github.com/posthouse/posthouse/internal/front/media"
	"github.com/posthouse/posthouse/internal/front/notify"
	"github.com/posthouse/posthouse/internal/front/people"
	"github.com/posthouse/posthouse/internal/front/preferences"
	"github.com/posthouse/posthouse/internal/front/presets"
	"github.com/posthouse/posthouse/internal/front/processes"
	"github.com/posthouse/posthouse/internal/front/proofs"
	"github.com/posthouse/posthouse/internal/front/suppressions"
	"github.com/posthouse/posthouse/internal/web"
)

var update = flag.Bool("update", false, "write the OpenAPI document that is committed anew")

// routes are all that a server serves, with nothing behind them.
func routes() []web.Route {
	return slices.Concat(api.Routes(api.Options{}), decisions.Routes(decisions.Options{}), duty.Routes(duty.Options{}), notify.Routes(notify.Options{}), media.Routes(nil), suppressions.Routes(nil), preferences.Routes(nil, nil), people.Routes(nil, nil), presets.Routes(nil, nil), proofs.Routes(nil, nil), processes.Routes(nil), doctor.Routes(doctor.Options{}), gauges.Routes(nil, nil, nil, nil), fronts.Routes(fronts.Options{}), web.Pages())
}

// describe makes the document of all that a server serves.
func describe() ([]byte, error) {
	said, err := terms.Read()
	if err != nil {
		return nil, err
	}
	maps.Copy(said.Names, lksms.Names())
	list := routes()
	return web.Describe(said, list[:len(list)-len(web.Pages())], lksms.Described())
}

const committed = "../../docs/openapi/openapi.json"

func TestTheCommittedDocumentIsWhatIsServed(t *testing.T) {
	t.Parallel()
	made, err := describe()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(committed, made, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	stored, err := os.ReadFile(committed)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(stored), string(made)); diff != "" {
		t.Errorf("%s is not what the API is: run go test ./internal/api -update and look at the difference (-committed +made):\n%s", committed, diff)
	}
	h := open(t)
	if got := h.must(200, "GET", "/openapi.json", ""); got.body != string(made) || got.header.Get("Content-Type") != "application/json" {
		t.Errorf("/openapi.json serves another document, of type %s", got.header.Get("Content-Type"))
	}
}

// node is a part of a JSON document.
type node = map[string]any

// walk visits every object of a document with its path.
func walk(at string, v any, visit func(at string, n node)) {
	switch v := v.(type) {
	case node:
		visit(at, v)
		for key, inner := range v {
			walk(at+"/"+key, inner, visit)
		}
	case []any:
		for i, inner := range v {
			walk(fmt.Sprintf("%s/%d", at, i), inner, visit)
		}
	}
}

func document(t *testing.T) node {
	t.Helper()
	text, err := describe()
	if err != nil {
		t.Fatal(err)
	}
	var doc node
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestEveryReferenceOfTheDocumentLeadsSomewhere(t *testing.T) {
	t.Parallel()
	doc := document(t)
	components := doc["components"].(node)
	used := map[string]bool{}
	walk("", doc, func(at string, n node) {
		ref, ok := n["$ref"].(string)
		if !ok {
			return
		}
		kind, name, local := strings.Cut(strings.TrimPrefix(ref, "#/components/"), "/")
		things, _ := components[kind].(node)
		if used[kind+"/"+name] = true; !local || things[name] == nil {
			t.Errorf("%s refers to %s, which is not there", at, ref)
		}
	})
	for _, kind := range []string{"schemas", "responses"} {
		for name := range components[kind].(node) {
			if !used[kind+"/"+name] {
				t.Errorf("%s: %s is not used", kind, name)
			}
		}
	}
}

func TestEveryOperationIsWhole(t *testing.T) {
	t.Parallel()
	doc := document(t)
	if doc["openapi"] != "3.1.0" {
		t.Errorf("the document is of version %v, want 3.1.0", doc["openapi"])
	}
	seen := map[any]bool{}
	operations := 0
	for path, item := range doc["paths"].(node) {
		for method, v := range item.(node) {
			op := v.(node)
			operations++
			if id, _ := op["operationId"].(string); seen[id] || !regexp.MustCompile(`^[a-z]+[A-Z][A-Za-z]+$`).MatchString(id) {
				t.Errorf("%s %s: the operationId %q is not its own, or no name of a function: say it in terms/operations.yaml", method, path, id)
			} else {
				seen[id] = true
			}
			var declared []string
			params, _ := op["parameters"].([]any)
			for _, p := range params {
				p := p.(node)
				if p["in"] == "path" && p["required"] == true {
					declared = append(declared, "{"+p["name"].(string)+"}")
				}
			}
			if found := regexp.MustCompile(`\{[^}]*\}`).FindAllString(path, -1); !slices.Equal(found, declared) {
				t.Errorf("%s %s: the path has %v, declared are %v", method, path, found, declared)
			}
			responses := op["responses"].(node)
			if op["summary"] == "" || responses["default"] == nil || len(responses) < 2 {
				t.Errorf("%s %s: a summary, an answer or the form of errors is missing", method, path)
			}
			security, said := op["security"].([]any)
			if open := public[path] || called[path] || path == "/" || path == "/health"; !said || (len(security) == 0 || len(security[0].(node)) == 0) != open {
				t.Errorf("%s %s: security is %v", method, path, op["security"])
			}
		}
	}
	if want := len(routes()) + len(lksms.Described()); operations != want {
		t.Errorf("%d operations are described, want the %d of the route table", operations, want)
	}
}

func TestTheDocumentNamesTheAllowedWords(t *testing.T) {
	t.Parallel()
	schemas := document(t)["components"].(node)["schemas"].(node)
	field := func(schema, name string) node {
		return schemas[schema].(node)["properties"].(node)[name].(node)
	}
	for _, test := range []struct {
		schema, field string
		want          int
	}{
		{"Delivery", "state", 11}, {"Delivery", "on_unknown", 4}, {"Draft", "priority", 3}, {"Attempt", "class", 11}, {"Key", "scope", 4},
		{"Field", "kind", 11}, {"Channel", "on_unknown", 4}, {"Resolve", "outcome", 3}, {"AcceptedDelivery", "state", 11}, {"Message", "priority", 3},
		{"Content", "type", 9}, {"RegisteredAgent", "state", 3}, {"AgentReport", "outcome", 4}, {"ReportAnswer", "result", 5},
	} {
		if got, _ := field(test.schema, test.field)["enum"].([]any); len(got) != test.want {
			t.Errorf("%s.%s: got the words %v, want %d", test.schema, test.field, got, test.want)
		}
	}
	if got, _ := field("ReplayAll", "states")["items"].(node)["enum"].([]any); len(got) != 11 {
		t.Errorf("ReplayAll.states: got the words %v", got)
	}
	if got, _ := field("Channel", "codes")["additionalProperties"].(node)["enum"].([]any); len(got) != 11 {
		t.Errorf("Channel.codes: got the words %v", got)
	}
	if field("Channel", "version")["readOnly"] != true || field("Channel", "driver")["readOnly"] == true {
		t.Error("the document does not tell what of a channel is given and what the server keeps")
	}
	if field("Fault", "code")["description"] == nil || field("Preview", "payload")["type"] != "object" {
		t.Error("descriptions or the type of a payload are missing")
	}
	if field("Draft", "to")["type"] != "array" {
		t.Errorf("a list may be null: %v", field("Draft", "to"))
	}
}

// What nobody describes, a user of a generated client has to guess.
func TestEverythingInTheDocumentIsDescribed(t *testing.T) {
	t.Parallel()
	doc := document(t)
	for name, schema := range doc["components"].(node)["schemas"].(node) {
		properties, _ := schema.(node)["properties"].(node)
		for field, p := range properties {
			if p := p.(node); p["description"] == nil {
				t.Errorf("%s.%s has no description: give it a doc tag, or a line in terms/fields.yaml", name, field)
			}
		}
	}
	tags := map[any]bool{}
	for _, tag := range doc["tags"].([]any) {
		tags[tag.(node)["name"]] = tag.(node)["description"] != nil
	}
	for path, item := range doc["paths"].(node) {
		for method, v := range item.(node) {
			op := v.(node)
			if tag := op["tags"].([]any)[0]; !tags[tag] {
				t.Errorf("%s %s: its tag %v is not in terms/tags.yaml", method, path, tag)
			}
			params, _ := op["parameters"].([]any)
			for _, p := range params {
				p := p.(node)
				if p["description"] == nil || p["example"] == nil && p["name"] != "cursor" {
					t.Errorf("%s %s: the parameter %v has no description or no example: say it in terms/parameters.yaml", method, path, p["name"])
				}
			}
			body, _ := op["requestBody"].(node)
			kinds, _ := body["content"].(node)
			if spoken, ok := kinds["application/json"].(node); ok && spoken["example"] == nil {
				t.Errorf("%s %s: the body has no example: give one in terms/operations.yaml", method, path)
			}
		}
	}
}

// A term that stands for nothing any more has been forgotten.
func TestEveryTermIsOfSomething(t *testing.T) {
	t.Parallel()
	said, err := terms.Read()
	if err != nil {
		t.Fatal(err)
	}
	addresses := map[string]bool{}
	for _, r := range slices.Concat(routes(), lksms.Described()) {
		addresses[r.Method+" "+r.Path] = true
	}
	for address := range said.Operations {
		if !addresses[address] {
			t.Errorf("terms/operations.yaml has %s, which is no route", address)
		}
	}
}

// The examples are of the forms that stand beside them: a parameter's of its type, a body's with all that a caller must give. A
// linter of others says the same, where it is installed: make clients.
func TestExamplesAreWhatTheDocumentAsksFor(t *testing.T) {
	t.Parallel()
	doc := document(t)
	schemas := doc["components"].(node)["schemas"].(node)
	types := map[string]bool{}
	for path, item := range doc["paths"].(node) {
		for method, v := range item.(node) {
			op := v.(node)
			where := method + " " + path
			params, _ := op["parameters"].([]any)
			for _, v := range params {
				p := v.(node)
				form := p["schema"].(node)["type"]
				switch example := p["example"].(type) {
				case bool:
					types["boolean"] = true
					if form != "boolean" {
						t.Errorf("%s: the example of %s is %v, its type %v", where, p["name"], example, form)
					}
				case float64:
					types["integer"] = true
					if form != "integer" {
						t.Errorf("%s: the example of %s is %v, its type %v", where, p["name"], example, form)
					}
				case string:
					if form != "string" {
						t.Errorf("%s: the example of %s is %q, its type %v", where, p["name"], example, form)
					}
				}
			}
			body, _ := op["requestBody"].(node)
			content, _ := body["content"].(node)
			if media, ok := content["application/json"].(node); ok {
				lacking(t, where, media["example"], media["schema"].(node), schemas)
			}
		}
	}
	if !types["boolean"] || !types["integer"] {
		t.Errorf("only parameters of %v were seen", types)
	}
}

// lacking names the fields that an example must have and has not. What the server fills in need not be there.
func lacking(t *testing.T, where string, example any, schema, schemas node) {
	t.Helper()
	if ref, ok := schema["$ref"].(string); ok {
		schema = schemas[strings.TrimPrefix(ref, "#/components/schemas/")].(node)
	}
	switch example := example.(type) {
	case []any:
		if items, ok := schema["items"].(node); ok {
			for _, e := range example {
				lacking(t, where, e, items, schemas)
			}
		}
	case map[string]any:
		properties, _ := schema["properties"].(node)
		required, _ := schema["required"].([]any)
		for _, name := range required {
			if p, ok := properties[name.(string)].(node); ok && p["readOnly"] != true && example[name.(string)] == nil {
				t.Errorf("%s: the example has no %s", where, name)
			}
		}
		for name, e := range example {
			if p, ok := properties[name].(node); ok {
				lacking(t, where, e, p, schemas)
			}
		}
	}
}
