package console_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// What somebody unfolds in a part of a page that refreshes itself is found again by its id; a popup holds the refresh instead.
func TestWhatIsUnfoldedHasAnID(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.waiting("hello")
	h.api("POST", "/v1/campaigns", `{"name":"spring","channel":"later","content":{"text":"x"}}`, nil)
	found := 0
	for _, path := range []string{"", "channels", "campaigns/spring"} {
		page, err := html.Parse(strings.NewReader(h.page("admin", "/console/t/default/"+path)))
		if err != nil {
			t.Fatal(err)
		}
		for n := range page.Descendants() {
			if n.DataAtom != atom.Details || !within(n, "live") || strings.Contains(valueOf(n, "class"), "pop") {
				continue
			}
			if found++; valueOf(n, "id") == "" {
				t.Errorf("%q has a details that each refresh folds: give it an id", path)
			}
		}
	}
	if found == 0 {
		t.Error("no page has any")
	}
	script := h.ask("", "/console/assets/console.js", nil).body
	h.shows(script, `details[id][open]`, `time[data-aged]`) // both are done by the script, which a browser runs
	h.shows(h.page("admin", "/console/t/default/channels"), "data-aged")
}

func within(n *html.Node, id string) bool {
	for of := range n.Ancestors() {
		if valueOf(of, "id") == id {
			return true
		}
	}
	return false
}

func valueOf(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// The menu at the side stays in view, and is folded by a link, which the browser keeps.
func TestTheMenuIsFolded(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	const at = "/console/t/default/channels"
	page := h.page("viewer", at)
	h.shows(page, `<body class="framed">`, `href="/console/menu/folded?back=%2fconsole%2ft%2fdefault%2fchannels"`)
	got := h.ask("viewer", "/console/menu/folded?back="+at, nil)
	cookie := got.header.Get("Set-Cookie")
	if got.to() != at || !strings.HasPrefix(cookie, "posthouse-menu=folded;") {
		t.Fatalf("it leads to %q with the cookie %q", got.to(), cookie)
	}
	page = h.page("viewer", at, func(r *http.Request) { r.AddCookie(&http.Cookie{Name: "posthouse-menu", Value: "folded"}) }) //nolint:gosec // a request has no attributes of cookies
	h.shows(page, `<body class="framed folded">`, "/console/menu/open?", `popovertarget="menu"`)
	if got := h.ask("viewer", "/console/menu/open?back=//elsewhere", nil); got.to() != "/console/" || !strings.Contains(got.header.Get("Set-Cookie"), "Max-Age=0") {
		t.Errorf("it leads to %q with the cookie %q", got.to(), got.header.Get("Set-Cookie"))
	}
	if got := h.ask("viewer", "/console/menu/other", nil); got.status != http.StatusNotFound {
		t.Errorf("another menu: %d", got.status)
	}
}

// Rules that a page cannot do without, each with the reason: what they are about is not seen in its text.
func TestStylesThatPagesNeed(t *testing.T) {
	t.Parallel()
	style := open(t, false).ask("", "/console/assets/console.css", nil).body
	for _, e := range []struct{ selector, want, not, why string }{
		{".side", `inset: 0 auto auto`, `top: 0; display`, "the menu stays in view: a later inset would take its top away"},
		{".picks li a", `margin: 0;`, `margin: -`, "links in a nav have margins below 0, by which chips overlap"},
		{".aside", `clip-path`, `left:`, "a long name that is aside of a button stands over the menu where it is only moved"},
		{".folded .side:not(:popover-open)", `display: none`, `block`, "a folded menu is not there"},
	} {
		rule := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(e.selector) + ` \{([^}]*)\}`).FindStringSubmatch(style)
		if rule == nil || !strings.Contains(rule[1], e.want) || strings.Contains(rule[1], e.not) {
			t.Errorf("%s is %q, want %s and not %s: %s", e.selector, rule, e.want, e.not, e.why)
		}
	}
}
