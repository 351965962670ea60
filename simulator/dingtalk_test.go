package simulator

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const gatewayPath = "/dingtalk/send"

func gatewayBody(title, users string) string {
	return `{"title":"` + title + `","template_id":"SE1001","template_params":{"taskName":"x"},"userid_list":` + users + `,"agent_id":"A","corp_id":"C"}`
}

func TestTheGatewaySaysWhatItRefuses(t *testing.T) {
	t.Parallel()
	_, url := serve(t, Options{})
	long := strings.Repeat("字", 20)
	for _, c := range []struct{ name, body, want string }{
		{"a list", gatewayBody("t", `["a","b"]`), `{"success":true,"code":200,"msg":"ok","data":{"msgid":"dt-ID"}}`},
		{"a text with commas", gatewayBody("t", `"a,b"`), `{"success":true,"code":200,"msg":"ok","data":{"msgid":"dt-ID"}}`},
		{"a title of 20", gatewayBody(long, `["a"]`), `{"success":true,"code":200,"msg":"ok","data":{"msgid":"dt-ID"}}`},
		{"a title of 21", gatewayBody(long+"字", `["a"]`), `{"success":false,"code":400,"msg":"the title has 21 characters, at most 20 are allowed"}`},
		{"a title with an emoji that counts twice", gatewayBody(strings.Repeat("字", 19)+"😀", `["a"]`), `{"success":false,"code":400,"msg":"the title has 21 characters, at most 20 are allowed"}`},
		{"a user it does not know", gatewayBody("t", `["a","fail-recipient"]`), `{"success":false,"code":404,"msg":"no such user"}`},
		{"a user twice", gatewayBody("t", `["a","b","a"]`), `{"success":false,"code":400,"msg":"userid_list names a user twice"}`},
		{"nobody", gatewayBody("t", `[]`), `{"success":false,"code":400,"msg":"userid_list is missing"}`},
		{"no corp_id", `{"agent_id":"A"}`, `{"success":false,"code":400,"msg":"agent_id or corp_id is missing"}`},
	} {
		if got := call(t, "POST", url+gatewayPath, c.body); got.status != 200 || got.body != c.want {
			t.Errorf("%s: got %d %s, want %s", c.name, got.status, got.body, c.want)
		}
	}
	number := strings.Replace(gatewayBody("t", `["a"]`), `"x"`, `7`, 1)
	if got := call(t, "POST", url+gatewayPath, number); !strings.Contains(got.body, `"code":400`) {
		t.Errorf("a parameter that is a number: got %s", got.body)
	}
}

// All or none: who is unknown keeps the others from being told, and all of a call have one id.
func TestTheGatewayTakesACallWhole(t *testing.T) {
	t.Parallel()
	sim, url := serve(t, Options{})
	call(t, "POST", url+gatewayPath, gatewayBody("t", `["a","fail-recipient","b"]`))
	call(t, "POST", url+gatewayPath, gatewayBody("t", `["a","b"]`), "X-Posthouse-Keys", "01M7YA81RE4KJRAJD60GGW0001,0003")
	list := sim.Arrivals(Filter{})
	var got []string
	for _, a := range list {
		got = append(got, fmt.Sprintf("%s %s %s %s", a.User, a.Answer, a.Code, a.Key))
	}
	want := []string{
		"a refused unknown_user ", "fail-recipient refused unknown_user ", "b refused unknown_user ",
		"a accepted  01M7YA81RE4KJRAJD60GGW0001", "b accepted  01M7YA81RE4KJRAJD60GGW0003",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("arrivals (-want +got):\n%s", diff)
	}
	if list[3].ID == "" || list[3].ID != list[4].ID || list[3].Text != `[SE1001] {"taskName":"x"}` {
		t.Errorf("got %+v and %+v, want one id and the template's text", list[3], list[4])
	}
}

const robotPath = "/dingtalk_robot/robot/send?access_token=r"

func TestTheRobotsRules(t *testing.T) {
	t.Parallel()
	_, url := serve(t, Options{RobotSecret: "SECx", RobotKeyword: "告警"})
	_, open := serve(t, Options{})
	text := func(words string) string { return `{"msgtype":"text","text":{"content":"` + words + `"}}` }
	old := fmt.Sprint(time.Now().Add(-2 * time.Hour).UnixMilli())
	for _, c := range []struct{ name, url, body, want string }{
		{"no token", open + "/dingtalk_robot/robot/send", text("x"), `{"errcode":300005,"errmsg":"token is not exist"}`},
		{"not signed", url + robotPath, text("x"), `{"errcode":310000,"errmsg":"invalid timestamp"}`},
		{"signed long ago", url + robotPath + "&timestamp=" + old + "&sign=x", text("x"), `{"errcode":310000,"errmsg":"invalid timestamp"}`},
		{"wrongly signed", url + robotPath + fmt.Sprintf("&timestamp=%d&sign=x", time.Now().UnixMilli()), text("x"), `{"errcode":310000,"errmsg":"sign not match"}`},
		{"accepted", open + robotPath, text("x"), `{"errcode":0,"errmsg":"ok"}`},
		{"no text", open + robotPath, text(""), `{"errcode":40035,"errmsg":"the text or the title is missing"}`},
		{"a type it does not play", open + robotPath, `{"msgtype":"feedCard"}`, `{"errcode":400105,"errmsg":"msgtype \"feedCard\" is not supported here"}`},
	} {
		if got := call(t, "POST", c.url, c.body); got.status != 200 || got.body != c.want {
			t.Errorf("%s: got %d %s, want %s", c.name, got.status, got.body, c.want)
		}
	}
}

func TestARobotIsBlockedAfter20PostsAndClearedWithTheRest(t *testing.T) {
	t.Parallel()
	sim, url := serve(t, Options{})
	post := func() string { return call(t, "POST", url+robotPath, `{"msgtype":"text","text":{"content":"x"}}`).body }
	for range 20 {
		post()
	}
	if got, want := post(), `{"errcode":410100,"errmsg":"send too fast, exceed 20 times per minute"}`; got != want {
		t.Errorf("the 21st: got %s, want %s", got, want)
	}
	if st := sim.Status().Providers["dingtalk_robot"]; st.Violations != 1 || st.Refused != 1 || st.Accepted != 20 {
		t.Errorf("got %+v", st)
	}
	call(t, "DELETE", url+"/messages", "")
	if got := post(); got != `{"errcode":0,"errmsg":"ok"}` {
		t.Errorf("after a new beginning: got %s", got)
	}
}

const workPath = "/dingtalk_work/topapi/message/corpconversation/"

// work posts a notification with a token and says what became of its task.
func work(t *testing.T, url, users, words string) (sent, result string) {
	t.Helper()
	token := decode[map[string]any](t, call(t, "GET", url+"/dingtalk_work/gettoken?appkey=k&appsecret=s", "").body)["access_token"]
	query := fmt.Sprint("?access_token=", token)
	sent = call(t, "POST", url+workPath+"asyncsend_v2"+query, `{"agent_id":7,"userid_list":"`+users+`","msg":{"msgtype":"text","text":{"content":"`+words+`"}}}`).body
	task := decode[struct {
		ID int64 `json:"task_id"`
	}](t, sent).ID
	if task == 0 {
		return sent, ""
	}
	result = call(t, "POST", url+workPath+"getsendresult"+query, fmt.Sprintf(`{"agent_id":7,"task_id":%d}`, task)).body
	return sent, result[strings.Index(result, `"send_result":`)+len(`"send_result":`) : strings.Index(result, `,"request_id"`)]
}

func TestWorkNotificationsAcceptFirstAndTellLater(t *testing.T) {
	t.Parallel()
	sim, url := serve(t, Options{})
	for _, c := range []struct{ name, users, words, sent, result string }{
		{"two", "a,b", "one", `{"errcode":0`, `{"invalid_user_id_list":[],"forbidden_user_id_list":[],"failed_user_id_list":[],"read_user_id_list":[],"unread_user_id_list":["a","b"],"forbidden_list":[]}`},
		{"the same words", "a,c", "one", `{"errcode":0`, `{"invalid_user_id_list":[],"forbidden_user_id_list":["a"],"failed_user_id_list":[],"read_user_id_list":[],"unread_user_id_list":["c"],"forbidden_list":[{"code":"143106","count":1,"userid":"a"}]}`},
		{"one of several is unknown", "a,fail-recipient", "two", `{"errcode":0`, `{"invalid_user_id_list":["fail-recipient"],"forbidden_user_id_list":[],"failed_user_id_list":[],"read_user_id_list":[],"unread_user_id_list":["a"],"forbidden_list":[]}`},
		{"all are unknown", "fail-recipient", "three", `{"errcode":33012,"errmsg":"no such user"}`, ""},
		{"busy for one", "a,always-busy", "four", `{"errcode":-1,`, ""},
		{"too many", strings.Repeat("x,", 101), "five", `{"errcode":40035,"errmsg":"userid_list names 101, at most 100 are allowed"}`, ""},
		{"too long", "a", strings.Repeat("x", 2048), `{"errcode":45002,"errmsg":"msg has 2088 bytes, at most 2048 are allowed"}`, ""},
	} {
		sent, result := work(t, url, c.users, c.words)
		if !strings.HasPrefix(sent, c.sent) || result != c.result {
			t.Errorf("%s: got %s and %s\nwant %s and %s", c.name, sent, result, c.sent, c.result)
		}
	}
	if a := sim.Arrivals(Filter{User: "a"})[1]; a.Answer != Accepted || a.Code != TooFast {
		t.Errorf("what is withheld is shown as %+v, want accepted, and why it was withheld", a)
	}
}

// A call that was cut before it arrived told nobody anything.
func TestOnlyWhatWasTakenCountsAsTheSameText(t *testing.T) {
	t.Parallel()
	_, url := serve(t, Options{})
	token := decode[map[string]any](t, call(t, "GET", url+"/dingtalk_work/gettoken?appkey=k&appsecret=s", "").body)["access_token"]
	body := `{"agent_id":7,"userid_list":"cut-before","msg":{"msgtype":"text","text":{"content":"x"}}}`
	target := fmt.Sprint(url, workPath, "asyncsend_v2?access_token=", token)
	if _, err := try(t, "POST", target, body); err == nil {
		t.Error("the first call was answered")
	}
	_, result := work(t, url, "cut-before", "x")
	if !strings.Contains(result, `"unread_user_id_list":["cut-before"]`) {
		t.Errorf("got %s, want it delivered", result)
	}
}

func TestWorkNotificationsWantAToken(t *testing.T) {
	t.Parallel()
	_, url := serve(t, Options{})
	for query, want := range map[string]string{
		"":                `{"errcode":41001,"errmsg":"access_token is missing"}`,
		"?access_token=x": `{"errcode":40014,"errmsg":"access_token is not valid"}`,
	} {
		for _, path := range []string{"asyncsend_v2", "getsendresult"} {
			if got := call(t, "POST", url+workPath+path+query, `{}`); got.body != want {
				t.Errorf("%s%s: got %s, want %s", path, query, got.body, want)
			}
		}
	}
	old := call(t, "GET", url+"/dingtalk_work/gettoken?appkey=k&appsecret=s", "").body
	if again := call(t, "GET", url+"/dingtalk_work/gettoken?appkey=k&appsecret=s", "").body; again != old {
		t.Errorf("got %s after %s, want the same while it lasts", again, old)
	}
	if got := call(t, "DELETE", url+"/dingtalk_work/tokens", ""); got.status != 204 {
		t.Errorf("DELETE: got %d", got.status)
	}
	newer := call(t, "POST", url+"/dingtalk_work/v1.0/oauth2/accessToken", `{"appKey":"k","appSecret":"s"}`).body
	if got := decode[map[string]any](t, newer); got["accessToken"] == decode[map[string]any](t, old)["access_token"] || got["expireIn"] != 7200.0 {
		t.Errorf("got %s, want a new token", newer)
	}
	if got := call(t, "GET", url+"/dingtalk_work/gettoken?appkey=k&appsecret=wrong", "").body; got != `{"errcode":40089,"errmsg":"the appkey or the appsecret is not valid"}` {
		t.Errorf("a wrong secret: got %s", got)
	}
}

func TestWorkNotificationsAreRefusedBeyond20ASecond(t *testing.T) {
	t.Parallel()
	n := &notices{}
	n.forget()
	now := time.Now()
	var codes []string
	for range 22 {
		ord := order{messages: []message{{user: "a"}}}
		n.judge(now, &ord)
		if ref := ord.refusals[0]; ref != nil {
			codes = append(codes, ref.own)
		}
	}
	if !slices.Equal(codes, []string{"90018", "90018"}) {
		t.Errorf("got %v, want two refusals of 22", codes)
	}
}

func TestTheDaysAndMinutesOfWorkNotifications(t *testing.T) {
	t.Parallel()
	n := &notices{}
	n.forget()
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, beijing)
	tell := func(at time.Time, user, words string) string {
		code := n.withheld(at, tellingOf(at, user, "", words))
		if code == "" {
			n.taken([]Arrival{{At: at, User: user, Text: words, Answer: Accepted}})
		}
		return code
	}
	for i := range 500 {
		tell(noon, "a", fmt.Sprint(i))
	}
	if got := tell(noon, "a", "one more"); got != "143105" {
		t.Errorf("the 501st of a day: got %q", got)
	}
	if got := tell(noon.Add(12*time.Hour), "a", "0"); got != "" {
		t.Errorf("the next day: got %q", got)
	}
	late := noon.Add(24 * time.Hour)
	for i := range 5000 {
		tell(late, fmt.Sprint("u", i), "x")
	}
	if got := tell(late.Add(time.Second), "v", "x"); got != "143103" {
		t.Errorf("the 5001st of a minute: got %q", got)
	}
	if got := tell(late.Add(time.Minute+time.Second), "v", "x"); got != "" {
		t.Errorf("a minute later: got %q", got)
	}
}
