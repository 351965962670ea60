package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"net"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/cli/columns"
)

var update = flag.Bool("update", false, "write the tables anew")

// TestOnceShowsEveryOutcome is also the smoke test of the whole house: server, engine, drivers,
// simulator and client, over real HTTP.
func TestOnceShowsEveryOutcome(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := Run(t.Context(), Options{Once: true, JSON: true, Out: &out}); err != nil {
		t.Fatal(err)
	}
	var report Report
	if err := json.Unmarshal(out.Bytes(), &report); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, r := range report.Rows {
		got[r.Scene+" / "+r.Recipient] = r.Outcome
		if r.Outcome != "sent" && r.Outcome != "delivered" && r.Why == "" {
			t.Errorf("%s to %s is %s and does not say why", r.Scene, r.Recipient, r.Outcome)
		}
	}
	want := map[string]string{
		"one message / li.na":                         "sent",
		"list: high, normal, low / wang.fang":         "sent",
		"list: high, normal, low / zhang.wei":         "sent",
		"list: high, normal, low / liu.yang":          "sent",
		"three people, one call / zhao.min":           "sent",
		"three people, one call / sun.li":             "sent",
		"three people, one call / fail-recipient":     "failed",
		"template and payload / wu.gang":              "sent",
		"scheduled in 1 s / xu.hui":                   "sent",
		"signed webhook / order-system":               "sent",
		"printed / ops":                               "sent",
		"provider busy twice / busy-twice":            "retried",
		"too fast for provider / too-fast":            "retried",
		"cut before it was sent / cut-before":         "retried",
		"answer lost, key known / lost-answer":        "retried",
		"answer lost, no key / lost-answer":           "unknown",
		"provider always busy / always-busy":          "failed",
		"content refused / refuse-content":            "failed",
		"deadline while retrying / always-busy":       "expired",
		"deadline while paused / he.tao":              "expired",
		"cancelled in time / gao.yu":                  "cancelled",
		"notice to a branch / branch.001":             "sent",
		"notice, on duty / " + onDuty:                 "sent",
		"notice, not on duty / yang.bo":               "suppressed",
		"task created / qian.duo":                     "sent",
		"task created / sun.yue":                      "sent",
		"step done: the next two / qian.duo":          "sent",
		"step done: the next two / sun.yue":           "sent",
		"task finished: everyone / zhang.san":         "sent",
		"task finished: everyone / qian.duo":          "sent",
		"task finished: everyone / sun.yue":           "sent",
		"mail / li.na@example.org":                    "sent",
		"Feishu card / ou_7d8a6e6d":                   "sent",
		"SMS by a cloud, receipt / +8613800138006":    "delivered",
		"SMS by a cloud, receipt / +8613900000021":    "undelivered",
		"group robot / ops-group":                     "sent",
		"SMS, fetched by a phone / +8613800138000":    "sent",
		"SMS, fetched by a phone / +8613800138001":    "sent",
		"SMS, network busy twice / +8613900000003":    "retried",
		"SMS, no such number / +8613900000001":        "failed",
		"SMS, phone gives no answer / +8613900000009": "unknown",
		"one-time password, sealed / +8613800138003":  "sent",
		"SMS by the front door / +8613800138002":      "sent",
		"same dedup_key / ma.chao":                    "sent",
		"same Idempotency-Key / lin.feng":             "sent",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	if len(report.Repeats) != 2 {
		t.Errorf("got repeats %+v, want one by dedup_key and one by Idempotency-Key", report.Repeats)
	}
	arrived := map[string]string{}
	for _, m := range report.SMS {
		arrived[m.Phone+" → "+m.To] = m.Text + " " + m.Answer
	}
	for to, want := range map[string]string{
		nativePhone + " → +8613800138000": "【驿站】今晚 18:00 起请值班。 accepted",
		nativePhone + " → +8613800138003": "【驿站】验证码 830514，5 分钟内有效。 accepted",
		nativePhone + " → +8613900000009": "【驿站】今晚 18:00 起请值班。 lost",
		doorPhone + " → 13800138002":      "【驿站】您的验证码是123456，用户张三 accepted",
	} {
		if arrived[to] != want {
			t.Errorf("%s: got the SMS %q, want %q", to, arrived[to], want)
		}
	}
	if p := report.Campaign; p.Members != 2000 || p.Delivered != 1998 || p.Undelivered != 2 || len(p.Reasons) != 1 || p.Reasons[0].Code != "USER_BLOCK" {
		t.Errorf("of the campaign's people became %+v, want 1998 delivered and 2 who have blocked the account", p)
	}
	if n := report.Alarm.Notification; n.State != posthouse.NotificationAcknowledged || n.Ack == nil || n.Ack.By != onDuty || n.Ack.Via != posthouse.AckLink || len(n.Deliveries) != 3 {
		t.Errorf("the alarm is %+v, want that it was acknowledged by the link that came after a post and a call", n)
	}
	if d := report.Digest; d.Outcome != posthouse.Sent || len(d.Members) != digestAlerts {
		t.Errorf("the digest is %s with %d members, want one sent post of %d", d.Outcome, len(d.Members), digestAlerts)
	}
	sending := 0
	for _, row := range report.Fleet {
		if len(row.Rates) == fleetLooks && row.Why != "" {
			sending++
		}
	}
	if len(report.Fleet) != fleetAccounts || sending == 0 {
		t.Errorf("the rates of the fleet are %+v, want those of %d accounts, of which some send", report.Fleet, fleetAccounts)
	}
	if report.Duplicates != 0 {
		t.Errorf("%d messages arrived twice", report.Duplicates)
	}
	if !report.Settled {
		t.Error("the report does not say that all is settled")
	}
}

func TestDirKeepsTheDatabaseAndATemporaryFolderGoes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	h, err := open(t.Context(), Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir + "/posthouse.db"); err != nil {
		t.Errorf("the database is gone: %v", err)
	}
	h, err = open(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(h.dir); !os.IsNotExist(err) {
		t.Errorf("the temporary folder is still there: %v", err)
	}
}

// A folder that a demo has kept starts as often as somebody wants: its channels are called at the addresses that they have.
func TestEachStartHasTheSameCallbackAddresses(t *testing.T) {
	t.Parallel()
	h, err := open(t.Context(), Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	c, err := client.New(client.Options{URL: h.places.API, Key: h.places.Key})
	if err == nil {
		err = furnish(t.Context(), c, h.provided)
	}
	for range 3 {
		if err == nil {
			err = hearsBack(t.Context(), c, h.simulator, h.places.API)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, channel := range []string{campaignChannel, cloudChannel} {
		if list, err := c.Callbacks.List(t.Context(), channel); err != nil || len(list) != 1 {
			t.Errorf("%s has the callback addresses %v (%v), want one", channel, list, err)
		}
	}
}

// Links lead to the server wherever it listens: the port is known before it does, and all networks are reached from here by the loopback.
func TestLinksLeadToWhereTheServerListens(t *testing.T) {
	t.Parallel()
	for _, given := range []string{"", ":0", "127.0.0.1:0"} {
		addr, err := orVacant(given)
		if err != nil {
			t.Fatal(err)
		}
		if _, port, err := net.SplitHostPort(addr); err != nil || port == "0" || port == "" {
			t.Errorf("%q is served at %q (%v), want a port that is known", given, addr, err)
		}
	}
	for addr, want := range map[string]string{
		":8080": "http://127.0.0.1:8080", "[::]:8080": "http://127.0.0.1:8080", "0.0.0.0:80": "http://127.0.0.1:80", "127.0.0.1:81": "http://127.0.0.1:81", "host.example:81": "http://host.example:81",
	} {
		if got := onThisMachine(addr); got != want {
			t.Errorf("links for %s begin with %s, want %s", addr, got, want)
		}
	}
}

func TestWhatIsNotSettledIsNamed(t *testing.T) {
	t.Parallel()
	err := unsettled([]Row{
		{Recipient: "li.na", Channel: "oa", State: posthouse.Sent, Delivery: "D1"},
		{Recipient: "wu.gang", Channel: "zhaohu", State: posthouse.Pending, Why: "busy", Delivery: "D2"},
		{Recipient: "ops", Channel: "gateway", State: posthouse.Unknown, Delivery: "D3", policy: posthouse.Hold},
	})
	want := "1 of 3 deliveries are not settled after 1m0s: delivery: D2 to wu.gang over zhaohu is pending (busy)"
	if err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
}

func ruled(head []string, rows [][]string) string {
	return columns.Text(head, rows, columns.Options{Rule: true})
}

func TestTable(t *testing.T) {
	t.Parallel()
	rows := []Row{
		{Scene: "one message", zh: "单条消息", Channel: "tianyuan", Recipient: "li.na", State: posthouse.Sent, Attempts: 1, ProviderRef: "ty-1"},
		{Scene: "notice, not on duty", zh: "总行通知，今天不值班", Channel: "tianyuan", Recipient: "yang.bo", State: posthouse.Suppressed, Why: "not_on_duty"},
		{Scene: "content refused", zh: "内容被拒绝", Channel: "oa", Recipient: "wu.gang", State: posthouse.Failed, Attempts: 1,
			Why: "content: a very long text of a provider \x1b[2J that does not fit into the column"},
	}
	for _, lang := range []string{"en", "zh"} {
		golden := "testdata/table-" + lang + ".txt"
		got := newVoice(Options{Lang: lang, Table: ruled}).table(rows)
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s (-want +got; go test -update writes it anew):\n%s", golden, diff)
		}
	}
}

func TestProgressIsPlainLinesWhereThereIsNoTerminal(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		o    Options
		want string
	}{
		"pipe":     {Options{}, "  1 of 2 deliveries settled\n  2 of 2 deliveries settled\n"},
		"terminal": {Options{Terminal: true}, "\r\x1b[K  1 of 2 deliveries settled\r\x1b[K  2 of 2 deliveries settled"},
		"json":     {Options{JSON: true}, ""},
		"Chinese":  {Options{Lang: "zh"}, "  1 / 2 条投递已有结果\n  2 / 2 条投递已有结果\n"},
	} {
		var out bytes.Buffer
		test.o.Out = &out
		v := newVoice(test.o)
		v.progress(1, 2)
		v.progress(1, 2)
		v.progress(2, 2)
		if got := out.String(); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}
