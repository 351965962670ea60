package e2e

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"html/template"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/posthouse/posthouse"
)

// pictures is where make pictures writes what each page looks like, empty for nowhere.
var pictures = flag.String("pictures", "", "write a picture of the main pages, in both languages, light and dark, wide and narrow, into this `folder`")

// mainPages are those that an operator sees most. A person looks at their pictures.
var mainPages = []string{
	"", "search", "search?q=li.na", "attention", "channels", "channels/desk", "channels/desk/edit", "channels/fleet", "compose", "campaigns", "campaigns/summer", "campaigns/summer/plan",
	"templates", "rosters", "rosters/night", "rosters/night?view=week", "rosters/workdays", "directory", "directory/li.na", "phones", "reminders", "decisions", "routes", "routes/night", "digests", "suppressions", "suppressions/left@example.com",
	"notifications", "fronts", "subscriptions", "audit", "keys", "people", "system", "settings", "doctor", "presets", "start", "../../me/totp",
}

// What the main pages look like is written for a person to look at: more pages, languages and widths than TestPagesLookAsBefore compares.
func TestPicturesOfPages(t *testing.T) {
	if *pictures == "" {
		t.Skip("make pictures does this")
	}
	b := launch(t)
	var taken []string
	for language, words := range languages {
		h := open(t)
		tab := b.open(t, language)
		tab.signsIn(h, words.signIn)
		list := append([]string{}, mainPages...)
		for _, page := range h.furnish() {
			if strings.HasPrefix(page, "deliveries/") || strings.HasPrefix(page, "messages/") {
				list = append(list, page)
			}
		}
		for _, scheme := range []string{"light", "dark"} {
			tab.prefers(scheme)
			for _, width := range []int64{1280, 375} {
				tab.do(chromedp.EmulateViewport(width, 800))
				for _, page := range list {
					tab.goes(h.at(page), http.StatusOK)
					name := fmt.Sprintf("%s.%s.%d.%s.png", fileOf(page), language, width, scheme)
					tab.photographs(filepath.Join(*pictures, name))
					taken = append(taken, name)
				}
			}
		}
	}
	leaf(t, taken)
}

// The picture of the overview in the documentation has something to do.
func TestPictureOfTheOverview(t *testing.T) {
	if *images == "" {
		t.Skip("make images does this")
	}
	b := launch(t)
	for language, words := range languages {
		h := open(t)
		h.furnishTasks()
		for n, user := range []string{"lost-answer-1", "lost-answer-2", "refuse-content", "li.na", "wang.fang", "zhang.san"} {
			h.send(posthouse.Draft{Channel: "desk", Kind: "shift", Ref: fmt.Sprint(n), To: []posthouse.Recipient{{User: user}}, Content: &posthouse.Content{Text: "今晚值班"}})
		}
		h.before("stuck", 1280)
		if language == "zh-CN" {
			if _, err := h.api.Channels.Pause(t.Context(), "slow", "供应商线路检修"); err != nil {
				t.Fatal(err)
			}
		}
		h.pastHour()
		tab := b.open(t, language)
		tab.signsIn(h, words.signIn)
		tab.goes(h.at(""), http.StatusOK)
		for !tab.is(`document.querySelectorAll(".verdict a").length >= 2 && !document.getElementById("count-attention").hidden`) {
			tab.goes(h.at(""), http.StatusOK) // it is counted every ten seconds
		}
		tab.picture("overview")
	}
}

// pastHour gives the house an hour of traffic to chart: nobody waits an hour for one.
func (h *house) pastHour() {
	h.Helper()
	db := h.database()
	now := time.Now().Unix() / 60
	for ago := range int64(60) {
		wave := 1 + math.Sin(float64(ago)/9)/3 + math.Sin(float64(ago)*2.3)/9
		accepted := int64(840 * wave)
		failed, again := ago%5, int64(12*wave)
		if ago > 20 && ago < 29 { // the provider was busy
			failed, again = failed+8, 19*(29-ago)
		}
		counts := map[string]int64{"accepted": accepted, "ok": accepted - failed, "recipient": failed, "transient": again}
		for outcome, n := range counts {
			if _, err := db.ExecContext(h.Context(), "INSERT INTO posthouse_pulse (minute, tenant, channel, outcome, n) VALUES (?, 'default', 'desk', ?, ?) ON CONFLICT DO UPDATE SET n = n + excluded.n", now-ago, outcome, n); err != nil {
				h.Fatal(err)
			}
		}
	}
}

// fileOf is how the picture of a page is called. What is found by an id is called by its kind and place in time alone.
func fileOf(page string) string {
	if kind, id, found := strings.Cut(page, "/"); found && posthouse.ValidID(id) {
		page = kind + "-" + id[len(id)-4:]
	}
	return strings.Trim(strings.NewReplacer("../", "", "/", "-", "?", "-", "=", "-", "&", "-").Replace(cmp.Or(page, "overview")), "-")
}

// prefers has the system of the reader light or dark.
func (t *tab) prefers(scheme string) {
	t.Helper()
	features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}
	if _, err := chromedp.Call(t.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features}); err != nil {
		t.Fatal(err)
	}
}

// photographs writes the whole page, also what is below the window.
func (t *tab) photographs(file string) {
	t.Helper()
	ctx, end := context.WithTimeout(t.ctx, patience)
	defer end()
	png, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	if err == nil {
		err = os.WriteFile(file, png, 0o644) //nolint:gosec // pictures of made-up data
	}
	if err != nil {
		t.Fatal(err)
	}
}

// leaf writes the page on which a person looks at the pictures.
func leaf(t *testing.T, taken []string) {
	t.Helper()
	page := template.Must(template.New("").Parse(`<!doctype html><meta charset="utf-8"><title>Pages</title><style>figure { display: inline-block; vertical-align: top; margin: 0 1rem 1rem 0 } img { max-height: 40rem; border: 1px solid #999 }</style>
{{range .}}<figure><figcaption>{{.}}</figcaption><a href="{{.}}"><img src="{{.}}" loading="lazy" alt=""></a></figure>
{{end}}`))
	file, err := os.Create(filepath.Join(*pictures, "index.html"))
	if err == nil {
		err = page.Execute(file, taken)
	}
	if err == nil {
		err = file.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}
