package e2e

import (
	"database/sql"
	"net/http"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
)

// fleet makes a channel with an account that has a rate and a history of it, and returns the pages of both.
func (h *house) fleet() []string {
	h.Helper()
	_, _, err := h.api.Channels.Put(h.Context(), posthouse.Channel{
		Name: "fleet", Driver: "wecom", ChannelSettings: posthouse.ChannelSettings{Accounts: true, Limits: []posthouse.Limit{{Max: 9000, Per: posthouse.Duration(time.Minute)}}},
		Config: map[string]any{"corp_id": "ww1", "url": h.simulator + "/wecom"},
	})
	if err != nil {
		h.Fatal(err)
	}
	settings := posthouse.AccountSettings{BaseRate: 20, Pools: []string{"vip"}, Limits: []posthouse.Limit{{Max: 20, Per: posthouse.Duration(time.Second)}, {Max: 500, Per: posthouse.Duration(time.Hour)}}}
	if _, _, err := h.api.Accounts.Put(h.Context(), "fleet", posthouse.Account{Name: "sales-07", AccountSettings: settings, Config: map[string]any{"agent_id": 1000007, "secret": "s-07"}}); err != nil {
		h.Fatal(err)
	}
	if _, _, err := h.api.Accounts.Put(h.Context(), "fleet", posthouse.Account{Name: "refused-08", Config: map[string]any{"agent_id": 1000008, "secret": "s-08"}}); err != nil {
		h.Fatal(err)
	}
	h.pace("fleet", "sales-07")
	h.executes("INSERT INTO posthouse_gates (tenant, channel, account, until_at, class, code, error, refusals, learned, updated_at) VALUES ('default', 'fleet', 'refused-08', ?, 'account', '40001', 'invalid secret', 1, 0, 0)", time.Now().Add(time.Hour).UnixMicro())
	h.executes("INSERT INTO posthouse_processes (id, host, version, schema_version, epoch, key_id, keyring, accept_only, untrusted, started_at, seen_at) VALUES ('a-machine-with-a-long-name-4711-00ff', 'a', 'v0', 1, 1, 'k0', '00112233aabbccdd', 0, 0, 1, ?)", time.Now().UnixMicro())
	return []string{"channels/fleet", "channels/fleet?state=parked", "channels/fleet/new-account", "channels/fleet/accounts/sales-07", "channels/fleet/accounts/sales-07?span=day", "channels/fleet/accounts/sales-07/edit"}
}

// database is the server's, to write beside it what nobody waits for.
func (h *house) database() *sql.DB {
	h.Helper()
	db, err := sql.Open("sqlite", h.file+"?_pragma=busy_timeout(30000)") // the server writes too
	if err != nil {
		h.Fatal(err)
	}
	h.Cleanup(func() { _ = db.Close() })
	return db
}

// executes writes into the database beside the server.
func (h *house) executes(text string, args ...any) {
	h.Helper()
	db := h.database()
	if _, err := db.ExecContext(h.Context(), text, args...); err != nil {
		h.Fatal(err)
	}
}

// pace gives an account a history of its rate: nobody waits an hour for one.
func (h *house) pace(channel, account string) {
	h.Helper()
	db := h.database()
	now := time.Now().Unix() / 60
	for ago := range int64(600) {
		health, reason := 1000000-ago%50*10000, "recovers"
		if ago%7 == 3 || ago > 40 && ago < 50 {
			continue // it made no call
		}
		if _, err := db.ExecContext(h.Context(), "INSERT INTO posthouse_rates (tenant, channel, account, minute, process, rate, base, by_health, by_success, by_load, by_time, reason) VALUES ('default', ?, ?, ?, 1, ?, 20000000, ?, 950000, 1000000, 1000000, ?)",
			channel, account, now-ago, health*19, health, reason); err != nil {
			h.Fatal(err)
		}
	}
}

// Somebody makes an account by form, tests it, pauses it for a time, and sees how its rate came about.
func TestAccounts(t *testing.T) {
	wholeOnly(t)
	b := launch(t)
	h := open(t)
	h.fleet()
	tab := b.open(t, "zh-CN")
	tab.signsIn(h, "登录")
	tab.goes(h.at("channels/fleet"), http.StatusOK)
	tab.says("sales-07", "没有失败的发送尝试")
	tab.presses("新建账号")
	tab.fills("name", "sales-08")
	tab.fills("config.agent_id", "1000008")
	tab.fills("config.secret", "s-08")
	tab.presses("保存")
	tab.says("已保存", "sales-08", "整个渠道")
	tab.opens("暂停")
	tab.fills("reason", "当天额度用完")
	tab.presses("确认执行")
	tab.says("账号已暂停", "当天额度用完")

	tab.goes(h.at("channels/fleet/accounts/sales-07"), http.StatusOK)
	drawn := `document.querySelectorAll(".chart canvas").length === 2`
	if !tab.is(drawn) {
		t.Error("the rate and its factors are not drawn as two charts")
	}
	tab.picture("account.zh-CN")
	tab.presses("24 小时")
	if !tab.is(drawn) || !tab.is(`document.querySelectorAll("table[data-chart] tbody tr").length === 144`) {
		t.Error("a day is not drawn by ten minutes")
	}
}
