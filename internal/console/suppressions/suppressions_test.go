package suppressions_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/consoletest"
	"github.com/posthouse/posthouse/wire"
)

const at = "/console/t/default/suppressions"

// stored are the suppressions of the tenant, as address@channel, with their reasons.
func stored(h *consoletest.House) map[string]string {
	h.Helper()
	var page wire.Page[posthouse.Suppression]
	h.API("GET", "/v1/suppressions?limit=1000", "", &page)
	out := map[string]string{}
	for _, s := range page.Items {
		out[s.Address+"@"+s.Channel] = s.Reason
	}
	return out
}

// keysOf are the values of the boxes of a page, or of the hidden fields that name what was chosen.
func keysOf(page string) (keys []string) {
	for _, rest := range strings.Split(page, `name="entry" value="`)[1:] {
		key, _, _ := strings.Cut(rest, `"`)
		keys = append(keys, strings.ReplaceAll(key, "&amp;", "&"))
	}
	return keys
}

// An address is suppressed by the form, shown with where it comes from, and sent to again with a note; only who may does either.
func TestAnAddressIsSuppressedAndSentToAgain(t *testing.T) {
	t.Parallel()
	h := consoletest.Open(t, false)
	h.API("PUT", "/v1/channels/sms", `{"driver":"discard","exempt_kinds":["otp"]}`, nil)
	form := url.Values{"address": {" 13800138000 "}, "channel": {"sms"}, "until": {"2099-05-06T07:08"}, "reason": {"来电要求"}, "note": {"ticket 7"}}
	for _, role := range []string{"viewer", "operator", "sender"} {
		if got := h.Ask(role, at, form); got.Status != http.StatusForbidden {
			t.Errorf("a %s suppresses: %d", role, got.Status)
		}
		if page := h.Page(role, at); strings.Contains(page, `name="reason" maxlength="255" value=""><small`) || strings.Contains(page, `action="`+at+`"`+">\n<input type=\"hidden\"") {
			t.Errorf("a %s has the form", role)
		}
	}
	h.Shows(h.Page("admin", at), "sms: otp.", "Suppress an address")
	if got := h.Ask("admin", at, form); got.To() != at+"/13800138000?said=stored" {
		t.Fatalf("suppressing: %d %s", got.Status, got.Body)
	}
	h.Shows(h.Page("viewer", at), `href="`+at+`/13800138000"`, "来电要求", "2099-05-06 07:08:00", "put in by hand or by a program", `href="/console/t/default/channels/sms">sms</a>`)
	page := h.Page("admin", at+"/13800138000")
	h.Shows(page, "来电要求", "2099-05-06 07:08:00", "Who put it in is in the audit log", "/console/t/default/audit?about=suppressions&amp;target=13800138000")
	h.Shows(h.Page("viewer", at+"/13800138000", chinese), "人工或程序添加", "有效期至")
	if strings.Contains(h.Page("operator", at+"/13800138000"), `name="entry"`) {
		t.Error("an operator has the form that removes it")
	}
	gone := url.Values{"entry": keysOf(page), "sure": {"1"}, "note": {"wants them again"}}
	if got := h.Ask("sender", at+"/remove", gone); got.Status != http.StatusForbidden {
		t.Errorf("a sender removes: %d", got.Status)
	}
	if got := h.Ask("admin", at+"/remove", gone); got.To() != at+"?said=supp_removed" {
		t.Fatalf("removing: %d %s", got.Status, got.Body)
	}
	h.Shows(h.Page("viewer", at+"?said=supp_removed"), "They are sent to again", "No address is suppressed")
	h.Shows(h.Page("viewer", at+"/13800138000"), "This address is not suppressed")
	var log struct{ Items []wire.AuditEntry }
	h.API("GET", "/v1/audit?key=person:admin", "", &log)
	if len(log.Items) != 2 || log.Items[0].Note != "wants them again" || log.Items[1].Note != "ticket 7" {
		t.Errorf("the audit log has %+v", log.Items)
	}
}

func chinese(r *http.Request) { r.Header.Set("Accept-Language", "zh-CN") }

// What is refused stands beside its field in the visitor's language, and nothing that was typed is lost.
func TestARefusedFormKeepsWhatWasTyped(t *testing.T) {
	t.Parallel()
	h := consoletest.Open(t, false)
	h.API("PUT", "/v1/users", `{"users":[{"id":"li.na"}]}`, nil)
	for field, wrong := range map[string]url.Values{
		"address": {"address": {""}}, "until": {"address": {"a@example.com"}, "until": {"2020-01-01T08:00"}}, "channel": {"address": {"a@example.com"}, "channel": {"none"}},
	} {
		wrong.Set("reason", "来电要求")
		wrong.Set("note", "ticket 7")
		for _, lang := range []string{"zh-CN", "en"} {
			got := h.Ask("admin", at, wrong, func(r *http.Request) { r.Header.Set("Accept-Language", lang) })
			if got.Status != http.StatusUnprocessableEntity {
				t.Errorf("%s in %s: %d", field, lang, got.Status)
			}
			h.Shows(got.Body, `data-problem="`+field+`"`, `value="来电要求"`, `value="ticket 7"`, `<details class="decide" id="add" open`)
		}
	}
	for user, want := range map[string]string{"nobody": "there is no such user", "": "there is no such user"} {
		got := h.Ask("admin", at, url.Values{"by": {"user"}, "address": {user}, "reason": {"x"}})
		h.Shows(got.Body, want, `name="by" value="user" checked`, `value="`+user+`"`)
	}
	if list := stored(h); len(list) != 0 {
		t.Errorf("stored: %v", list)
	}
}

// A user of the directory is suppressed by all addresses, or by that of one channel.
func TestAUserIsSuppressedByTheirAddresses(t *testing.T) {
	t.Parallel()
	h := consoletest.Open(t, false)
	for _, name := range []string{"sms", "mail", "app"} {
		h.API("PUT", "/v1/channels/"+name, `{"driver":"discard"}`, nil)
	}
	h.API("PUT", "/v1/users", `{"users":[{"id":"li.na","name":"李娜","addresses":{"sms":"13800138000","mail":"li.na@example.com"}}]}`, nil)
	suppress := func(channel string) {
		t.Helper()
		if got := h.Ask("admin", at, url.Values{"by": {"user"}, "address": {"li.na"}, "channel": {channel}}); got.To() != at+"?q=li.na&said=stored" {
			t.Fatalf("%q: %d %s", channel, got.Status, got.Body)
		}
	}
	suppress("mail")
	suppress("app")
	if got := fmt.Sprint(stored(h)); got != "map[li.na@app: li.na@example.com@mail:]" {
		t.Errorf("in channels: %s", got)
	}
	suppress("")
	if got := fmt.Sprint(stored(h)); got != "map[+8613800138000@: li.na@: li.na@app: li.na@example.com@: li.na@example.com@mail:]" {
		t.Errorf("in all: %s", got)
	}
	page := h.Page("viewer", at+"?q=li.na")
	h.Shows(page, "13800138000", "li.na@example.com", `href="/console/t/default/directory/li.na">李娜`)
	h.Shows(h.Page("viewer", "/console/t/default/directory/li.na"), `href="`+at+`?q=li.na">Suppressions</a>`)
	h.Shows(h.Page("admin", at+"?new="), `id="add" open`)
	h.Shows(h.Page("viewer", at+"/LI.NA@example.com"), `href="/console/t/default/directory/li.na"`, "李娜")
}

// The list is narrowed down by what the address of the page says; each filter can be taken away, and all that is found is one file without formulas.
func TestTheListIsNarrowedDown(t *testing.T) {
	t.Parallel()
	h := consoletest.Open(t, false)
	h.API("PUT", "/v1/channels/sms", `{"driver":"discard"}`, nil)
	h.API("POST", "/v1/suppressions", `{"address":"one@example.com","reason":"asked by Telephone"}`, nil)
	h.API("POST", "/v1/suppressions", `{"address":"two@example.com","channel":"sms","reason":"moved","until":"2099-01-01T00:00:00Z"}`, nil)
	h.API("POST", "/v1/suppressions/import?channel=sms", "address,reason\n=three,by file\n", nil)
	all := []string{"one@example.com", "two@example.com", "=three"}
	for query, want := range map[string]string{
		"": "111", "q=ONE%40example.com": "100", "channel=sms": "011", "channel=%2A": "100", "source=api": "110", "source=import": "001", "reason=telephone": "100", "ends=never": "101", "ends=once": "010", "ends=soon": "000",
		"channel=sms&source=api": "010", "q=two%40example.com&channel=%2A": "000",
	} {
		page, file := h.Page("viewer", at+"?"+query), h.Ask("viewer", at+".csv?"+query, nil)
		if file.Status != http.StatusOK || !strings.Contains(file.Header.Get("Content-Disposition"), "suppressions.csv") {
			t.Errorf("the file of %q: %d", query, file.Status)
		}
		for i, address := range all {
			if got := strings.Contains(page, `">`+address+`</a></td>`); got != (want[i] == '1') {
				t.Errorf("%q shows %s: %v", query, address, got)
			}
			if got := strings.Contains(file.Body, address+","); got != (want[i] == '1') {
				t.Errorf("the file of %q has %s: %v\n%s", query, address, got, file.Body)
			}
		}
		if want == "000" {
			h.Shows(page, "Nothing was found")
		}
	}
	page := h.Page("viewer", at+"?channel=sms&source=api")
	h.Shows(page, `<a href="`+at+`?source=api" aria-label="Take away Holds for sms">`, `<a href="`+at+`?channel=sms" aria-label="Take away Comes from put in by hand or by a program">`, "Clear all")
	file := h.Ask("viewer", at+".csv", nil)
	h.Shows(file.Body, "\ufeffaddress,channel,reason,until,source,created_at\n", "\n'=three,sms,by file,,import,", "two@example.com,sms,moved,2099-01-01T00:00:00Z,api,")
	h.Shows(h.Page("viewer", at, chinese), "文件导入", "所有渠道", "永久")
}

// A long list has pages, also where a filter selects few of many, and the file has all of it.
func TestALongListHasPages(t *testing.T) {
	t.Parallel()
	h := consoletest.Open(t, false)
	var file strings.Builder
	file.WriteString("address,reason\n")
	for i := range 1250 {
		fmt.Fprintf(&file, "a%04d@example.com,%s\n", i, map[bool]string{true: "rare", false: "common"}[i == 1240])
	}
	h.API("POST", "/v1/suppressions/import", file.String(), nil)
	page := h.Page("viewer", at)
	if n := strings.Count(page, `<td class="lead">`); n != 100 {
		t.Errorf("a page has %d", n)
	}
	next := func(page string) string {
		_, rest, _ := strings.Cut(page, `<a href="?`)
		query, _, ok := strings.Cut(rest, `">More</a>`)
		if !ok || strings.Contains(query, "<") {
			t.Fatalf("no next page:\n%s", page)
		}
		return at + "?" + strings.ReplaceAll(query, "&amp;", "&")
	}
	h.Shows(h.Page("viewer", next(page)), "a0100@example.com", "a0199@example.com")
	rare := h.Page("viewer", at+"?reason=rare")
	h.Shows(rare, "not looked through to its end")
	h.Shows(h.Page("viewer", next(rare)), "a1240@example.com")
	if got := h.Ask("viewer", at+".csv?source=import", nil); strings.Count(got.Body, "@example.com") != 1250 {
		t.Errorf("the file has %d of 1250", strings.Count(got.Body, "@example.com"))
	}
}

// Several are removed after a look; one that was stored anew since the page was drawn stays, and one that is gone is no error.
func TestSeveralAreRemovedAfterALook(t *testing.T) {
	t.Parallel()
	h := consoletest.Open(t, false)
	h.API("PUT", "/v1/channels/sms", `{"driver":"discard"}`, nil)
	for _, name := range []string{"a", "b", "c", "d"} {
		h.API("POST", "/v1/suppressions", `{"address":"`+name+`@example.com","channel":"sms"}`, nil)
	}
	page := h.Page("admin", at+"?channel=sms")
	h.Shows(page, `data-all="entry"`, `href="?channel=sms&amp;picked=1"`)
	if n := strings.Count(h.Page("admin", at+"?channel=sms&picked=1"), " checked></td>"); n != 4 {
		t.Errorf("%d of 4 are ticked", n)
	}
	if got := h.Ask("admin", at+"/remove", url.Values{}); got.Status != http.StatusUnprocessableEntity || !strings.Contains(got.Body, "Choose some") {
		t.Errorf("none chosen: %d", got.Status)
	}
	form := url.Values{"entry": keysOf(page)[:3], "filters": {consoletest.Hidden(page, "filters")}}
	look := h.Ask("admin", at+"/remove", form)
	h.Shows(look.Body, "Would be removed: <strong>3</strong>", "a@example.com", `href="`+at+`?channel=sms"`)
	if len(stored(h)) != 4 {
		t.Fatal("a look has removed something")
	}
	h.API("DELETE", "/v1/suppressions?address=a@example.com&channel=sms", "", nil)
	h.API("POST", "/v1/suppressions", `{"address":"b@example.com","channel":"sms","reason":"another page"}`, nil)
	sure := url.Values{"entry": keysOf(look.Body), "sure": {"1"}, "note": {"asked for"}, "filters": {consoletest.Hidden(look.Body, "filters")}}
	late := h.Ask("admin", at+"/remove", sure)
	if late.Status != http.StatusConflict {
		t.Errorf("one was stored anew: %d", late.Status)
	}
	h.Shows(late.Body, "stored anew", "another page", "Not there any more: 1", `value="asked for"`)
	if got := fmt.Sprint(stored(h)); got != "map[b@example.com@sms:another page d@example.com@sms:]" {
		t.Errorf("left: %s", got)
	}
	sure["entry"] = keysOf(late.Body)
	if got := h.Ask("admin", at+"/remove", sure); got.To() != at+"?channel=sms&said=supp_removed" {
		t.Errorf("after a second look: %d to %q", got.Status, got.To())
	}
}

// In two tabs the second does not replace what the first has stored without showing it; a double click stores once.
func TestTheSecondOfTwoTabsSeesTheFirst(t *testing.T) {
	t.Parallel()
	h := consoletest.Open(t, false)
	first := url.Values{"address": {"a@example.com"}, "reason": {"first"}, "click": {"1"}}
	for range 2 {
		if got := h.Ask("admin", at, first); got.To() != at+"/a@example.com?said=stored" {
			t.Fatalf("a click: %d %s", got.Status, got.Body)
		}
	}
	var log struct{ Items []wire.AuditEntry }
	if h.API("GET", "/v1/audit?action=suppressions.create", "", &log); len(log.Items) != 1 {
		t.Errorf("two clicks have stored %d times", len(log.Items))
	}
	second := url.Values{"address": {"a@example.com"}, "reason": {"second"}, "click": {"2"}}
	late := h.Ask("admin", at, second)
	if late.Status != http.StatusConflict || stored(h)["a@example.com@"] != "first" {
		t.Errorf("the second tab: %d, %v", late.Status, stored(h))
	}
	h.Shows(late.Body, "This stands there already", "first", `value="second"`, "Replace it")
	second.Set("seen", consoletest.Hidden(late.Body, "seen"))
	if got := h.Ask("admin", at, second); got.Status != http.StatusSeeOther || stored(h)["a@example.com@"] != "second" {
		t.Errorf("after it was shown: %d, %v", got.Status, stored(h))
	}
	second.Set("reason", "third")
	second.Set("click", "3")
	if got := h.Ask("admin", at, second); got.Status != http.StatusConflict {
		t.Errorf("over what was stored since: %d", got.Status)
	}
}

// Where a suppression comes from is in words, also what a provider has told.
func TestWhereASuppressionComesFrom(t *testing.T) {
	t.Parallel()
	h := consoletest.Open(t, false)
	for i, reason := range []string{"unsubscribed", "bounced 5.1.1", "replied T", "unsubscribe", "Unregistered"} {
		h.API("POST", "/v1/suppressions", fmt.Sprintf(`{"address":"a%d","reason":%q}`, i, reason), nil)
	}
	h.Exec("UPDATE posthouse_suppressions SET source = 'callback'")
	page, zh := h.Page("viewer", at), h.Page("viewer", at, chinese)
	h.Shows(page, "unsubscribed by the link of a mail", "a mail came back", "unsubscribed by a reply", "does not follow the account any more", "the provider said so")
	h.Shows(zh, "点击邮件中的退订链接", "邮件被退回", "回复短信退订", "取消关注公众号", "平台告知")
	h.Shows(h.Page("viewer", at+"/a3"), "ends by itself once")
}

// A user of the directory is found by name, and suppressed by a name that nobody else has; the address of a page has no filters of its own.
func TestAUserIsFoundAndSuppressedByName(t *testing.T) {
	t.Parallel()
	h := consoletest.Open(t, false)
	h.API("PUT", "/v1/channels/out", `{"driver":"discard"}`, nil)
	h.API("PUT", "/v1/users", `{"users":[{"id":"zhang.san","name":"张三","addresses":{"out":"zs@example.com"}},{"id":"li.1","name":"李娜"},{"id":"li.2","name":"李娜"}]}`, nil)
	form := func(who string) url.Values {
		return url.Values{"by": {"user"}, "address": {who}, "reason": {strings.Repeat("退", 255)}}
	}
	if got := h.Ask("admin", at, form("张三")); !strings.HasSuffix(got.To(), "&said=stored") {
		t.Fatalf("by a name: %d, to %q\n%s", got.Status, got.To(), got.Body)
	}
	h.Shows(h.Page("viewer", at+"?q="+url.QueryEscape("张三")), ">zs@example.com<", "<code>zhang.san</code>")
	if got := h.Ask("admin", at, form("李娜")); got.Status != http.StatusUnprocessableEntity || !strings.Contains(got.Body, "several users: give the id of one, li.1, li.2") {
		t.Errorf("by a name of two: %d\n%s", got.Status, got.Body)
	}
	long := form("张三")
	long.Set("reason", strings.Repeat("退", 256))
	long.Set("by", "")
	if got := h.Ask("admin", at, long); got.Status != http.StatusUnprocessableEntity || !strings.Contains(got.Body, "has 256 characters") {
		t.Errorf("a long reason: %d\n%s", got.Status, got.Body)
	}
	page := h.Page("viewer", at+"?source=foo&ends=soonish")
	h.Shows(page, "there is no such origin", "there is no such choice", ">zs@example.com<")
	if strings.Contains(page, "supp_by_foo") || h.Ask("viewer", at+".csv?source=foo", nil).Status != http.StatusUnprocessableEntity {
		t.Error("a source that there is not narrows the list")
	}
}
