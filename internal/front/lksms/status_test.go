package lksms

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/state"
)

func TestEveryStateHasAStatus(t *testing.T) {
	t.Parallel()
	want := map[posthouse.State]int{
		posthouse.Pending: 0, posthouse.Sending: 1, posthouse.Unknown: 1, posthouse.Sent: 2, posthouse.Delivered: 2, posthouse.Quarantined: 3,
		posthouse.Undelivered: 3, posthouse.Failed: 3, posthouse.Cancelled: 3, posthouse.Expired: 3, posthouse.Suppressed: 3,
	}
	for _, s := range posthouse.States() {
		if got := status(s); got != want[s] {
			t.Errorf("%s: got %d, want %d", s, got, want[s])
		}
	}
}

func TestTheResultSaysHowTheLastHandOutEnded(t *testing.T) {
	t.Parallel()
	lost, refused := posthouse.Event{Type: posthouse.EventLeaseLost}, posthouse.Event{Type: posthouse.EventRetry}
	for name, test := range map[string]struct {
		task    posthouse.Delivery
		events  []posthouse.Event
		result  string
		retries int
	}{
		"new":                       {posthouse.Delivery{State: posthouse.Pending}, nil, "", 0},
		"refused":                   {posthouse.Delivery{State: posthouse.Pending, Tries: 1, Attempts: 1, Error: "busy"}, []posthouse.Event{refused}, "busy", 1},
		"timed out":                 {posthouse.Delivery{State: posthouse.Pending, Tries: 2, Attempts: 2, Error: "lost"}, []posthouse.Event{refused, lost}, "处理超时，自动重试", 2},
		"refused after that":        {posthouse.Delivery{State: posthouse.Pending, Tries: 2, Attempts: 2, Error: "busy"}, []posthouse.Event{lost, refused}, "busy", 2},
		"handed out again":          {posthouse.Delivery{State: posthouse.Sending, Tries: 1, Attempts: 2, Error: "lost"}, []posthouse.Event{lost}, "处理超时，自动重试", 1},
		"refused for good":          {posthouse.Delivery{State: posthouse.Failed, Reason: "recipient", Tries: 1, Attempts: 1, Error: "no such number"}, nil, "no such number", 0},
		"refused too often":         {posthouse.Delivery{State: posthouse.Failed, Reason: state.ReasonTriesUsedUp, Tries: 4, Attempts: 4, Error: "busy"}, []posthouse.Event{refused}, "超过最大重试次数: busy", 3},
		"timed out too often":       {posthouse.Delivery{State: posthouse.Failed, Reason: state.ReasonTriesUsedUp, Tries: 4, Attempts: 4, Error: "lost"}, []posthouse.Event{lost}, "处理超时，超过最大重试次数", 3},
		"timed out, cancelled":      {posthouse.Delivery{State: posthouse.Failed, Reason: state.ReasonUnknownTimeout, Tries: 1, Attempts: 1, Error: "lost"}, []posthouse.Event{lost}, "处理超时，超过最大重试次数", 0},
		"proved after that":         {posthouse.Delivery{State: posthouse.Sent, Tries: 4, Attempts: 4, Error: "lost"}, []posthouse.Event{lost, {Type: posthouse.EventEvidence, From: posthouse.Failed}}, "发送成功", 3},
		"proved while it waited":    {posthouse.Delivery{State: posthouse.Sent, Tries: 1, Attempts: 1}, []posthouse.Event{lost, {Type: posthouse.EventEvidence, From: posthouse.Pending}}, "发送成功", 1},
		"cancelled while it waited": {posthouse.Delivery{State: posthouse.Cancelled, Tries: 1, Attempts: 1, Error: "busy"}, []posthouse.Event{refused}, "busy", 1},
		"expired":                   {posthouse.Delivery{State: posthouse.Expired, Reason: state.ReasonDeadline}, nil, "超过截止时间，未发送", 0},
		"expired after a refusal":   {posthouse.Delivery{State: posthouse.Expired, Tries: 1, Attempts: 1, Error: "busy"}, []posthouse.Event{refused}, "busy", 1},
		"cancelled":                 {posthouse.Delivery{State: posthouse.Cancelled}, nil, "已取消，未发送", 0},
		"suppressed":                {posthouse.Delivery{State: posthouse.Suppressed}, nil, "规则限制，未发送", 0},
		"brought over, failed":      {posthouse.Delivery{State: posthouse.Failed, Tries: 3, Attempts: 3, Error: "busy"}, nil, "busy", 2},
	} {
		if got := result(test.task, test.events); got != test.result {
			t.Errorf("%s: got the result %q, want %q", name, got, test.result)
		}
		if got := retries(test.task, test.events); got != test.retries {
			t.Errorf("%s: got %d retries, want %d", name, got, test.retries)
		}
	}
}

// Any body is read or refused with its reason, whatever stands in it.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"text":"x","flag":true,"number":2}`, `{"text":null,"flag":"FALSE","number":"3"}`, `{"text":1,"flag":[],"number":{}}`, `[]`, ``, `{"text":"\ud800"}`, `{"number":1e400}`, "{\"text\":\"\x00\"}",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		var s text
		var b flag
		var n whole
		err := decode([]byte(body), map[string]json.Unmarshaler{"text": &s, "flag": &b, "number": &n})
		if err != nil && (err.(*refusal).status != 422 || err.Error() == "") { //nolint:errorlint // nothing wraps it
			t.Errorf("got %v, want a reason with 422", err)
		}
		if err == nil && (!json.Valid([]byte(body)) || strings.ContainsRune(string(s), 0)) {
			t.Errorf("%q was read as %q", body, s)
		}
	})
}
