package api

import (
	"cmp"
	"embed"
	"net/http"
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

// docs serves the page, or one of the files it is made of.
func (a *api) docs(c *call) (answer, error) {
	name := cmp.Or(c.PathValue("file"), "index.html")
	text, err := docsFS.ReadFile("docs/" + name)
	if err != nil {
		return answer{}, posthouse.Errorf(posthouse.CodeNotFound, "the page has no file %.80q", name)
	}
	header := http.Header{"Content-Security-Policy": {docsPolicy}, "Cache-Control": {"max-age=3600"}}
	return answer{status: http.StatusOK, raw: text, kind: docsKinds[path.Ext(name)], header: header}, nil
}

// specification is the document.
func (a *api) specification(*call) (answer, error) {
	return answer{status: http.StatusOK, raw: a.spec, kind: "application/json"}, nil
}

// index tells a person or a program where to go.
func (a *api) index(*call) (answer, error) {
	text := "Posthouse 驿站 " + a.Version + "\n\n" +
		"/docs          the API as a page / 接口文档\n" +
		"/openapi.json  the API for programs\n" +
		"/readyz        what works and what does not / 就绪状态\n" +
		"/metrics       figures for Prometheus / 监控指标\n"
	return answer{status: http.StatusOK, raw: []byte(text), kind: "text/plain; charset=utf-8"}, nil
}
