package e2e

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/chromedp"

	"github.com/posthouse/posthouse"
)

// anew has TestPagesLookAsBefore write its references instead of comparing with them.
var anew = flag.Bool("anew", false, "write what the pages look like into testdata/pages: make snapshots does this")

// What is compared: the mean colour of each square of a picture, in few levels.
const (
	side      = 8    // pixels of a square
	levels    = 32   // a level of a reference's colours is 256/levels
	tall      = 1000 // pixels of a page from its top
	unlike    = 20   // of 256: a square whose colour is further away is another
	tolerated = 40   // squares of a page may be others: half of a button
)

// snapshots are the pages that are compared.
var snapshots = []string{
	"", "search?q=refuse-content", "attention", "channels", "channels/desk", "channels/desk/edit", "drivers", "drivers/httpapi", "compose", "campaigns", "campaigns/summer", "campaigns/summer/plan",
	"templates", "templates/duty", "rosters", "rosters/night?view=week&date=" + aMonday, "directory", "directory/li.na", "reminders", "routes", "routes/night", "digests/evening", "notifications",
	"fronts/grafana", "subscriptions", "keys", "decisions", "settings", "presets", "../../me",
}

// aMonday is of a week that has no day of now.
const aMonday = "2040-01-02"

// forms are how each page is compared.
var forms = []struct {
	language, scheme string
	width            int64
}{{"zh-CN", "light", 1280}, {"en", "dark", 375}}

// still takes from a page what is another at each run: times, lengths, ids, counts and lines of counts, days that begin today, and where the cursor
// is.
const still = `(() => {
	document.activeElement.blur();
	for (const e of document.querySelectorAll("canvas, svg.spark, svg.qr, .u-legend, #menu .count, meter, progress")) e.style.visibility = "hidden";
	for (const e of document.querySelectorAll("section:has(> .wide > .coming)")) e.remove();
	const alike = text => text.replace(/\d+([-:.,\/ ]\d+)*( ?(ms|s|min|h|d|毫秒|秒|分钟|小时|天)(?![a-z]))?/g, "0");
	const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	while (texts.nextNode()) {
		const text = texts.currentNode, varies = text.data.trim() && text.parentElement.closest("main time, main small, main code, .crumbs");
		text.data = varies ? "00" : alike(text.data);
	}
	for (const e of document.querySelectorAll("input:not([type]), input[type=text], input[type=url], textarea")) e.value = alike(e.value);
	for (const e of document.querySelectorAll("input[type=date], input[type=time], input[type=datetime-local]")) e.value = "";
	for (const a of document.getAnimations()) a.finish();
	return true;
})()`

// The main pages look as they did: those of a house with the same in it, its times and ids made alike, by the mean colour of squares.
// The references hold for one Chromium and its fonts. Where those are others, nothing is compared.
func TestPagesLookAsBefore(t *testing.T) {
	wholeOnly(t)
	b := launch(t)
	for _, form := range forms {
		t.Run(fmt.Sprintf("%s %d %s", form.language, form.width, form.scheme), func(t *testing.T) {
			h := open(t)
			tab := b.open(t, form.language)
			tab.prefers(form.scheme)
			tab.signsIn(h, languages[form.language].signIn)
			tab.takenWith()
			h.furnish()
			h.sameEachDay()
			h.executes("DELETE FROM posthouse_processes WHERE version = 'v0'") // which is soon gone without a word
			for !tab.is(`document.querySelector(".verdict a[href*=unknown]") !== null && document.querySelector(".verdict a[href*=parked]") !== null`) {
				tab.goes(h.at(""), http.StatusOK) // it is counted every ten seconds
			}
			tab.do(chromedp.EmulateViewport(form.width, tall))
			for _, page := range snapshots {
				tab.goes(h.at(page), http.StatusOK)
				tab.looksAsBefore(fmt.Sprintf("%s.%s.%d.%s", fileOf(page), form.language, form.width, form.scheme))
			}
		})
	}
}

// sameEachDay has somebody on duty on each day of the week, so that a picture does not tell on which one it was taken.
func (h *house) sameEachDay() {
	h.Helper()
	for name, users := range map[string][]string{"night": {"li.na", "欧阳" + strings.Repeat("很长", 18)}, "workdays": {"work"}} {
		r := posthouse.Roster{Name: name, Days: map[string][]string{}, HandOver: "08:30"}
		for day := range 7 {
			r.Days[strconv.Itoa(day+1)] = users
		}
		if _, err := h.api.Rosters.Put(h.Context(), r); err != nil {
			h.Fatal(err)
		}
	}
}

// takenWith skips the test where the browser or its fonts are not those of the references. With -anew it notes them.
func (t *tab) takenWith() {
	t.Helper()
	version, err := chromedp.CallBrowser(t.ctx, cdpbrowser.GetVersion, cdp.Empty{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithTimeout(t.ctx, patience)
	defer end()
	widths, err := chromedp.Run(ctx, chromedp.Evaluate[string](`["body", "code"].map(name => {
		const e = document.body.appendChild(document.createElement(name === "code" ? "code" : "span"));
		e.style.whiteSpace = "nowrap"; e.textContent = "Posthouse 驿站，值班 0123456789 → …";
		const width = e.getBoundingClientRect().width; e.remove(); return width.toFixed(2);
	}).join(" ")`))
	if err != nil {
		t.Fatal(err)
	}
	major, _, _ := strings.Cut(version.Product, ".")
	got, file := fmt.Sprintf("%s; a line is %s pixels wide\n", major, widths), filepath.Join("testdata", "pages", "taken-with."+t.language)
	if *anew {
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o750), os.WriteFile(file, []byte(got), 0o600)); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file) //nolint:gosec // beside the test
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Skipf("nothing is compared: the references were taken with %.*s, here is %.*s (make snapshots takes them anew)", len(want)-1, want, len(got)-1, got)
	}
}

// looksAsBefore is an error for a page that differs from its reference. The page as it is now is then written below bin/differs.
func (t *tab) looksAsBefore(name string) {
	t.Helper()
	ctx, end := context.WithTimeout(t.ctx, patience)
	defer end()
	if _, err := chromedp.Run(ctx, chromedp.Evaluate[bool](still)); err != nil {
		t.Fatal(err)
	}
	shot, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		t.Fatal(err)
	}
	whole, err := png.Decode(bytes.NewReader(shot))
	if err != nil {
		t.Fatal(err)
	}
	got, file := squares(whole), filepath.Join("testdata", "pages", name+".png")
	if *anew {
		t.keeps(file, got)
		return
	}
	want, err := reference(file)
	if err != nil {
		t.Fatal(err)
	}
	count, where := differs(got, want)
	if count > tolerated {
		file := filepath.Join("..", "bin", "differs", name+".png")
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o750), os.WriteFile(file, shot, 0o600)); err != nil {
			t.Fatal(err)
		}
		t.Errorf("%s looks different: %d squares of %d pixels, all of them within %v; see %s, and if it is meant, make snapshots", name, count, side, where, file)
	}
}

// keeps writes a reference, unless the one that is there is like it: what did not change is no change of a commit.
func (t *tab) keeps(file string, got image.Image) {
	t.Helper()
	if want, err := reference(file); err == nil {
		if count, _ := differs(got, want); count <= tolerated/4 {
			return
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, got)
	if err == nil {
		err = os.WriteFile(file, out.Bytes(), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// reference reads what a page looked like.
func reference(file string) (image.Image, error) {
	text, err := os.ReadFile(file) //nolint:gosec // beside the test
	if err != nil {
		return nil, err
	}
	return png.Decode(bytes.NewReader(text))
}

// squares is a picture of the mean colours of the squares of a picture.
func squares(from image.Image) *image.NRGBA {
	b := from.Bounds()
	to := image.NewNRGBA(image.Rect(0, 0, b.Dx()/side, b.Dy()/side))
	for y := range to.Rect.Dy() {
		for x := range to.Rect.Dx() {
			var sum [3]uint32
			for i := range side * side {
				r, g, b, _ := from.At(b.Min.X+x*side+i%side, b.Min.Y+y*side+i/side).RGBA()
				sum[0], sum[1], sum[2] = sum[0]+r>>8, sum[1]+g>>8, sum[2]+b>>8
			}
			level := func(c uint32) uint8 {
				const step = 256 / levels
				return uint8(c/(side*side)/step*step + step/2) //nolint:gosec // at most 255
			}
			to.SetNRGBA(x, y, color.NRGBA{level(sum[0]), level(sum[1]), level(sum[2]), 255})
		}
	}
	return to
}

// differs counts the squares that are another, and says where in the page they are. A picture of another size is another altogether.
func differs(got, want image.Image) (count int, where image.Rectangle) {
	b := got.Bounds()
	if b != want.Bounds() {
		return b.Dx() * b.Dy(), image.Rectangle{b.Min.Mul(side), b.Max.Mul(side)}
	}
	for y := range b.Dy() {
		for x := range b.Dx() {
			if away(got.At(x, y), want.At(x, y)) > unlike {
				count++
				where = where.Union(image.Rect(x*side, y*side, (x+1)*side, (y+1)*side))
			}
		}
	}
	return count, where
}

// away is the largest distance of two colours in red, green and blue, of 256.
func away(a, b color.Color) (most int) {
	r, g, bl, _ := a.RGBA()
	r2, g2, bl2, _ := b.RGBA()
	for _, pair := range [][2]uint32{{r, r2}, {g, g2}, {bl, bl2}} {
		d := int(pair[0]>>8) - int(pair[1]>>8)
		most = max(most, d, -d)
	}
	return most
}
