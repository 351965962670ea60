package dingtalk

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/internal/errcode"
)

// result is what getsendresult says of a task's recipients.
type result struct {
	Invalid   []string    `json:"invalid_user_id_list"`
	Forbidden []string    `json:"forbidden_user_id_list"`
	Failed    []string    `json:"failed_user_id_list"`
	Read      []string    `json:"read_user_id_list"`
	Unread    []string    `json:"unread_user_id_list"`
	Reasons   []forbidden `json:"forbidden_list"`
}

// forbidden says why a recipient got nothing.
type forbidden struct {
	Code errcode.Value `json:"code"`
	User string        `json:"userid"`
}

// The codes of receipts without one of DingTalk's.
const (
	codeInvalid   = "INVALID_USER"
	codeForbidden = "FORBIDDEN"
	codeFailed    = "FAILED"
)

// reasons says what DingTalk's codes in a receipt mean.
var reasons = map[string]string{
	codeInvalid:   "DingTalk does not know this user id",
	codeForbidden: "DingTalk withheld it without a reason",
	codeFailed:    "DingTalk could not deliver it; it may be sent again",
	"143103":      "DingTalk withheld it: too many people were told within a minute",
	"143104":      "DingTalk withheld it: too many people were told within a minute",
	"143105":      "DingTalk withheld it: this person was told too often today",
	"143106":      "DingTalk withheld it: this person was told the same today already; time_line makes texts differ",
	"143203":      "DingTalk withheld it: too many people were told within a minute",
	"143204":      "DingTalk withheld it: too many people were told within a minute",
	"143205":      "DingTalk withheld it: this person was told too often today",
	"143206":      "DingTalk withheld it: this person was told the same today already; time_line makes texts differ",
	"1430000":     "DingTalk found nobody to tell",
	"1430002":     "DingTalk does not allow this content",
	"1430003":     "DingTalk withheld it: its interface was being protected from overload",
	"1430004":     "DingTalk withheld it: this person is protected from such messages",
}

// Track asks what became of a task, for 24 hours after its send at most.
func (w *work) Track(ctx context.Context, ref string, to []posthouse.Recipient) ([]channel.Receipt, error) {
	if _, err := strconv.ParseInt(ref, 10, 64); err != nil {
		return nil, errors.New("the reference is not a task_id of DingTalk's, which is a number")
	}
	body := errcode.Encoded(map[string]json.Number{"agent_id": w.agent, "task_id": json.Number(ref)})
	reply, v, a := w.call(ctx, "/topapi/message/corpconversation/getsendresult", w.header, body)
	if reply == nil {
		return nil, errors.New(v.failed.Error)
	}
	if v.Class != posthouse.ClassOK {
		return nil, errors.New(reply.Result(v.Verdict).Error)
	}
	receipts := make([]channel.Receipt, len(to))
	for i, r := range to {
		receipts[i] = a.Result.of(r.Address)
		receipts[i].Response = reply.Response
	}
	return receipts, nil
}

// of is the receipt of one user: unknown for one that stands in no list yet.
func (r result) of(user string) channel.Receipt {
	withheld := func(code string) channel.Receipt {
		text := reasons[code]
		if text == "" {
			text = "DingTalk withheld it with code " + code
		}
		return channel.Receipt{Known: true, Code: code, Error: text}
	}
	i := slices.IndexFunc(r.Reasons, func(f forbidden) bool { return f.User == user && f.Code != "" })
	switch {
	case i >= 0:
		return withheld(string(r.Reasons[i].Code))
	case slices.Contains(r.Forbidden, user):
		return withheld(codeForbidden)
	case slices.Contains(r.Invalid, user):
		return withheld(codeInvalid)
	case slices.Contains(r.Failed, user):
		return withheld(codeFailed)
	case slices.Contains(r.Read, user), slices.Contains(r.Unread, user):
		return channel.Receipt{Known: true, Delivered: true}
	}
	return channel.Receipt{}
}
