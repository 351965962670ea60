package e2e

import (
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
)

// A night in one go: a channel is made by form and tested, what was sent over it fails because its body lacks the recipient, the
// body is put right and the delivery sent again; another one, of which nobody knows whether it arrived, gets a person's word.
func TestStory(t *testing.T) {
	if testing.Short() {
		t.Skip("the short form of make e2e-short is who got it alone; make e2e does this too")
	}
	b := launch(t)
	h := open(t)
	tab := b.open(t, "zh-CN")
	tab.signsIn(h, "登录")
	tab.goes(h.at("channels"), http.StatusOK)
	tab.presses("新建渠道")
	tab.goes(h.at("drivers/httpapi"), http.StatusOK)
	tab.fills("name", "desk")
	tab.fills("config.url", h.simulator+"/tianyuan/api/message/send")
	tab.fills("config.body", `{"content": "${text}", "msgId": "${idempotency_key}"}`)
	tab.fills("config.success_path", "$.code")
	tab.fills("config.success_values", "0")
	tab.fills("config.message_path", "$.msg")
	tab.fills("config.codes", "1003: request")
	tab.opens("发送设置")
	tab.fills("tries", "1")
	tab.do(chromedp.SetValue(chromedp.CSS(`[name="on_unknown"]`), "hold"))
	tab.presses("保存")
	tab.says("已保存", "httpapi")

	tab.opens("测试")
	tab.fills("to", "li.na")
	tab.presses("发出测试")
	tab.says("li.na", "1003")

	failed := h.send(posthouse.Draft{Channel: "desk", To: []posthouse.Recipient{{User: "li.na"}}, Content: &posthouse.Content{Text: "今晚 18:00 起请值班"}})[0]
	tab.goes(h.at("attention?state=failed"), http.StatusOK)
	tab.presses(failed.ID)
	tab.says("最终失败")

	tab.goes(h.at("channels/desk/edit"), http.StatusOK)
	tab.fills("config.body", `{"touser": "${user}", "content": "${text}", "msgId": "${idempotency_key}"}`)
	tab.presses("保存")
	tab.goes(h.at("deliveries/"+failed.ID), http.StatusOK)
	tab.opens("重发")
	tab.presses("确认执行")
	tab.says("已重发，这是新的投递")
	h.settled(client.Filter{User: "li.na", States: []posthouse.State{posthouse.Sent}})
	tab.goes(h.at("search?q=li.na"), http.StatusOK)
	tab.says("已发送", "失败")

	lost := h.send(posthouse.Draft{Channel: "desk", To: []posthouse.Recipient{{User: "lost-answer"}}, Content: &posthouse.Content{Text: "到了吗"}})[0]
	tab.goes(h.at("attention"), http.StatusOK)
	tab.presses(lost.ID)
	tab.says("没有应答，结果未知")
	tab.opens("人工裁定")
	tab.picture("unknown.zh-CN")
	tab.do(chromedp.Click(chromedp.CSS(`[name="outcome"][value="sent"]`), chromedp.NodeVisible))
	tab.fills("note", "电话里问过")
	tab.presses("确认执行")
	tab.says("裁定已记录", "已了结：已发送")
	tab.goes(h.at("audit"), http.StatusOK)
	tab.says("电话里问过", "deliveries.resolve", "channels.put", "person:admin")
}

// settled waits until a filter selects something.
func (h *house) settled(f client.Filter) {
	h.Helper()
	for {
		page, err := h.api.Deliveries.List(h.Context(), f)
		if err != nil {
			h.Fatal(err)
		}
		if len(page.Items) > 0 {
			return
		}
	}
}
