package simulator

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// tianyuanCodes are the numbers of our fake 天元, which says everything inside a 200.
var tianyuanCodes = map[Code]int{
	UnknownUser: 1001, RefusedContent: 1002, Malformed: 1003, TooFast: 2001, Busy: 5000,
}

func readTianyuan(_ *http.Request, body []byte) (order, *refusal) {
	var in struct {
		ToUser  string `json:"touser"`
		Title   string `json:"title"`
		Content string `json:"content"`
		MsgID   string `json:"msgId"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return order{}, malformed("the body is not the JSON this interface reads: %v", err)
	}
	if in.ToUser == "" {
		return order{}, malformed("touser is missing")
	}
	if in.Content == "" {
		return order{}, malformed("content is missing")
	}
	return order{messages: []message{{user: in.ToUser, title: in.Title, text: in.Content, key: in.MsgID}}}, nil
}

func answerTianyuan(results []result) reply {
	ref := results[0].refusal
	if ref == nil {
		return inJSON(`{"code":0,"msg":"ok","data":{"messageId":"` + results[0].id + `"}}`)
	}
	wait := ""
	if ref.wait > 0 {
		wait = fmt.Sprintf(`,"retryAfter":%d`, ref.wait)
	}
	return inJSON(fmt.Sprintf(`{"code":%d,"msg":%s%s}`, tianyuanCodes[ref.code], quote(ref.text), wait))
}
