package dingtalk_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/channeltest"
	"github.com/posthouse/posthouse/channel/dingtalk"
)

// withToken answers one body to all calls but those for tokens.
func withToken(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !giveToken(w, r) {
			channeltest.Reply(200, body)(w, r)
		}
	}
}

const taken = `{"errcode":0,"errmsg":"ok","task_id":256271667526,"request_id":"4jzllmte0wau"}`

func plainWork(url string) map[string]any {
	config := workConfig(url)
	delete(config, "format")
	delete(config, "time_line")
	return config
}

func TestANotificationIsSentInItsForm(t *testing.T) {
	t.Parallel()
	p := channeltest.NewProvider(t, withToken(taken))
	for _, r := range open(t, dingtalk.Work(), plainWork(p.URL)).SendBatch(t.Context(), to("a", "b", "a")) {
		if r.Class != posthouse.ClassOK || r.Ref != "256271667526" || r.Await != 2*time.Minute {
			t.Errorf("got %+v, want ok, the task's id, and a receipt to be asked for in 2m", r)
		}
	}
	arrivals := p.Arrivals()
	if len(arrivals) != 2 || arrivals[1].Target != "/topapi/message/corpconversation/asyncsend_v2?access_token="+accessToken {
		t.Fatalf("got %+v, want a token and one call", arrivals)
	}
	want := `{"agent_id":1234567890,"userid_list":"a,b","msg":{"msgtype":"text","text":{"content":"进站提醒\n请提前准备"}}}`
	if diff := cmp.Diff(want, string(arrivals[1].Body)); diff != "" {
		t.Errorf("the body (-want +got):\n%s", diff)
	}
}

func TestATimeLineMakesTextsDiffer(t *testing.T) {
	t.Parallel()
	p := channeltest.NewProvider(t, withToken(taken))
	line := func() string {
		return `"text":"### 进站提醒\n\n请提前准备\n\n` + time.Now().In(time.FixedZone("", 8*3600)).Format("2006-01-02 15:")
	}
	before := line() // the hour may end meanwhile
	open(t, dingtalk.Work(), workConfig(p.URL)).Send(t.Context(), to("a")[0])
	body, after := string(p.Arrivals()[1].Body), line()
	if !strings.Contains(body, before) && !strings.Contains(body, after) {
		t.Errorf("the body is %s, want it to hold %s", body, after)
	}
}

func TestAMessageOfMoreThan2048BytesIsNotSent(t *testing.T) {
	t.Parallel()
	p := channeltest.NewProvider(t, withToken(taken))
	d := open(t, dingtalk.Work(), plainWork(p.URL))
	frame := len(`{"msgtype":"text","text":{"content":"进站提醒\n"}}`)
	out := to("a")[0]
	out.Content.Text = strings.Repeat("x", 2048-frame)
	if got := d.Send(t.Context(), out); got.Class != posthouse.ClassOK {
		t.Errorf("2048 bytes: got %+v, want ok", got)
	}
	calls := len(p.Arrivals())
	out.Content.Text += "x"
	got := d.Send(t.Context(), out)
	if got.Class != posthouse.ClassContent || got.Code != "TOO_LONG" || !strings.Contains(got.Error, "2049") || len(p.Arrivals()) != calls {
		t.Errorf("2049 bytes: got %+v after %d calls, want content without one", got, len(p.Arrivals())-calls)
	}
}

func TestWhatTheCodesOfWorkNotificationsMean(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		code  string
		class posthouse.Class
		after time.Duration
	}{
		{`-1`, posthouse.ClassUnknown, 0},
		{`400001`, posthouse.ClassUnknown, 0},
		{`90018`, posthouse.ClassRate, time.Second},
		{`"90002"`, posthouse.ClassRate, time.Second},
		{`41047`, posthouse.ClassRate, time.Minute},
		{`90013`, posthouse.ClassRate, 15 * time.Minute},
		{`90020`, posthouse.ClassAccount, 0},
		{`60020`, posthouse.ClassAccount, 0},
		{`50005`, posthouse.ClassAccount, 0},
		{`33012`, posthouse.ClassRecipient, 0},
		{`60121`, posthouse.ClassRecipient, 0},
		{`41049`, posthouse.ClassContent, 0},
		{`45002`, posthouse.ClassContent, 0},
		{`40035`, posthouse.ClassRequest, 0},
		{`123456`, posthouse.ClassTransient, 0},
		{`777777`, posthouse.ClassAccount, 0},
	} {
		t.Run(c.code, func(t *testing.T) {
			t.Parallel()
			p := channeltest.NewProvider(t, withToken(`{"errcode":`+c.code+`,"errmsg":"no"}`))
			d := open(t, dingtalk.Work(), plainWork(p.URL), codes(map[string]posthouse.Class{"777777": posthouse.ClassAccount}))
			got := d.Send(t.Context(), to("a")[0])
			if got.Class != c.class || got.Code != strings.Trim(c.code, `"`) || got.After != c.after || got.Await != 0 {
				t.Errorf("got %q, code %q, after %s (%s), want %q, %s", got.Class, got.Code, got.After, got.Error, c.class, c.after)
			}
		})
	}
}

func TestAnAcceptedCallWithoutATaskIsUnknown(t *testing.T) {
	t.Parallel()
	p := channeltest.NewProvider(t, withToken(`{"errcode":0,"errmsg":"ok"}`))
	if got := open(t, dingtalk.Work(), plainWork(p.URL)).Send(t.Context(), to("a")[0]); got.Class != posthouse.ClassUnknown {
		t.Errorf("got %+v, want unknown", got)
	}
}

// DingTalk does not say which of several users it does not know.
func TestTheUserThatACallIsRefusedForIsFound(t *testing.T) {
	t.Parallel()
	sent := map[string]int{}
	p := channeltest.NewProvider(t, func(w http.ResponseWriter, r *http.Request) {})
	p.Answer(func(w http.ResponseWriter, r *http.Request) {
		if giveToken(w, r) {
			return
		}
		all := p.Arrivals()
		_, list, _ := strings.Cut(string(all[len(all)-1].Body), `"userid_list":"`)
		list, _, _ = strings.Cut(list, `"`)
		if strings.Contains(list, "nobody") {
			io.WriteString(w, `{"errcode":40031,"errmsg":"不合法的UserID列表"}`)
			return
		}
		for user := range strings.SplitSeq(list, ",") {
			sent[user]++
		}
		io.WriteString(w, taken)
	})
	var users []string
	for i := range 40 {
		users = append(users, fmt.Sprintf("u%d", i))
	}
	users[17], users[33] = "nobody", "nobody.2"
	for i, r := range open(t, dingtalk.Work(), plainWork(p.URL)).SendBatch(t.Context(), to(users...)) {
		if known := !strings.HasPrefix(users[i], "nobody"); known != (r.Class == posthouse.ClassOK) || !known && r.Class != posthouse.ClassRecipient {
			t.Errorf("%s: got %q", users[i], r.Class)
		} else if known && sent[users[i]] != 1 {
			t.Errorf("%s was sent %d copies", users[i], sent[users[i]])
		}
	}
}

// refuser refuses every token but the last it gave out.
type refuser struct{ given atomic.Int32 }

func (f *refuser) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/gettoken":
		fmt.Fprintf(w, `{"errcode":0,"access_token":"token-%d","expires_in":7200}`, f.given.Add(1))
	case r.URL.Query().Get("access_token") == fmt.Sprintf("token-%d", f.given.Load()) && f.given.Load() > 1:
		io.WriteString(w, taken)
	default:
		io.WriteString(w, `{"errcode":40014,"errmsg":"不合法的access_token"}`)
	}
}

func TestARefusedTokenIsRefreshedAndTheCallRepeatedOnce(t *testing.T) {
	t.Parallel()
	f := &refuser{}
	p := channeltest.NewProvider(t, f.ServeHTTP)
	d := open(t, dingtalk.Work(), plainWork(p.URL))
	if got := d.Send(t.Context(), to("a")[0]); got.Class != posthouse.ClassOK {
		t.Errorf("got %+v, want ok", got)
	}
	if n := len(p.Arrivals()); n != 4 {
		t.Errorf("%d requests, want two for tokens and two calls", n)
	}
	if d.Send(t.Context(), to("a")[0]); len(p.Arrivals()) != 5 {
		t.Errorf("%d requests after one more send, want 5: the token is kept", len(p.Arrivals()))
	}
}

func TestATokenThatIsRefusedForGoodEndsAsAuth(t *testing.T) {
	t.Parallel()
	p := channeltest.NewProvider(t, func(w http.ResponseWriter, r *http.Request) {
		if !giveToken(w, r) {
			io.WriteString(w, `{"errcode":88,"sub_code":"40014","sub_msg":"不合法的access_token"}`)
		}
	})
	got := open(t, dingtalk.Work(), plainWork(p.URL)).Send(t.Context(), to("a")[0])
	if got.Class != posthouse.ClassAuth || len(p.Arrivals()) != 3 { // the same token is given again, so it is not tried again
		t.Errorf("got %+v after %d requests, want auth after a token, a call and a token", got, len(p.Arrivals()))
	}
}

func TestWithoutATokenNothingIsSent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from, body string
		status     int
		class      posthouse.Class
		code       string
	}{
		{"gettoken", `{"errcode":40089,"errmsg":"不合法的corpid或corpsecret"}`, 200, posthouse.ClassAccount, "40089"},
		{"gettoken", `{"errcode":-1,"errmsg":"系统繁忙"}`, 200, posthouse.ClassTransient, "-1"},
		{"gettoken", `{"errcode":90018,"errmsg":"x"}`, 200, posthouse.ClassRate, "90018"},
		{"gettoken", `{"status":1111,"wait":5}`, 200, posthouse.ClassRate, "1111"},
		{"gettoken", `{"errcode":0}`, 200, posthouse.ClassTransient, "0"},
		{"gettoken", `rubbish`, 200, posthouse.ClassTransient, ""},
		{"oauth2", `{"code":"invalidClientIdOrSecret","message":"无效的clientId或者clientSecret"}`, 400, posthouse.ClassAccount, "invalidClientIdOrSecret"},
		{"oauth2", `{"code":"Forbidden.AccessDenied.QpsLimitForApi","message":"x"}`, 403, posthouse.ClassRate, "Forbidden.AccessDenied.QpsLimitForApi"},
		{"oauth2", `{}`, 200, posthouse.ClassTransient, ""},
		{"oauth2", `x`, 500, posthouse.ClassTransient, "HTTP_500"},
	} {
		t.Run(c.from+" "+c.body, func(t *testing.T) {
			t.Parallel()
			p := channeltest.NewProvider(t, channeltest.Reply(c.status, c.body))
			config := plainWork(p.URL)
			config["token_from"] = c.from
			d := open(t, dingtalk.Work(), config)
			tested := d.(channel.Tester).Test(t.Context())
			for _, got := range []channel.Result{d.Send(t.Context(), to("a")[0]), tested} {
				if got.Class != c.class || got.Code != c.code || !strings.HasPrefix(got.Error, "no access token: ") {
					t.Errorf("got %q, code %q, %q; want %q, %q", got.Class, got.Code, got.Error, c.class, c.code)
				}
			}
			if n := len(p.Arrivals()); n != 2 {
				t.Errorf("%d requests, want one for each token", n)
			}
		})
	}
}

func TestTheTestFetchesATokenAndSendsNothing(t *testing.T) {
	t.Parallel()
	p := channeltest.NewProvider(t, withToken(taken))
	got := open(t, dingtalk.Work(), plainWork(p.URL)).(channel.Tester).Test(t.Context())
	if got.Class != posthouse.ClassOK || got.Error != "" || len(p.Arrivals()) != 1 {
		t.Errorf("got %+v after %d requests, want ok after one", got, len(p.Arrivals()))
	}
}

func TestReceipts(t *testing.T) {
	t.Parallel()
	p := channeltest.NewProvider(t, withToken(`{"errcode":0,"send_result":{"invalid_user_id_list":["nobody"],"forbidden_user_id_list":["same","often","why"],
		"failed_user_id_list":["failed"],"read_user_id_list":["read"],"unread_user_id_list":["unread"],
		"forbidden_list":[{"code":"143106","count":1,"userid":"same"},{"code":143105,"count":1,"userid":"often"},{"code":"987","count":1,"userid":"new"}]}}`))
	tracker := open(t, dingtalk.Work(), plainWork(p.URL)).(channel.Tracker)
	var list []posthouse.Recipient
	users := []string{"read", "unread", "nobody", "failed", "same", "often", "why", "new", "later"}
	for _, user := range users {
		list = append(list, posthouse.Recipient{Address: user})
	}
	got, err := tracker.Track(t.Context(), "256271667526", list)
	if err != nil {
		t.Fatal(err)
	}
	want := []struct {
		known, delivered bool
		code             string
	}{
		{true, true, ""}, {true, true, ""}, {true, false, "INVALID_USER"}, {true, false, "FAILED"},
		{true, false, "143106"}, {true, false, "143105"}, {true, false, "FORBIDDEN"}, {true, false, "987"}, {false, false, ""},
	}
	for i, r := range got {
		if r.Known != want[i].known || r.Delivered != want[i].delivered || r.Code != want[i].code || (r.Error == "") != (r.Code == "") || r.Response == "" {
			t.Errorf("%s: got %+v, want %+v", users[i], r, want[i])
		}
	}
	if body := string(p.Arrivals()[1].Body); body != `{"agent_id":1234567890,"task_id":256271667526}` {
		t.Errorf("asked %s", body)
	}
}

func TestReceiptsThatCannotBeHadAreAnError(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ ref, body string }{
		"busy":          {"7", `{"errcode":-1,"errmsg":"系统繁忙"}`},
		"no task's":     {"m-1", `{"errcode":0}`},
		"not an answer": {"7", `?`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := channeltest.NewProvider(t, withToken(c.body))
			tracker := open(t, dingtalk.Work(), plainWork(p.URL)).(channel.Tracker)
			if got, err := tracker.Track(t.Context(), c.ref, []posthouse.Recipient{{Address: "a"}}); err == nil {
				t.Errorf("got %+v, want an error", got)
			}
		})
	}
}

func TestReceiptsAreNotAskedForWhereTheChannelSaysSo(t *testing.T) {
	t.Parallel()
	p := channeltest.NewProvider(t, withToken(taken))
	config := plainWork(p.URL)
	config["receipt_after"] = "0s"
	if got := open(t, dingtalk.Work(), config).Send(t.Context(), to("a")[0]); got.Await != 0 {
		t.Errorf("await = %s, want 0", got.Await)
	}
}
