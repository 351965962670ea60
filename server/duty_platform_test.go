package server_test

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/simulator"
)

// tianyuan is the channel 天元 on the simulator: JSON, every answer a 200 (DUTY-12).
func (h *house) tianyuan(s posthouse.ChannelSettings) posthouse.Channel {
	s.Profile = cmp.Or(s.Profile, "duty")
	return posthouse.Channel{Name: "tianyuan", Driver: "httpapi", ChannelSettings: s, Config: map[string]any{
		"url":              h.sim.URL() + "/tianyuan/api/message/send",
		"body":             `{"touser": "${user}", "title": "${title}", "content": "${text}", "msgId": "${idempotency_key}"}`,
		"success_path":     "$.code",
		"success_values":   []string{"0"},
		"id_path":          "$.data.messageId",
		"message_path":     "$.msg",
		"retry_after_path": "$.retryAfter",
		"codes":            map[string]string{"1001": "recipient", "1002": "content", "1003": "request", "2001": "rate", "5000": "transient"},
	}}
}

// zhaohu is the channel 招呼: up to 100 receivers in a call, a line of the answer for each.
func (h *house) zhaohu(s posthouse.ChannelSettings) posthouse.Channel {
	s.Profile = cmp.Or(s.Profile, "duty")
	return posthouse.Channel{Name: "zhaohu", Driver: "httpapi", ChannelSettings: s, Config: map[string]any{
		"url":              h.sim.URL() + "/zhaohu/im/v1/notify",
		"body":             `{"receivers": ${users}, "text": "${text}", "requestNo": ${idempotency_keys}}`,
		"batch":            100,
		"success_path":     "$.success",
		"success_values":   []string{"true"},
		"code_path":        "$.errCode",
		"message_path":     "$.errMsg",
		"retry_after_path": "$.waitSeconds",
		"results_path":     "$.result",
		"result_recipient": "$.user",
		"result_code":      "$.status",
		"result_success":   []string{"OK"},
		"result_message":   "$.message",
		"result_id":        "$.id",
		"codes":            map[string]string{"NO_USER": "recipient", "REFUSED": "content", "BAD_REQUEST": "request", "TOO_FAST": "rate", "BUSY": "transient"},
	}}
}

// oa is a channel for OA: a form, answered with a line of text.
func (h *house) oa(s posthouse.ChannelSettings) posthouse.Channel {
	return posthouse.Channel{Name: "oa", Driver: "httpapi", ChannelSettings: s, Config: map[string]any{
		"url":              h.sim.URL() + "/oa/messages",
		"encoding":         "form",
		"body":             "to=${user}&subject=${title}&body=${text}&ref=${idempotency_key}",
		"success_path":     `/^(OK)\|/`,
		"success_values":   []string{"OK"},
		"id_path":          `/^OK\|(.+)/`,
		"code_path":        `/^ERR\|([^|]*)/`,
		"message_path":     `/^ERR\|[^|]*\|([^|]*)/`,
		"retry_after_path": `/^ERR\|[^|]*\|[^|]*\|(\d+)/`,
		"codes":            map[string]string{"E01": "request", "E02": "recipient", "E03": "content", "E04": "rate", "E05": "transient"},
	}}
}

func TestDUTY12_PlatformsAreConnectedByConfigurationAlone(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		quick := atOnce(20 * time.Millisecond)
		for _, ch := range []posthouse.Channel{h.tianyuan(quick), h.zhaohu(quick), h.oa(quick)} {
			h.put(ch)
		}
		// Three wire forms carry the same text as it is: JSON, JSON for many, a form answered in text.
		text := "第一行 \"引号\" \\ 反斜杠\n第二行 <b>&amp; ${user} a=1&b|2 😀"
		for _, name := range []string{"tianyuan", "zhaohu", "oa"} {
			d := h.settled(name, text, "u1")["u1"]
			arrived := h.arrivals(name, "u1")
			if len(arrived) != 1 || arrived[0].Text != text || arrived[0].Key != d.IdemKey || arrived[0].ID != d.ProviderRef || d.State != posthouse.Sent {
				h.Errorf("%s: %s, %d arrivals, %+v", name, d.State, len(arrived), arrived)
			}
			if name != "zhaohu" && arrived[0].Title != "标题" { // which has no titles
				h.Errorf("%s: the title arrived as %q", name, arrived[0].Title)
			}
		}
		// The table of codes says what each refusal means.
		for name, codes := range map[string][2]string{"tianyuan": {"1001", "1002"}, "zhaohu": {"NO_USER", "REFUSED"}, "oa": {"E02", "E03"}} {
			got := h.settled(name, "x", "fail-recipient", "refuse-content")
			for user, want := range map[string][2]string{"fail-recipient": {"recipient", codes[0]}, "refuse-content": {"content", codes[1]}} {
				if d, a := got[user], h.attempts(got[user].ID); d.State != posthouse.Failed || d.Reason != want[0] || len(a) != 1 || a[0].Code != want[1] || d.Error == "" {
					h.Errorf("%s, %s: %s %q after %d attempts, want failed for code %s", name, user, d.State, d.Reason, len(a), want[1])
				}
			}
		}
		h.inOneCall()
		h.afterTheWait()
	})
}

// inOneCall sends to many receivers of one message at once; only those who failed are tried again.
func (h *house) inOneCall() {
	h.Helper()
	before := h.requests("zhaohu")
	got := h.settled("zhaohu", "to all", "b1", "b2", "fail-recipient-2", "busy-twice")
	for user, want := range map[string]struct {
		state posthouse.State
		tries int
	}{"b1": {posthouse.Sent, 0}, "b2": {posthouse.Sent, 0}, "fail-recipient-2": {posthouse.Failed, 1}, "busy-twice": {posthouse.Sent, 2}} {
		if d := got[user]; d.State != want.state || d.Tries != want.tries {
			h.Errorf("in a batch %s is %s after %d failures, want %s after %d", user, d.State, d.Tries, want.state, want.tries)
		}
	}
	if n := h.requests("zhaohu") - before; n != 3 || len(h.arrivals("zhaohu", "b1")) != 1 {
		h.Errorf("%d calls, want 3: one for all four, two more for the one that was busy", n)
	}
}

// afterTheWait has each platform ask for a second: in its own field or line, and in Retry-After.
// 招呼 names the wait once for the whole call, so here a call has one receiver.
func (h *house) afterTheWait() {
	h.Helper()
	single := h.zhaohu(atOnce(20 * time.Millisecond))
	maps.DeleteFunc(single.Config, func(name string, _ any) bool { return name == "batch" || strings.HasPrefix(name, "result") })
	single.Config["id_path"] = "$.result[0].id"
	h.put(single)
	asked := []string{"too-fast", "rate-limited"}
	sent := map[string]posthouse.Accepted{}
	for _, name := range []string{"tianyuan", "zhaohu", "oa"} {
		sent[name] = h.send(name, "x", asked...)
	}
	for name, accepted := range sent {
		settled := h.settle(accepted)
		for _, user := range asked {
			d := settled[user]
			a := h.attempts(d.ID)
			if d.State != posthouse.Sent || d.Tries != 0 || len(a) != 2 || a[0].Class != posthouse.ClassRate {
				h.Errorf("%s, %s: %s after %d failures, attempts %+v", name, user, d.State, d.Tries, a)
			} else if wait := a[1].StartedAt.Sub(a[0].StartedAt); wait < time.Second {
				h.Errorf("%s, %s: tried again after %s, the platform asked for 1s", name, user, wait)
			}
		}
	}
}

// settled sends one message and waits until each of its deliveries is settled; they are by user.
func (h *house) settled(channel, text string, users ...string) map[string]posthouse.Delivery {
	h.Helper()
	return h.settle(h.send(channel, text, users...))
}

// send sends one message to many users.
func (h *house) send(channel, text string, users ...string) posthouse.Accepted {
	h.Helper()
	draft := posthouse.Draft{Channel: channel, Content: &posthouse.Content{Title: "标题", Text: text}}
	for _, user := range users {
		draft.To = append(draft.To, posthouse.Recipient{User: user})
	}
	sent, err := h.api.Messages.Send(h.Context(), draft)
	h.must(err)
	return sent.Accepted[0]
}

func (h *house) settle(message posthouse.Accepted) map[string]posthouse.Delivery {
	h.Helper()
	got := map[string]posthouse.Delivery{}
	for _, a := range message.Deliveries {
		h.eventually("the delivery to "+a.User+" is settled", func() bool { got[a.User] = h.delivery(a.ID); return !got[a.User].State.Open() })
	}
	return got
}

// requests is how many calls a provider has had.
func (h *house) requests(provider string) int64 {
	h.Helper()
	res, err := http.Get(h.sim.URL() + "/stats")
	h.must(err)
	defer res.Body.Close()
	var status simulator.Status
	h.must(json.NewDecoder(res.Body).Decode(&status))
	return status.Providers[provider].Requests
}
