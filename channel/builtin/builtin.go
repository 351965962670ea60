// Package builtin is the one table of the drivers that ship with Posthouse. A driver of somebody
// else's is handed to the server beside them.
package builtin

import (
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/apns"
	"github.com/posthouse/posthouse/channel/console"
	"github.com/posthouse/posthouse/channel/dingtalk"
	"github.com/posthouse/posthouse/channel/discard"
	"github.com/posthouse/posthouse/channel/email"
	"github.com/posthouse/posthouse/channel/fcm"
	"github.com/posthouse/posthouse/channel/feishu"
	"github.com/posthouse/posthouse/channel/httpapi"
	"github.com/posthouse/posthouse/channel/huawei"
	"github.com/posthouse/posthouse/channel/pull"
	"github.com/posthouse/posthouse/channel/sms"
	"github.com/posthouse/posthouse/channel/webhook"
	"github.com/posthouse/posthouse/channel/wechat"
	"github.com/posthouse/posthouse/channel/wecom"
)

// Types lists the drivers, in the order a form offers them.
func Types() []channel.Type {
	return []channel.Type{
		httpapi.Type(),
		dingtalk.Gateway(),
		dingtalk.Robot(),
		dingtalk.Work(),
		wecom.App(),
		wecom.Robot(),
		feishu.Type(),
		wechat.Template(),
		wechat.Subscribe(),
		email.Type(),
		sms.Type(),
		apns.Type(),
		fcm.Type(),
		huawei.Type(),
		webhook.Type(),
		pull.Type(),
		console.Type(),
		discard.Type(),
	}
}

// Lookup finds a driver by name.
func Lookup(name string) (channel.Type, bool) {
	for _, t := range Types() {
		if t.Name == name {
			return t, true
		}
	}
	return channel.Type{}, false
}
