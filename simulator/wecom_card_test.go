package simulator

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
)

// What cannot be pressed is refused with what could be; a card that asks needs a task id.
func TestPressesAreChecked(t *testing.T) {
	t.Parallel()
	sim, url := serve(t, Options{})
	refuses := func(p Press, code posthouse.Code, says string) {
		t.Helper()
		if err := sim.Press(p); posthouse.CodeOf(err) != code || !strings.Contains(err.Error(), says) {
			t.Errorf("%+v: got %v, want %s with %q", p, err, code, says)
		}
	}
	refuses(Press{User: "li.na"}, posthouse.CodeConflict, "PUT /callbacks/wecom")
	told := make(chan string, 10)
	customer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = io.WriteString(w, r.URL.Query().Get("echostr"))
		if r.Method == http.MethodPost {
			told <- string(body)
		}
	}))
	t.Cleanup(customer.Close)
	must(t, sim.CallBack(t.Context(), "wecom", Callback{URL: customer.URL, Token: "t"}))
	refuses(Press{User: "li.na"}, posthouse.CodeNotFound, "li.na")
	token := decode[map[string]any](t, call(t, "GET", url+"/wecom/cgi-bin/gettoken?corpid=ww1&corpsecret=s", "").body)["access_token"]
	send := func(card string) string {
		t.Helper()
		return call(t, "POST", fmt.Sprint(url, "/wecom/cgi-bin/message/send?access_token=", token), `{"touser":"li.na","agentid":7,"msgtype":"template_card","template_card":`+card+`}`).body
	}
	if got := send(`{"card_type":"button_interaction","button_list":[{"key":"a"}]}`); !strings.Contains(got, "40058") || !strings.Contains(got, "task_id") {
		t.Errorf("a card without a task id is answered with %s", got)
	}
	for task, card := range map[string]string{
		"T1": `{"card_type":"button_interaction","task_id":"T1","button_list":[{"key":"a"},{"key":"b"}]}`,
		"T2": `{"card_type":"text_notice","task_id":"T2","action_menu":{"action_list":[{"key":"m"}]}}`,
	} {
		if got := send(card); !strings.Contains(got, `"errcode":0`) {
			t.Errorf("%s is answered with %s", task, got)
		}
	}
	refuses(Press{User: "li.na", TaskID: "T1", Key: "c"}, posthouse.CodeInvalid, "a, b")
	refuses(Press{User: "li.na", TaskID: "T2"}, posthouse.CodeInvalid, "m")
	refuses(Press{User: "li.na", TaskID: "T3"}, posthouse.CodeNotFound, "T3")
	refuses(Press{User: "li.na", TaskID: "T1", Times: 11}, posthouse.CodeInvalid, "times")
	for _, c := range []struct{ body, event, key string }{
		{`{"user":"li.na","task_id":"T1"}`, "template_card_event", "a"},
		{`{"user":"li.na","task_id":"T1","key":"b","selected":{"q":["x"]},"times":2}`, "template_card_event", "b"},
		{`{"user":"li.na","task_id":"T2","key":"m"}`, "template_card_menu_event", "m"},
	} {
		if got := call(t, "POST", url+"/wecom/press", c.body); got.status != http.StatusNoContent {
			t.Errorf("%s is answered with %d %s", c.body, got.status, got.body)
		}
		for range 1 + strings.Count(c.body, `"times":2`) {
			if got := <-told; !strings.Contains(got, "<Event>"+c.event+"</Event>") || !strings.Contains(got, "<EventKey>"+c.key+"</EventKey>") || !strings.Contains(got, "<AgentID>7</AgentID>") {
				t.Errorf("%s is told as %s", c.body, got)
			}
		}
	}
	if got := call(t, "POST", url+"/wecom/press", `{"user":`); got.status != http.StatusBadRequest && got.status != http.StatusUnprocessableEntity {
		t.Errorf("half a body is answered with %d %s", got.status, got.body)
	}
}
