package console_test

import (
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// A campaign may be called anything: what is copied from its page does no more than it says.
func TestACommandOnAPageIsQuoted(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.waiting("hello") // makes the channel
	name := "x; $(id) 'y'"
	h.api("POST", "/v1/campaigns", `{"name":"x; $(id) 'y'","channel":"later","content":{"text":"x"}}`, nil)
	h.shows(h.page("admin", "/console/t/default/campaigns/"+url.PathEscape(name)),
		`posthouse campaign import &#39;x; $(id) &#39;\&#39;&#39;y&#39;\&#39;&#39;&#39; people.csv`)
}

// While there is nothing, a page says what to do in words and by its forms; commands are folded as on other pages.
func TestCommandsOfAnEmptyPageAreFolded(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	var folded int
	for path := range tour {
		page, err := html.Parse(strings.NewReader(h.page("admin", "/console/t/default/"+path, chinese)))
		if err != nil {
			t.Fatal(err)
		}
		for n := range page.Descendants() {
			if n.DataAtom != atom.Pre {
				continue
			}
			var empty, command bool
			for of := range n.Ancestors() {
				empty = empty || of.DataAtom == atom.Article && valueOf(of, "class") == "empty"
				command = command || of.DataAtom == atom.Details && valueOf(of, "class") == "commands"
			}
			if empty && !command {
				t.Errorf("%q shows a command unfolded", path)
			}
			if empty && command {
				folded++
			}
		}
	}
	if folded < 10 {
		t.Errorf("only %d commands were found", folded)
	}
	page := h.page("admin", "/console/t/default/outbox", chinese)
	if strings.Contains(page, "只能用命令") || strings.Contains(page, `class="commands" open`) {
		t.Error("the page of the outbox says that only a command shows what it shows")
	}
}
