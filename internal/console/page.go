package console

import (
	"bytes"
	"fmt"
	"html/template"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/catalog"
	"github.com/posthouse/posthouse/internal/console/removal"
	"github.com/posthouse/posthouse/internal/console/suppressions"
	"github.com/posthouse/posthouse/internal/shellword"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/wire"
)

// pages are the templates by the names of their files. Each is parsed when it is first drawn: all of them together take 10 MB, and a
// server without visitors none.
type pages map[string]func() (*template.Template, error)

// readPages finds each page, which has the frame that all share.
func readPages() (pages, error) {
	out := pages{}
	if err := out.read(files); err != nil {
		return nil, err
	}
	for _, g := range groups() {
		if err := out.read(g.Files); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// read finds the pages of a folder, each with the frame and the parts beside it.
func (p pages) read(from fs.FS) error {
	names, err := fs.Glob(from, "pages/*.html")
	if err != nil {
		return err
	}
	parts, err := fs.Glob(from, "pages/parts/*.html")
	if err != nil {
		return err
	}
	for _, name := range names {
		p[strings.TrimSuffix(strings.TrimPrefix(name, "pages/"), ".html")] = sync.OnceValues(func() (*template.Template, error) {
			// Of each form as it is drawn there is one click: whatever the form decides, it decides once.
			t, err := template.New("frame").Funcs(template.FuncMap{"click": posthouse.NewID, "sh": shellWord, "path": segment, "idHead": idHead, "idTail": idTail}).ParseFS(files, "pages/parts/*.html")
			if err != nil {
				return nil, err
			}
			return t.ParseFS(from, append(slices.Clone(parts), name)...)
		})
	}
	return nil
}

// shellWord is its parts as one word of a command that is shown to be copied.
func shellWord(parts ...any) string {
	var b strings.Builder
	for _, p := range parts {
		fmt.Fprint(&b, p)
	}
	return shellword.Quote(b.String())
}

// segment is a part of such a command's address.
func segment(v any) string { return url.PathEscape(fmt.Sprint(v)) }

// frame is what every page is drawn with.
type frame struct {
	v     *visit
	Title string // a word
	Page  string // the entry of the menu that it belongs to
	Said  string // a word: what was just done
	Now   time.Time
	D     any
	// Charts says that the page has a chart, whose scripts other pages do not load.
	Charts bool
}

// Instead is the page that stands in the browser's history for one that answers a form with a secret, and so is kept nowhere: who goes back
// to it sends nothing again. It is empty for other pages.
func (f frame) Instead() string {
	secret, some := f.D.(fleeting)
	if !some || !secret.Fleeting() || f.v.r.Method != http.MethodPost || f.v.here() == "" {
		return ""
	}
	return backTo(f.v.here())
}

// draw writes a page.
func (v *visit) draw(status int, name, title string, data any) error {
	read, ok := v.pages[name]
	if !ok {
		return fmt.Errorf("there is no page %q", name)
	}
	t, err := read()
	if err != nil {
		return fmt.Errorf("read the page %s: %w", name, err)
	}
	f := frame{v: v, Title: title, Page: title, Now: time.Now(), D: data}
	if c, some := data.(charted); some {
		f.Charts = c.Drawn()
	}
	look, some := data.(looked)
	v.undecided = status >= http.StatusBadRequest && status < http.StatusInternalServerError || some && look.Undecided()
	if said := v.query("said"); slices.Contains(saids(), said) { // nothing else of the address is shown as our word
		f.Said = said
	}
	var out bytes.Buffer
	if err := t.ExecuteTemplate(&out, "frame", f); err != nil {
		return fmt.Errorf("draw the page %s: %w", name, err)
	}
	page := out.Bytes()
	if v.r.Method == http.MethodPost && status >= http.StatusBadRequest {
		page = v.beside(page)
	}
	v.w.Header().Set("Content-Language", f.Lang())
	v.answer(status, web.Marked(page), data)
	return nil
}

// answer writes a page, or leads to it where it answers a form.
func (v *visit) answer(status int, page []byte, data any) {
	if v.leadsTo(status, page, data) {
		return
	}
	if secret, some := data.(fleeting); some && secret.Fleeting() && v.r.Method == http.MethodPost && status < http.StatusBadRequest {
		v.spoken = &answerPage{Status: status, Language: v.w.Header().Get("Content-Language"), Page: string(page)}
	}
	v.write(status, page)
}

// write answers with a page.
func (v *visit) write(status int, page []byte) {
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.w.WriteHeader(status)
	_, _ = v.w.Write(page) // a browser that left is no error of ours
}

// saids are the words of what was just done.
func saids() []string {
	return []string{"welcome", "password_set", "codes_off_said", "cancelled_said", "recalled_said", "replayed", "resolved", "paused_said", "resumed_said", "account_paused_said", "account_resumed_said", "changed_said", "stored", "handed_in", "people_said", "people_content_said", "again_said", "ended_said", "reminder_paused_said", "reminder_resumed_said", "key_revoked_said", "signed_out_said", "sub_replayed_said", removal.Done, suppressions.Done}
}

// show draws a page of status 200.
func (v *visit) show(name, title string, data any) error {
	return v.draw(http.StatusOK, name, title, data)
}

// T is a word in the visitor's language.
func (f frame) T(name string) string { return say(name, f.v.zh) }

// Lang is the language of the page.
func (f frame) Lang() string {
	if f.v.zh {
		return "zh-CN"
	}
	return "en"
}

// ZH reports whether the page is in Chinese.
func (f frame) ZH() bool { return f.v.zh }

// Other is the language to switch to.
func (f frame) Other() string {
	if f.v.zh {
		return "en"
	}
	return "zh"
}

// Here is the address of the page; of one that answers a form it is that of the form.
func (f frame) Here() string {
	if f.v.r.Method != http.MethodGet {
		return backTo(f.v.here())
	}
	return f.v.r.URL.RequestURI()
}

// At is the address of a page of the tenant.
func (f frame) At(parts ...string) string { return f.v.at(parts...) }

// Root is where the console begins.
func (f frame) Root() string { return Root }

// Tenant is the tenant of the page, empty for none.
func (f frame) Tenant() string { return f.v.tenant }

// charted is what a page that may have a chart shows.
type charted interface{ Drawn() bool }

// Wall reports whether the page is for a screen at the wall: large, dark and without what one clicks.
func (f frame) Wall() bool { return f.Page == "overview" && f.v.query("wall") != "" }

// counting is what a page that counts what needs somebody shows.
type counting interface{ Needs() int }

// Needs is how much needs somebody, for the title: a tab that nobody looks at says it too. Other pages have none.
func (f frame) Needs() int {
	if c, some := f.D.(counting); some {
		return c.Needs()
	}
	return 0
}

// Person is who is signed in; without a name for nobody.
func (f frame) Person() posthouse.Person { return f.v.person.Person }

// Role is the word of the person's role in the tenant.
func (f frame) Role() string { return string(f.v.person.Roles[f.v.tenant]) }

// Tenants are those in which the person has a role.
func (f frame) Tenants() []string {
	return tenantsOf(f.v.person.Person)
}

func tenantsOf(p posthouse.Person) []string { return slices.Sorted(maps.Keys(p.Roles)) }

// May reports whether the person's role reaches an action of scope admin.
func (f frame) May(action string) bool { return f.v.may(posthouse.ScopeAdmin, action) }

// Sends reports whether the person's role reaches an action of scope send.
func (f frame) Sends(action string) bool { return f.v.may(posthouse.ScopeSend, action) }

// Version and Sandbox are the options of these names.
func (f frame) Version() string { return f.v.o.Version }

// Sandbox is where the simulator is, of a demo.
func (f frame) Sandbox() string { return f.v.o.Sandbox }

// URL is where browsers see the server: as it was told, and else as the request says.
func (f frame) URL() string {
	if told := f.v.o.PublicURL; told != "" {
		return told
	}
	return web.Origin(f.v.r)
}

// Is reports whether a time is there.
func (f frame) Is(t time.Time) bool { return !t.IsZero() }

// Clock is a time in the visitor's zone.
func (f frame) Clock(t time.Time) string {
	return t.In(zoneFor(f.v)).Format("2006-01-02 15:04:05")
}

// clockOr is a time, empty for none.
func (f frame) clockOr(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return f.Clock(t)
}

// Hour is the time of day.
func (f frame) Hour(t time.Time) string { return t.In(zoneFor(f.v)).Format("15:04") }

// Zone is the name of that zone.
func (f frame) Zone() string { return zoneFor(f.v).String() }

// ISO is a time as programs read it.
func (f frame) ISO(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// Ago says how far a time is from now.
func (f frame) Ago(t time.Time) string {
	d := f.Now.Sub(t)
	ahead := d < 0
	text := f.Span(max(d, -d))
	switch {
	case f.v.zh && ahead:
		return text + "后"
	case f.v.zh:
		return text + "前"
	case ahead:
		return "in " + text
	}
	return text + " ago"
}

// Length is a length of time, to the second or the minute.
func (f frame) Length(d time.Duration) string { return catalog.Lasting(d, f.v.zh) }

// Span is about how long something is.
func (f frame) Span(d time.Duration) string { return catalog.About(d, f.v.zh) }

// Roughly is how long something is estimated to be.
func (f frame) Roughly(d time.Duration) string {
	if f.v.zh {
		return "约 " + catalog.Roughly(d, true)
	}
	return "about " + catalog.Roughly(d, false)
}

// Window is how many a window allows, and within which time.
func (f frame) Window(most int, per posthouse.Duration) string {
	return catalog.Window(most, per.Std(), f.v.zh)
}

// Filled is how much of a window is used.
func (f frame) Filled(w wire.Window) string {
	if f.v.zh {
		return "已用 " + catalog.Number(w.Used) + " · " + f.Window(w.Max, w.Per)
	}
	return catalog.Number(w.Used) + " of " + f.Window(w.Max, w.Per)
}

// Digits is a number as people read it, in groups of three digits.
func (frame) Digits(n int) string { return catalog.Number(n) }

// maxShown bounds a text on a page, in characters.
const maxShown = 2000

// Figure is a number with three digits that count, as people write it: 2400, not 2.4e+03.
func (frame) Figure(v float64) string {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64)
	if err != nil {
		rounded = v
	}
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// Short cuts a text that is too long for a page.
func (f frame) Short(text string) string {
	n := 0
	for i := range text {
		if n++; n > maxShown {
			return text[:i] + "…"
		}
	}
	return text
}
