package simulator

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/sms"
)

//go:embed page.html phones.html style.css
var assets embed.FS

// The page shows this much: rows, and characters of a text.
const (
	pageRows  = 100
	pageRunes = 240
)

// policy allows the page its own style sheet and nothing else.
const policy = "default-src 'none'; style-src 'self'; img-src data:; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"

var pages = template.Must(template.New("").Funcs(template.FuncMap{
	"clock": func(t time.Time) string { return t.Local().Format("15:04:05.000") },
	"short": short,
	"parts": func(text string) int { return sms.Parts(text).Parts },
}).ParseFS(assets, "*.html"))

// frame is what every page shows, in one language.
type frame struct {
	ZH     bool
	Lang   string
	Text   map[string]string
	Still  bool // does not load itself again
	URL    string
	Tricks []trickLine
}

// view is what the first page shows.
type view struct {
	frame
	Provider string
	Arrivals []Arrival // newest first
	Totals   Totals
	Lines    []line
}

// line is one provider.
type line struct {
	Name, Title, Path string
	Stats             Stats
	Faults            []string
}

type trickLine struct{ Name, Number, What string }

func (p panel) showPage(w http.ResponseWriter, r *http.Request) error {
	q := query{values: r.URL.Query()}
	q.allow("lang", "still", "provider")
	name := p.providerIn(&q)
	if err := q.err(); err != nil {
		return err
	}
	return writePage(w, "page.html", p.view(frameOf(r), name))
}

func (p panel) showPhones(w http.ResponseWriter, r *http.Request) error {
	q := query{values: r.URL.Query()}
	q.allow("lang", "still")
	if err := q.err(); err != nil {
		return err
	}
	list := p.Phones()
	for i := range list {
		slices.Reverse(list[i].SMS) // the newest is drawn at the bottom, where the page keeps its place
	}
	return writePage(w, "phones.html", struct {
		frame
		Phones []Phone
	}{frameOf(r), list})
}

func writePage(w http.ResponseWriter, name string, v any) error {
	var out bytes.Buffer
	if err := pages.ExecuteTemplate(&out, name, v); err != nil {
		return fmt.Errorf("draw the page: %w", err)
	}
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	reply{kind: "text/html; charset=utf-8", body: out.String()}.send(w, http.StatusOK)
	return nil
}

// frameOf is the frame of a page that is asked for.
func frameOf(r *http.Request) frame {
	zh := speaksChinese(r)
	f := frame{ZH: zh, Lang: "en", Text: wordsOf(zh), Still: r.URL.Query().Has("still"), URL: "http://" + r.Host}
	if zh {
		f.Lang = "zh"
	}
	for _, t := range tricks {
		what := t.en
		if zh {
			what = t.zh
		}
		f.Tricks = append(f.Tricks, trickLine{t.name, t.number, what})
	}
	return f
}

func (p panel) showStyle(w http.ResponseWriter, _ *http.Request) error {
	body, err := assets.ReadFile("style.css")
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "max-age=3600")
	reply{kind: "text/css; charset=utf-8", body: string(body)}.send(w, http.StatusOK)
	return nil
}

func (p panel) view(f frame, provider string) view {
	v := view{frame: f, Provider: provider}
	v.Arrivals = p.Arrivals(Filter{Provider: provider, Limit: pageRows})
	slices.Reverse(v.Arrivals)
	status := p.Status()
	v.Totals = status.Totals
	for _, p := range p.fakes {
		l := line{Name: p.name, Title: p.title, Path: p.path, Stats: status.Providers[p.name], Faults: p.behaviour().lines()}
		if f.ZH {
			l.Title = p.titleZH
		}
		v.Lines = append(v.Lines, l)
	}
	return v
}

// lines are the faults and the limit in force, as PUT /faults would be given them.
func (b Behaviour) lines() []string {
	var out []string
	for _, f := range b.Faults {
		out = append(out, f.line())
	}
	if l := b.Limit; l != nil {
		out = append(out, fmt.Sprintf("limit %d / %s%s", l.Max, l.Per, optional(" lockout ", l.Lockout)))
	}
	for _, a := range b.Accounts {
		for _, w := range a.Windows {
			out = append(out, fmt.Sprintf("accounts %s limit %d / %s%s%s", cmp.Or(a.Accounts, "*"), w.Max, w.Per, optional(" lockout ", a.Lockout), optional(" relapse ", a.Relapse)))
		}
	}
	return out
}

func (f Fault) line() string {
	var b strings.Builder
	b.WriteString(string(f.Kind))
	if f.Code != "" {
		fmt.Fprintf(&b, " %s", f.Code)
	}
	if f.Status != 0 {
		fmt.Fprintf(&b, " %d", f.Status)
	}
	b.WriteString(optional(" ", f.Latency) + optional(" ±", f.Jitter))
	if f.Probability != nil {
		fmt.Fprintf(&b, " %g%%", *f.Probability*100)
	}
	if f.Recipient != "" {
		fmt.Fprintf(&b, " → %s", f.Recipient)
	}
	if f.Times > 0 {
		fmt.Fprintf(&b, " ×%d", f.Times)
	}
	return b.String()
}

func optional(before string, d posthouse.Duration) string {
	if d == 0 {
		return ""
	}
	return before + d.String()
}

// speaksChinese follows ?lang=, and without it the browser's first language.
func speaksChinese(r *http.Request) bool {
	lang := r.URL.Query().Get("lang")
	if lang == "" {
		lang = r.Header.Get("Accept-Language")
	}
	return strings.HasPrefix(strings.ToLower(lang), "zh")
}

// short cuts a long text, so that the page stays small whatever arrives.
func short(text string) string {
	n := 0
	for i := range text {
		if n++; n > pageRunes {
			return text[:i] + "…"
		}
	}
	return text
}
