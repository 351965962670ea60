package e2e

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/posthouse/posthouse/internal/console/gallery"
	"github.com/posthouse/posthouse/internal/console/rosters"
	"github.com/posthouse/posthouse/internal/console/words"
)

// action is something that is done in a tab.
type action = chromedp.Action[chromedp.Void]

// images is where pictures of pages are written, empty for nowhere.
var images = flag.String("images", "", "write the pictures of the documentation into this `folder`")

// patience bounds what a page may take on a busy machine; nothing waits for it to pass.
const patience = time.Minute

// browser is a running browser without a window.
type browser struct {
	testing.TB
	ctx context.Context
}

// wholeOnly leaves a test to make e2e: the short form, which every change must pass, is who got it alone.
func wholeOnly(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("make e2e does this; make e2e-short is who got it alone")
	}
}

// launch starts a browser, and skips the test where there is none.
func launch(tb testing.TB) *browser {
	tb.Helper()
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			program = path
			break
		}
	}
	if program == "" {
		tb.Skip("there is no Chromium on this machine: make e2e-deps installs it where it can")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.WindowSize(1280, 960),
		chromedp.Flag("disable-features", "Translate,BlinkGenPropertyTrees,BackForwardCache"), // going back asks the server, as it does when the browser is short of memory
		chromedp.Flag("force-color-profile", "srgb"), chromedp.Flag("blink-settings", "preferredColorScheme=1"))
	ctx, stop := chromedp.NewExecAllocator(context.Background(), options...)
	tb.Cleanup(stop)
	ctx, quit := chromedp.NewContext(ctx)
	tb.Cleanup(quit)
	if err := chromedp.Do(ctx); err != nil {
		tb.Fatalf("start %s: %v", program, err)
	}
	return &browser{tb, ctx}
}

// tab is a page of a browser with cookies of its own. What goes wrong in it is an error of the test.
type tab struct {
	testing.TB
	ctx      context.Context
	language string

	browser         *browser
	width           int64 // of the window, where a test counts
	clicks, refused int   // by a person: on links, buttons, what unfolds, entries of lists, boxes and files; forms that came back with what is wrong

	mu     sync.Mutex
	faults []string
}

// open opens a tab whose browser asks for a language.
func (b *browser) open(tb testing.TB, language string) *tab {
	tb.Helper()
	ctx, leave := chromedp.NewContext(b.ctx, chromedp.WithNewBrowserContext())
	tb.Cleanup(leave)
	return newTab(ctx, tb, language)
}

// beside opens another tab with the same cookies and language.
func (t *tab) beside() *tab {
	t.Helper()
	ctx, leave := chromedp.NewContext(t.ctx)
	t.Cleanup(leave)
	return newTab(ctx, t.TB, t.language)
}

func newTab(ctx context.Context, tb testing.TB, language string) *tab {
	tb.Helper()
	t := &tab{TB: tb, ctx: ctx, language: language}
	if err := chromedp.Listen(ctx, t.heard); err != nil { // opens the tab, which lasts as long as this context
		tb.Fatal(err)
	}
	headers := network.SetExtraHTTPHeadersParams{Headers: network.Headers{"Accept-Language": language}}
	if _, err := chromedp.Call(ctx, network.SetExtraHTTPHeaders, headers); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(t.clean)
	return t
}

// heard notes what a browser complains about: what the policy of contents refuses, what does not load, what a script throws.
func (t *tab) heard(event any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch e := event.(type) {
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelInfo { // such as a focus that was asked for and was there already
			return
		}
		t.faults = append(t.faults, fmt.Sprintf("%s %s: %s (%s)", e.Entry.Level, e.Entry.Source, e.Entry.Text, e.Entry.URL))
	case *runtime.EventExceptionThrown:
		t.faults = append(t.faults, e.ExceptionDetails.Text)
	}
}

// clean is an error for all that was heard since it was last called.
func (t *tab) clean() {
	t.Helper()
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, fault := range t.faults {
		t.Errorf("the browser complains: %s", fault)
	}
	t.faults = nil
}

// forgets takes back what was heard: the test has made the browser complain.
func (t *tab) forgets() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.faults = nil
}

// do runs actions.
func (t *tab) do(actions ...action) {
	t.Helper()
	ctx, end := context.WithTimeout(t.ctx, patience)
	defer end()
	if err := chromedp.Do(ctx, actions...); err != nil {
		t.Fatalf("%v\n%s", err, t.text())
	}
}

// text is what the page says.
func (t *tab) text() string {
	ctx, end := context.WithTimeout(t.ctx, patience)
	defer end()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string](`document.title + "\n" + document.body.innerText`))
	if err != nil {
		return "the page does not answer: " + err.Error()
	}
	return text
}

// goes opens an address, whose answer must have a status.
func (t *tab) goes(address string, status int64) {
	t.Helper()
	if got := t.follows(chromedp.Navigate(address)); got != status {
		t.Fatalf("%s answers %d, want %d\n%s", address, got, status, t.text())
	}
}

// follows does what leads to another page, and waits for that; it returns the status of the answer.
func (t *tab) follows(actions ...action) int64 {
	t.Helper()
	ctx, end := context.WithTimeout(t.ctx, patience)
	defer end()
	got, err := chromedp.RunResponse(ctx, actions...)
	if err != nil {
		t.Fatalf("%v\n%s", err, t.text())
	}
	return got.Status
}

// presses clicks on the button or link with a text, which leads to another page.
func (t *tab) presses(text string) {
	t.Helper()
	t.clicks++
	if status := t.follows(chromedp.Click(labelled("main", text), chromedp.NodeVisible)); status >= http.StatusBadRequest {
		t.refused++
	}
}

// opens clicks on what unfolds a part of the page.
func (t *tab) opens(text string) {
	t.Helper()
	t.clicks++
	t.do(chromedp.Click(labelled("main", text), chromedp.NodeVisible))
}

// labelled finds what is pressed in a part of a page by its text.
func labelled(part, text string) chromedp.Search {
	return chromedp.Search(fmt.Sprintf(`//%s//*[self::a or self::button or self::summary][normalize-space()=%q]`, part, text))
}

// chooses clicks on a link of the menu or of the head of the page.
func (t *tab) chooses(text string) {
	t.Helper()
	t.clicks++
	t.follows(chromedp.Click(labelled(`*[@id="menu" or self::header]`, text), chromedp.NodeVisible))
}

// fills writes into a field of a form, as an input method does.
func (t *tab) fills(name, text string) {
	t.Helper()
	t.do(chromedp.Focus(chromedp.CSS(fmt.Sprintf(`main [name=%q]`, name)), chromedp.NodeVisible),
		discard(chromedp.Evaluate[bool](`document.activeElement.select(), true`)), write(text))
}

// chooseFile puts a file with a name and a text into a field.
func (t *tab) chooseFile(field, name, text string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.clicks++
	t.do(chromedp.SetUploadFiles(chromedp.CSS(fmt.Sprintf(`main [name=%q]`, field)), []string{path}))
}

// picks chooses an entry of a list.
func (t *tab) picks(field, entry string) {
	t.Helper()
	t.clicks++
	t.do(chromedp.SetValue(chromedp.CSS(fmt.Sprintf(`main [name=%q]`, field)), entry))
}

// word is a text of pages in the language of the tab.
func (t *tab) word(name string) string {
	t.Helper()
	for _, table := range append(words.Tables(), rosters.Pages().Words, gallery.Pages().Words) {
		if w, ok := table[name]; ok {
			return w.In(t.language == "zh-CN")
		}
	}
	t.Fatalf("there is no word %q", name)
	return ""
}

// write writes where the cursor is.
func write(text string) action {
	return func(ctx context.Context, _ *chromedp.Target) (chromedp.Void, error) {
		_, err := chromedp.Call(ctx, input.InsertText, input.InsertTextParams{Text: text})
		return chromedp.Void{}, err
	}
}

// discard is an action without its value.
func discard[T any](a chromedp.Action[T]) action {
	return func(ctx context.Context, target *chromedp.Target) (chromedp.Void, error) {
		_, err := a(ctx, target)
		return chromedp.Void{}, err
	}
}

// says is an error for each text that is not on the page, whether the style writes its letters large or small.
func (t *tab) says(texts ...string) {
	t.Helper()
	page := t.text()
	for _, text := range texts {
		if !strings.Contains(strings.ToLower(page), strings.ToLower(text)) {
			t.Errorf("the page does not say %q:\n%s", text, page)
		}
	}
}

// picture writes what the page looks like, where pictures are wanted. Those in Chinese are named so.
func (t *tab) picture(name string) {
	t.Helper()
	if *images == "" {
		return
	}
	ctx, end := context.WithTimeout(t.ctx, patience)
	defer end()
	if t.language != "en" {
		name += "." + t.language
	}
	shot, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err == nil {
		shot, err = small(shot)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(*images, name+".png"), shot, 0o644); err != nil { //nolint:gosec // everybody reads the documentation
		t.Fatal(err)
	}
}

// small is a picture in the 256 colours that it has most of: half the size, and a page of text looks the same.
func small(shot []byte) ([]byte, error) {
	from, err := png.Decode(bytes.NewReader(shot))
	if err != nil {
		return nil, err
	}
	counts, bounds := map[color.Color]int{}, from.Bounds()
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			counts[from.At(x, y)]++
		}
	}
	colours := slices.SortedFunc(maps.Keys(counts), func(a, b color.Color) int { return counts[b] - counts[a] })
	to := image.NewPaletted(bounds, colours[:min(len(colours), 256)])
	draw.Draw(to, bounds, from, bounds.Min, draw.Src)
	var out bytes.Buffer
	err = (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, to)
	return out.Bytes(), err
}
