package dingtalk_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/dingtalk"
	"github.com/posthouse/posthouse/simulator"
)

// simulate starts the simulator for one test.
func simulate(t *testing.T, o simulator.Options) (*simulator.Simulator, string) {
	t.Helper()
	sim := simulator.New(o)
	server := httptest.NewServer(sim)
	t.Cleanup(func() {
		_ = sim.Stop(context.WithoutCancel(t.Context())) // lets hanging requests go
		server.Close()
	})
	return sim, server.URL
}

func classes(results []channel.Result) []posthouse.Class {
	var list []posthouse.Class
	for _, r := range results {
		list = append(list, r.Class)
	}
	return list
}

// inbox is what each user has of a provider, and its keys.
func inbox(sim *simulator.Simulator, provider string) map[string][]string {
	out := map[string][]string{}
	for _, a := range sim.Arrivals(simulator.Filter{Provider: provider, Limit: 1000}) {
		if a.Answer != simulator.Refused && a.Code == "" && !a.Repeat {
			out[a.User] = append(out[a.User], a.Key)
		}
	}
	return out
}

func TestTheGatewayTakesAJobInOneCall(t *testing.T) {
	t.Parallel()
	sim, url := simulate(t, simulator.Options{})
	d := open(t, dingtalk.Gateway(), map[string]any{"baseUrl": url + "/dingtalk/send", "agentId": "A", "corpId": "C"})
	var users []string
	for i := range 500 {
		users = append(users, fmt.Sprintf("u.%d", i))
	}
	outs := to(users...)
	results := d.SendBatch(t.Context(), outs)
	got := inbox(sim, "dingtalk")
	for i, r := range results {
		if r.Class != posthouse.ClassOK || r.Ref == "" || r.Ref != results[0].Ref || !cmp.Equal(got[users[i]], []string{outs[i].IdemKey}) {
			t.Fatalf("%s: got %+v and %v, want ok with one msgid, and its own key", users[i], r, got[users[i]])
		}
	}
	if n := sim.Status().Providers["dingtalk"].Requests; n != 1 {
		t.Errorf("%d calls, want 1", n)
	}
}

func TestTheGatewayKnowsSomeUsersOnly(t *testing.T) {
	t.Parallel()
	sim, url := simulate(t, simulator.Options{})
	d := open(t, dingtalk.Gateway(), map[string]any{"baseUrl": url + "/dingtalk/send", "agentId": "A", "corpId": "C"})
	got := classes(d.SendBatch(t.Context(), to("a", "fail-recipient-1", "", "b", "c")))
	ok, failed := posthouse.ClassOK, posthouse.ClassRecipient
	if diff := cmp.Diff([]posthouse.Class{ok, failed, failed, ok, ok}, got); diff != "" {
		t.Errorf("classes (-want +got):\n%s", diff)
	}
	for user, keys := range inbox(sim, "dingtalk") {
		if len(keys) != 1 {
			t.Errorf("%s has %d copies", user, len(keys))
		}
	}
}

// What the simulator does to magic recipients, and what the driver makes of it.
func TestMagicRecipients(t *testing.T) {
	t.Parallel()
	transient, unknown, rate, content, recipient := posthouse.ClassTransient, posthouse.ClassUnknown, posthouse.ClassRate, posthouse.ClassContent, posthouse.ClassRecipient
	account, ok := posthouse.ClassAccount, posthouse.ClassOK
	kinds := []struct {
		name   string
		kind   channel.Type
		config func(url string) map[string]any
		want   map[string][]posthouse.Class // of the first send and the second
	}{
		{"gateway", dingtalk.Gateway(), func(url string) map[string]any {
			return map[string]any{"baseUrl": url + "/dingtalk/send", "agentId": "A", "corpId": "C"}
		}, map[string][]posthouse.Class{
			"fail-recipient": {recipient, recipient}, "refuse-content": {content, content}, "always-busy": {transient, transient},
			"too-fast": {rate, ok}, "rate-limited": {rate, ok}, "server-error": {transient, transient}, "cut-before": {unknown, ok},
			"lost-answer": {unknown, ok}, "garbage": {unknown, ok}, "redirect": {account, account},
		}},
		{"robot", dingtalk.Robot(), func(url string) map[string]any {
			return map[string]any{"url": url + "/dingtalk_robot/robot/send", "access_token": "robot"}
		}, map[string][]posthouse.Class{
			"refuse-content": {content, content}, "always-busy": {unknown, unknown}, "too-fast": {rate, ok}, "rate-limited": {rate, ok},
			"cut-before": {unknown, ok}, "lost-answer": {unknown, ok}, "garbage": {unknown, ok}, "redirect": {account, account},
		}},
		{"work", dingtalk.Work(), func(url string) map[string]any { return workConfig(url + "/dingtalk_work") }, map[string][]posthouse.Class{
			"fail-recipient": {recipient, recipient}, "refuse-content": {content, content}, "always-busy": {unknown, unknown},
			"too-fast": {rate, ok}, "rate-limited": {rate, ok}, "cut-before": {unknown, ok}, "lost-answer": {unknown, ok}, "garbage": {unknown, ok},
			"redirect": {account, account},
		}},
	}
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			sim, url := simulate(t, simulator.Options{})
			d := open(t, k.kind, k.config(url))
			for user, want := range k.want {
				out := to(user)[0]
				got := []posthouse.Class{d.Send(t.Context(), out).Class, d.Send(t.Context(), out).Class}
				if !cmp.Equal(got, want) {
					t.Errorf("%s: got %v, want %v", user, got, want)
				}
				for _, a := range sim.Arrivals(simulator.Filter{User: user}) {
					if a.Key != out.IdemKey {
						t.Errorf("%s: the arrival's key is %q, want the delivery's", user, a.Key)
					}
				}
			}
		})
	}
}

func TestTheRobotChecksSignaturesAndKeywords(t *testing.T) {
	t.Parallel()
	_, url := simulate(t, simulator.Options{RobotSecret: signingSecret, RobotKeyword: "提醒"})
	config := func(secret string, keywords ...any) map[string]any {
		return map[string]any{"url": url + "/dingtalk_robot/robot/send", "access_token": "robot", "secret": secret, "keywords": keywords}
	}
	out := to("a")[0]
	out.Content = posthouse.Content{Text: "hello"}
	for _, c := range []struct {
		name   string
		config map[string]any
		want   posthouse.Class
	}{
		{"signed, with the keyword", config(signingSecret, "提醒"), posthouse.ClassOK},
		{"signed, without", config(signingSecret), posthouse.ClassContent},
		{"another secret", config("SECother", "提醒"), posthouse.ClassAccount},
		{"not signed", config("", "提醒"), posthouse.ClassAccount},
	} {
		if got := open(t, dingtalk.Robot(), c.config).Send(t.Context(), out); got.Class != c.want {
			t.Errorf("%s: got %+v, want %s", c.name, got, c.want)
		}
	}
}

func TestTheRobotBlocksWhoPostsTooFast(t *testing.T) {
	t.Parallel()
	sim, url := simulate(t, simulator.Options{})
	config := map[string]any{"url": url + "/dingtalk_robot/robot/send", "access_token": "robot"}
	d := open(t, dingtalk.Robot(), config)
	for i := range 22 {
		got := d.Send(t.Context(), to("a")[0])
		if i < 20 && got.Class != posthouse.ClassOK || i >= 20 && (got.Class != posthouse.ClassRate || got.Code != "410100" || got.After.Minutes() != 10) {
			t.Fatalf("post %d: got %+v", i+1, got)
		}
	}
	config["access_token"] = "another"
	if got := open(t, dingtalk.Robot(), config).Send(t.Context(), to("a")[0]); got.Class != posthouse.ClassOK {
		t.Errorf("another robot: got %+v, want ok", got)
	}
	if n := sim.Status().Providers["dingtalk_robot"].Violations; n != 2 {
		t.Errorf("%d violations are counted, want 2", n)
	}
}

// A post is known by its msgUuid; another post to the same people is not.
func TestTheRobotKnowsARepeatedPost(t *testing.T) {
	t.Parallel()
	sim, url := simulate(t, simulator.Options{})
	d := open(t, dingtalk.Robot(), map[string]any{"url": url + "/dingtalk_robot/robot/send", "access_token": "robot", "mentions": 50})
	outs := to("a", "13800001111", "b")
	d.SendBatch(t.Context(), outs)
	d.SendBatch(t.Context(), outs)
	d.SendBatch(t.Context(), outs[:1])
	totals := sim.Totals()
	if totals.Repeats != 3 || totals.Duplicates != 1 {
		t.Errorf("got %+v, want 3 repeats, and a duplicate of the post that is another", totals)
	}
	if got := inbox(sim, "dingtalk_robot")["13800001111"]; !cmp.Equal(got, []string{outs[1].IdemKey}) {
		t.Errorf("the phone's keys are %v, want %s", got, outs[1].IdemKey)
	}
}

func TestWorkNotificationsAreToldOfLater(t *testing.T) {
	t.Parallel()
	_, url := simulate(t, simulator.Options{})
	config := workConfig(url + "/dingtalk_work")
	config["time_line"] = false
	d := open(t, dingtalk.Work(), config)
	track := func(results []channel.Result, users ...string) (codes []string) {
		t.Helper()
		var list []posthouse.Recipient
		for _, user := range users {
			list = append(list, posthouse.Recipient{Address: user})
		}
		receipts, err := d.(channel.Tracker).Track(t.Context(), results[0].Ref, list)
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range receipts {
			if !r.Known || r.Delivered != (r.Code == "") || results[i].Class != posthouse.ClassOK {
				t.Errorf("%s: got %+v and %+v", users[i], results[i], r)
			}
			codes = append(codes, r.Code)
		}
		return codes
	}
	users := []string{"a", "b", "fail-recipient", "refuse-content"}
	first := d.SendBatch(t.Context(), to(users...))
	if diff := cmp.Diff([]string{"", "", "INVALID_USER", "1430002"}, track(first, users...)); diff != "" {
		t.Errorf("receipts (-want +got):\n%s", diff)
	}
	again := d.SendBatch(t.Context(), to("a", "c"))
	if diff := cmp.Diff([]string{"143106", ""}, track(again, "a", "c")); diff != "" {
		t.Errorf("receipts of the same text (-want +got):\n%s", diff)
	}
}

func TestWorkNotificationsRefreshTheirToken(t *testing.T) {
	t.Parallel()
	sim, url := simulate(t, simulator.Options{})
	d := open(t, dingtalk.Work(), workConfig(url+"/dingtalk_work"))
	for i := range 2 {
		if got := d.Send(t.Context(), to(fmt.Sprintf("u%d", i))[0]); got.Class != posthouse.ClassOK {
			t.Errorf("send %d: got %+v, want ok", i, got)
		}
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodDelete, url+"/dingtalk_work/tokens", http.NoBody)
		res, err := http.DefaultClient.Do(req)
		if err != nil || res.StatusCode != http.StatusNoContent {
			t.Fatalf("the tokens were not dropped: %v", err)
		}
		res.Body.Close()
	}
	if n := len(inbox(sim, "dingtalk_work")); n != 2 {
		t.Errorf("%d users were told, want 2", n)
	}
}

func TestWorkNotificationsAreRefusedAWrongSecret(t *testing.T) {
	t.Parallel()
	_, url := simulate(t, simulator.Options{})
	for _, from := range []string{"gettoken", "oauth2"} {
		config := workConfig(url + "/dingtalk_work")
		config["api_url"], config["app_secret"], config["token_from"] = url+"/dingtalk_work", "wrong", from
		if got := open(t, dingtalk.Work(), config).(channel.Tester).Test(t.Context()); got.Class != posthouse.ClassAccount {
			t.Errorf("%s: got %+v, want account", from, got)
		}
	}
}
