package console_test

import (
	"bytes"
	"html"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/posthouse/posthouse/internal/console"
)

// What the API refuses of a form comes back to the page where the form stands, with the sentence at its top and what was typed: nothing of it is
// about a field.
func TestWhatIsRefusedComesBackToItsForm(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.api("PUT", "/v1/channels/out", `{"driver":"discard"}`, nil)
	h.api("POST", "/v1/channels/out/pause", `{"reason":"first"}`, nil)
	h.api("POST", "/v1/messages", `{"channel":"out","to":[{"user":"u1"}],"content":{"text":"x"}}`, nil)
	h.api("PUT", "/v1/templates/used", `{"text":"x"}`, nil)
	h.api("PUT", "/v1/reminders/daily", `{"draft":{"channel":"out","to":[{"user":"u1"}],"template":"used"},"repeat":{"every":"1h"}}`, nil)
	for _, e := range []struct {
		page, act string
		form      url.Values
		kept      string
		zh, en    string
	}{
		{"channels/out", "delete", url.Values{"typed": {"out"}, "note": {"no longer"}}, "no longer", "条未完成的投递", "open deliveries"},
		{"channels/out", "resume", url.Values{"pause": {"another"}, "reason": {"over now"}}, "over now", "打开本页之后", "paused anew since"},
		{"templates/used", "delete", url.Values{"typed": {"used"}, "note": {"no longer"}}, "no longer", "正在使用", "reminder"},
		{"reminders/daily", "pause", url.Values{"state": {"ended"}, "note": {"no longer"}}, "no longer", "提醒当前为 进行中", "the reminder is open now"},
	} {
		at := "/console/t/default/" + e.page
		for lang, said := range map[string]string{"zh-CN": e.zh, "en": e.en} {
			in := func(r *http.Request) { r.Header.Set("Accept-Language", lang) }
			form := url.Values{"here": {at}, "click": {"c" + lang}}
			for name, values := range e.form {
				form[name] = values
			}
			got := h.ask("admin", at+"/"+e.act, form, in)
			if to := got.to(); !strings.HasPrefix(to, at+"?shown=") {
				t.Fatalf("%s of %s in %s: %d, to %q\n%s", e.act, e.page, lang, got.status, to, mainOf(got.body))
			}
			got = h.ask("admin", got.to(), nil, in)
			top, rest, _ := strings.Cut(mainOf(got.body), "</h1>")
			if got.status != http.StatusConflict || !strings.Contains(top, said) || !strings.Contains(rest, `value="`+e.kept+`"`) || !strings.Contains(rest, `<details class="decide`) {
				t.Errorf("%s of %s in %s: %d, want %q on top and %q kept\n%s", e.act, e.page, lang, got.status, said, e.kept, mainOf(got.body))
			}
			if old := e.form.Get("state") + e.form.Get("pause"); old != "" && strings.Contains(rest, `value="`+old+`"`) {
				t.Errorf("%s of %s would be refused again: its form says %q still", e.act, e.page, old)
			}
		}
	}
}

// A file that is longer than a form may be is refused beside its field, on the page where the form stands, and not as a file that is missing.
func TestAFileThatIsTooLongIsSaidToBe(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.api("PUT", "/v1/channels/fleet", `{"driver":"discard","accounts":true}`, nil)
	h.api("PUT", "/v1/rosters/night", `{"days":{"1":["li.na"]}}`, nil)
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	file, err := w.CreateFormFile("file", "long.csv")
	if err == nil {
		_, err = io.WriteString(file, strings.Repeat("id,name\n", 200_000))
	}
	if err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	for page, to := range map[string]string{"directory": "directory", "channels/fleet": "channels/fleet/accounts", "rosters/night": "rosters/night", "suppressions": "suppressions/import"} {
		for lang, said := range map[string]string{"zh-CN": "超过 1 MB：", "en": "is longer than 1 MB:"} {
			form := regexp.MustCompile(`action="(/console/t/default/` + to + `\?[^"]*)" enctype="multipart/form-data"`).FindStringSubmatch(h.page("admin", "/console/t/default/"+page))
			if form == nil {
				t.Errorf("%s has no form that takes a file", page)
				break
			}
			in := func(r *http.Request) {
				r.Header.Set("Accept-Language", lang)
				if r.Method == http.MethodPost {
					r.Body = io.NopCloser(bytes.NewReader(body.Bytes()))
					r.Header.Set("Content-Type", w.FormDataContentType())
				}
			}
			got := h.ask("admin", html.UnescapeString(form[1]), url.Values{}, in)
			if !strings.Contains(got.to(), "shown=") {
				t.Fatalf("%s: %d, to %q\n%s", page, got.status, got.to(), mainOf(got.body))
			}
			if got = h.ask("admin", got.to(), nil, in); got.status != http.StatusUnprocessableEntity || !strings.Contains(mainOf(got.body), said) {
				t.Errorf("%s in %s: %d, want %q\n%s", page, lang, got.status, said, mainOf(got.body))
			}
		}
	}
}

// No form of the console is refused on a bare page: the menu is there, and what is wrong is in the language of the page.
func TestEachFormIsRefusedOnAPage(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	delivery := h.waiting("hello")
	h.api("PUT", "/v1/channels/out", `{"driver":"discard","accounts":true}`, nil)
	h.api("PUT", "/v1/channels/out/accounts/a", `{}`, nil)
	h.api("PUT", "/v1/channels/sms", `{"driver":"pull"}`, nil)
	h.api("PUT", "/v1/templates/duty", `{"text":"Duty"}`, nil)
	h.api("PUT", "/v1/rosters/night", `{"days":{"1":["li.na"]}}`, nil)
	h.api("PUT", "/v1/users", `{"users":[{"id":"li.na","name":"Li Na"}]}`, nil)
	h.api("PUT", "/v1/routes/alarm", `{"steps":[{"channels":["later"]}]}`, nil)
	h.api("PUT", "/v1/digests/daily", `{"window":"10m"}`, nil)
	h.api("PUT", "/v1/tenants/branch", `{}`, nil)
	h.api("PUT", "/v1/people/zhao", `{"roles":{"default":"viewer"}}`, nil)
	h.api("POST", "/v1/agents", `{"id":"phone-1","channels":["sms"]}`, nil)
	h.api("POST", "/v1/campaigns", `{"name":"spring","channel":"later","template":"duty"}`, nil)
	h.api("PUT", "/v1/reminders/daily", `{"draft":{"channel":"later","to":[{"user":"li.na"}],"template":"duty"},"repeat":{"every":"1h"}}`, nil)
	h.api("PUT", "/v1/fronts/shop", `{"kind":"grafana","channel":"later","to":[{"user":"li.na"}]}`, nil)
	things := map[string]string{"channels": "out", "campaigns": "spring", "templates": "duty", "rosters": "night", "directory": "li.na", "routes": "alarm", "digests": "daily", "tenants": "branch", "people": "zhao", "phones": "phone-1", "reminders": "daily", "fronts": "shop", "deliveries": delivery, "drivers": "webhook", "presets": "bark"}
	pages := map[string]bool{}
	for _, a := range console.Addresses() {
		pages[a[0]+" "+a[1]] = true
	}
	wildcard := regexp.MustCompile(`\{\w+\}`)
	refused := 0
	for _, a := range console.Addresses() {
		if a[0] != http.MethodPost {
			continue
		}
		stands := a[1]
		for !pages["GET "+stands] {
			stands = stands[:max(0, strings.LastIndexByte(stands, '/'))]
		}
		of, _, _ := strings.Cut(a[1], "/")
		for _, thing := range []string{things[of], "gone"} {
			named := func(path string) string {
				path = strings.Replace(path, "{account}", map[bool]string{true: "gone", false: "a"}[thing == "gone"], 1)
				return "/console/t/default/" + wildcard.ReplaceAllString(path, thing)
			}
			for _, lang := range []string{"zh-CN", "en"} {
				in := func(r *http.Request) { r.Header.Set("Accept-Language", lang) }
				got := h.ask("admin", named(a[1]), url.Values{"here": {named(stands)}, "click": {a[1] + thing + lang}}, in)
				if strings.Contains(got.to(), "shown=") {
					got = h.ask("admin", got.to(), nil, in)
				}
				if got.status < http.StatusBadRequest || got.to() != "" {
					continue
				}
				refused++
				said := regexp.MustCompile(`(?s)<(?:p|small|li)[^>]* role="alert"[^>]*>(.*?)</(?:p|small|li)>`).FindAllStringSubmatch(mainOf(got.body), -1)
				if !strings.Contains(got.body, `<nav id="menu"`) || len(said) < 2 { // the first is of a page that is out of date
					t.Errorf("POST %s of %q in %s: %d on a bare page\n%s", a[1], thing, lang, got.status, got.body)
					continue
				}
				for _, text := range said[1:] {
					if han := strings.ContainsFunc(text[1], func(r rune) bool { return unicode.Is(unicode.Han, r) }); han != (lang == "zh-CN") {
						t.Errorf("POST %s of %q in %s says %q", a[1], thing, lang, text[1])
					}
				}
			}
		}
	}
	if refused < 200 {
		t.Errorf("only %d forms were refused", refused)
	}
}
