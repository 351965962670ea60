package removal_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/posthouse/posthouse/internal/consoletest"
)

const at = "/console/t/default/"

// What has a page is deleted there by who may, once its name is typed; the API's reasons against it are told.
func TestThingsAreDeletedWithTheirNamesTyped(t *testing.T) {
	t.Parallel()
	h := consoletest.Open(t, false)
	h.API("PUT", "/v1/channels/out", `{"driver":"discard"}`, nil)
	h.API("PUT", "/v1/channels/sms", `{"driver":"pull"}`, nil)
	h.API("PUT", "/v1/templates/duty", `{"text":"Duty"}`, nil)
	h.API("PUT", "/v1/rosters/night", `{"days":{"1":["li.na"]}}`, nil)
	h.API("PUT", "/v1/rosters/day", `{"days":{"1":["li.na"]}}`, nil)
	h.API("PUT", "/v1/users", `{"users":[{"id":"li.na","name":"Li Na"},{"id":"wang","name":"Wang"}]}`, nil)
	h.API("POST", "/v1/agents", `{"id":"phone-1","channels":["sms"]}`, nil)
	h.API("POST", "/v1/campaigns", `{"name":"spring","channel":"out","template":"duty"}`, nil)
	h.API("PUT", "/v1/digests/evening", `{"window":"10m"}`, nil)
	var sub struct{ ID string }
	h.API("POST", "/v1/subscriptions", `{"url":"https://example.com/hook"}`, &sub)
	h.API("PUT", "/v1/routes/alarm", `{"steps":[{"channels":["out"]}]}`, nil)
	h.API("PUT", "/v1/fronts/shop", `{"kind":"grafana","channel":"out","digest":"evening","to":[{"user":"wang"}]}`, nil)
	h.Shows(h.Page("admin", at+"channels/out"), "It is named by:", at+"routes/alarm", at+"fronts/shop")
	h.Shows(h.Page("admin", at+"digests/evening"), "It is named by:", at+"fronts/shop")
	h.Shows(h.Page("admin", at+"directory/li.na"), "It is named by:", at+"rosters/night", at+"rosters/day")
	for _, one := range []struct{ list, name, api, least string }{
		{"campaigns", "spring", "/v1/campaigns/spring", "sender"},
		{"templates", "duty", "/v1/templates/duty", "admin"},
		{"phones", "phone-1", "/v1/agents/phone-1", "admin"},
		{"rosters", "night", "/v1/rosters/night", "admin"},
		{"directory", "li.na", "/v1/users/li.na", "admin"},
		{"fronts", "shop", "", "admin"},
		{"routes", "alarm", "", "admin"},
		{"digests", "evening", "", "admin"},
		{"subscriptions", sub.ID, "", "admin"},
		{"channels", "out", "/v1/channels/out", "admin"},
	} {
		page, form := at+one.list+"/"+one.name, url.Values{"typed": {one.name}}
		if one.list == "subscriptions" { // an id is no name to type
			form = url.Values{"sure": {"1"}}
		}
		if strings.Contains(h.Page("viewer", page), page+"/delete") {
			t.Errorf("a viewer is offered to delete %s", page)
		}
		h.Shows(h.Page(one.least, page), `action="`+page+`/delete"`, one.name)
		if got := h.Ask("operator", page+"/delete", form); got.Status != http.StatusForbidden {
			t.Errorf("an operator deletes %s: %d", page, got.Status)
		}
		if got := h.Ask(one.least, page+"/delete", url.Values{"typed": {"another"}}); got.Status != http.StatusUnprocessableEntity {
			t.Errorf("another name for %s: %d", page, got.Status)
		}
		if got := h.Ask(one.least, page+"/delete", form); got.To() != at+one.list+"?said=removed_said" {
			t.Fatalf("deleting %s: %d, to %q\n%s", page, got.Status, got.To(), got.Body)
		}
		h.Shows(h.Page("viewer", at+one.list+"?said=removed_said"), "It is deleted.")
		if got := h.Ask("viewer", page, nil); got.Status != http.StatusNotFound {
			t.Errorf("%s is still there: %d", page, got.Status)
		}
	}
	h.API("PUT", "/v1/templates/used", `{"text":"Duty"}`, nil)
	h.API("POST", "/v1/reminders", `{"draft":{"channel":"sms","to":[{"user":"wang","address":"13800138000"}],"template":"used"},"repeat":{"every":"1h"}}`, nil)
	h.API("PUT", "/v1/channels/slow", `{"driver":"discard"}`, nil)
	h.API("POST", "/v1/channels/slow/pause", `{"reason":"for the test"}`, nil)
	h.API("POST", "/v1/campaigns", `{"name":"autumn","channel":"slow","template":"used"}`, nil)
	h.API("POST", "/v1/campaigns/autumn/members?final=true", `{"address":"u1"}`, nil)
	h.API("POST", "/v1/campaigns/autumn/start", "{}", nil)
	if got := h.Ask("admin", at+"channels/slow/delete", url.Values{"typed": {"slow"}}); got.Status != http.StatusConflict || !strings.Contains(got.Body, "autumn") {
		t.Errorf("a channel is deleted by which a campaign sends: %d\n%s", got.Status, got.Body)
	}
	h.API("POST", "/v1/campaigns/autumn/cancel", "{}", nil)
	if got := h.Ask("admin", at+"channels/slow/delete", url.Values{"typed": {"slow"}}); got.Status != http.StatusSeeOther {
		t.Errorf("once the campaign is cancelled: %d\n%s", got.Status, got.Body)
	}
	if got := h.Ask("admin", at+"templates/used/delete", url.Values{"typed": {"used"}}); got.Status != http.StatusConflict {
		t.Errorf("a template that a reminder sends by is deleted: %d\n%s", got.Status, got.Body)
	}
}
