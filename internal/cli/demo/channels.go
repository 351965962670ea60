package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
)

// provided is where the demo's providers are.
type provided struct {
	simulator, secret, smsSecret string
	mailHost                     string
	mailPort                     int
}

// cloudChannel is the channel of text messages whose arrival is told.
const cloudChannel = "sms-cloud"

// channels are the demo's channels. The first three differ in all an HTTP interface can differ
// in, and are configuration only (DUTY-12); package simulator's documentation has their forms.
func channels(at provided) []posthouse.Channel {
	simulator, secret := at.simulator, at.secret
	return []posthouse.Channel{{
		Name: "tianyuan", Driver: "httpapi", ChannelSettings: duty(quick(3)), Config: map[string]any{
			"url":              simulator + "/tianyuan/api/message/send",
			"body":             `{"touser": "${user}", "title": "${title}", "content": "${text}", "msgId": "${idempotency_key}"}`,
			"success_path":     "$.code",
			"success_values":   []string{"0"},
			"id_path":          "$.data.messageId",
			"message_path":     "$.msg",
			"retry_after_path": "$.retryAfter",
			"codes":            map[string]string{"1001": "recipient", "1002": "content", "1003": "request", "2001": "rate", "5000": "transient"},
		},
	}, {
		Name: "zhaohu", Driver: "httpapi", ChannelSettings: duty(quick(3)), Config: map[string]any{
			"url":              simulator + "/zhaohu/im/v1/notify",
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
		},
	}, {
		Name: "oa", Driver: "httpapi", ChannelSettings: quick(3), Config: map[string]any{
			"url":              simulator + "/oa/messages",
			"encoding":         "form",
			"body":             "to=${user}&subject=${title}&body=${text}&ref=${idempotency_key}",
			"success_path":     `/^(OK)\|/`,
			"success_values":   []string{"OK"},
			"id_path":          `/^OK\|(.+)/`,
			"code_path":        `/^ERR\|([^|]*)/`,
			"message_path":     `/^ERR\|[^|]*\|([^|]*)/`,
			"retry_after_path": `/^ERR\|[^|]*\|[^|]*\|(\d+)/`,
			"codes":            map[string]string{"E01": "request", "E02": "recipient", "E03": "content", "E04": "rate", "E05": "transient"},
		},
	}, {
		// A gateway that knows no idempotency key: what may have arrived is held for a person. It is
		// slow to try again, so that a deadline can pass meanwhile.
		Name: "gateway", Driver: "httpapi", ChannelSettings: cautious(quick(3)), Config: map[string]any{
			"url":     simulator + "/generic/notify",
			"body":    `{"to": "${user}", "title": "${title}", "text": "${text}", "id": "${idempotency_key}"}`,
			"id_path": "$.id",
		},
	}, {
		Name: "callback", Driver: "webhook", ChannelSettings: quick(4), Config: map[string]any{
			"url": simulator + "/webhook/orders", "secret": secret,
		},
	}, {
		Name: "dingtalk", Driver: "dingtalk", ChannelSettings: quick(3), Config: map[string]any{
			"baseUrl": simulator + "/dingtalk/send", "agentId": "DEMO-AGENT", "corpId": "DEMO-CORP",
		},
	}, {
		Name: "robot", Driver: "dingtalk_robot", ChannelSettings: quick(3), Config: map[string]any{
			"url": simulator + "/dingtalk_robot/robot/send", "access_token": "demo",
		},
	}, {
		Name: campaignChannel, Driver: "wechat", ChannelSettings: quick(3), Config: map[string]any{
			"url": simulator + "/wechat", "app_id": "demo", "secret": secret, "callback_token": callbackToken,
		},
	}, {
		Name: "mail", Driver: "email", ChannelSettings: quick(3), Config: map[string]any{
			"host": at.mailHost, "port": at.mailPort, "tls": "opportunistic", "from": "Duty Desk <desk@example.com>",
		},
	}, {
		Name: "feishu", Driver: "feishu", ChannelSettings: quick(3), Config: map[string]any{
			"url": simulator + "/feishu", "app_id": "cli_demo", "app_secret": "demo",
		},
	}, {
		// The provider says later whether a text message has arrived.
		Name: cloudChannel, Driver: "sms", ChannelSettings: cautious(quick(3)), Config: map[string]any{
			"provider": "aliyun", "access_key": "DEMO", "secret": at.smsSecret, "sign": "驿站", "template_id": "SMS_154950909", "receipts": true,
			"url": simulator + "/sms_aliyun",
		},
	}, {
		// Phones fetch what goes over this one. What may have left is held for a person.
		Name: phoneChannel, Driver: "pull", ChannelSettings: quick(3),
	}, {
		Name: "console", Driver: "console", ChannelSettings: quick(3),
	}, {
		Name: "closed", Driver: "console", ChannelSettings: quick(3),
	}}
}

// quick makes a channel send at once and try again soon, so that the demo is over soon.
func quick(tries int) posthouse.ChannelSettings {
	var atOnce posthouse.Duration
	return posthouse.ChannelSettings{
		Every: &atOnce, Tries: tries, Backoff: []posthouse.Duration{posthouse.Duration(300 * time.Millisecond)},
		Timeout: posthouse.Duration(5 * time.Second),
	}
}

func duty(s posthouse.ChannelSettings) posthouse.ChannelSettings {
	s.Profile = "duty"
	return s
}

func cautious(s posthouse.ChannelSettings) posthouse.ChannelSettings {
	s.OnUnknown, s.Backoff = posthouse.Hold, []posthouse.Duration{posthouse.Duration(time.Minute)}
	return s
}

// onDuty is who the demo's roster names, each day of the week.
const onDuty = "chen.jing"

// staff are the people of the demo's task, by role. The gateway knows them by their user names.
func staff() []posthouse.User {
	var list []posthouse.User
	for _, p := range []struct{ id, name, role string }{
		{"zhang.san", "张三", "planner"}, {"qian.duo", "钱多", "operator"}, {"sun.yue", "孙悦", "reviewer"},
	} {
		list = append(list, posthouse.User{ID: p.id, Name: p.name, Roles: []string{p.role}, Addresses: map[string]string{"dingtalk": p.id}})
	}
	return list
}

// furnish configures everything by HTTP.
func furnish(ctx context.Context, c *client.Client, at provided) error {
	for _, ch := range channels(at) {
		if _, _, err := c.Channels.Put(ctx, ch); err != nil {
			return fmt.Errorf("configure the channel %s: %w", ch.Name, err)
		}
	}
	if _, err := c.Channels.Pause(ctx, "closed", "closed for the demo"); err != nil {
		return fmt.Errorf("pause a channel: %w", err)
	}
	_, err := c.Templates.Put(ctx, posthouse.Template{
		Name: "leave", Title: "请假审批：${name}", Text: "${name} 申请请假 ${days} 天（${from} 起），请审批。",
	})
	if err != nil {
		return fmt.Errorf("store a template: %w", err)
	}
	if _, err := c.Templates.Install(ctx); err != nil {
		return fmt.Errorf("store the templates of workflow notices: %w", err)
	}
	if _, err := c.Users.Put(ctx, staff()...); err != nil {
		return fmt.Errorf("fill the directory: %w", err)
	}
	days := map[string][]string{}
	for day := 1; day <= 7; day++ {
		days[fmt.Sprint(day)] = []string{onDuty}
	}
	if _, err := c.Rosters.Put(ctx, posthouse.Roster{Name: "duty", Days: days}); err != nil {
		return fmt.Errorf("store the duty roster: %w", err)
	}
	return nil
}
