package web

import (
	"bytes"
	"encoding/json"
	"net/http"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/posthouse/posthouse/wire"
)

// describe makes the OpenAPI 3.1 document of a table of routes.
func describe(t Terms, routes []Route) ([]byte, error) {
	schemas := huma.NewMapRegistry(schemaPrefix, t.schemaName)
	doc := &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info:    &huma.Info{Title: "Posthouse", Version: "1", Description: t.Intro, License: &huma.License{Name: "Apache-2.0", Identifier: "Apache-2.0"}},
		Servers: []*huma.Server{
			{URL: "/", Description: "The server that this document is read from."},
			{URL: "http://127.0.0.1:8080", Description: "Where posthouse serve listens by itself."},
		},
		Paths: map[string]*huma.PathItem{},
		Components: &huma.Components{
			Schemas:   schemas,
			Responses: map[string]*huma.Response{},
			SecuritySchemes: map[string]*huma.SecurityScheme{
				keyScheme:   {Type: "http", Scheme: "bearer", Description: "An API key, such as `ph_7d2kq0v9x4ma_…`."},
				basicScheme: {Type: "http", Scheme: "basic", Description: "The pair of BASIC_AUTH_USERNAME and BASIC_AUTH_PASSWORD, or any user name with an API key as its password."},
			},
		},
		Security: []map[string][]string{{keyScheme: {}}},
	}
	for _, tag := range t.Tags {
		doc.Tags = append(doc.Tags, &huma.Tag{Name: tag.Name, Description: tag.Doc})
	}
	for _, r := range routes {
		path := strings.TrimSuffix(r.Path, "{$}")
		if doc.Paths[path] == nil {
			doc.Paths[path] = &huma.PathItem{}
		}
		r.describeIn(doc.Paths[path], t.operation(r, doc.Components))
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

func (r Route) describeIn(item *huma.PathItem, op *huma.Operation) {
	switch r.Method {
	case http.MethodGet:
		item.Get = op
	case http.MethodPost:
		item.Post = op
	case http.MethodPut:
		item.Put = op
	case http.MethodPatch:
		item.Patch = op
	case http.MethodDelete:
		item.Delete = op
	}
}
