package digests_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/consoletest"
)

const at = "/console/t/default/"

// A digest is made by the form, messages are gathered, and an operator has them leave.
func TestADigestIsMadeAndItsCollectionLeaves(t *testing.T) {
	t.Parallel()
	h := consoletest.Open(t, false)
	h.API("PUT", "/v1/channels/out", `{"driver":"discard"}`, nil)
	if got := h.Ask("operator", at+"digests", url.Values{"name": {"evening"}, "window": {"1h"}}); got.Status != http.StatusForbidden {
		t.Errorf("an operator makes a digest: %d", got.Status)
	}
	for name, bad := range map[string]url.Values{
		"name": {"window": {"1h"}}, "window": {"name": {"evening"}, "window": {"soon"}}, "max": {"name": {"evening"}, "window": {"1h"}, "max": {"many"}}, "by": {"name": {"evening"}, "window": {"1h"}, "by": {"+"}},
	} {
		got := h.Ask("admin", at+"digests", bad)
		if got.Status != http.StatusUnprocessableEntity {
			t.Errorf("an odd %s: %d", name, got.Status)
		}
		h.Shows(got.Body, `data-problem="`+name+`"`)
	}
	if got := h.Ask("admin", at+"digests", url.Values{"name": {"evening"}, "window": {"1h"}, "max": {"20"}, "always": {"1"}}); got.To() != at+"digests/evening?said=stored" {
		t.Fatalf("a digest is made: %d %s", got.Status, got.Body)
	}
	var sent posthouse.Accepted
	h.API("POST", "/v1/messages", `{"channel":"out","digest":"evening","to":[{"user":"zhang"}],"content":{"text":"x"}}`, &sent)
	var d posthouse.Delivery
	h.API("GET", "/v1/deliveries/"+sent.Deliveries[0].ID, "", &d)
	page := at + "collections/" + d.Collection
	h.Shows(h.Page("viewer", at+"digests?state=waiting"), "evening", "zhang", d.Collection)
	h.Shows(h.Page("viewer", page), d.ID, "gathers", `href="`+at+`digests/evening"`)
	h.Shows(h.Page("viewer", at+"digests"), `href="`+at+`digests/evening"`)
	h.Shows(h.Page("viewer", at+"digests/evening"), "Gathers now", d.Collection, "1h", "Nothing has left by it yet")
	changed := h.Ask("admin", at+"digests/evening", url.Values{"window": {"soon"}, "for": {"each evening"}})
	h.Shows(changed.Body, `data-problem="window"`, `value="each evening"`)
	tag := consoletest.Hidden(h.Page("admin", at+"digests/evening"), "tag")
	if got := h.Ask("admin", at+"digests/evening", url.Values{"window": {"2h"}, "by": {"kind"}, "tag": {tag}}); got.To() != at+"digests/evening?said=stored" {
		t.Errorf("a digest is changed: %d %s", got.Status, got.Body)
	}
	late := h.Ask("admin", at+"digests/evening", url.Values{"window": {"3h"}, "by": {"ref"}, "tag": {tag}})
	if late.Status != http.StatusConflict {
		t.Errorf("a page that was drawn before: %d", late.Status)
	}
	h.Shows(late.Body, "Somebody else has stored a version", "kind", "ref", `value="3h"`)
	if again := consoletest.Hidden(late.Body, "tag"); again == tag || again == "" {
		t.Errorf("the page cannot be sent again: its tag is %q", again)
	}
	h.Shows(h.Page("viewer", at+"digests/evening"), "v2", "2h")
	if got := h.Ask("viewer", at+"digests/none", nil); got.Status != http.StatusNotFound {
		t.Errorf("a digest that is not there: %d", got.Status)
	}
	h.Shows(h.Page("viewer", at+"deliveries/"+d.ID), `href="`+page+`"`)
	if got := h.Ask("viewer", page+"/leave", url.Values{}); got.Status != http.StatusForbidden {
		t.Errorf("a viewer has it leave: %d", got.Status)
	}
	if got := h.Ask("operator", page+"/leave", url.Values{}); got.To() != page+"?said=changed_said" {
		t.Errorf("an operator has it leave: %d %s", got.Status, got.Body)
	}
	h.Shows(h.Page("viewer", page, func(r *http.Request) { r.Header.Set("Accept-Language", "zh-CN") }), "一次汇总")
	if got := h.Ask("admin", at+"digests/evening/delete", url.Values{"typed": {"evening"}}); got.To() != at+"digests?said=removed_said" {
		t.Errorf("a digest is deleted: %d %s", got.Status, got.Body)
	}
	gone := h.Ask("admin", at+"digests/evening", url.Values{"window": {"5h"}, "tag": {tag}})
	h.Shows(gone.Body, "was deleted since you opened the page", `value="5h"`)
	if got := h.Ask("viewer", at+"digests/evening", nil); got.Status != http.StatusNotFound {
		t.Errorf("what was deleted was made anew: %d", got.Status)
	}
}

// The page of a digest that gathers for many shows the newest, and leads on.
func TestADigestThatGathersForMany(t *testing.T) {
	t.Parallel()
	h := consoletest.Open(t, false)
	h.API("PUT", "/v1/channels/out", `{"driver":"discard"}`, nil)
	h.API("PUT", "/v1/digests/evening", `{"window":"1h"}`, nil)
	var list []string
	for i := range 60 {
		list = append(list, fmt.Sprintf(`{"channel":"out","digest":"evening","to":[{"user":"u%d"}],"content":{"text":"x"}}`, i))
	}
	h.API("POST", "/v1/messages", `{"messages":[`+strings.Join(list, ",")+`]}`, nil)
	page := h.Page("viewer", at+"digests/evening")
	if n := strings.Count(page, `class="row" href="`+at+`collections/`); n != 50 {
		t.Errorf("%d of 60 are shown, want 50", n)
	}
	h.Shows(page, `<a href="`+at+`digests">`)
}
