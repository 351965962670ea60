package simulator

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// feishuTogether is how many people one call of Feishu's batch interface reaches.
const feishuTogether = 200

// feishuBatch begins the ids of calls of the batch interface.
const feishuBatch = "bm-"

// feishuCodes are Feishu's.
var feishuCodes = map[Code]string{
	UnknownUser: "230001", RefusedContent: "230028", Malformed: "9499", TooFast: "99991400", Busy: "1500", Unauthorized: "99991663",
}

// lark is Feishu: any app id has one token.
type lark struct {
	tokens  tokens
	recalls recalls
}

func feishu(back *caller) provider {
	l := new(lark)
	l.recalls.forget()
	return provider{
		name: "feishu", title: "Feishu application", titleZH: "飞书应用消息", path: "/feishu/open-apis/", prefix: "om",
		read: l.read, status: feishuStatus, answer: answerFeishu,
		more: &more{settle: func([]*refusal) {}, forget: l.recalls.forget, back: back, taken: l.recalls.taken, hosts: []string{"open.feishu.cn", "open.larksuite.com"}, paths: map[string]http.HandlerFunc{
			"POST /feishu/open-apis/auth/v3/tenant_access_token/internal":            l.giveToken,
			"POST open.feishu.cn/open-apis/auth/v3/tenant_access_token/internal":     l.giveToken,
			"POST open.larksuite.com/open-apis/auth/v3/tenant_access_token/internal": l.giveToken,
			"POST /feishu/open-apis/im/v1/images":                                    l.keep("image", "image_key", "img_"), "POST /feishu/open-apis/im/v1/files": l.keep("file", "file_key", "file_"),
			"DELETE /feishu/open-apis/im/v1/messages/{id}": l.recall, "DELETE /feishu/open-apis/im/v1/batch_messages/{id}": l.recall,
			"DELETE open.feishu.cn/open-apis/im/v1/messages/{id}": l.recall, "DELETE open.feishu.cn/open-apis/im/v1/batch_messages/{id}": l.recall,
			"DELETE open.larksuite.com/open-apis/im/v1/messages/{id}": l.recall, "DELETE open.larksuite.com/open-apis/im/v1/batch_messages/{id}": l.recall,
			"DELETE /feishu/tokens": l.tokens.drop,
		}},
	}
}

func (l *lark) giveToken(w http.ResponseWriter, r *http.Request) {
	var in struct {
		App    string `json:"app_id"`
		Secret string `json:"app_secret"`
	}
	body, err := readBody(w, r)
	switch {
	case err != nil:
		writeError(w, err)
	case json.Unmarshal(body, &in) != nil || in.App == "" || strings.HasPrefix(in.App, "wrong"):
		inJSON(`{"code":10003,"msg":"invalid param"}`).send(w, http.StatusOK)
	case wrongSecret(in.Secret):
		inJSON(`{"code":10014,"msg":"app secret invalid"}`).send(w, http.StatusOK)
	default:
		inJSON(fmt.Sprintf(`{"code":0,"msg":"ok","tenant_access_token":%q,"expire":%d}`, l.tokens.give(in.App), int(tokenLasts/time.Second))).send(w, http.StatusOK)
	}
}

// keep takes a file, and gives it a key by what it is.
func (l *lark) keep(part, name, prefix string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, 32<<20)
		file, _, err := r.FormFile(part)
		switch {
		case !l.tokens.has(bearer(r)):
			inJSON(`{"code":99991663,"msg":"Invalid access token for authorization."}`).send(w, http.StatusBadRequest)
			return
		case err != nil:
			inJSON(`{"code":234001,"msg":"Invalid request param."}`).send(w, http.StatusBadRequest)
			return
		}
		defer file.Close()
		sum := sha256.New()
		if _, err := io.Copy(sum, file); err != nil {
			writeError(w, err)
			return
		}
		inJSON(fmt.Sprintf(`{"code":0,"msg":"success","data":{%q:"%s%x"}}`, name, prefix, sum.Sum(nil)[:12])).send(w, http.StatusOK)
	}
}

func (l *lark) read(r *http.Request, body []byte) (order, *refusal) {
	if !l.tokens.has(bearer(r)) {
		return order{}, &refusal{code: Unauthorized, text: "Invalid access token for authorization."}
	}
	switch {
	case strings.HasSuffix(r.URL.Path, "/im/v1/messages"):
		return readFeishuOne(r, body)
	case strings.HasSuffix(r.URL.Path, "/message/v4/batch_send/"):
		return readFeishuMany(r, body)
	}
	return order{}, malformed("there is no interface %s", r.URL.Path)
}

func readFeishuOne(r *http.Request, body []byte) (order, *refusal) {
	var in struct {
		To      string `json:"receive_id"`
		Kind    string `json:"msg_type"`
		Content string `json:"content"`
		UUID    string `json:"uuid"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return order{}, malformed("the body is not the JSON this interface reads: %v", err)
	}
	text, ref := feishuText(in.Kind, json.RawMessage(in.Content))
	switch kind := r.URL.Query().Get("receive_id_type"); {
	case ref != nil:
		return order{}, ref
	case in.To == "" || kind == "":
		return order{}, strange("230001", "invalid receive_id")
	case len(in.UUID) > 50:
		return order{}, strange("230001", "uuid has more than 50 characters")
	}
	return order{idempotent: in.UUID != "", messages: []message{{user: in.To, text: text, key: in.UUID}}}, nil
}

func readFeishuMany(r *http.Request, body []byte) (order, *refusal) {
	var in struct {
		Kind    string          `json:"msg_type"`
		Content json.RawMessage `json:"content"`
		Card    json.RawMessage `json:"card"`
		Open    []string        `json:"open_ids"`
		User    []string        `json:"user_ids"`
		Union   []string        `json:"union_ids"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return order{}, malformed("the body is not the JSON this interface reads: %v", err)
	}
	of := in.Content
	if in.Kind == "interactive" {
		of = in.Card
	}
	text, ref := feishuText(in.Kind, of)
	if ref != nil {
		return order{}, ref
	}
	ord := order{together: true}
	for _, list := range [][]string{in.Open, in.User, in.Union} {
		if len(list) > feishuTogether {
			return order{}, malformed("a list has %d people, at most %d are allowed", len(list), feishuTogether)
		}
		for _, id := range list {
			ord.messages = append(ord.messages, message{user: id, text: text})
		}
	}
	if len(ord.messages) == 0 {
		return order{}, malformed("nobody is named")
	}
	return ord, nil
}

// feishuText is what a message says: of a card, all of it.
func feishuText(kind string, content json.RawMessage) (string, *refusal) {
	var text struct{ Text string }
	if err := json.Unmarshal(content, &text); err != nil {
		return "", malformed("content is no JSON of type %q", kind)
	}
	switch kind {
	case "text":
		if text.Text == "" {
			return "", malformed("content.text is missing")
		}
		return text.Text, nil
	case "interactive", "image", "file":
		return string(content), nil
	}
	return "", malformed("msg_type %q is not known", kind)
}

func feishuStatus(code Code) int {
	switch code {
	case "":
		return http.StatusOK
	case TooFast:
		return http.StatusTooManyRequests
	case Busy:
		return http.StatusServiceUnavailable
	}
	return http.StatusBadRequest
}

func answerFeishu(results []result) reply {
	var unknown []string
	for _, r := range results {
		switch {
		case r.refusal == nil:
		case r.refusal.code == UnknownUser && len(results) > 1:
			unknown = append(unknown, r.user)
		default:
			out := inJSON(`{"code":` + ownCode(r.refusal, feishuCodes) + `,"msg":` + quote(feishuWords(r.refusal)) + `}`)
			if r.refusal.wait > 0 {
				out.header = map[string]string{"X-Ogw-Ratelimit-Reset": fmt.Sprint(r.refusal.wait)}
			}
			return out
		}
	}
	id := idOf(results)
	if len(results) > 1 {
		id = feishuBatch + id
	}
	data := map[string]any{"message_id": id}
	if len(unknown) > 0 {
		data["invalid_open_ids"], data["invalid_user_ids"], data["invalid_union_ids"] = unknown, unknown, unknown
	}
	return inJSON(jsonLine(map[string]any{"code": 0, "msg": "success", "data": data}))
}

// feishuWords are Feishu's for a recipient whom it does not know: its code has other meanings.
func feishuWords(ref *refusal) string {
	if ref.code == UnknownUser {
		return "Your request contains an invalid request parameter, ext=invalid receive_id"
	}
	return ref.text
}
