package console_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
)

// What nobody of the directory has is found too: the address of a delivery, its provider's id, a campaign and its members.
func TestTheSearchKnowsAddressesProvidersIDsAndCampaigns(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	id := h.waiting("hello")
	h.api("POST", "/v1/messages", `{"channel":"later","to":[{"address":"13911112222"}],"content":{"text":"x"}}`, nil)
	at := "/console/t/default/search"
	h.shows(h.page("viewer", at+"?q=13911112222"), ">13911112222</small>")
	h.api("POST", "/v1/messages/"+posthouse.MessageID(id)+"/cancel", "", nil)
	h.exec("UPDATE posthouse_settled SET state = 'sent', provider_ref = 'P-4711' WHERE id = '" + id + "'")
	h.shows(h.page("viewer", at+"?q=P-4711"), id)
	if got := h.ask("viewer", at+".csv?q=P-4711", nil); strings.Count(got.body, "\n") != 2 || !strings.Contains(got.body, id) {
		t.Errorf("the file of a provider's id is %q", got.body)
	}
	h.shows(h.page("viewer", at+"?q=P-4712"), "Nothing was found")

	h.api("POST", "/v1/campaigns", `{"name":"spring","channel":"later","content":{"text":"x"}}`, nil)
	h.api("POST", "/v1/campaigns/spring/members?final=true&format=csv", "address\n13800001111\n", nil)
	h.shows(h.page("viewer", at+"?q=spring"), `/campaigns/spring"`, "Campaign")
	h.shows(h.page("viewer", at+"?q=13800001111"), "/campaigns/spring?address=13800001111", "not yet sent")
	if page := h.page("other", "/console/t/other/search?q=13800001111"); strings.Contains(page, "spring") {
		t.Error("another tenant finds the campaign")
	}
}

// A state or a priority that is none is said at its field, and does not leave all to be found.
func TestASearchForNoStateSaysSo(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	id := h.waiting("hello")
	for query, path := range map[string]string{"state=foo": "state", "priority=urgent": "priority"} {
		got := h.ask("viewer", "/console/t/default/search?"+query, nil, chinese)
		if got.status != http.StatusUnprocessableEntity || strings.Contains(got.body, id) {
			t.Errorf("%s: %d, and finds something: %v", query, got.status, strings.Contains(got.body, id))
		}
		h.shows(got.body, `data-problem="`+path+`"`, "应为")
	}
	h.shows(h.page("viewer", "/console/t/default/goto?q="+strings.ToLower(id)), "Delivery", "/deliveries/"+id)
}

// A search is narrowed down to an account, a reason, a priority and a time, in the address of its page.
func TestASearchIsNarrowedDown(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	id := h.waiting("hello")
	h.api("POST", "/v1/messages/"+posthouse.MessageID(id)+"/cancel", "", nil)
	h.exec("UPDATE posthouse_settled SET state = 'failed', account = 'a1', reason = 'tries_used_up' WHERE id = '" + id + "'")
	day := func(d time.Duration) string { // in the zone of the server
		return time.Now().Add(d).In(time.FixedZone("", 8*3600)).Format("2006-01-02T15:04")
	}
	for query, want := range map[string]bool{
		"account=a1": true, "account=a2": false, "reason=tries_used_up": true, "reason=other": false, "priority=normal": true, "priority=high": false,
		"since=" + day(-time.Hour): true, "since=" + day(time.Hour): false, "until=" + day(time.Hour): true, "until=" + day(-time.Hour): false, "since=24h": true,
		"since=" + url.QueryEscape(time.Now().Add(-time.Hour).Format(time.RFC3339)): true, "q=u1&since=" + day(time.Hour): false, "q=u1&account=a1": true,
	} {
		page := h.page("viewer", "/console/t/default/search?"+query)
		if got := strings.Contains(page, "/deliveries/"+id); got != want {
			t.Errorf("%s: found %v, want %v", query, got, want)
		}
		if csv := h.ask("viewer", "/console/t/default/search.csv?"+query, nil); strings.Contains(csv.body, id) != want {
			t.Errorf("%s: the file has %q", query, csv.body)
		}
	}
	h.shows(h.page("viewer", "/console/t/default/search?account=a1"), `name="account" value="a1"`, `<details class="more" open>`)
	if got := h.ask("viewer", "/console/t/default/search?since=yesterday", nil); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, "yesterday") {
		t.Errorf("a time that is none: %d", got.status)
	}
	if got := h.ask("viewer", "/console/t/default/search?priority=soon", nil); got.status != http.StatusUnprocessableEntity {
		t.Errorf("a priority that is none: %d", got.status)
	}
}

// Who got what was said of an order, and what a person of that name got, has more pages than one where it is more than one page holds, and no
// delivery is lost or doubled between them.
func TestASearchByRefOrNameGoesOn(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.waiting("hello")
	h.api("PUT", "/v1/users", `{"users":[{"id":"u.zhang","name":"张三"}]}`, nil)
	var to, letters []string
	for i := range 120 {
		to = append(to, `{"user":"r`+decimal(int64(i))+`"}`)
	}
	for range 60 {
		letters = append(letters, `{"channel":"later","to":[{"user":"u.zhang"}],"content":{"text":"x"}}`)
	}
	h.api("POST", "/v1/messages", `{"channel":"later","kind":"order","ref":"4711","to":[`+strings.Join(to, ",")+`],"content":{"text":"x"}}`, nil)
	h.api("POST", "/v1/messages", `{"messages":[`+strings.Join(letters, ",")+`]}`, nil)
	for query, want := range map[string]int{"q=order/4711": 120, "q=4711&kind=order": 120, "q=" + url.QueryEscape("张三"): 60, "q=u.zhang": 60} {
		seen := map[string]int{}
		next := "?" + query
		for pages := 0; next != "" && pages < 5; pages++ {
			page := h.page("viewer", "/console/t/default/search"+next)
			for _, d := range listedDelivery.FindAllStringSubmatch(page, -1) {
				seen[d[1]] = pages + 1
			}
			next = ""
			if to := olderPage.FindStringSubmatch(page); to != nil {
				next = html.UnescapeString(to[1])
			}
		}
		if len(seen) != want || next != "" {
			t.Errorf("%s: %d deliveries are found, want %d; behind them is %q", query, len(seen), want, next)
		}
	}
}

// A search for a number finds what went to a user of that name and what went to the number, in whatever spelling, over all pages and in the
// file, each delivery once.
func TestASearchForANumberFindsUsersAndAddresses(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.waiting("hello")
	h.api("PUT", "/v1/users", `{"users":[{"id":"u.zhang","name":"张三","addresses":{"later":"+8613800138002"}}]}`, nil)
	var letters []string
	for range 60 {
		for _, to := range []string{`"user":"13800138002"`, `"address":"+8613800138002"`, `"user":"u.zhang"`} {
			letters = append(letters, `{"channel":"later","to":[{`+to+`}],"content":{"text":"x"}}`)
		}
	}
	h.api("POST", "/v1/messages", `{"messages":[`+strings.Join(letters, ",")+`]}`, nil)
	h.api("POST", "/v1/messages", `{"channel":"later","to":[{"address":"+8613800138003"},{"user":"zhang@x.example"},{"user":"u2","address":"zhang@x.example"}],"content":{"text":"x"}}`, nil)
	for words, want := range map[string]int{"13800138002": 180, "8613800138002": 120, "+86 138-0013-8002": 120, "13800138003": 1, "zhang@x.example": 2} {
		file := h.ask("viewer", "/console/t/default/search.csv?q="+url.QueryEscape(words), nil)
		if got := strings.Count(file.body, "\n") - 1; got != want {
			t.Errorf("%s: the file has %d, want %d", words, got, want)
		}
		seen := map[string]bool{}
		next := "?q=" + url.QueryEscape(words)
		for pages := 0; next != "" && pages < 9; pages++ {
			page := h.page("viewer", "/console/t/default/search"+next)
			for _, d := range listedDelivery.FindAllStringSubmatch(page, -1) {
				seen[d[1]] = true
			}
			next = ""
			if to := olderPage.FindStringSubmatch(page); to != nil {
				next = html.UnescapeString(to[1])
			}
		}
		if len(seen) != want || next != "" {
			t.Errorf("%s: %d deliveries are found, want %d; behind them is %q", words, len(seen), want, next)
		}
	}
	if got := h.ask("viewer", "/console/t/default/search?q=13800138002&cursor=a~b", nil); got.status != http.StatusUnprocessableEntity {
		t.Errorf("a cursor that is none: %d", got.status)
	}
}

var (
	listedDelivery = regexp.MustCompile(`href="/console/t/default/deliveries/([0-9A-Z]{26})"`)
	olderPage      = regexp.MustCompile(`<a href="(\?[^"]*cursor=[^"]*)"`)
)

// What waits because its channel is paused says so: in a list, and where it is explained, beside why.
func TestAPausedChannelIsNamedAsWhatHolds(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	id := h.waiting("hello")
	for _, c := range []struct {
		change       func(*http.Request)
		list, reason string
	}{{chinese, "渠道已暂停</span>", "正在等待：渠道已暂停：for the test。"}, {func(*http.Request) {}, "the channel is paused</span>", "It waits: the channel is paused: for the test."}} {
		h.shows(h.page("viewer", "/console/t/default/search?q=u1", c.change), c.list)
		h.shows(h.page("viewer", "/console/t/default/deliveries/"+id, c.change), c.reason, `role="button" class="secondary" href="/console/t/default/channels/`)
	}
}

// A search that asks for what cannot be is drawn again, with what was asked and what is wrong with it; an id is found in small letters too.
func TestASearchThatIsRefusedKeepsItsForm(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	id := h.waiting("hello")
	const at = "/console/t/default/search"
	got := h.ask("viewer", at+"?q=u1&since=2026-02-01T08:00&until=2026-01-01T08:00", nil)
	if got.status != http.StatusUnprocessableEntity {
		t.Errorf("an end before the beginning: %d", got.status)
	}
	h.shows(got.body, `data-problem="until"`, `name="q" value="u1"`, `name="since" value="2026-02-01T08:00`)
	h.shows(got.body, "Handed in before: </span>must be later than “Handed in from”")
	got = h.ask("viewer", at+"?q=u1&since=2026-02-01T08:00&until=2026-01-01T08:00", nil, chinese)
	h.shows(got.body, "受理时间早于：</span>必须晚于“受理时间从”")
	if got := h.ask("viewer", at+"?since=soon", nil); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, `data-problem="since"`) {
		t.Errorf("a time that is none: %d", got.status)
	}
	if got := h.ask("viewer", at+"?q="+strings.ToLower(id), nil); got.to() != "/console/t/default/deliveries/"+id {
		t.Errorf("an id in small letters: %d to %q", got.status, got.to())
	}
}
