package console_test

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// clickIn is what tells the first form of a page that has an action from others.
func clickIn(page, action string) string {
	_, form, _ := strings.Cut(page, `action="`+action+`"`)
	_, rest, _ := strings.Cut(form, `name="click" value="`)
	click, _, _ := strings.Cut(rest, `"`)
	return click
}

// Two clicks at once decide once, and both lead to what became of it.
func TestTwoClicksDecideOnce(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.api("PUT", "/v1/channels/out", `{"driver":"discard"}`, nil)
	h.api("POST", "/v1/channels/out/pause", `{}`, nil)
	h.api("POST", "/v1/messages", `{"channel":"out","to":[{"user":"u1"},{"user":"u2"}],"content":{"text":"x"}}`, nil)
	ids := h.settle("cancelled", "expired")
	one := "/console/t/default/deliveries/" + ids[0]
	form := url.Values{"state": {"expired"}, "click": {clickIn(h.page("operator", one), one+"/replay")}, "force_new": {"1"}}
	if form.Get("click") == "" {
		t.Fatal("the form has nothing that tells it from others")
	}
	replies := make(chan reply)
	for range 2 {
		go func() { replies <- h.ask("operator", one+"/replay", form) }()
	}
	a, b := <-replies, <-replies
	if a.status != http.StatusSeeOther || a.to() != b.to() || !strings.HasSuffix(a.to(), "?said=replayed") {
		t.Errorf("two clicks lead to %d %q and %d %q", a.status, a.to(), b.status, b.to())
	}
	if list := h.deliveries("pending"); len(list) != 1 {
		t.Errorf("two clicks have sent it again %d times", len(list))
	}
	if got := h.ask("sender", one+"/replay", form); got.to() == a.to() {
		t.Error("the click of somebody else leads to what became of it")
	}

	at := "/console/t/default/attention"
	many := url.Values{"state": {"expired"}, "outcome": {"replay"}, "id": ids[1:], "sure": {"1"}, "click": {"c"}}
	h.shows(h.ask("operator", at, many).body, "Decided: 1")
	if got := h.ask("operator", at, many); got.status != http.StatusConflict || !strings.Contains(got.body, "This form was sent already") {
		t.Errorf("a form whose page is gone: %d\n%s", got.status, got.body)
	}
	wrong := url.Values{"channel": {"out"}, "text": {"x"}, "step": {"send"}, "click": {"d"}}
	if got := h.ask("sender", "/console/t/default/compose", wrong); got.status != http.StatusUnprocessableEntity || clickIn(got.body, "/console/t/default/compose") == "d" {
		t.Errorf("a form that is shown again: %d\n%s", got.status, got.body)
	}
}

// Each form of a tenant's page is told from others, so that it decides once.
func TestEachFormDecidesOnce(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("pages/*.html")
	if err != nil {
		t.Fatal(err)
	}
	parts, err := filepath.Glob("pages/parts/*.html")
	if err != nil {
		t.Fatal(err)
	}
	forms := 0
	for _, name := range append(names, parts...) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, rest := range strings.Split(string(text), `<form method="post"`)[1:] {
			form, _, _ := strings.Cut(rest, "</form>")
			head, _, _ := strings.Cut(form, ">")
			if strings.Contains(head, ".Root}}") { // outside of tenants
				continue
			}
			forms++
			told := false
			for _, by := range []string{"{{click}}", `{{template "sure" `, `{{template "dutyform" `, `{{template "filtered" `} {
				told = told || strings.Contains(form, by)
			}
			if strings.Contains(head, "multipart/") {
				told = strings.Contains(head, "?click={{click}}")
			}
			if !told {
				t.Errorf("%s: the form%s> has no {{click}}", name, head)
			}
		}
	}
	if forms < 25 {
		t.Errorf("only %d forms were found", forms)
	}
}
