package dingtalk

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/internal/errcode"
)

// recallWithin is how long DingTalk takes a work notification back. Its page names no code for what is older, so that it is not asked.
const recallWithin = 24 * time.Hour

// Recall takes back a work notification by its task_id.
func (w *work) Recall(ctx context.Context, ref string, sent time.Time) (channel.Recalled, channel.Result) {
	if _, err := strconv.ParseInt(ref, 10, 64); err != nil {
		return channel.RecallUnable, channel.Result{Class: posthouse.ClassRequest, Error: "DingTalk takes no interactive card back: its reference is no task_id, which is a number"}
	}
	if time.Since(sent) >= recallWithin {
		return channel.RecallLate, channel.Result{Class: posthouse.ClassRequest, Error: "DingTalk takes a work notification back within 24 hours of its send"}
	}
	body := errcode.Encoded(map[string]json.Number{"agent_id": w.agent, "msg_task_id": json.Number(ref)})
	reply, v, _ := w.call(ctx, "/topapi/message/corpconversation/recall", w.header, body)
	if reply == nil {
		return channel.RecallRefused, v.failed
	}
	return errcode.RecalledWithin(v.Class, sent, recallWithin), reply.Result(v.Verdict)
}
