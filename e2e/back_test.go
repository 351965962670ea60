package e2e

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/pquerna/otp/totp"
)

// Whoever goes back to a preview, a refused form or a test, or loads it again, sees it, and sends nothing a second time.
func TestBackShowsWhatAnsweredAForm(t *testing.T) {
	wholeOnly(t)
	b := launch(t)
	h := open(t)
	h.gateway("desk")
	tab := b.open(t, "zh-CN")
	tab.signsIn(h, "登录")
	tab.goes(h.at("compose?channel=desk"), http.StatusOK)
	tab.fills("to", "li.na")
	tab.fills("text", "今晚 18:00 起请值班")
	tab.presses(tab.word("look_first"))
	tab.says("curl", "今晚 18:00 起请值班")
	tab.presses(tab.word("send_now"))
	tab.says("已受理")
	tab.goesBack()
	tab.says("curl", "今晚 18:00 起请值班")
	tab.goesBack()
	tab.says(tab.word("to_lines"))

	tab.goes(h.at("drivers/httpapi"), http.StatusOK)
	tab.fills("name", "second")
	tab.fills("config.url", "https://example.com/in")
	tab.fills("config.body", `{"to": ["${user}"`)
	tab.presses(tab.word("store"))
	refused := tab.text()
	tab.forgets() // of the status of a refused form
	tab.goes(h.at("channels"), http.StatusOK)
	tab.goesBack()
	tab.forgets()
	if again := tab.text(); again != refused {
		t.Errorf("back at a refused form is\n%s\nnot\n%s", again, refused)
	}
	tab.fills("config.body", `{"to": "${user}", "text": "${text}"}`)
	tab.presses(tab.word("store"))
	tab.says("已保存")

	tab.opens(tab.word("test"))
	tab.fills("to", "li.na")
	tab.presses("发出测试")
	tab.follows(chromedp.Reload())
	tab.says("li.na")
}

// A key is shown once: who goes back to the page that showed it, or loads that again, sees the keys and makes no other.
func TestBackMakesNoKeyAgain(t *testing.T) {
	wholeOnly(t)
	h := open(t)
	tab := launch(t).open(t, "zh-CN")
	tab.signsIn(h, "登录")
	tab.goes(h.at("keys"), http.StatusOK)
	tab.do(discard(chromedp.Evaluate[bool](`for (const d of document.querySelectorAll("main details")) d.open = true; true`)))
	tab.fills("name", "desk")
	tab.presses(tab.word("key_make"))
	tab.says("ph_")
	tab.goes(h.at("channels"), http.StatusOK)
	tab.goesBack()
	tab.follows(chromedp.Reload())
	if tab.is(`document.body.innerText.includes("ph_")`) {
		t.Error("a key is shown a second time")
	}
	keys, err := h.api.Keys.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(keys) != 2 {
		t.Errorf("there are %d keys, want the first one and the one that was made", len(keys))
	}
}

// Recovery codes are shown once: who goes back to the page that showed them sees how many there are, and no error of the browser.
func TestBackShowsNoRecoveryCodes(t *testing.T) {
	wholeOnly(t)
	h := open(t)
	tab := launch(t).open(t, "zh-CN")
	tab.signsIn(h, "登录")
	tab.goes(h.url+"/console/me/totp", http.StatusOK)
	code, err := totp.GenerateCode(strings.ReplaceAll(tab.reads(`document.querySelector("main code").innerText`), " ", ""), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	tab.fills("code", code)
	tab.presses(tab.word("codes_set_up"))
	tab.says(tab.word("spare_codes"))
	spare := strings.Fields(tab.reads(`document.querySelector("main pre").innerText`))[0]
	tab.goes(h.at("channels"), http.StatusOK)
	tab.goesBack()
	tab.says(tab.word("spare_left"))
	if strings.Contains(tab.text(), spare) {
		t.Error("recovery codes are shown a second time")
	}
}

// goesBack presses the browser's back.
func (t *tab) goesBack() {
	t.Helper()
	t.do(chromedp.NavigateBack())
}
