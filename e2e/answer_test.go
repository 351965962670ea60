package e2e

import (
	"net/http"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
)

// The shortest way through the console: in by the link, "did 李娜 get it?", and the page of the delivery that says so. The provider
// takes it at the third try.
func TestWhoGotIt(t *testing.T) {
	b := launch(t)
	h := open(t)
	h.gateway("desk", func(c *posthouse.Channel) {
		c.Tries, c.Backoff = 3, []posthouse.Duration{posthouse.Duration(time.Second)}
	})
	if _, err := h.api.Users.Put(t.Context(), posthouse.User{ID: "li.na", Name: "李娜", Addresses: map[string]string{"desk": "li.na"}}); err != nil {
		t.Fatal(err)
	}
	h.breaks("generic", `{"faults": [{"kind": "server_error", "times": 2}]}`)
	list := h.send(posthouse.Draft{Channel: "desk", Kind: "shift", Ref: "7", To: []posthouse.Recipient{{User: "li.na"}}, Content: &posthouse.Content{Title: "值班", Text: "今晚 18:00 起请值班"}})
	tab := b.open(t, "zh-CN")
	tab.goes(h.link, http.StatusOK)
	tab.presses("登录")
	tab.says("已登录。设置密码后")
	tab.goes(h.at("search"), http.StatusOK)
	tab.fills("q", "李娜")
	tab.presses("查询")
	tab.says("通讯录中", "已发送")
	tab.presses(list[0].ID)
	tab.says("李娜 li.na", "已了结：已发送", "今晚 18:00 起请值班", "平台已接收")
	tab.picture("delivery")
	tab.chooses("English")
	tab.language = "en"
	tab.says("Why it is where it is", "the provider has taken it")
	tab.picture("delivery")
}
