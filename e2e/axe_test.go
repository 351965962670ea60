package e2e

import (
	"context"
	_ "embed"
	"encoding/json"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/posthouse/posthouse/server"
)

// axe is axe-core as Deque publishes it on npm, with its licence beside it. It runs in the page as a debugger's expression: the
// policy of pages stays as it is.
//
//go:embed testdata/axe-4.14.1.min.js
var axe string

// finding is what axe has against a page.
type finding struct {
	ID, Impact, Help string
	Nodes            []struct{ HTML string }
}

// besides are rules of axe that are not serious, and hold nevertheless: what stands outside of every landmark is not found by those who go from one
// to the next, and a column without a name is read as one.
var besides = []string{"region", "empty-table-header"}

// accessible is an error for each serious thing that axe finds on the page that is open.
func (t *tab) accessible(page string) {
	t.Helper()
	ctx, end := context.WithTimeout(t.ctx, patience)
	defer end()
	if _, err := chromedp.Run(ctx, chromedp.Evaluate[bool](axe+"\n;true")); err != nil {
		t.Fatal(err)
	}
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string](
		`axe.run({resultTypes: ["violations"]}).then(r => JSON.stringify(r.violations.map(v => ({ID: v.id, Impact: v.impact, Help: v.help, Nodes: v.nodes.map(n => ({HTML: n.html}))}))))`, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatalf("axe on %q: %v", page, err)
	}
	var list []finding
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatal(err)
	}
	for _, f := range list {
		if f.Impact == "serious" || f.Impact == "critical" || slices.Contains(besides, f.ID) {
			t.Errorf("%q: axe finds %s (%s): %s in %d places, such as %.200s", page, f.ID, f.Impact, f.Help, len(f.Nodes), f.Nodes[0].HTML)
		}
	}
}

// axe finds nothing serious on any page, empty or full, wide or as narrow as a phone, where tables scroll; nor on those of a demo.
func TestNothingSeriousForAxe(t *testing.T) {
	wholeOnly(t)
	b := launch(t)
	h := open(t, func(o *server.Options) { o.Sandbox = "http://127.0.0.1:1/" })
	tab := b.open(t, "zh-CN")
	tab.signsIn(h, "登录")
	visited := append(append([]string{}, pages...), h.furnish()...)
	for _, width := range []int64{1280, 375} {
		tab.do(chromedp.EmulateViewport(width, 900))
		for _, page := range visited {
			tab.goes(h.at(page), 200)
			tab.accessible(page)
		}
	}
}
