package wecom

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/internal/access"
	"github.com/posthouse/posthouse/channel/internal/errcode"
)

// recallWithin is how long WeCom takes an application's message back. Its page names no code for what is older, so that it is not asked.
const recallWithin = 24 * time.Hour

// Recall takes back a message by its msgid, in WeCom's client; who follows the application in WeChat keeps it.
func (a *app) Recall(ctx context.Context, ref string, sent time.Time) (channel.Recalled, channel.Result) {
	if time.Since(sent) >= recallWithin {
		return channel.RecallLate, channel.Result{Class: posthouse.ClassRequest, Error: "WeCom takes a message back within 24 hours of its send"}
	}
	reply, v, _, err := a.call(ctx, "/cgi-bin/message/recall", nil, a.header, errcode.Encoded(map[string]string{"msgid": ref}))
	if err != nil {
		return channel.RecallRefused, access.Without(err, a.client)
	}
	return errcode.RecalledWithin(v.Class, sent, recallWithin), reply.Result(v)
}
