package console_test

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/consoletest"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/wire"
)

const (
	fleetAt   = "/console/t/default/channels/fleet"
	accountAt = fleetAt + "/accounts/"
)

// fleet makes the channel "fleet", which sends by accounts to a provider.
func (h *house) fleet(provider string) {
	h.Helper()
	h.api("PUT", "/v1/channels/fleet", `{"driver":"wecom","accounts":true,"limits":[{"max":9,"per":"1m"}],"config":{"corp_id":"ww1","url":"`+provider+`"}}`, nil)
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

func (h *house) account(name string) (a posthouse.Account) {
	h.Helper()
	h.api("GET", "/v1/channels/fleet/accounts/"+name, "", &a)
	return a
}

// An account is made by the form of what differs between accounts, changed without typing its secret again, and not over what somebody else has stored.
func TestAnAccountIsMadeByForm(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.fleet("https://example.com")
	h.shows(h.page("admin", fleetAt), "The channel has no account yet", "new-account", "9 a minute")
	page := h.page("admin", fleetAt+"/new-account")
	h.shows(page, `name="config.agent_id"`, `name="config.secret"`, `type="password"`, `name="weight"`)
	if strings.Contains(page, `name="config.corp_id"`) {
		t.Error("the form has what is the channel's")
	}
	form := url.Values{"name": {"sales-07"}, "config.agent_id": {"1000007"}, "config.secret": {"s3cret"}, "weight": {"many"}, "base_rate": {"NaN"}, "limits": {"nonsense"}}
	wrong := h.ask("admin", fleetAt+"/new-account", form)
	if wrong.status != http.StatusUnprocessableEntity || strings.Contains(wrong.body, "s3cret") {
		t.Errorf("a wrong form: %d", wrong.status)
	}
	h.shows(wrong.body, `value="1000007"`, "want a whole number", "want a number such as 5", "is not a limit such as 20/1s")
	form.Set("weight", "2000")
	form.Set("base_rate", "0.5")
	form.Set("limits", "20/1s\r\n500/1m")
	form.Set("pools", "vip\r\nnight")
	h.shows(h.ask("admin", fleetAt+"/new-account", form).body, "is 2000: want 1 to 1000")
	form.Set("weight", "3")
	if got := h.ask("admin", fleetAt+"/new-account", form); got.to() != accountAt+"sales-07?said=stored" {
		t.Fatalf("storing: %d\n%s", got.status, got.body)
	}
	if got := h.ask("admin", fleetAt+"/new-account", form); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, "There is one of this name already") {
		t.Errorf("the same name again: %d\n%s", got.status, got.body)
	}
	edit := accountAt + "sales-07/edit"
	page = h.page("admin", edit)
	h.shows(page, `value="1000007"`, "stored; empty keeps it", "20/1s\n500/1m", "vip\nnight", `value="0.5"`)
	if strings.Contains(page, "s3cret") {
		t.Error("the form shows a secret")
	}
	h.api("PUT", "/v1/channels/fleet/accounts/sales-07", `{"config":{"agent_id":1000007,"secret":"********"},"weight":7}`, nil)
	change := url.Values{"version": {versionOf(page)}, "config.agent_id": {"1000008"}, "weight": {"3"}, "note": {"as agreed"}}
	late := h.ask("admin", edit, change)
	if late.status != http.StatusConflict {
		t.Errorf("over what somebody else has stored: %d", late.status)
	}
	h.shows(late.body, "Somebody else has changed this account", "stored now: <code>7</code>", `value="1000008"`)
	change.Set("version", versionOf(late.body))
	if got := h.ask("admin", edit, change); got.to() != accountAt+"sales-07?said=stored" {
		t.Fatalf("changing: %d\n%s", got.status, got.body)
	}
	if a := h.account("sales-07"); a.Weight != 3 || a.Config["agent_id"] != 1000008.0 || a.Config["secret"] == nil || a.Version != 3 || len(a.Pools) != 0 {
		t.Errorf("the account is %+v", a)
	}
	var log struct{ Items []wire.AuditEntry }
	h.api("GET", "/v1/audit?action=accounts.put&key=person:admin", "", &log)
	if len(log.Items) != 2 || log.Items[0].Note != "as agreed" {
		t.Errorf("the audit log has %+v", log.Items)
	}
	if got := h.ask("admin", accountAt+"none", nil); got.status != http.StatusNotFound {
		t.Errorf("an account that is not there: %d", got.status)
	}
}

// An account is paused for a reason and a time, resumed, tested with what was sent and answered, and deleted by who types its name.
func TestAnAccountIsPausedTestedAndDeleted(t *testing.T) {
	t.Parallel()
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"errcode":40001,"errmsg":"invalid credential"}`))
	}))
	t.Cleanup(provider.Close)
	h := open(t, false, func(o *server.Options) { o.AllowNetworks = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} })
	h.fleet(provider.URL)
	h.api("PUT", "/v1/channels/fleet/accounts/a", `{"config":{"agent_id":7,"secret":"s3cret-of-a"},"limits":[{"max":3,"per":"1h"}]}`, nil)
	at := accountAt + "a"
	if got := h.ask("operator", at+"/pause", url.Values{"reason": {"limit of the day"}, "for": {"2h0m0s"}}); got.to() != at+"?said=account_paused_said" {
		t.Fatalf("pausing: %d\n%s", got.status, got.body)
	}
	h.shows(h.page("viewer", at+"?said=account_paused_said"), "limit of the day", "The account is paused", "state paused", "3 an hour", "open")
	if a := h.account("a"); a.StateUntil.Before(time.Now().Add(time.Hour)) {
		t.Errorf("it is paused until %s", a.StateUntil)
	}
	h.shows(h.page("viewer", fleetAt), `href="`+at+`"`, "limit of the day", " of 3 an hour")
	if got := h.ask("operator", at+"/pause", url.Values{"for": {"3s"}}); got.status != http.StatusUnprocessableEntity {
		t.Errorf("for another time: %d", got.status)
	}
	seen := consoletest.Hidden(h.page("operator", at), "pause")
	h.api("POST", "/v1/channels/fleet/accounts/a/pause", `{"reason":"do not resume"}`, nil)
	if got := h.ask("operator", at+"/resume", url.Values{"pause": {seen}}); got.status != http.StatusConflict || !strings.Contains(got.body, "do not resume") || !h.account("a").Paused {
		t.Errorf("an old page ends a pause that it has not seen: %d\n%s", got.status, got.body)
	}
	seen = consoletest.Hidden(h.page("operator", at), "pause")
	if got := h.ask("operator", at+"/resume", url.Values{"reason": {"next day"}, "pause": {seen}}); got.to() != at+"?said=account_resumed_said" {
		t.Errorf("resuming: %d", got.status)
	}
	if got := h.ask("operator", at+"/test", url.Values{"to": {"zhang.san"}, "text": {"hello"}}); got.status != http.StatusUnprocessableEntity {
		t.Errorf("an operator tests with somebody whom the channel does not list: %d", got.status)
	}
	tested := h.ask("admin", at+"/test", url.Values{"to": {"zhang.san"}, "text": {"hello"}})
	if tested.status != http.StatusOK || strings.Contains(tested.body, "s3cret-of-a") {
		t.Fatalf("testing: %d\n%s", tested.status, tested.body)
	}
	h.shows(tested.body, `id="tried"`, "zhang.san", "state failed", "40001")
	if got := h.ask("admin", at+"/delete", url.Values{}); got.status != http.StatusUnprocessableEntity {
		t.Errorf("deleting without its name: %d", got.status)
	}
	if got := h.ask("admin", at+"/delete", url.Values{"typed": {"a"}, "note": {"left us"}}); got.to() != fleetAt+"?said=removed_said" {
		t.Errorf("deleting: %d", got.status)
	}
	h.shows(h.page("viewer", fleetAt+"?said=removed_said"), "It is deleted.", "The channel has no account yet")
	var log struct{ Items []wire.AuditEntry }
	h.api("GET", "/v1/audit", "", &log)
	var told []string
	for _, e := range log.Items {
		if e.Key != "" && strings.HasPrefix(e.Key, "person:") {
			told = append(told, e.Action+" "+e.Note)
		}
	}
	if got := strings.Join(told, ", "); got != "accounts.delete left us, accounts.test , accounts.resume next day, accounts.pause limit of the day" {
		t.Errorf("the audit log has %s", got)
	}
}

// Accounts are imported from a CSV after a look, by handing it in again: no page shows its secrets; and taken away without them.
func TestAccountsAreImportedAfterALook(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.fleet("https://example.com")
	csv := "name,weight,limits,config.agent_id,config.secret\na,3,20/1s,1000101,s3cret-a\nb,,,1000102,s3cret-b\n"
	at := fleetAt + "/accounts"
	h.shows(h.ask("admin", at, url.Values{}).body, "choose a file")
	wrong := h.ask("admin", at, url.Values{"csv": {strings.Replace(csv, "a,3", "a,heavy", 1)}})
	if wrong.status != http.StatusUnprocessableEntity {
		t.Errorf("a wrong file: %d", wrong.status)
	}
	h.shows(wrong.body, "line 2.weight", "heavy")
	look := h.ask("admin", at, url.Values{"csv": {csv}})
	h.shows(look.body, "Accounts that would be stored: <strong>2</strong>", "of them new: <strong>2</strong>")
	if look.status != http.StatusOK || strings.Contains(look.body+wrong.body, "s3cret-") || !strings.Contains(h.page("admin", fleetAt), "no account yet") {
		t.Errorf("a look: %d", look.status)
	}
	_, rest, _ := strings.Cut(look.body, `name="seen" value="`)
	seen, _, _ := strings.Cut(rest, `"`)
	if got := h.ask("admin", at, url.Values{"csv": {csv + "c,,,1000103,s3cret-c\n"}, "seen": {seen}}); got.status != http.StatusConflict || !strings.Contains(got.body, "another file") {
		t.Errorf("another file: %d", got.status)
	}
	if got := h.ask("admin", at, url.Values{"csv": {csv}, "seen": {seen}, "note": {"new fleet"}}); got.to() != fleetAt+"?said=stored" {
		t.Fatalf("storing: %d\n%s", got.status, got.body)
	}
	if a := h.account("a"); a.Weight != 3 || a.Config["agent_id"] != 1000101.0 {
		t.Errorf("the account is %+v", a)
	}
	saved := h.ask("viewer", at+".csv", nil)
	if saved.status != http.StatusOK || strings.Contains(saved.body, "s3cret") || !strings.HasPrefix(saved.header.Get("Content-Disposition"), "attachment; filename=fleet-accounts.csv") {
		t.Errorf("saving: %d, %s", saved.status, saved.header)
	}
	h.shows(saved.body, "name,pools,weight,base_rate,limits,budget,config.agent_id,config.secret", "a,,3,,20/1s,,1000101,********")
}

// The page of a channel says by what attempts of the last day ended badly, from kept counts, and leads to the deliveries.
func TestAChannelSaysWhatWentWrong(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.api("PUT", "/v1/channels/out", `{"driver":"discard"}`, nil)
	at := "/console/t/default/channels/out"
	h.shows(h.page("viewer", at), "No attempt has ended badly")
	hour := time.Now().Unix() / 3600
	for outcome, n := range map[string]string{"ok": "900", "recipient": "41", "rate": "7", "unknown": "3"} {
		h.exec("INSERT INTO posthouse_totals (tenant, hour, channel, outcome, n) VALUES ('default', " + decimal(hour) + ", 'out', '" + outcome + "', " + n + ")")
	}
	h.exec("INSERT INTO posthouse_totals (tenant, hour, channel, outcome, n) VALUES ('default', " + decimal(hour-30) + ", 'out', 'content', 5), ('default', " + decimal(hour) + ", 'other', 'request', 5), ('other', " + decimal(hour) + ", 'out', 'auth', 5)")
	page := h.page("viewer", at)
	h.shows(page, ">41</td>", ">7</td>", ">3</td>", "attention?channel=out&amp;reason=recipient&amp;state=failed", "search?channel=out&amp;state=pending", "attention?channel=out&amp;state=unknown")
	for _, class := range []string{"content", "request", "auth", "ok"} {
		if strings.Contains(page, "<code>"+class+"</code>") {
			t.Errorf("the page has %s", class)
		}
	}
}

// The page of an account shows what its rate was made of over the last hour and day, as a table that a script draws; without a rate it says
// how to get one.
func TestAnAccountShowsItsRateOverTime(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.fleet("https://example.com")
	h.api("PUT", "/v1/channels/fleet/accounts/a", `{"config":{"agent_id":7,"secret":"s"}}`, nil)
	h.shows(h.page("viewer", accountAt+"a"), "It has no rate")
	h.api("PUT", "/v1/channels/fleet/accounts/a", `{"config":{"agent_id":7,"secret":"********"},"base_rate":20}`, nil)
	page := h.page("viewer", accountAt+"a")
	h.shows(page, "No rate is kept of this time", "?span=day")
	if strings.Contains(page, "uplot") {
		t.Error("a page without a chart loads its scripts")
	}
	minute := time.Now().Unix()/60 - 3
	h.exec("INSERT INTO posthouse_rates (tenant, channel, account, minute, process, rate, base, by_health, by_success, by_load, by_time, reason) VALUES " +
		"('default', 'fleet', 'a', " + decimal(minute) + ", 1, 7200000, 20000000, 450000, 800000, 1000000, 1000000, 'punished'), " +
		"('default', 'fleet', 'a', " + decimal(minute-9*60) + ", 1, 20000000, 20000000, 1000000, 1000000, 1000000, 1000000, 'probes')")
	hour := h.page("viewer", accountAt+"a")
	h.shows(hour, "uplot", `data-chart="Calls a second that the account could make"`, "<td>7.2</td><td>20</td><td>0.45</td><td>0.80</td><td>1.00</td><td>1.00</td><td>the provider refused for long</td>")
	if n := strings.Count(hour, "<tr><td><time"); n != 60 || strings.Contains(hour, "tries a little more") {
		t.Errorf("an hour has %d rows", n)
	}
	day := h.page("viewer", accountAt+"a?span=day", func(r *http.Request) { r.Header.Set("Accept-Language", "zh-CN") })
	h.shows(day, "<td>7.2</td>", "<td>20</td><td>20</td>", "试探提速")
	if n := strings.Count(day, "<tr><td><time"); n != 144 {
		t.Errorf("a day has %d rows", n)
	}
	h.api("PUT", "/v1/channels/one", `{"driver":"discard","rate":{}}`, nil)
	h.exec("INSERT INTO posthouse_rates (tenant, channel, account, minute, process, rate, base, by_health, by_success, by_load, by_time, reason) VALUES ('default', 'one', '', " + decimal(minute) + ", 1, 3000000, 3000000, 1000000, 1000000, 1000000, 1000000, 'holds')")
	h.shows(h.page("viewer", "/console/t/default/channels/one"), ">3</td>", "at what is allowed")
}
