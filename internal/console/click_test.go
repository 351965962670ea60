package console_test

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
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

// A form that decided nothing comes again, whether it was put right after it was refused or its button was pressed twice: it is not said to
// have decided.
func TestAFormThatDecidedNothingComesAgain(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.api("PUT", "/v1/channels/out", `{"driver":"discard"}`, nil)
	h.fleet("https://example.com")
	h.api("PUT", "/v1/templates/shift", `{"text":"x"}`, nil)
	h.api("PUT", "/v1/rosters/night", `{"days":{"1":["u1"]}}`, nil)
	h.api("PUT", "/v1/routes/way", `{"steps":[{"channels":["out"]}]}`, nil)
	const at = "/console/t/default/"
	for _, e := range []struct {
		at   string
		form url.Values
		text string
	}{
		{at + "compose", url.Values{"channel": {"out"}, "to": {"u1"}, "text": {"x"}, "step": {"look"}}, "curl"},
		{at + "templates/shift/preview", url.Values{"payload": {"{}"}}, "shift"},
		{at + "routes/way/preview", url.Values{"to": {"u1"}, "text": {"x"}}, "sent"},
		{at + "directory", url.Values{"csv": {"id,name\nu1,A\n"}}, "u1"},
		{at + "suppressions/import", url.Values{"csv": {"address\nu1\n"}}, "u1"},
		{at + "suppressions", url.Values{"address": {""}}, "supp"},
		{at + "attention", url.Values{"state": {"expired"}, "outcome": {"replay"}, "id": {posthouse.DeliveryID(posthouse.NewID(), 1)}}, "sure"},
		{at + "channels/fleet/accounts", url.Values{"csv": {"name\na\n"}}, "fleet"},
		{at + "rosters/night", url.Values{"do": {"week"}, "day1": {"u2"}}, "night"},
	} {
		e.form.Set("click", "c"+e.at)
		for n := range 3 {
			got := h.ask("admin", e.at, e.form)
			if (got.status != http.StatusOK && got.status != http.StatusUnprocessableEntity) || !strings.Contains(got.body, e.text) || strings.Contains(got.body, "This form was sent already") {
				t.Errorf("%s, time %d: %d\n%s", e.at, n+1, got.status, got.body)
			}
		}
	}

	pause := url.Values{"click": {"p"}, "for": {"rubbish"}}
	for range 2 {
		if got := h.ask("operator", at+"channels/out/pause", pause); got.status != http.StatusUnprocessableEntity {
			t.Errorf("a pause that is none: %d", got.status)
		}
	}
	pause.Set("for", "1h")
	pause.Set("reason", "x")
	first := h.ask("operator", at+"channels/out/pause", pause)
	if first.status != http.StatusSeeOther {
		t.Fatalf("a pause that was put right: %d\n%s", first.status, first.body)
	}
	h.api("POST", "/v1/channels/out/resume", "", nil)
	var out posthouse.Channel
	if again := h.ask("operator", at+"channels/out/pause", pause); again.to() != first.to() {
		t.Errorf("the second of two clicks leads to %q, not %q", again.to(), first.to())
	}
	if h.api("GET", "/v1/channels/out", "", &out); out.State != posthouse.ChannelOpen {
		t.Errorf("a form that decided was served a second time: the channel is %s", out.State)
	}
	test := url.Values{"click": {"t"}, "to": {"u1"}, "text": {"x"}}
	if got := h.ask("admin", at+"channels/out/test", test); got.status != http.StatusOK {
		t.Fatalf("a test: %d\n%s", got.status, got.body)
	}
	if got := h.ask("admin", at+"channels/out/test", test); got.status != http.StatusConflict {
		t.Errorf("a test is sent a second time: %d", got.status)
	}
}

// Of two clicks that make a key the browser shows the answer to the second: it has the key that the first made, and no other is made.
func TestASecretIsShownToTheSecondOfTwoClicks(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	const at = "/console/t/default/keys"
	form := url.Values{"name": {"desk"}, "scope": {"send"}, "click": {"k"}, "here": {at}}
	first := h.ask("admin", at, form)
	if first.status != http.StatusOK || !strings.Contains(first.body, "ph_") {
		t.Fatalf("a key is made: %d\n%s", first.status, first.body)
	}
	h.shows(first.body, `data-instead="`+at+`"`)
	if strings.Contains(h.page("admin", at), "data-instead") {
		t.Error("a page that answers no form stands for another one")
	}
	if again := h.ask("admin", at, form); again.status != http.StatusOK || again.body != first.body {
		t.Errorf("the second of two clicks: %d\n%s", again.status, again.body)
	}
	if other := h.ask("operator", at, form); strings.Contains(other.body, "ph_") {
		t.Error("another person's click is answered with the key")
	}
	var keys struct{ Items []any }
	if h.api("GET", "/v1/keys", "", &keys); len(keys.Items) != 2 {
		t.Errorf("there are %d keys, want the first one and the one that was made", len(keys.Items))
	}
}

// A form that is too long says so: it is not taken for an empty one.
func TestAFormThatIsTooLongSaysSo(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.api("PUT", "/v1/channels/out", `{"driver":"discard"}`, nil)
	form := url.Values{"channel": {"out"}, "to": {"u1"}, "text": {strings.Repeat("x", 1<<20)}, "step": {"look"}}
	got := h.ask("sender", "/console/t/default/compose", form)
	if got.status != http.StatusRequestEntityTooLarge || !strings.Contains(got.body, "longer than 1 MB") {
		t.Errorf("a form of more than a megabyte: %d\n%.2000s", got.status, got.body)
	}
	form.Set("text", strings.Repeat("x", 1<<19))
	if got := h.ask("sender", "/console/t/default/compose", form); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, `data-problem="content.text"`) {
		t.Errorf("a form of half a megabyte, of which the API refuses the text: %d", got.status)
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
