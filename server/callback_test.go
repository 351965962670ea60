package server_test

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/simulator"
)

const (
	callbackToken = "a-token-of-ours"
	callbackKey   = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFG"
)

// mp configures an official account of the simulator that calls back.
func (h *house) mp(name string, more map[string]any) posthouse.Channel {
	h.Helper()
	config := map[string]any{"url": h.sim.URL() + "/wechat", "app_id": "wx1", "secret": "a-secret-of-ours", "template_id": "T1", "callback_token": callbackToken}
	for k, v := range more {
		config[k] = v
	}
	return h.put(posthouse.Channel{Name: name, Driver: "wechat", Config: config})
}

// hook makes a callback address of a channel.
func (h *house) hook(channel, account string) string {
	h.Helper()
	made, err := h.api.Callbacks.Create(h.Context(), channel, account)
	h.must(err)
	return made.Path
}

// follow hands in a message to followers, and returns its deliveries by openid.
func (h *house) followers(channel string, openids ...string) map[string]string {
	h.Helper()
	var to []posthouse.Recipient
	for _, id := range openids {
		to = append(to, posthouse.Recipient{User: "u-" + id, Address: id})
	}
	done := h.hand(posthouse.Draft{Channel: channel, To: to, Content: &posthouse.Content{Text: "hello"}})
	byID := map[string]string{}
	for i, d := range done.Deliveries {
		byID[openids[i]] = d.ID
	}
	return byID
}

// FLEET-2, FLEET-14: what a provider tells by itself is in the story of the delivery, in clear and encrypted.
func TestFLEET_AProviderTellsWhatBecameOfAMessage(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		for name, key := range map[string]string{"plain": "", "sealed": callbackKey} {
			h.mp(name, map[string]any{"callback_aes_key": key})
			path := h.hook(name, "")
			h.must(h.sim.CallBack(h.Context(), "wechat", simulator.Callback{URL: h.url + path, Token: callbackToken, AESKey: key, Receiver: "wx1"}))
			sent := h.followers(name, "o1", "user-block-1", "system-failed-1")
			for openid, want := range map[string]struct {
				state posthouse.State
				code  string
			}{"o1": {posthouse.Delivered, ""}, "user-block-1": {posthouse.Undelivered, "USER_BLOCK"}, "system-failed-1": {posthouse.Undelivered, "SYSTEM_FAILED"}} {
				id := sent[openid]
				h.eventually(fmt.Sprintf("%s: the receipt of %s comes", name, openid), func() bool { return h.delivery(id).State == want.state })
				events, err := h.api.Deliveries.Events(h.Context(), id)
				h.must(err)
				if last := events[len(events)-1]; last.Type != posthouse.EventReceipt || last.Code != want.code {
					h.Errorf("%s, %s: the last event is %+v, want a receipt with the code %q", name, openid, last, want.code)
				}
			}
			again := "SELECT COUNT(*) FROM posthouse_deliveries WHERE channel = '" + name + "' AND replay_of <> ''"
			h.eventually("what WeChat failed to deliver is sent once more", func() bool { return h.number(again+" AND state = 'undelivered'") == 1 })
			if n := h.number(again); n != 1 {
				h.Errorf("%s: %d are sent again, want the one, once", name, n)
			}
		}
		h.eventually("nothing waits for a receipt", func() bool { return h.count("posthouse_awaited") == 0 && h.count("posthouse_heard") == 0 })
		h.early()
	})
}

// early has a provider tell of a message before the answer to our call is recorded: it is not lost.
func (h *house) early() {
	h.Helper()
	h.must(h.sim.CallBack(h.Context(), "wechat", simulator.Callback{})) // the test itself calls
	h.mp("early", nil)
	path := h.hook("early", "")
	for nonce, ref := range map[string]string{"n1": "wx-early", "n2": "wx-of-others"} {
		if status, _ := h.calls(http.MethodPost, path+"?"+signedQuery(callbackToken, nonce, time.Now()), finish(ref, "success")); status != 200 {
			h.Fatalf("%s: got %d", ref, status)
		}
	}
	id := h.followers("early", "o1")["o1"]
	h.eventually("it is sent", func() bool { return h.delivery(id).State == posthouse.Sent })
	_, err := h.db.ExecContext(h.Context(), "UPDATE posthouse_awaited SET ref = 'wx-early'")
	h.must(err)
	h.eventually("the receipt is found again", func() bool { return h.delivery(id).State == posthouse.Delivered })
	if n := h.count("posthouse_heard"); n != 1 {
		h.Errorf("%d are kept, want the one of others", n)
	}
	_, err = h.db.ExecContext(h.Context(), "UPDATE posthouse_heard SET until_at = 1")
	h.must(err)
	h.eventually("what nobody waits for is forgotten", func() bool { return h.count("posthouse_heard") == 0 })
}

// count is how many rows a table has.
func (h *house) count(table string) (n int) {
	h.Helper()
	h.must(h.db.QueryRowContext(h.Context(), "SELECT COUNT(*) FROM "+table).Scan(&n))
	return n
}

// signedQuery is the query of a callback in clear.
func signedQuery(token, nonce string, at time.Time) string {
	stamp := strconv.FormatInt(at.Unix(), 10)
	parts := []string{token, stamp, nonce}
	slices.Sort(parts)
	sum := sha1.Sum([]byte(strings.Join(parts, "")))
	return url.Values{"timestamp": {stamp}, "nonce": {nonce}, "signature": {hex.EncodeToString(sum[:])}}.Encode()
}

// calls makes a callback and returns what was answered.
func (h *house) calls(method, path, body string) (int, string) {
	h.Helper()
	req, err := http.NewRequestWithContext(h.Context(), method, h.url+path, strings.NewReader(body))
	h.must(err)
	res, err := http.DefaultClient.Do(req)
	h.must(err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	h.must(err)
	return res.StatusCode, string(text)
}

func finish(ref, status string) string {
	return "<xml><MsgType>event</MsgType><Event>TEMPLATESENDJOBFINISH</Event><MsgID>" + ref + "</MsgID><Status>" + status + "</Status></xml>"
}

// A refused caller is told nothing, and nothing changes; what comes early is kept.
func TestFLEET_ForgedCallbacksChangeNothing(t *testing.T) {
	h := open(t, dbtest.SQLite(t))
	h.mp("mp", nil)
	path := h.hook("mp", "")
	id := h.followers("mp", "o1")["o1"]
	h.eventually("it is sent", func() bool { return h.delivery(id).State == posthouse.Sent })
	ref := h.delivery(id).ProviderRef
	right := signedQuery(callbackToken, "n1", time.Now())
	nowhere := strings.Repeat("a", len(path)-strings.LastIndexByte(path, '/')-1)
	for name, c := range map[string]struct {
		path, body string
		status     int
	}{
		"another token":     {path + "?" + signedQuery("guessed", "n2", time.Now()), finish(ref, "success"), 403},
		"no signature":      {path, finish(ref, "success"), 403},
		"an old one":        {path + "?" + signedQuery(callbackToken, "n3", time.Now().Add(-time.Hour)), finish(ref, "success"), 403},
		"no such address":   {"/v1/callbacks/" + nowhere + "?" + right, finish(ref, "success"), 403},
		"no address at all": {"/v1/callbacks/mp?" + right, finish(ref, "success"), 403},
		"no XML":            {path + "?" + signedQuery(callbackToken, "n4", time.Now()), "hello", 403},
		"too large":         {path + "?" + right, strings.Repeat("x", 300<<10), 413},
	} {
		status, said := h.calls(http.MethodPost, c.path, c.body)
		if status != c.status || c.status == 403 && said != "refused" {
			t.Errorf("%s: got %d %q, want %d", name, status, said, c.status)
		}
	}
	if got := h.delivery(id).State; got != posthouse.Sent {
		t.Fatalf("a forged callback made it %s", got)
	}
	if status, said := h.calls(http.MethodGet, path+"?"+signedQuery(callbackToken, "n5", time.Now())+"&echostr=12345", ""); status != 200 || said != "12345" {
		t.Errorf("a look at the address: got %d %q", status, said)
	}
	for i, want := range []struct {
		body   string
		status int
	}{{finish(ref, "success"), 200}, {finish(ref, "success"), 200}, {finish(ref, "failed:user block"), 403}} {
		if status, said := h.calls(http.MethodPost, path+"?"+right, want.body); status != want.status {
			t.Errorf("call %d with the same signature: got %d %q, want %d", i+1, status, said, want.status)
		}
	}
	if d := h.delivery(id); d.State != posthouse.Delivered {
		t.Errorf("it is %s, want delivered", d.State)
	}
	if got := h.metric(`posthouse_callbacks_total{channel="mp",outcome="repeated"}`); got != 1 {
		t.Errorf("%v repeats are counted, want 1", got)
	}
}

// An address is a channel's or an account's, of one tenant, and ends when it is deleted.
func TestFLEET_CallbackAddressesAreApart(t *testing.T) {
	h := open(t, dbtest.SQLite(t))
	h.put(posthouse.Channel{Name: "many", Driver: "wechat", ChannelSettings: posthouse.ChannelSettings{Accounts: true}, Config: map[string]any{"url": h.sim.URL() + "/wechat"}})
	for name, token := range map[string]string{"a": "token-a", "b": "token-b"} {
		_, _, err := h.api.Accounts.Put(h.Context(), "many", posthouse.Account{Name: name, Config: map[string]any{"app_id": "wx" + name, "secret": "s", "callback_token": token}})
		h.must(err)
	}
	a, b := h.hook("many", "a"), h.hook("many", "b")
	look := func(path, token string) int {
		status, _ := h.calls(http.MethodGet, path+"?"+signedQuery(token, "n", time.Now())+"&echostr=1", "")
		return status
	}
	if look(a, "token-a") != 200 || look(b, "token-b") != 200 || look(a, "token-b") != 403 || look(b, "token-a") != 403 {
		t.Error("an account's address takes another's token, or not its own")
	}
	if _, err := h.api.Callbacks.Create(h.Context(), "many", "c"); err == nil || !strings.Contains(err.Error(), "no such account") {
		t.Errorf("an address of no account: %v", err)
	}
	h.put(posthouse.Channel{Name: "plain", Driver: "discard"})
	if _, err := h.api.Callbacks.Create(h.Context(), "plain", ""); err == nil || !strings.Contains(err.Error(), "no callbacks") {
		t.Errorf("an address of a driver without: %v", err)
	}
	h.hook("many", "a")
	if _, err := h.api.Callbacks.Create(h.Context(), "many", "a"); err == nil || !strings.Contains(err.Error(), "delete one") {
		t.Errorf("a third address: %v", err)
	}
	list, err := h.api.Callbacks.List(h.Context(), "many")
	h.must(err)
	if len(list) != 3 {
		t.Fatalf("there are %d addresses, want 3", len(list))
	}
	h.must(h.api.Callbacks.Delete(h.Context(), "many", strings.TrimPrefix(b, "/v1/callbacks/")))
	h.eventually("the deleted address is refused", func() bool { return look(b, "token-b") == 403 })
	h.must(h.api.Accounts.Delete(h.Context(), "many", "a"))
	if n := h.count("posthouse_callbacks"); n != 0 {
		t.Errorf("%d addresses outlive their account", n)
	}
}

// An application of WeCom is called too: it proves that the address is its own.
func TestFLEET_WeComLooksAtTheAddress(t *testing.T) {
	h := open(t, dbtest.SQLite(t))
	h.put(posthouse.Channel{Name: "wecom", Driver: "wecom", Config: map[string]any{
		"url": h.sim.URL() + "/wecom", "corp_id": "ww1", "agent_id": 1, "secret": "a-secret-of-ours", "callback_token": callbackToken, "callback_aes_key": callbackKey,
	}})
	to := simulator.Callback{URL: h.url + h.hook("wecom", ""), Token: callbackToken, AESKey: callbackKey, Receiver: "ww1"}
	h.must(h.sim.CallBack(h.Context(), "wecom", to))
	for name, change := range map[string]func(*simulator.Callback){
		"another corporation": func(c *simulator.Callback) { c.Receiver = "ww2" },
		"another token":       func(c *simulator.Callback) { c.Token = "x" },
		"another key":         func(c *simulator.Callback) { c.AESKey = strings.Repeat("A", 43) },
	} {
		wrong := to
		change(&wrong)
		if err := h.sim.CallBack(h.Context(), "wecom", wrong); err == nil {
			t.Errorf("%s: the look succeeds", name)
		}
	}
}
