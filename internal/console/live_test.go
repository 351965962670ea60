package console_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/posthouse/posthouse"
)

// What somebody unfolds in a part of a page that refreshes itself is found again by its id; a popup holds the refresh instead.
func TestWhatIsUnfoldedHasAnID(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	id := h.waiting("hello")
	h.api("POST", "/v1/campaigns", `{"name":"spring","channel":"later","content":{"text":"x"}}`, nil)
	found := 0
	for _, path := range []string{"", "channels", "campaigns/spring", "deliveries/" + id} {
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

// The page of a delivery looks again for as long as something can become of it, and says when it has; not where it shows what is hidden.
func TestADeliveryLooksAgain(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	id := h.waiting("hello")
	at := "/console/t/default/deliveries/" + id
	live := regexp.MustCompile(`<div id="live" hx-get="` + at + `" hx-trigger="every (\d+)s" hx-select="#live" hx-select-oob="#as-of,#count-attention,#count-channels" hx-swap="outerHTML">`)
	if page := h.page("viewer", at); !live.MatchString(page) || !strings.Contains(page, "updated <time") {
		t.Errorf("one that waits is not looked at again:\n%s", page)
	}
	h.api("POST", "/v1/messages/"+posthouse.MessageID(id)+"/cancel", "", nil)
	if page := h.page("viewer", at); live.MatchString(page) || !strings.Contains(page, `<div id="live">`) {
		t.Error("one that is settled is looked at again")
	}
	h.exec("UPDATE posthouse_settled SET state = 'sent' WHERE id = '" + id + "'")
	if got := live.FindStringSubmatch(h.page("viewer", at)); got == nil || got[1] != "15" {
		t.Errorf("one that may still get a receipt: %q", got)
	}
}

// The menu of each page asks for its counts alone; where that goes wrong, nothing becomes of the page, on which somebody may be filling in a form.
func TestTheMenuCountsAnew(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.waiting("hello")
	h.shows(h.page("viewer", "/console/t/default/search"), `<div id="needs" hidden hx-get="/console/t/default/counts" hx-trigger="every 10s" hx-swap="none" hx-select-oob="#as-of,#count-attention,#count-channels">`, `id="count-channels"`)
	got := h.page("viewer", "/console/t/default/counts")
	if strings.Contains(got, "<html") || strings.Count(got, "<span") != 2 || !strings.Contains(got, `id="count-attention" title="need attention" hidden>0</span>`) || !strings.Contains(got, `id="count-channels" title="need attention">1</span>`) {
		t.Errorf("the counts are %q", got)
	}
	aside := func(r *http.Request) { r.Header.Set("HX-Request", "true"); r.Header.Set("HX-Trigger", "needs") }
	if got := h.ask("", "/console/t/default/counts", nil, aside); got.status != http.StatusNoContent || got.header.Get("HX-Redirect") != "" {
		t.Errorf("without a session it answers %d, to %q", got.status, got.header.Get("HX-Redirect"))
	}
	if page := h.ask("", "/console/sign-in", nil).body; strings.Contains(page, `id="needs"`) {
		t.Error("the sign-in has no menu, and asks for its counts")
	}
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
		{".wall .tiles dd", `white-space: nowrap`, `anywhere`, "a number that is broken in two reads as two"},
		{".folded .side:not(:popover-open)", `display: none`, `block`, "a folded menu is not there"},
	} {
		rule := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(e.selector) + ` \{([^}]*)\}`).FindStringSubmatch(style)
		if rule == nil || !strings.Contains(rule[1], e.want) || strings.Contains(rule[1], e.not) {
			t.Errorf("%s is %q, want %s and not %s: %s", e.selector, rule, e.want, e.not, e.why)
		}
	}
}
