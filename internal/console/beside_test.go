package console_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// Each form says beside its field what is wrong with it, in the language of the page, and keeps what was typed.
func TestWhatIsWrongStandsBesideItsField(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.api("PUT", "/v1/channels/out", `{"driver":"discard"}`, nil)
	h.api("PUT", "/v1/templates/coupon", `{"text":"x"}`, nil)
	h.api("PUT", "/v1/users", `{"users":[{"id":"li.na","name":"李娜"}]}`, nil)
	h.api("PUT", "/v1/tenants/branch", `{}`, nil)
	h.api("PUT", "/v1/routes/night", `{"steps":[{"channels":["out"]}]}`, nil)
	h.api("PUT", "/v1/rosters/night", `{"hand_over":"09:00","days":{"1":["li.na"]}}`, nil)
	h.api("POST", "/v1/campaigns", `{"name":"spring","channel":"out","template":"coupon"}`, nil)
	h.api("POST", "/v1/messages", `{"channel":"out","to":[{"user":"li.na"}],"sensitive":true,"content":{"text":"x"}}`, nil)
	var users struct {
		Items []struct{ ID string }
	}
	h.api("GET", "/v1/deliveries?limit=1", "", &users)
	one := "deliveries/" + users.Items[0].ID
	long := strings.Repeat("k", 300)
	tag := func(page string) string { return hiddenOf(h.page("admin", "/console/t/default/"+page), "tag") }
	for _, e := range []struct {
		path, here, field string
		form              url.Values
	}{
		{"keys", "", "name", url.Values{"name": {long}, "scope": {"read"}}},
		{"people", "", "name", url.Values{"name": {"a\tb"}, "role": {"viewer"}}},
		{"people", "", "role", url.Values{"name": {"zhao"}, "role": {"king"}}},
		{"phones", "", "limits", url.Values{"id": {"p1"}, "channels": {"out"}, "limits": {"soon"}}},
		{"phones", "", "channels", url.Values{"id": {"p1"}, "channels": {"none"}}},
		{"subscriptions", "", "url", url.Values{"url": {"ftp://x"}}},
		{"subscriptions", "", "batch", url.Values{"url": {"https://example.com"}, "batch": {"501"}}},
		{"new-tenant", "", "quota.open", url.Values{"name": {"west"}, "quota.open": {"many"}}},
		{"new-tenant", "", "for", url.Values{"name": {"west"}, "for": {long}}},
		{"tenants/branch/keys", "tenants/branch", "key.name", url.Values{"key.name": {long}, "scope": {"read"}}},
		{"tenants/branch/delete", "tenants/branch", "typed", url.Values{"typed": {"brunch"}}},
		{"new-campaign", "", "channel", url.Values{"name": {"autumn"}, "channel": {"none"}}},
		{"new-campaign", "", "canary", url.Values{"name": {"autumn"}, "channel": {"out"}, "template": {"coupon"}, "canary": {"x"}}},
		{"campaigns/spring/edit", "", "spread", url.Values{"version": {"VERSION"}, "spread": {"a while"}}},
		{"campaigns/spring/copy", "campaigns/spring/edit", "name", url.Values{"name": {"spring"}}},
		{"directory/li.na", "", "time_zone", url.Values{"tag": {"TAG0"}, "time_zone": {"Mars"}}},
		{"directory/li.na/preferences", "directory/li.na", "off", url.Values{"tag": {"TAG1"}, "off": {"news@fax"}}},
		{"people", "", "name", url.Values{"name": {"a/b"}, "role": {"viewer"}}},
		{"routes", "", "text", url.Values{"name": {"day"}, "text": {`{"steps":[{"channels":["none"]}]}`}}},
		{"routes/night", "", "text", url.Values{"text": {`{"steps":[{"channels":["out"]}],`}}},
		{"suppressions", "", "address", url.Values{"address": {""}, "reason": {"来电要求"}}},
		{"suppressions", "", "address", url.Values{"by": {"user"}, "address": {"nobody.here"}}},
		{"suppressions", "", "until", url.Values{"address": {"a@example.com"}, "until": {"2020-01-01T08:00"}}},
		{"suppressions", "", "until", url.Values{"address": {"a@example.com"}, "until": {"someday"}}},
		{"suppressions/import", "suppressions", "file", url.Values{"csv": {""}, "reason": {"来电要求"}}},
		{"suppressions/import", "suppressions", "until", url.Values{"csv": {"address\na\n"}, "until": {"2020-01-01T08:00"}}},
		{"suppressions/import", "suppressions", "channel", url.Values{"csv": {"address\na\n"}, "channel": {"none"}}},
		{"suppressions", "", "channel", url.Values{"address": {"a@example.com"}, "channel": {"none"}}},
		{"digests", "", "window", url.Values{"name": {"d"}, "window": {"soon"}}},
		{"digests", "", "time_zone", url.Values{"name": {"d"}, "cron": {"0 18 * * *"}, "time_zone": {"Mars"}}},
		{"new-schedule", "", "cron", url.Values{"id": {"r"}, "via": {"out"}, "to": {"u1"}, "text": {"x"}, "cron": {"0 9 31 4 *"}, "time_zone": {"UTC"}, "step": {"look"}}},
		{"new-schedule", "", "via", url.Values{"id": {"r"}, "via": {"none"}, "to": {"u1"}, "text": {"x"}, "cron": {"0 9 * * *"}, "time_zone": {"UTC"}, "step": {"look"}}},
		{"compose", "", "kind", url.Values{"channel": {"out"}, "to": {"u1"}, "text": {"x"}, "kind": {long}, "step": {"look"}}},
		{"quiet", "", "spread1", url.Values{"tag": {"0"}, "from0": {"22:00"}, "to0": {"08:00"}, "from1": {"12:00"}, "to1": {"13:00"}, "spread1": {"soon"}}},
		{"channels/out/quiet", "", "to0", url.Values{"tag": {"0"}, "from0": {"22:00"}, "to0": {"25:00"}}},
		{"fronts", "", "channel", url.Values{"kind": {"grafana"}, "name": {"g"}, "channel": {"none"}, "recipients": {"li.na"}}},
		{"new-template", "", "text", url.Values{"name": {"n"}, "text": {"${"}}},
		{"rosters/night", "", "hand_over", url.Values{"do": {"week"}, "day1": {"li.na"}, "hand_over": {"late"}}},
		{"channels/out/pause", "channels/out", "reason", url.Values{"reason": {""}, "for": {"1h"}}},
		{"channels/out/pause", "channels/out", "until", url.Values{"reason": {"平台维护"}, "until": {"2020-01-01T08:00"}}},
		{one + "/reveal", one, "reason", url.Values{"reason": {""}}},
	} {
		here := "/console/t/default/" + e.path
		if e.here != "" {
			here = "/console/t/default/" + e.here
		}
		form := url.Values{"here": {here}, "click": {"c"}}
		for name, values := range e.form {
			form[name] = values
		}
		switch form.Get("tag") {
		case "TAG0":
			form.Set("tag", tag("directory/li.na"))
		}
		if form.Get("version") == "VERSION" {
			form.Set("version", versionOf(h.page("admin", here)))
		}
		for _, lang := range []string{"zh-CN", "en"} {
			in := func(r *http.Request) { r.Header.Set("Accept-Language", lang) }
			got := h.ask("admin", "/console/t/default/"+e.path, form, in)
			if got.to() != "" {
				got = h.ask("admin", got.to(), nil, in)
			}
			beside(t, e.path, e.field, lang, got)
			if typed := form.Get(e.field); len(typed) > 2 && !strings.Contains(typed, "\"") && !strings.Contains(got.body, typed) {
				t.Errorf("%s: %q is not kept", e.path, typed)
			}
		}
	}
}

// beside wants a field of a page marked as wrong, with a text in the language of the page.
func beside(t *testing.T, path, field, lang string, got reply) {
	t.Helper()
	tag := regexp.MustCompile(`<(?:input|select|textarea)[^>]* name="` + regexp.QuoteMeta(field) + `"[^>]*aria-describedby="([^"]*)"[^>]*`).FindStringSubmatch(got.body)
	if got.status != http.StatusUnprocessableEntity && got.status != http.StatusConflict || tag == nil {
		t.Errorf("%s in %s: %d, %s is not marked:\n%s", path, lang, got.status, field, strings.Join(regexp.MustCompile(`(?s)<(?:p|small)[^>]*role="alert".*?</(?:p|small)>`).FindAllString(got.body, -1), "\n"))
		return
	}
	if !strings.Contains(tag[0], "autofocus") {
		t.Errorf("%s: %s", path, tag[0])
	}
	id, _, _ := strings.Cut(tag[1], " ")
	text := regexp.MustCompile(`id="` + id + `"[^>]*>(.*?)</small>`).FindStringSubmatch(got.body)
	if text == nil {
		t.Errorf("%s: there is no text %s", path, id)
		return
	}
	if chinese := strings.ContainsFunc(text[1], func(r rune) bool { return unicode.Is(unicode.Han, r) }); chinese != (lang == "zh-CN") {
		t.Errorf("%s in %s says %q", path, lang, text[1])
	}
}

// hiddenOf is the first hidden value of a name in a page.
func hiddenOf(page, name string) string {
	found := regexp.MustCompile(`type="hidden" name="`+name+`" value="([^"]*)"`).FindAllStringSubmatch(page, -1)
	if len(found) == 0 {
		return ""
	}
	return found[len(found)-1][1]
}
