package api

import (
	"embed"
	"io/fs"
	"net/http"
)

// docsFS is the API's page: RapiDoc as its authors publish it, and our few lines around it.
//
//go:embed docs
var docsFS embed.FS

// docsPolicy lets the page use itself only. RapiDoc sets style attributes.
const docsPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; img-src 'self' data:; font-src 'self' data:; frame-ancestors 'none'"

func (a *api) docsPage() http.Handler { return docsFile("index.html") }

func (a *api) docsFiles() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		docsFile(r.PathValue("file")).ServeHTTP(w, r)
	})
}

func docsFile(name string) http.Handler {
	files, _ := fs.Sub(docsFS, "docs") // embedded: can not fail
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", docsPolicy)
		w.Header().Set("Cache-Control", "max-age=3600")
		http.ServeFileFS(w, r, files, name) //nolint:gosec // an embedded file system holds what we put there
	})
}
