package beside

import (
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
)

// page is one with two forms to one address, and one to another.
const page = `<!DOCTYPE html><html><head></head><body><h1 autofocus="">x</h1>
<p class="bad" role="alert" data-problem="PATH"><code>PATH</code> is odd</p>
<form method="post" action="/other"><input name="name"/></form>
<form method="post" action="/here?click=1"><input type="hidden" name="do" value="swap"/><input name="with"/></form>
<details><summary>s</summary><form method="post" action="/here"><input type="hidden" name="do" value="date"/><input type="hidden" name="click" value="new"/>
<label>Name<input name="name" value="stored"/></label>
<fieldset><label><input type="radio" name="kind" value="a"/></label><label><input type="radio" name="kind" value="b" checked=""/></label></fieldset>
<label><input type="checkbox" name="sure" value="1"/></label>
<select name="zone"><option>UTC</option><option value="cn">CN</option></select>
<textarea name="users" data-paths="overrides">old</textarea>
<input name="config.headers"/><input name="secret" type="password"/><input name="text" data-paths="*"/></form></details></body></html>`

var sent = Sent{To: "/here", Own: []string{"click"}, Values: url.Values{"do": {"date"}, "click": {"old"}, "name": {`"><b>`}, "kind": {"a"}, "sure": {"1"}, "zone": {"cn"}, "users": {"<i>\nz"}, "secret": {"s3cret"}}}

// field is the tag of a field in a page.
func field(t *testing.T, page, name string) string {
	t.Helper()
	form := page[strings.Index(page, "<details"):]
	tag := regexp.MustCompile(`<(input|select|textarea)[^>]* ?name="` + regexp.QuoteMeta(name) + `"[^>]*>`).FindString(form)
	if tag == "" {
		t.Fatalf("there is no field %s in\n%s", name, page)
	}
	return tag
}

func TestAProblemGoesToItsField(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]struct{ name, text string }{
		"name":                     {"name", ">is odd<"},
		"messages[0].name":         {"name", ">is odd<"},
		"kind":                     {"kind", ">is odd<"},
		"sure":                     {"sure", ">is odd<"},
		"zone":                     {"zone", ">is odd<"},
		"config.headers.X-A":       {"config.headers", "<code>X-A</code> is odd<"},
		"overrides.2026-11-28":     {"users", "<code>2026-11-28</code> is odd<"},
		"draft.steps[0].until":     {"text", "<code>draft.steps[0].until</code> is odd<"},
		"named":                    {"text", "<code>named</code> is odd<"},
		"a.b.overrides[2026-11-2]": {"users", "<code>[2026-11-2]</code> is odd<"},
	} {
		got := string(sent.Place([]byte(strings.ReplaceAll(page, "PATH", path))))
		tag := field(t, got, want.name)
		if !strings.Contains(tag, `aria-describedby="wrong-1"`) || !strings.Contains(tag, "autofocus") || strings.Count(got, "autofocus") != 1 {
			t.Errorf("%s: %s", path, tag)
		}
		if (want.name != "kind") != strings.Contains(tag, `aria-invalid="true"`) {
			t.Errorf("%s: %s", path, tag)
		}
		if !strings.Contains(got, `<details open="">`) || !regexp.MustCompile(`<small[^>]*id="wrong-1"[^>]*>?`+regexp.QuoteMeta(want.text)).MatchString(got) {
			t.Errorf("%s: in\n%s", path, got)
		}
	}
}

// What is about no field of the form that was sent stays where it is.
func TestWhatIsAboutNoFieldStays(t *testing.T) {
	t.Parallel()
	plain := strings.ReplaceAll(page, ` data-paths="*"`, "")
	for _, path := range []string{"version", "do", "with", "nam"} {
		text := strings.ReplaceAll(plain, "PATH", path)
		if got := string(sent.Place([]byte(text))); got != text {
			t.Errorf("%s is moved:\n%s", path, got)
		}
	}
	elsewhere := Sent{To: "/nowhere", Values: sent.Values}
	if text := strings.ReplaceAll(page, "PATH", "name"); string(elsewhere.Place([]byte(text))) != text || elsewhere.Refuse([]byte(text), "x", nil) != nil {
		t.Error("a form that the page does not have is found")
	}
}

// A form that is drawn anew has what was typed, but for secrets, and what is wrong with it.
func TestAFormKeepsWhatWasTyped(t *testing.T) {
	t.Parallel()
	got := string(sent.Refuse([]byte(page), "nothing <was> done", []posthouse.Problem{{Path: "users", Message: "are odd"}, {Path: "gone", Message: "is gone"}}))
	for name, want := range map[string]string{"name": `value="&#34;&gt;&lt;b&gt;"`, "sure": `checked=""`, "users": `aria-invalid="true"`, "click": `value="new"`, "do": `value="date"`, "text": `aria-invalid="true"`} {
		if tag := field(t, got, name); !strings.Contains(tag, want) {
			t.Errorf("%s is %s, want %s", name, tag, want)
		}
	}
	for _, want := range []string{"nothing &lt;was&gt; done", "&lt;i&gt;\nz</textarea>", `<option value="cn" selected="">`, `value="a" checked=""`, `value="b"/>`, "<code>gone</code> is gone"} {
		if !strings.Contains(got, want) {
			t.Errorf("there is no %s in\n%s", want, got)
		}
	}
	if strings.Contains(got, "s3cret") {
		t.Error("a secret is shown")
	}
}
