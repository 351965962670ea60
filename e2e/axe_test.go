package e2e

import (
	"context"
	_ "embed"
	"encoding/json"
	"testing"

	"github.com/chromedp/chromedp"
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
		if f.Impact == "serious" || f.Impact == "critical" {
			t.Errorf("%q: axe finds %s (%s): %s in %d places, such as %.200s", page, f.ID, f.Impact, f.Help, len(f.Nodes), f.Nodes[0].HTML)
		}
	}
}

// axe finds nothing serious on any page, empty or full.
func TestNothingSeriousForAxe(t *testing.T) {
	wholeOnly(t)
	b := launch(t)
	h := open(t)
	tab := b.open(t, "zh-CN")
	tab.signsIn(h, "登录")
	for _, page := range append(append([]string{}, pages...), h.furnish()...) {
		tab.goes(h.at(page), 200)
		tab.accessible(page)
	}
}
