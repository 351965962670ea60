package dingtalk_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/channeltest"
	"github.com/posthouse/posthouse/channel/dingtalk"
)

// A work notification is taken back by its task, with the application's id. A card has no task, and what is older than a day is not asked about.
func TestAWorkNotificationIsTakenBackByItsTask(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, ref, answer string
		age               time.Duration
		want              channel.Recalled
		class             posthouse.Class
		calls             int
	}{
		{"taken back", "256271667526", `{"errcode":0,"errmsg":"ok"}`, 23 * time.Hour, channel.RecallDone, posthouse.ClassOK, 1},
		{"too old", "256271667526", `{"errcode":0,"errmsg":"ok"}`, 24 * time.Hour, channel.RecallLate, posthouse.ClassRequest, 0},
		{"a card", "4v+AzUEDuC0dKuO", `{"errcode":0,"errmsg":"ok"}`, time.Hour, channel.RecallUnable, posthouse.ClassRequest, 0},
		{"too old by DingTalk's clock", "256271667526", `{"errcode":40035,"errmsg":"invalid"}`, 24*time.Hour - 20*time.Second, channel.RecallLate, posthouse.ClassRequest, 1},
		{"too fast", "256271667526", `{"errcode":90018,"errmsg":"too many calls"}`, time.Hour, channel.RecallRefused, posthouse.ClassRate, 1},
		{"half an answer", "256271667526", `{"errcode":`, time.Hour, channel.RecallUnknown, posthouse.ClassUnknown, 1},
	} {
		p := channeltest.NewProvider(t, withToken(test.answer))
		did, result := open(t, dingtalk.Work(), plainWork(p.URL)).(channel.Recaller).Recall(t.Context(), test.ref, time.Now().Add(-test.age))
		if did != test.want || result.Class != test.class {
			t.Errorf("%s: %s, %+v; want %s by the class %s", test.name, did, result, test.want, test.class)
		}
		calls := 0
		for _, a := range p.Arrivals() {
			if a.Method != http.MethodPost {
				continue
			}
			want := `{"agent_id":1234567890,"msg_task_id":256271667526}`
			if calls++; a.Target != "/topapi/message/corpconversation/recall?access_token="+accessToken || string(a.Body) != want {
				t.Errorf("%s: the call is %s with %s, want %s", test.name, a.Target, a.Body, want)
			}
		}
		if calls != test.calls {
			t.Errorf("%s: %d calls, want %d", test.name, calls, test.calls)
		}
	}
}
