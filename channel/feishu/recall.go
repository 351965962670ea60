package feishu

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/internal/access"
	"github.com/posthouse/posthouse/channel/internal/errcode"
)

// The codes of Feishu's page on recalls that have a meaning of their own. How old a message may be the tenant's administrator says, by default
// 24 hours: so Feishu is asked whatever the age.
const (
	codeTooOld = "230009"
	codeGone   = "230110" // it was taken back or deleted before
)

// Recall takes back a message by its message_id, or all that one call of the batch interface has told.
func (d *driver) Recall(ctx context.Context, ref string, _ time.Time) (did channel.Recalled, res channel.Result) {
	path := "/open-apis/im/v1/messages/"
	if strings.HasPrefix(ref, "bm-") { // an id of the batch interface
		path = "/open-apis/im/v1/batch_messages/"
	}
	to, err := place(d.root, path+ref)
	if err != nil || ref == "" || strings.Trim(ref, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
		return channel.RecallRefused, channel.Result{Class: posthouse.ClassRequest, Error: "the reference is not a message_id of Feishu's"}
	}
	err = d.callBy(ctx, http.MethodDelete, to, http.Header{}, nil, func(reply *channel.Reply) string {
		said, v := d.verdict(reply)
		res = reply.Result(v)
		switch said.code() {
		case codeTooOld:
			did = channel.RecallLate
		case codeGone:
			did = channel.RecallDone
		default:
			did = errcode.Recalled(v.Class)
		}
		return said.code()
	})
	if err != nil {
		return channel.RecallRefused, access.Without(err, d.client)
	}
	return did, res
}
