package console_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse/wire"
)

// The overview says what stands still, what goes wrong most and which processes are at work, and each number leads to what is behind it.
func TestEachNumberOfTheOverviewLeadsToItsRows(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.fleet("https://example.com")
	at := "/console/t/default/"
	if page := h.page("operator", at); strings.Contains(page, "This process has not counted yet") && strings.Contains(page, "All is well") {
		t.Error("all is said to be well before anything was counted")
	}
	h.counted(time.Time{})
	h.shows(h.page("operator", at), "All channels and accounts send", "Nothing went wrong", `<a href="/console/t/default/outbox">0</a></dd>`)
	for _, name := range []string{"a", "b", "c"} {
		h.api("PUT", "/v1/channels/fleet/accounts/"+name, `{"config":{"agent_id":7,"secret":"s"}}`, nil)
	}
	gate := func(account string, until time.Time) {
		h.exec("INSERT INTO posthouse_gates (tenant, channel, account, until_at, class, code, error, refusals, learned, updated_at) VALUES ('default', 'fleet', '" + account + "', " +
			decimal(until.UnixMicro()) + ", 'account', '40001', 'wrong secret', 1, 0, 0)")
	}
	gate("a", time.Now().Add(-time.Minute))
	gate("b", time.Now().Add(time.Hour))
	gate("c", time.Now().Add(2*time.Hour))
	minute := decimal(time.Now().Unix()/60 - 3)
	hour := decimal(time.Now().Unix()/3600 - 3)
	h.exec("INSERT INTO posthouse_pulse (minute, tenant, channel, outcome, n) VALUES (" + minute + ", 'default', 'fleet', 'ok', 41), (" + minute + ", 'default', 'fleet', 'unknown', 2)")
	h.exec("INSERT INTO posthouse_totals (tenant, hour, channel, outcome, n) VALUES ('default', " + hour + ", 'fleet', 'recipient', 9), ('default', " + hour + ", 'fleet', 'rate', 8), ('default', " + hour + ", 'other', 'account', 7), ('default', " + hour + ", 'fleet', 'content', 6)")

	page := h.page("operator", at)
	h.shows(page, `?state=parked#accounts">2</a>`, `<dd class="good">41</dd>`, `&amp;until=`, `<dd class="warn">2</dd>`,
		"× 9", "× 8", "× 7", "attention?channel=fleet&amp;reason=recipient&amp;state=failed", "search?channel=other&amp;state=pending")
	if strings.Contains(page, "× 6") || strings.Contains(page, "All channels and accounts send") {
		t.Error("the overview names four kinds of errors, or says that all send")
	}
	verdict, _, _ := strings.Cut(page[strings.Index(page, `<div class="verdict`):], "</div>")
	if accounts, channel := strings.Count(verdict, `channels/fleet?state=parked#accounts"`), strings.Count(verdict, `channels/fleet"`); accounts != 1 || channel != 0 {
		t.Errorf("the verdict names the refused accounts %d times, and their channel %d times more:\n%s", accounts, channel, verdict)
	}
	gate("gone", time.Now().Add(time.Hour)) // of one that was deleted
	parked := h.page("viewer", at+"channels/fleet?state=parked")
	h.shows(parked, "Only accounts that the provider refuses now", "/accounts/b", "/accounts/c", "account 40001")
	if strings.Contains(parked, "/accounts/a\"") || strings.Contains(parked, "/accounts/gone") {
		t.Error("accounts are shown as parked that are not")
	}
	h.exec("DELETE FROM posthouse_gates")
	h.shows(h.page("viewer", at+"channels/fleet?state=parked"), "The provider refuses no account now", "All accounts")
	if got, body := h.status(h.key, "GET", "/v1/channels/fleet/accounts?state=open", ""); got != http.StatusUnprocessableEntity || !strings.Contains(body, `"query.state"`) {
		t.Errorf("accounts of another state: %d %s", got, body)
	}
}

// What is behind the sums of a chart begins where the chart begins: no older delivery is behind a number that does not count it.
func TestTheSumsLeadBackToWhereTheChartBegins(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.fleet("https://example.com")
	first := regexp.MustCompile(`<tbody><tr><td><a [^>]+><time datetime="([^"]+)"`)
	link := regexp.MustCompile(`<a href="/console/t/default/search\?(since=[^"&]+)">Deliveries`)
	for _, span := range []string{"hour", "day", "week", "quarter"} {
		page := h.page("viewer", "/console/t/default/?span="+span)
		begins, links := first.FindStringSubmatch(page), link.FindAllStringSubmatch(page, -1)
		if begins == nil || len(links) != 1 {
			t.Fatalf("%s: the chart begins at %v, the links are %v", span, begins, links)
		}
		for _, to := range links {
			if query, err := url.ParseQuery(html.UnescapeString(to[1])); err != nil || query.Get("since") != begins[1] {
				t.Errorf("%s: a sum leads to %s, and the chart begins at %s", span, to[1], begins[1])
			}
		}
	}
}

// Parked accounts are told in pages, by name.
func TestParkedAccountsHavePages(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.fleet("https://example.com")
	for _, name := range []string{"a", "b", "c"} {
		h.api("PUT", "/v1/channels/fleet/accounts/"+name, `{"config":{"agent_id":7,"secret":"s"}}`, nil)
		h.exec("INSERT INTO posthouse_gates (tenant, channel, account, until_at, class, code, error, refusals, learned, updated_at) VALUES ('default', 'fleet', '" + name + "', " +
			decimal(time.Now().Add(time.Hour).UnixMicro()) + ", 'account', '40001', 'wrong secret', 1, 0, 0)")
	}
	var names []string
	for cursor := ""; ; {
		var page wire.Page[struct{ Name string }]
		h.api("GET", "/v1/channels/fleet/accounts?state=parked&limit=2&cursor="+cursor, "", &page)
		for _, a := range page.Items {
			names = append(names, a.Name)
		}
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	if got := strings.Join(names, " "); got != "a b c" {
		t.Errorf("the pages have %q", got)
	}
}

// Processes are shown to who may see the house as a whole: those that decide and rule in the tenant default, and admin keys of it.
func TestProcessesAreShownToTheDefaultTenant(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	now := time.Now()
	row := func(id, version, keyring string, seen time.Time) {
		h.exec("INSERT INTO posthouse_processes (id, host, version, schema_version, epoch, key_id, keyring, accept_only, untrusted, started_at, seen_at) VALUES ('" + id + "', 'h', '" + version + "', 1, 1, 'k1', '" + keyring + "', 0, 0, " +
			decimal(now.Add(-time.Hour).UnixMicro()) + ", " + decimal(seen.UnixMicro()) + ")")
	}
	row("one-7-00", "v7", "aa", now)
	row("two-8-00", "v8", "bb", now.Add(-time.Hour))
	for _, path := range []string{"", "system"} {
		page := h.page("operator", "/console/t/default/"+path)
		h.shows(page, "one-7-00", "two-8-00", "gone without a word", "v8", "<code>bb</code>")
		if path == "" {
			h.shows(page, `#processes">1 <small class="warn">gone without a word 1</small></a>`)
		}
		if page := h.page("viewer", "/console/t/default/"+path); strings.Contains(page, "one-7-00") {
			t.Error("a viewer is shown processes")
		}
		if page := h.page("other", "/console/t/other/"+path); strings.Contains(page, "one-7-00") {
			t.Error("another tenant is shown processes")
		}
	}
	row("three-9-00", "v7", "cc", now)
	h.shows(h.page("admin", "/console/t/default/system"), "different versions or keyrings")
	h.shows(h.page("admin", "/console/t/default/", func(r *http.Request) { r.Header.Set("Accept-Language", "zh-CN") }), "无响应", "密钥环不一致")

	var other wire.NewKey
	h.api("PUT", "/v1/tenants/other", `{}`, nil)
	h.api("POST", "/v1/tenants/other/keys", `{"name":"theirs","scope":"admin"}`, &other)
	if got, body := h.status(other.Secret, "GET", "/v1/processes", ""); got != http.StatusForbidden || strings.Contains(body, "one-7-00") {
		t.Errorf("processes for another tenant: %d %s", got, body)
	}
	var list wire.Page[wire.Process]
	h.api("GET", "/v1/processes", "", &list)
	seen := map[string]wire.Process{}
	for _, p := range list.Items {
		seen[p.ID] = p
	}
	if !seen["two-8-00"].Gone || seen["one-7-00"].Gone || seen["three-9-00"].Keyring != "cc" {
		t.Errorf("the API lists %+v", list.Items)
	}
}

// What was accepted and what was sent are counts of different things, and their words say of what: campaigns are in the second alone.
func TestTheTilesOfASpanSayWhatTheyCount(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.waiting("hello")
	h.api("PUT", "/v1/channels/out", `{"driver":"discard"}`, nil)
	for _, change := range []func(*http.Request){func(*http.Request) {}, chinese} {
		page := h.page("viewer", "/console/t/default/", change)
		tiles := page[strings.Index(page, `<dl class="tiles flow">`):]
		tiles, _, _ = strings.Cut(tiles, "</section>")
		sent := regexp.MustCompile(`<dt>[^<]*(with campaigns|（次，含群发）)[^<]*</dt>`).MatchString(tiles)
		aside := regexp.MustCompile(`<dt>[^<]*(without campaigns|不含群发)[^<]*</dt><dd[^>]*><a href="/console/t/default/search\?since=[^"]+">\d+</a>`).MatchString(tiles)
		if !sent || !aside || !strings.Contains(tiles, `href="/console/t/default/campaigns"`) {
			t.Errorf("the tiles do not say what they count:\n%s", tiles)
		}
	}
}
