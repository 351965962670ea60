package wecom

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/posthouse/posthouse/internal/inbound"
)

// tokenLasts is how long a program goes on with the access token that it was given, in seconds.
const tokenLasts = 7200

// App is the language of programs that send as an application (https://developer.work.weixin.qq.com/document/path/90236): with the
// front's token as the secret of the application, and as the access token that it gets for it.
func App() inbound.Form {
	return inbound.Form{
		Kind: "wecom-app", Paths: []string{"/cgi-bin/message/send", "/cgi-bin/gettoken", "/cgi-bin/media/upload"}, Driver: "wecom", Title: "WeCom application", TitleZH: "企业微信应用", MaxBody: maxBody, Read: readApp, Answer: answerApp, Setup: setupApp,
		Tokens: func(r *inbound.Request) []string {
			query := r.URL.Query()
			return append(query["access_token"], query["corpsecret"]...)
		},
	}
}

// asksToken reports whether a call is for an access token.
func asksToken(r *inbound.Request) bool { return strings.HasSuffix(r.URL.Path, "/gettoken") }

func readApp(r *inbound.Request) ([]inbound.Message, error) {
	switch {
	case asksToken(r):
		return nil, nil
	case strings.HasSuffix(r.URL.Path, "/media/upload"):
		return nil, upload(r)
	case !strings.HasSuffix(r.URL.Path, "/message/send"):
		return nil, errors.New("there are gettoken, message/send and media/upload here")
	}
	var b struct {
		body
		Users   string          `json:"touser"`
		Parties string          `json:"toparty"`
		Tags    string          `json:"totag"`
		Agent   json.RawMessage `json:"agentid"` // a number, or its text
	}
	if err := json.Unmarshal(r.Body, &b); err != nil {
		return nil, errors.New("the body is no JSON of WeCom's")
	}
	list, err := inbound.One(b.message())
	if err == nil {
		list[0].Labels = map[string]string{"touser": b.Users, "toparty": b.Parties, "totag": b.Tags, "agentid": strings.Trim(string(b.Agent), `"`)}
	}
	return list, err
}

func answerApp(w http.ResponseWriter, r *inbound.Request, out inbound.Result) {
	code, text := 40014, "invalid access_token"
	if asksToken(r) {
		code, text = 40001, "invalid credential"
	}
	status, of := ended(out, code, text)
	if out.Status != inbound.Accepted {
		inbound.AnswerJSON(w, status, of)
		return
	}
	switch {
	case asksToken(r):
		inbound.AnswerJSON(w, status, map[string]any{"errcode": 0, "errmsg": "ok", "access_token": r.Token, "expires_in": tokenLasts})
	case r.Kept != "":
		answer(w, r, out)
	default:
		inbound.AnswerJSON(w, status, map[string]any{"errcode": 0, "errmsg": "ok", "msgid": out.ID()})
	}
}

func setupApp(s inbound.Setup) []inbound.Snippet {
	return []inbound.Snippet{
		{Title: "the address of the interface, instead of https://qyapi.weixin.qq.com", Text: s.URL + "\n"},
		{Title: "the secret of the application; any corpid and agentid do", Text: s.Token + "\n"},
		{Title: "a try by hand", Text: fmt.Sprintf("curl -H 'Content-Type: application/json' -d '{\"touser\":\"@all\",\"msgtype\":\"text\",\"agentid\":1,\"text\":{\"content\":\"a try\"}}' '%s/cgi-bin/message/send?access_token=%s'\n", s.URL, s.Token)},
	}
}
