package dingtalk_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/channeltest"
	"github.com/posthouse/posthouse/channel/dingtalk"
)

func TestAPostIsSigned(t *testing.T) {
	t.Parallel()
	p := channeltest.NewProvider(t, channeltest.Reply(200, `{"errcode":0}`))
	before := time.Now()
	open(t, dingtalk.Robot(), robotConfig(p.URL)).Send(t.Context(), to("manager4220")[0])
	q := query(t, p.Arrivals()[0].Target)
	ms, err := strconv.ParseInt(q.Get("timestamp"), 10, 64)
	if at := time.UnixMilli(ms); err != nil || at.Before(before.Add(-time.Second)) || at.After(time.Now()) {
		t.Errorf("timestamp = %q, want the time in milliseconds", q.Get("timestamp"))
	}
	mac := hmac.New(sha256.New, []byte(signingSecret))
	mac.Write([]byte(q.Get("timestamp") + "\n" + signingSecret))
	if want := base64.StdEncoding.EncodeToString(mac.Sum(nil)); q.Get("sign") != want || q.Get("access_token") != robotToken {
		t.Errorf("sign = %q, want %q; the token is %q", q.Get("sign"), want, q.Get("access_token"))
	}
}

func TestWhatIsPosted(t *testing.T) {
	t.Parallel()
	outs := to("13800001111", "manager4220")
	for _, c := range []struct {
		name string
		set  map[string]any
		outs []channel.Outgoing
		want string
	}{
		{"text to one", nil, outs[:1],
			`{"msgtype":"text","text":{"content":"进站提醒\n请提前准备"},"at":{"atMobiles":["13800001111"],"isAtAll":false},"msgUuid":"` + outs[0].IdemKey + `"}`},
		{"markdown to one", map[string]any{"format": "markdown"}, outs[1:],
			`{"msgtype":"markdown","markdown":{"title":"进站提醒","text":"### 进站提醒\n\n请提前准备\n\n@manager4220"},"at":{"atUserIds":["manager4220"],"isAtAll":false},"msgUuid":"` + outs[1].IdemKey + `"}`},
		{"everybody", map[string]any{"mention": "all"}, outs[:1],
			`{"msgtype":"text","text":{"content":"进站提醒\n请提前准备"},"at":{"isAtAll":true},"msgUuid":"` + outs[0].IdemKey + `"}`},
		{"nobody", map[string]any{"mention": "none"}, outs[:1],
			`{"msgtype":"text","text":{"content":"进站提醒\n请提前准备"},"at":{"isAtAll":false},"msgUuid":"` + outs[0].IdemKey + `"}`},
		{"a keyword that is missing", map[string]any{"mention": "none", "keywords": []any{"告警", "值班"}}, outs[:1],
			`{"msgtype":"text","text":{"content":"进站提醒\n告警 请提前准备"},"at":{"isAtAll":false},"msgUuid":"` + outs[0].IdemKey + `"}`},
		{"a keyword that is there", map[string]any{"mention": "none", "keywords": []any{"告警", "提醒"}}, outs[:1],
			`{"msgtype":"text","text":{"content":"进站提醒\n请提前准备"},"at":{"isAtAll":false},"msgUuid":"` + outs[0].IdemKey + `"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := channeltest.NewProvider(t, channeltest.Reply(200, `{"errcode":"0"}`))
			config := robotConfig(p.URL)
			for name, v := range c.set {
				config[name] = v
			}
			open(t, dingtalk.Robot(), config).Send(t.Context(), c.outs[0])
			if diff := cmp.Diff(c.want, string(p.Arrivals()[0].Body)); diff != "" {
				t.Errorf("the body (-want +got):\n%s", diff)
			}
		})
	}
}

// A shared post has a key that is the same for the same deliveries, in any order.
func TestASharedPostHasOneKey(t *testing.T) {
	t.Parallel()
	p := channeltest.NewProvider(t, channeltest.Reply(200, `{"errcode":0}`))
	config := robotConfig(p.URL)
	config["mentions"] = 50
	kind := dingtalk.Robot()
	c, _ := kind.Validate(config)
	if kind.BatchSize(c) != 50 || kind.IdempotencyWindow(c) != 0 {
		t.Errorf("batch %d, window %s; want 50 and none", kind.BatchSize(c), kind.IdempotencyWindow(c))
	}
	d := open(t, kind, config)
	outs := to("a", "13800001111", "b")
	d.SendBatch(t.Context(), outs)
	d.SendBatch(t.Context(), []channel.Outgoing{outs[2], outs[0], outs[1]})
	d.SendBatch(t.Context(), outs[:2])
	var uuids []string
	for _, a := range p.Arrivals() {
		_, id, _ := strings.Cut(string(a.Body), `"msgUuid":`)
		uuids = append(uuids, id)
	}
	if uuids[0] != uuids[1] || uuids[0] == uuids[2] || len(uuids[0]) < 32 {
		t.Errorf("the keys are %q, want the first two the same", uuids)
	}
	if body := string(p.Arrivals()[0].Body); !strings.Contains(body, `"atMobiles":["13800001111"],"atUserIds":["a","b"]`) {
		t.Errorf("the post is %s", body)
	}
}

func TestWhatTheRobotsCodesMean(t *testing.T) {
	t.Parallel()
	parked := 10 * time.Minute
	for _, c := range []struct {
		body  string
		class posthouse.Class
		code  string
		after time.Duration
	}{
		{`{"errcode":0,"errmsg":"ok"}`, posthouse.ClassOK, "0", 0},
		{`{"errcode":"0","errmsg":"ok"}`, posthouse.ClassOK, "0", 0},
		{`{"errcode":-1,"errmsg":"系统繁忙"}`, posthouse.ClassUnknown, "-1", 0},
		{`{"errcode":500,"errmsg":"x"}`, posthouse.ClassUnknown, "500", 0},
		{`{"errcode":34015,"errmsg":"发送群会话消息失败"}`, posthouse.ClassUnknown, "34015", 0},
		{`{"errcode":400001,"errmsg":"系统异常"}`, posthouse.ClassUnknown, "400001", 0},
		{`{"errcode":410100,"errmsg":"发送速度太快而限流"}`, posthouse.ClassRate, "410100", parked},
		{`{"errcode":130101,"errmsg":"send too fast, exceed 20 times per minute"}`, posthouse.ClassRate, "130101", parked},
		{`{"status":1111,"wait":5,"source":"x","punish":"deny","uuid":"y"}`, posthouse.ClassRate, "1111", 5 * time.Minute},
		{`<!DOCTYPE html><html></html>`, posthouse.ClassRate, "1111", 5 * time.Minute},
		{`{"errcode":90018,"errmsg":"x"}`, posthouse.ClassRate, "90018", time.Second},
		{`{"errcode":90030,"errmsg":"webhook over limit"}`, posthouse.ClassAccount, "90030", 0},
		{`{"errcode":300001,"errmsg":"token is not exist"}`, posthouse.ClassAccount, "300001", 0},
		{`{"errcode":400013,"errmsg":"群已被解散"}`, posthouse.ClassAccount, "400013", 0},
		{`{"errcode":400102,"errmsg":"机器人已停用"}`, posthouse.ClassAccount, "400102", 0},
		{`{"errcode":310000,"errmsg":"sign not match"}`, posthouse.ClassAccount, "310000", 0},
		{`{"errcode":310000,"errmsg":"invalid timestamp"}`, posthouse.ClassAccount, "310000", 0},
		{`{"errcode":310000,"errmsg":"keywords not in content, more: [x]"}`, posthouse.ClassContent, "310000", 0},
		{`{"errcode":430102,"errmsg":"含有不合适的文本"}`, posthouse.ClassContent, "430102", 0},
		{`{"errcode":400105,"errmsg":"不支持的消息类型"}`, posthouse.ClassRequest, "400105", 0},
		{`{"errcode":43004,"errmsg":"无效的HTTP HEADER Content-Type"}`, posthouse.ClassRequest, "43004", 0},
		{`{"errcode":999999,"errmsg":"new"}`, posthouse.ClassTransient, "999999", 0},
		{`{"errcode":777777,"errmsg":"the channel's"}`, posthouse.ClassContent, "777777", 0},
		{`{"errmsg":"ok"}`, posthouse.ClassUnknown, "", 0},
	} {
		t.Run(c.body, func(t *testing.T) {
			t.Parallel()
			own := codes(map[string]posthouse.Class{"777777": posthouse.ClassContent})
			got := answers(t, dingtalk.Robot(), robotConfig, c.body, own).Send(t.Context(), to("a")[0])
			if got.Class != c.class || got.Code != c.code || got.After != c.after {
				t.Errorf("got %q, code %q, after %s (%s), want %q, %q, %s", got.Class, got.Code, got.After, got.Error, c.class, c.code, c.after)
			}
		})
	}
}

func TestAPostThatIsTooLongIsNotSent(t *testing.T) {
	t.Parallel()
	p := channeltest.NewProvider(t, channeltest.Reply(200, `{"errcode":0}`))
	out := to("a")[0]
	out.Content.Text = strings.Repeat("长", 5001)
	got := open(t, dingtalk.Robot(), robotConfig(p.URL)).Send(t.Context(), out)
	if got.Class != posthouse.ClassContent || got.Code != "TOO_LONG" || len(p.Arrivals()) != 0 {
		t.Errorf("got %+v after %d calls, want content without one", got, len(p.Arrivals()))
	}
}
