package e2e

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"
	"golang.org/x/text/encoding/simplifiedchinese"

	"github.com/posthouse/posthouse"
)

// The way to a campaign in Chinese, wide and on a phone: a file as Excel in China saves it, its columns for the parameters of WeChat's template,
// what exceeds them in red beside, back and forth between the steps, a chart, the start, and the people who failed for a reason.
func TestTheWayToACampaign(t *testing.T) {
	wholeOnly(t)
	b := launch(t)
	h := open(t)
	h.club()
	_, _, err := h.api.Channels.Put(h.Context(), posthouse.Channel{Name: "mp", Driver: "wechat", ChannelSettings: posthouse.ChannelSettings{Tries: 1}, Config: map[string]any{"url": h.simulator + "/wechat", "app_id": "wx1", "secret": "a-secret-of-ours"}})
	if err == nil {
		_, err = h.api.Templates.Put(h.Context(), posthouse.Template{Name: "notice", Text: "优惠券到账", ExternalID: "OPENTM-1"})
	}
	if err != nil {
		t.Fatal(err)
	}
	tab := b.open(t, "zh-CN")
	tab.signsIn(h, languages["zh-CN"].signIn)
	for _, width := range []int64{1280, 375} {
		tab.do(chromedp.EmulateViewport(width, 900))
		tab.width, tab.refused = width, 0
		tab.mapsColumns(h, fmt.Sprint("wechat-", width))
		tab.putsColumns(h, fmt.Sprint("own-", width))
		if tab.refused > 0 {
			t.Errorf("%d forms are refused at %d px", tab.refused, width)
		}
	}
}

// begins makes a campaign and chooses its file, in GBK.
func (t *tab) begins(h *house, name, channel, template, file string) {
	t.Helper()
	text, err := simplifiedchinese.GBK.NewEncoder().String(file)
	if err != nil {
		t.Fatal(err)
	}
	t.goes(h.at("new-campaign"), http.StatusOK)
	t.fills("name", name)
	t.picks("channel", channel)
	if template != "" {
		t.picks("template", template)
	}
	t.presses(t.word("camp_make"))
	t.chooseFile("file", "名单.csv", text)
	t.until(`document.querySelector("#guess table") !== null`)
	t.says("gbk", "张三")
	t.presses(t.word("camp_upload"))
	t.says(t.word("people_content_said"), t.word("camp_chips"))
}

// until waits until something is true of the page.
func (t *tab) until(expression string) {
	t.Helper()
	for n := 0; !t.is(expression); n++ {
		if n > 10_000 {
			t.Fatalf("%s does not become true:\n%s", expression, t.text())
		}
		t.do(chromedp.WaitReady(chromedp.CSS("body")))
	}
}

// changes chooses an entry of a list as a person does, which the page hears of.
func (t *tab) changes(field, entry string) {
	t.Helper()
	t.picks(field, entry)
	t.do(discard(chromedp.Evaluate[bool](fmt.Sprintf(`document.querySelector('main [name=%q]').dispatchEvent(new Event("change", {bubbles: true}))`, field))))
}

const looksSay = `document.querySelector("#looks").innerText.includes(%q)`

func (t *tab) mapsColumns(h *house, name string) {
	t.Helper()
	t.begins(h, name, "mp", "notice", "姓名,openid,金额,日期\r\n张三,o1,20元,2030-10-01\r\n一个写了二十多个字的很长很长的名字一共二十三个,o2,30元,2030-10-01\r\n赵敏,fail-recipient,5元,2030-10-01\r\n")
	t.says("OPENTM-1", "thing1", "最多 20 个字符")
	t.changes("from.0", "姓名")
	t.until(fmt.Sprintf(looksSay, "张三"))
	t.changes("from.1", "金额")
	t.changes("from.2", "日期")
	t.until(fmt.Sprintf(looksSay, "2030-10-01"))
	t.until(fmt.Sprintf(looksSay, "微信的 thing 参数最多 20 个字符"))
	if !t.is(`document.querySelectorAll("#looks tr.bad").length === 1`) {
		t.Errorf("not one parameter is red:\n%s", t.text())
	}
	t.fits()
	t.accessible("content")
	t.picture("campaign-content")
	t.presses(t.word("camp_map"))
	t.says("前 3 人中有 1 人无法发送")
	t.presses(t.word("step_content"))
	if !t.is(`document.querySelector('[name="from.0"]').value === "姓名" && document.querySelector('[name="from.2"]').value === "日期"`) {
		t.Errorf("what was chosen is gone:\n%s", t.text())
	}
	t.presses(t.word("step_plan"))
	if t.is(`document.querySelector('main [name="force"]') !== null`) {
		t.clicksOn(`main [name="force"]`, false)
	}
	t.presses(t.word("camp_start") + " × 3")
	for !t.is(`document.querySelector("#live .state.done") !== null`) {
		t.goes(h.at("campaigns/"+name), http.StatusOK)
	}
	t.clicksOn(`main a[href*="code=40003"]`, true)
	t.says("fail-recipient", t.word("camp_again_failed"))
	t.fits()
}

func (t *tab) putsColumns(h *house, name string) {
	t.Helper()
	t.begins(h, name, "club", "", "姓名,openid,金额\r\n张三,a-1,20\r\n李四,a-2,\r\n")
	t.opens("姓名 2")
	t.do(write("：减 "))
	t.opens("金额 1")
	t.do(write(" 元"))
	t.until(fmt.Sprintf(looksSay, "张三：减 20 元"))
	t.says("李四：减 ${金额} 元", "1 / 2")
	t.fits()
	t.presses(t.word("step_plan")) // keeps the text
	t.says("张三：减 20 元")
}

// fits is an error where the page is wider than the window.
func (t *tab) fits() {
	t.Helper()
	if !t.is(`document.documentElement.scrollWidth <= window.innerWidth`) {
		t.Errorf("the page is wider than %d px", t.width)
	}
}
