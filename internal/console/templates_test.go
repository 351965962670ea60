package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
)

// Versions differ line by line; a text is tried with variables before it is stored, over no version that somebody else made.
func TestTemplatesAreComparedTriedAndStored(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.api("PUT", "/v1/templates/duty", `{"text":"Duty: ${who.name}\nat eight"}`, nil)
	const at = "/console/t/default/templates/duty"
	h.shows(h.page("viewer", "/console/t/default/templates"), at)
	h.shows(h.page("viewer", at), "There is one version", "&#34;who&#34;: {")
	h.shows(h.page("viewer", at), "<dd>none</dd>")
	h.api("PUT", "/v1/channels/out", `{"driver":"discard"}`, nil)
	h.api("POST", "/v1/campaigns", `{"name":"shifts","channel":"out","template":"duty"}`, nil)
	h.shows(h.page("viewer", at), `Campaign <a href="/console/t/default/campaigns/shifts">shifts</a>`)
	h.api("PUT", "/v1/templates/duty", `{"text":"Duty: ${who.name}\nat nine"}`, nil)
	h.shows(h.page("viewer", at), "<ins>", "+ at nine", "- at eight", "  Duty:")
	h.shows(h.page("viewer", at+"?version=1&with=2"), "- at nine", "+ at eight")

	form := url.Values{"version": {"2"}, "newest": {"2"}, "text": {"<b>${who.name}</b>\r\nat ten"}, "payload": {`{"who":{"name":"李娜"}}`}}
	seen := h.ask("viewer", at+"/preview", form).body
	h.shows(seen, "&lt;b&gt;李娜&lt;/b&gt;\nat ten")
	if strings.Contains(seen, "Store as a new version") {
		t.Error("a viewer is offered to store")
	}
	h.shows(h.ask("admin", at+"/preview", form).body, "Store as a new version")
	form.Set("payload", "{")
	if got := h.ask("viewer", at+"/preview", form); got.status != http.StatusUnprocessableEntity {
		t.Errorf("a payload that is no JSON: %d", got.status)
	}
	form.Set("text", "${")
	form.Set("payload", "{}")
	if got := h.ask("viewer", at+"/preview", form); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, `data-problem="text"`) {
		t.Errorf("a text that is no template: %d", got.status)
	}
	form.Set("text", "at ten")
	if got := h.ask("admin", at, form); got.to() != at+"?said=stored" {
		t.Errorf("storing: %d, to %q\n%s", got.status, got.to(), got.body)
	}
	if got := h.ask("admin", at, form); got.status != http.StatusConflict {
		t.Errorf("a second click: %d", got.status)
	}
	late := h.ask("admin", at+"/preview", form)
	if late.status != http.StatusConflict {
		t.Errorf("a look at a text typed over a version that was replaced: %d", late.status)
	}
	h.shows(late.body, "Somebody else has stored a version")
}

// A template is made by a form, where there is none of its name.
func TestATemplateIsMadeByAForm(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	const at = "/console/t/default/new-template"
	form := url.Values{"name": {"duty"}, "text": {"Duty: ${name}\r\nnow"}}
	if got := h.ask("admin", at, form); got.to() != "/console/t/default/templates/duty?said=stored" {
		t.Fatalf("it is made: %d %s", got.status, got.body)
	}
	again := h.ask("admin", at, form)
	if again.status != http.StatusUnprocessableEntity {
		t.Errorf("a second of its name: %d", again.status)
	}
	h.shows(again.body, `data-problem="name"`, `value="duty"`)
	if got := h.ask("admin", at, url.Values{"name": {"other"}}); got.status != http.StatusUnprocessableEntity {
		t.Errorf("one without a text: %d", got.status)
	}
	h.api("PUT", "/v1/channels/out", `{"driver":"discard"}`, nil)
	h.api("PUT", "/v1/routes/way", `{"steps":[{"channels":["out"],"templates":{"out":"duty"}}]}`, nil)
	h.shows(h.page("viewer", "/console/t/default/templates/duty"), `Route <a href="/console/t/default/routes/way">way</a>`)
	if got := h.ask("admin", at, url.Values{"name": {"together"}, "text": {"${count}: ${list}"}}); got.status != http.StatusSeeOther {
		t.Fatalf("one of a digest is made: %d %s", got.status, got.body)
	}
	h.api("PUT", "/v1/digests/evening", `{"window":"1h","template":"together"}`, nil)
	h.shows(h.page("viewer", "/console/t/default/templates/together"), "Digest <a", "evening")
	h.shows(h.page("admin", "/console/t/default/templates"), "Duty: ${name}", `href="`+at+`"`)
}

// The page of a template names the fronts, schedules and reminders that send by it, and none that has ended.
func TestATemplateNamesTheFrontsAndRemindersThatUseIt(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.api("PUT", "/v1/channels/out", `{"driver":"discard"}`, nil)
	h.api("PUT", "/v1/templates/shift", `{"text":"Shift"}`, nil)
	h.api("PUT", "/v1/fronts/mon", `{"kind":"json","channel":"out","template":"shift","to":[{"address":"a"}]}`, nil)
	remind := func(ref, when string) string {
		var made struct {
			ID string `json:"id"`
		}
		h.api("POST", "/v1/reminders", `{"draft":{"channel":"out","to":[{"address":"a"}],"template":"shift","kind":"duty","ref":"`+ref+`"},`+when+`}`, &made)
		return made.ID
	}
	daily := remind("r-1", `"repeat":{"cron":"0 9 * * 1"}`)
	once := remind("r-2", `"countdown":{"to":"`+time.Now().Add(48*time.Hour).UTC().Format(time.RFC3339)+`","before":"1h","every":"30m"}`)
	ended := remind("r-3", `"repeat":{"cron":"0 9 * * 2"}`)
	h.api("POST", "/v1/reminders/"+ended+"/end", "", nil)
	got := h.page("viewer", "/console/t/default/templates/shift")
	h.shows(got, `Front <a href="/console/t/default/fronts/mon">mon</a>`, `Schedule <a href="/console/t/default/reminders/`+daily+`">0 9 * * 1</a>`,
		`Reminder <a href="/console/t/default/reminders/`+once+`">duty r-2</a>`)
	if strings.Contains(got, ended) {
		t.Error("it names a schedule that has ended")
	}
}

// A card is typed, tried, compared and stored beside the text; what is no JSON stays as it was typed.
func TestATemplatesCardIsTyped(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	form := url.Values{"name": {"alert"}, "text": {""}, "type": {"template"}, "extra": {`{"key": "${ack_key}"`}}
	wrong := h.ask("admin", "/console/t/default/new-template", form)
	if wrong.status != http.StatusUnprocessableEntity {
		t.Errorf("what is no JSON: %d", wrong.status)
	}
	h.shows(wrong.body, `data-problem="extra"`, `&#34;key&#34;: &#34;${ack_key}&#34;</textarea>`)
	form.Set("extra", `{"key": "${ack_key}"}`)
	const at = "/console/t/default/templates/alert"
	if got := h.ask("admin", "/console/t/default/new-template", form); got.to() != at+"?said=stored" {
		t.Fatalf("it is made: %d %s", got.status, got.body)
	}
	h.shows(h.page("viewer", at), `<option value="template" selected>`, "&#34;key&#34;: &#34;${ack_key}&#34;", "<code>ack_key</code>")
	form = url.Values{"version": {"1"}, "newest": {"1"}, "text": {""}, "type": {"template"}, "extra": {`{"key":"${ack_key}","title":"<${title}>"}`}, "payload": {`{"ack_key":"k1","title":"Disk"}`}}
	h.shows(h.ask("viewer", at+"/preview", form).body, "&#34;key&#34;: &#34;k1&#34;", "&#34;title&#34;: &#34;&lt;Disk&gt;&#34;")
	if got := h.ask("admin", at, form); got.to() != at+"?said=stored" {
		t.Errorf("storing: %d, to %q\n%s", got.status, got.to(), got.body)
	}
	h.shows(h.page("viewer", at), "+   &#34;title&#34;: &#34;&lt;${title}&gt;&#34;")
	if got := h.ask("admin", at, url.Values{"newest": {"2"}, "text": {"a text"}}); got.to() != at+"?said=stored" {
		t.Errorf("storing by a form without a card: %d\n%s", got.status, got.body)
	}
	h.shows(h.page("viewer", at), "a text", "&#34;title&#34;: &#34;&lt;${title}&gt;&#34;")
}

// A template's texts in other languages and what it is besides are stored by forms; what somebody else has stored meanwhile stays.
func TestATemplatesLanguagesAndSettingsAreStoredByForm(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.api("PUT", "/v1/templates/duty", `{"text":"今晚值班：${name}","language":"zh","parameters":{"thing1":"${name}"}}`, nil)
	const at = "/console/t/default/templates/duty"
	if page := h.page("viewer", at); strings.Contains(page, at+"/texts") || strings.Contains(page, at+"/settings") || strings.Contains(page, at+"/delete") {
		t.Error("a viewer is offered to change a template")
	}
	h.shows(h.page("admin", at), "Add a language", "Change the settings", "thing1: ${name}", `action="`+at+`/delete"`)
	for field, bad := range map[string]url.Values{
		"language": {"newest": {"1"}, "text": {"On duty: ${name}"}}, "text": {"newest": {"1"}, "language": {"en"}, "text": {"${"}}, "extra": {"newest": {"1"}, "language": {"en"}, "text": {"On duty"}, "extra": {"{"}},
	} {
		got := h.ask("admin", at+"/texts", bad)
		if got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, field+`"`) || !strings.Contains(got.body, ">"+bad.Get("text")+"</textarea>") {
			t.Errorf("an odd %s: %d\n%s", field, got.status, got.body)
		}
	}
	if got := h.ask("admin", at+"/texts", url.Values{"newest": {"1"}, "language": {"en"}, "text": {"On duty: ${name}"}}); got.to() != at+"?said=stored" {
		t.Fatalf("a language is added: %d\n%s", got.status, got.body)
	}
	h.shows(h.page("admin", at), "Change en", "On duty: ${name}", "Remove en")
	late := h.ask("admin", at+"/settings", url.Values{"newest": {"1"}, "external_id": {"mine"}})
	if late.status != http.StatusConflict {
		t.Errorf("settings over a version that was replaced: %d", late.status)
	}
	h.shows(late.body, "external_id: mine")
	h.shows(h.page("admin", at+"?version=2&with=1"), "en: ", "On duty: ${name}")
	for _, there := range []string{"en", "zh"} {
		again := h.ask("admin", at+"/texts", url.Values{"newest": {"2"}, "language": {there}, "text": {"another"}})
		if again.status != http.StatusUnprocessableEntity || !strings.Contains(again.body, "is there already") {
			t.Errorf("a language that is there is added: %d", again.status)
		}
	}
	if got := h.ask("admin", at+"/settings", url.Values{"newest": {"2"}, "language": {"zh"}, "parameters": {"thing1: ${"}}); got.status != http.StatusUnprocessableEntity {
		t.Errorf("an odd parameter: %d", got.status)
	}
	if got := h.ask("admin", at+"/settings", url.Values{"newest": {"2"}, "language": {"zh"}, "external_id": {"tpl-7"}, "parameters": {"thing1: ${name}\nthing2: 值班"}, "lenient": {"1"}, "disabled": {"1"}}); got.to() != at+"?said=stored" {
		t.Fatalf("settings are stored: %d\n%s", got.status, got.body)
	}
	var now posthouse.Template
	h.api("GET", "/v1/templates/duty", "", &now)
	if now.ExternalID != "tpl-7" || len(now.Parameters) != 2 || !now.Lenient || !now.Disabled || now.Texts["en"].Text != "On duty: ${name}" {
		t.Errorf("stored is %+v", now)
	}
	if got := h.ask("admin", at+"/texts", url.Values{"newest": {"3"}, "stored": {"1"}, "language": {"en"}, "do": {"remove"}}); got.to() != at+"?said=stored" {
		t.Fatalf("a language is removed: %d\n%s", got.status, got.body)
	}
	now = posthouse.Template{}
	h.api("GET", "/v1/templates/duty", "", &now)
	if len(now.Texts) != 0 || now.Text != "今晚值班：${name}" || now.ExternalID != "tpl-7" {
		t.Errorf("without the language it is %+v", now)
	}
}
