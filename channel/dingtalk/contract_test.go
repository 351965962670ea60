package dingtalk_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel/channeltest"
	"github.com/posthouse/posthouse/channel/dingtalk"
)

const (
	signingSecret = "SEC5f2b9c71d8e04a6f"
	robotToken    = "9d1c7be0a4f54c22"
	appSecret     = "s-8c1e5a0f77b94d"
	accessToken   = "t-1f0a9b8c7d6e5f"
)

func TestContractOfTheGateway(t *testing.T) {
	channeltest.Run(t, channeltest.Case{
		Type: dingtalk.Gateway(),
		Config: func(url string) map[string]any {
			return map[string]any{
				"baseUrl": url + "/mc/send", "agentId": "AGENT1002", "corpId": "CORP1",
				"headers": map[string]any{"X-Key": appSecret},
			}
		},
		Accept:  channeltest.Reply(200, `{"success":true,"code":200,"msg":"ok","data":{"msgid":"m-1"}}`),
		Secrets: []string{appSecret},
	})
}

// aPage is what DingTalk answers to an address that it blocks, so it is no answer of unknown meaning.
var aPage = map[string]posthouse.Class{"200 with rubbish": posthouse.ClassRate}

func TestContractOfTheRobot(t *testing.T) {
	channeltest.Run(t, channeltest.Case{
		Type:    dingtalk.Robot(),
		Config:  robotConfig,
		Same:    []string{"+8613800000001", "+86-13800000001", "0086 138 0000 0001"},
		Accept:  channeltest.Reply(200, `{"errcode":"0","errmsg":"ok"}`),
		Secrets: []string{signingSecret, robotToken},
		Classes: aPage,
	})
}

func robotConfig(url string) map[string]any {
	return map[string]any{"url": url + "/robot/send", "access_token": robotToken, "secret": signingSecret}
}

func TestContractOfARobotWithSharedPosts(t *testing.T) {
	channeltest.Run(t, channeltest.Case{
		Type: dingtalk.Robot(),
		Config: func(url string) map[string]any {
			config := robotConfig(url)
			config["mentions"], config["format"], config["keywords"] = 50, "markdown", []any{"提醒"}
			return config
		},
		Accept:  channeltest.Reply(200, `{"errcode":0,"errmsg":"ok"}`),
		Secrets: []string{signingSecret, robotToken},
		Classes: aPage,
	})
}

func TestContractOfWorkNotifications(t *testing.T) {
	for _, from := range []string{"gettoken", "oauth2"} {
		channeltest.Run(t, channeltest.Case{
			Type: dingtalk.Work(),
			Config: func(url string) map[string]any {
				config := workConfig(url)
				config["token_from"] = from
				return config
			},
			Accept:  channeltest.Reply(200, `{"errcode":0,"errmsg":"ok","task_id":256271667526,"request_id":"4jzllmte0wau"}`),
			Aside:   giveToken,
			Secrets: []string{appSecret, accessToken},
			Classes: aPage,
			Recalls: []channeltest.Recall{{Ref: "256271667526"}},
		})
	}
}

const delivered = `{"success":true,"result":{"outTrackId":"t","deliverResults":[{"spaceType":"IM_ROBOT","spaceId":"u","success":true,"carrierId":"4v+AzUEDuC0dKuO"}]}}`

func TestContractOfCards(t *testing.T) {
	kind := dingtalk.Work()
	kind.MaxBatch, kind.Shares = 1, nil // each card has a call of its own
	channeltest.Run(t, channeltest.Case{
		Type: kind, Config: cardConfig, Content: cardContent(""),
		Accept:  channeltest.Reply(200, delivered),
		Aside:   giveToken,
		Secrets: []string{appSecret, accessToken, cardSecret},
		Classes: aPage,
	})
}

func workConfig(url string) map[string]any {
	return map[string]any{
		"url": url, "api_url": url, "agent_id": "1234567890", "app_key": "dingkey", "app_secret": appSecret, "format": "markdown", "time_line": true,
	}
}

func giveToken(w http.ResponseWriter, r *http.Request) bool {
	w.Header().Set("Content-Type", "application/json")
	switch {
	case r.URL.Path == "/gettoken":
		io.WriteString(w, `{"errcode":0,"errmsg":"ok","access_token":"`+accessToken+`","expires_in":7200}`)
	case strings.HasSuffix(r.URL.Path, "/oauth2/accessToken"):
		io.WriteString(w, `{"accessToken":"`+accessToken+`","expireIn":7200}`)
	default:
		return false
	}
	return true
}
