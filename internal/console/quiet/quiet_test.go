package quiet_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/consoletest"
	"github.com/posthouse/posthouse/wire"
)

const at = "/console/t/default/"

var tagIn = regexp.MustCompile(`name="tag" value="([^"]*)"`)

// Quiet hours and caps of a channel and of the tenant are set by their forms, and only over what was read.
func TestQuietHoursAreSetByAForm(t *testing.T) {
	t.Parallel()
	h := consoletest.Open(t, false)
	h.API("PUT", "/v1/channels/out", `{"driver":"discard"}`, nil)
	h.API("PUT", "/v1/rosters/bank", `{"days":{"1":["u1"]}}`, nil)
	h.API("PUT", "/v1/tenants/default", `{"note":"ours","language":"zh","mandatory_kinds":["alarm"],"optional_kinds":["news"]}`, nil)
	tag := func(page string) string { return tagIn.FindStringSubmatch(h.Page("admin", page))[1] }
	form := func(tag string) url.Values {
		return url.Values{
			"tag": {tag}, "from0": {"22:00"}, "to0": {"08:00"}, "except0": {"otp， pager"}, "spread0": {"30m"},
			"from2": {"00:00"}, "to2": {"24:00"}, "days2": {"days_off"}, "calendar2": {"bank"}, "max0": {"3"}, "per0": {"24h"}, "capkinds0": {"news"}, "then0": {"suppress"},
		}
	}
	hours := []posthouse.QuietHours{
		{From: "22:00", To: "08:00", ExceptKinds: []string{"otp", "pager"}, Spread: spanOf(t, "30m")},
		{From: "00:00", To: "24:00", Days: posthouse.QuietDaysOff, Calendar: "bank"},
	}
	caps := []posthouse.Cap{{Max: 3, Per: spanOf(t, "24h"), Kinds: []string{"news"}, Then: posthouse.CapSuppress}}
	for _, page := range []string{at + "channels/out/quiet", at + "quiet"} {
		old := tag(page)
		bad := form(old)
		bad.Set("spread0", "soon")
		bad.Set("max0", "a few")
		got := h.Ask("admin", page, bad)
		if got.Status != http.StatusUnprocessableEntity {
			t.Errorf("%s: a span that is none: %d", page, got.Status)
		}
		h.Shows(got.Body, "quiet_hours[0].spread", "caps[0].max", `value="soon"`, `value="a few"`, `value="24:00"`)
		bad = form(old)
		bad.Set("from0", "25:00")
		got = h.Ask("admin", page, bad, func(r *http.Request) { r.Header.Set("Accept-Language", "zh-CN") })
		if got.Status != http.StatusUnprocessableEntity {
			t.Errorf("%s: a time that is none: %d", page, got.Status)
		}
		h.Shows(got.Body, "quiet_hours[0].from", `value="25:00"`)
		if got := h.Ask("admin", page, form(old)); got.To() != page+"?said=stored" {
			t.Fatalf("%s: %d %s", page, got.Status, got.Body)
		}
		got = h.Ask("admin", page, form(old))
		if got.Status != http.StatusConflict {
			t.Errorf("%s: over what has changed meanwhile: %d", page, got.Status)
		}
		h.Shows(got.Body, "Somebody else has changed them meanwhile")
		h.Shows(h.Page("admin", page), `value="otp, pager"`, "<option selected>bank</option>")
		_, link, _ := strings.Cut(h.Page("admin", page), `<p class="quiet"><a href="`)
		link, _, _ = strings.Cut(link, `"`)
		h.Shows(h.Page("admin", html.UnescapeString(link)), "quiet_hours") // what was changed is behind its link
	}
	var ch posthouse.Channel
	h.API("GET", "/v1/channels/out", "", &ch)
	var tenant wire.Tenant
	h.API("GET", "/v1/tenants/default", "", &tenant)
	if diff := cmp.Diff(hours, ch.QuietHours) + cmp.Diff(caps, ch.Caps) + cmp.Diff(hours, tenant.QuietHours) + cmp.Diff(caps, tenant.Caps); diff != "" {
		t.Error(diff)
	}
	if tenant.Note != "ours" || tenant.Language != "zh" || len(tenant.MandatoryKinds)+len(tenant.OptionalKinds) != 2 {
		t.Errorf("what the form does not name is lost: %+v", tenant)
	}
	h.Shows(h.Page("viewer", at+"channels/out/quiet"), "<fieldset disabled>", `value="22:00"`)
	if got := h.Ask("viewer", at+"channels/out/quiet", form("")); got.Status != http.StatusForbidden {
		t.Errorf("a viewer sets quiet hours: %d", got.Status)
	}
}

func spanOf(t *testing.T, text string) (d posthouse.Duration) {
	t.Helper()
	if err := d.UnmarshalText([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return d
}
