package web

import (
	"bytes"
	"embed"
	"html/template"
	"io/fs"
	"log/slog"
	"net/http"
	"strings"
)

//go:embed linked.html linked.css
var linked embed.FS

// LinkedStyle is the name, behind the path of a page, of its style.
const LinkedStyle = "style.css"

// LinkedPage is a page behind a link that only its recipient has: page.html of its files, which begins with the template "head" and has what
// that shows, Lang and T.title. All have one style. No one keeps the page, and it runs nothing.
type LinkedPage struct {
	path string // behind which the link's token stands
	page *template.Template
}

// NewLinkedPage makes a page of its files. It panics where they cannot be read: they are part of the program.
func NewLinkedPage(path string, files fs.FS) LinkedPage {
	t := template.New("page.html").Funcs(template.FuncMap{"style": func() string { return path + LinkedStyle }})
	return LinkedPage{path, template.Must(template.Must(t.ParseFS(linked, "linked.html")).ParseFS(files, "page.html"))}
}

// Begin sets the headers and returns the token of the link. ok is false where the request is answered already: its method is another one,
// or it was for the style.
func (p LinkedPage) Begin(w http.ResponseWriter, r *http.Request) (token string, ok bool) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Robots-Tag", "noindex, nofollow")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost:
	default:
		h.Set("Allow", "GET, HEAD, POST")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return "", false
	}
	token = strings.TrimPrefix(r.URL.Path, p.path)
	if token == LinkedStyle {
		http.ServeFileFS(w, r, linked, "linked.css")
		return "", false
	}
	return token, true
}

// Draw writes the page.
func (p LinkedPage) Draw(w http.ResponseWriter, status int, shown any, log *slog.Logger) {
	var out bytes.Buffer
	if err := p.page.Execute(&out, shown); err != nil {
		log.Error("a page behind a link cannot be drawn", "path", p.path, "error", err)
		http.Error(w, "", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(Marked(out.Bytes())) // a reader who has left gets nothing
}

// Language is that of a browser: Chinese, unless it prefers English.
func Language(r *http.Request) string {
	accept := strings.ToLower(r.Header.Get("Accept-Language"))
	zh, en := strings.Index(accept, "zh"), strings.Index(accept, "en")
	if zh < 0 && en >= 0 || en >= 0 && en < zh {
		return "en"
	}
	return "zh"
}
