package wecom_test

import (
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/posthouse/posthouse/channel/channeltest"
	"github.com/posthouse/posthouse/channel/wecom"
)

const (
	appSecret   = "an-application's-<secret>"
	accessToken = "an-access-token-of-ours"
	robotKey    = "693a91f6-7xxx-4bc4-97a0-0ec2sifa5aaa"
)

func TestContractOfTheApplication(t *testing.T) {
	for name, set := range map[string]map[string]any{
		"as it is": {},
		"alone":    {"batch": 1, "duplicate_check": "30m", "format": "markdown", "safe": true},
	} {
		t.Run(name, func(t *testing.T) {
			channeltest.Run(t, channeltest.Case{
				Type: wecom.App(),
				Config: func(url string) map[string]any {
					config := map[string]any{"url": url, "corp_id": "ww1", "agent_id": 1000002, "secret": appSecret}
					maps.Copy(config, set)
					return config
				},
				Address: func(string) string { return "zhangsan" },
				Same:    []string{"ZhangSan", "ZHANGSAN"},
				Accept:  channeltest.Reply(200, `{"errcode":0,"errmsg":"ok","msgid":"m-1"}`),
				Aside:   giveToken,
				Secrets: []string{appSecret, accessToken},
				Recalls: []channeltest.Recall{{Ref: "m-1"}},
			})
		})
	}
}

func giveToken(w http.ResponseWriter, r *http.Request) bool {
	if !strings.HasSuffix(r.URL.Path, "/cgi-bin/gettoken") {
		return false
	}
	w.Header().Set("Content-Type", "application/json")
	io.WriteString(w, `{"errcode":0,"errmsg":"ok","access_token":"`+accessToken+`","expires_in":7200}`)
	return true
}

func TestContractOfTheRobot(t *testing.T) {
	for name, set := range map[string]map[string]any{"alone": {}, "shared": {"mentions": 100, "format": "markdown"}} {
		t.Run(name, func(t *testing.T) {
			channeltest.Run(t, channeltest.Case{
				Type: wecom.Robot(),
				Config: func(url string) map[string]any {
					config := map[string]any{"url": url + "/cgi-bin/webhook/send", "key": robotKey}
					maps.Copy(config, set)
					return config
				},
				Same:    []string{"+8613800000001", "+86 138 0000 0001", "008613800000001", "138-0000-0001"},
				Accept:  channeltest.Reply(200, `{"errcode":0,"errmsg":"ok"}`),
				Secrets: []string{robotKey},
			})
		})
	}
}
