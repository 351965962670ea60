package doctor_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/posthouse/posthouse/internal/consoletest"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/wire"
)

// The settings say where each was given and show no secret; the findings are those of the last look, which a button repeats, each bad one
// with what to do.
func TestWhatAProcessSaysOfItself(t *testing.T) {
	t.Parallel()
	var looks atomic.Int64
	h := consoletest.Open(t, false, func(o *server.Options) {
		o.Settings = []wire.ServerSetting{
			{Name: "keep", Value: "30d", Source: wire.SettingByFile, At: "posthouse.yaml:3", Help: "how long settled deliveries are kept, a DURATION or forever"}, {Name: "dsn", Value: "********", Source: wire.SettingByVariable, At: "POSTHOUSE_DSN", Secret: true},
			{Name: "time_zone", Value: "Asia/Shanghai", Source: wire.SettingByDefault},
		}
		o.Examine = func(context.Context) []wire.Finding {
			looks.Add(1)
			return []wire.Finding{{Check: "clock", OK: true, Detail: "the machine's own"}, {Check: "channel hook", Detail: "url: is required"}, {Check: "synchronous", Detail: "it is 1: accepted messages can be lost in a power cut: want FULL"}}
		}
	})
	const at = "/console/t/default/"
	zh := func(r *http.Request) { r.Header.Set("Accept-Language", "zh-CN") }
	h.Shows(h.Page("admin", at+"settings"), "posthouse.yaml:3", "how long settled deliveries are kept", "********", "masked", "settings file")
	if page := h.Page("admin", at+"settings?source=file", zh); strings.Contains(page, "time_zone") || !strings.Contains(page, "配置文件") || !strings.Contains(page, "已了结的投递保留多久") {
		t.Errorf("narrowed to a source:\n%s", page)
	}
	h.Shows(h.Page("admin", at+"system"), `href="`+at+`settings"`, `href="`+at+`doctor"`)
	h.Shows(h.Page("admin", at+"doctor"), "has not looked since")
	if got := h.Ask("admin", at+"doctor", url.Values{}); got.To() != at+"doctor" || looks.Load() != 1 {
		t.Fatalf("a look leads to %q, %d looks", got.To(), looks.Load())
	}
	h.Shows(h.Page("admin", at+"doctor"), "to be put right: 2", "hook", "url: is required", "Open the channel", at+"channels", "synchronous", "database&#39;s own configuration", "Run again")
	h.Shows(h.Page("admin", at+"doctor", zh), "待处理： 2", "重新检查", "打开渠道的表单", "使用本机时钟", "当前为 1")
	if looks.Load() != 1 {
		t.Errorf("pages have it look: %d", looks.Load())
	}
	for _, page := range []string{"settings", "doctor"} {
		if got := h.Ask("operator", at+page, nil); got.Status != http.StatusForbidden {
			t.Errorf("%s as an operator: %d", page, got.Status)
		}
		if got := h.Ask("other", "/console/t/other/"+page, nil); got.Status != http.StatusForbidden {
			t.Errorf("%s in another tenant: %d", page, got.Status)
		}
	}
}
