package wecom_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/channeltest"
)

// A message is taken back by its msgid. What is older than a day is not asked about, and codes say what became of the others.
func TestAMessageIsTakenBackByItsID(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, answer string
		age          time.Duration
		want         channel.Recalled
		class        posthouse.Class
		calls        int
	}{
		{"taken back", `{"errcode":0,"errmsg":"ok"}`, 23 * time.Hour, channel.RecallDone, posthouse.ClassOK, 1},
		{"too old", `{"errcode":0,"errmsg":"ok"}`, 24 * time.Hour, channel.RecallLate, posthouse.ClassRequest, 0},
		{"too old by WeCom's clock", `{"errcode":40058,"errmsg":"invalid msgid"}`, 24*time.Hour - 20*time.Second, channel.RecallLate, posthouse.ClassRequest, 1},
		{"too fast at the end of the day", `{"errcode":45009,"errmsg":"api freq out of limit"}`, 24*time.Hour - 20*time.Second, channel.RecallRefused, posthouse.ClassRate, 1},
		{"no such message", `{"errcode":40058,"errmsg":"invalid msgid"}`, time.Hour, channel.RecallRefused, posthouse.ClassRequest, 1},
		{"too fast", `{"errcode":45009,"errmsg":"api freq out of limit"}`, time.Hour, channel.RecallRefused, posthouse.ClassRate, 1},
		{"not this application's", `{"errcode":48002,"errmsg":"api forbidden"}`, time.Hour, channel.RecallRefused, posthouse.ClassAccount, 1},
		{"half an answer", `{"errcode":`, time.Hour, channel.RecallUnknown, posthouse.ClassUnknown, 1},
	} {
		p := channeltest.NewProvider(t, func(w http.ResponseWriter, r *http.Request) {
			if !giveToken(w, r) {
				channeltest.Reply(200, test.answer)(w, r)
			}
		})
		did, result := app(t, p.URL).(channel.Recaller).Recall(t.Context(), "m-1", time.Now().Add(-test.age))
		if did != test.want || result.Class != test.class {
			t.Errorf("%s: %s, %+v; want %s by the class %s", test.name, did, result, test.want, test.class)
		}
		calls := 0
		for _, a := range p.Arrivals() {
			if a.Method != http.MethodPost {
				continue
			}
			if calls++; a.Target != "/wecom/cgi-bin/message/recall?access_token="+accessToken || string(a.Body) != `{"msgid":"m-1"}` {
				t.Errorf("%s: the call is %s with %s", test.name, a.Target, a.Body)
			}
		}
		if calls != test.calls {
			t.Errorf("%s: %d calls, want %d", test.name, calls, test.calls)
		}
	}
}
