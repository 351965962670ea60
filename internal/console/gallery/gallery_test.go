package gallery_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/catalog"
	"github.com/posthouse/posthouse/internal/consoletest"
)

const at = "/console/t/default/presets"

func inChinese(r *http.Request) { r.Header.Set("Accept-Language", "zh-CN") }

// The gallery lists what is known in both languages, and finds it by words of either.
func TestTheGalleryIsSearched(t *testing.T) {
	t.Parallel()
	h := consoletest.Open(t, false)
	all := h.Page("viewer", at)
	h.Shows(all, "/presets/telegram", "Feishu robot", "/presets/twilio", "Chats and robots", "On-call services")
	h.Shows(h.Page("viewer", at, inChinese), "飞书自定义机器人", "设备推送", "告警值班平台")
	found := h.Page("viewer", at+"?q="+url.QueryEscape("企业微信"))
	h.Shows(found, "/presets/wecom_robot")
	if strings.Contains(found, "/presets/telegram") {
		t.Error("the search finds what has not its words")
	}
	h.Shows(h.Page("viewer", at+"?q=no-such-thing"), "No preset has these words", "posthouse preset add")
}

// Who may make channels makes one by the form; a secret is shown to nobody, and what is wrong stands beside its field.
func TestAChannelIsMadeByTheForm(t *testing.T) {
	t.Parallel()
	h := consoletest.Open(t, false)
	const token = "654321:XYZ-a-token-of-somebody"
	page := h.Page("admin", at+"/telegram")
	h.Shows(page, `name="config.token"`, "posthouse channel set telegram --preset telegram --secret token=@token.txt", "https://core.telegram.org/bots/api", "Not verified")
	h.Shows(h.Page("admin", at+"/telegram", inChinese), "机器人 Token", "未经核实", "个人须先给机器人发过消息")
	if strings.Contains(h.Page("viewer", at+"/telegram"), `name="config.token"`) {
		t.Error("a viewer gets the form")
	}
	wrong := h.Ask("admin", at+"/telegram", url.Values{"channel": {"alerts"}, "config.token": {"no-token"}})
	if wrong.Status != http.StatusUnprocessableEntity || !strings.Contains(wrong.Body, "this value is not allowed") || strings.Contains(wrong.Body, "no-token") {
		t.Errorf("a wrong token: %d\n%s", wrong.Status, wrong.Body)
	}
	none := h.Ask("admin", at+"/telegram", url.Values{"config.token": {token}})
	if none.Status != http.StatusUnprocessableEntity || !strings.Contains(none.Body, "It needs a name") {
		t.Errorf("no name: %d", none.Status)
	}
	made := h.Ask("admin", at+"/telegram", url.Values{"channel": {"alerts"}, "config.token": {token}})
	if made.Status != http.StatusSeeOther {
		t.Fatalf("got %d\n%s", made.Status, made.Body)
	}
	var ch posthouse.Channel
	h.API("GET", "/v1/channels/alerts", "", &ch)
	if ch.Preset != "telegram" || ch.PresetVersion != 1 || ch.Driver != "httpapi" {
		t.Errorf("the channel is %+v", ch)
	}
	twice := h.Ask("admin", at+"/telegram", url.Values{"channel": {"alerts"}, "config.token": {token}})
	if twice.Status != http.StatusUnprocessableEntity || strings.Contains(twice.Body, token) {
		t.Errorf("a name that is taken: %d", twice.Status)
	}
}

// On a Chinese page the limits of a preset say in Chinese from where they are known.
func TestSourcesAreInTheLanguageOfThePage(t *testing.T) {
	t.Parallel()
	h := consoletest.Open(t, false)
	var list struct {
		Items []struct {
			Name   string
			Limits []struct{ Source string }
		}
	}
	h.API("GET", "/v1/presets", "", &list)
	found := 0
	for _, p := range list.Items {
		for _, l := range p.Limits {
			found++
			if said, ok := catalog.Chinese(l.Source); !ok && !strings.HasPrefix(said, "https://") {
				t.Errorf("the source %q of %s has no Chinese: add it to package catalog", l.Source, p.Name)
			}
		}
	}
	if found < 10 {
		t.Errorf("only %d limits were found", found)
	}
	h.Shows(h.Page("viewer", at+"/telegram", inChinese), "第三方资料；Telegram 没有公布数值")
	h.Shows(h.Page("viewer", at+"/wecom_robot", inChinese), "转载自 https://")
}
