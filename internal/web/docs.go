package web

import (
	"cmp"
	"embed"
	"fmt"
	"path"

	"github.com/posthouse/posthouse"
)

// docsFS is the API's page: RapiDoc as its authors publish it, and our few lines around it.
//
//go:embed docs
var docsFS embed.FS

// docsPolicy lets the page use itself only. RapiDoc sets style attributes.
const docsPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; img-src 'self' data:; font-src 'self' data:; frame-ancestors 'none'"

var docsKinds = map[string]string{".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".txt": "text/plain; charset=utf-8"}

// Pages are the routes that every table ends with: its document, the page of it, and the index.
func Pages() []Route { return (&door{}).pages() }

func (d *door) pages() []Route {
	return Tagged("operation",
		Get("/openapi.json", "", "This document.", d.specification),
		Get("/docs", "", "This document as a page.", d.docs),
		Get("/docs/{file}", "", "What the page is made of.", d.docs),
		Get("/{$}", "", "Where to go from here.", d.index),
	)
}

// docs serves the page, or one of the files it is made of.
func (d *door) docs(c *Call) (Raw, error) {
	name := cmp.Or(c.PathValue("file"), "index.html")
	text, err := docsFS.ReadFile("docs/" + name)
	if err != nil {
		return Raw{}, posthouse.Errorf(posthouse.CodeNotFound, "the page has no file %.80q", name)
	}
	h := c.Writer.Header()
	h.Set("Content-Security-Policy", docsPolicy)
	h.Set("Cache-Control", "max-age=3600")
	return Raw{docsKinds[path.Ext(name)], text}, nil
}

// specification is the document.
func (d *door) specification(*Call) (Raw, error) {
	text, err := d.spec()
	if err != nil {
		return Raw{}, fmt.Errorf("describe the API: %w", err)
	}
	return Raw{"application/json", text}, nil
}

// index tells a person or a program where to go.
func (d *door) index(*Call) (Raw, error) {
	text := "Posthouse 驿站 " + d.Version + "\n\n" +
		"/docs          the API as a page / 接口文档\n" +
		"/openapi.json  the API for programs\n" +
		"/readyz        what works and what does not / 就绪状态\n" +
		"/metrics       figures for Prometheus / 监控指标\n"
	return Raw{"text/plain; charset=utf-8", []byte(text)}, nil
}
