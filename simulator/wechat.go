package simulator

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// wechatPerDay is how many template messages an account sends a day, which begins at midnight in China.
const wechatPerDay = 100_000

// wechatCodes are WeChat's codes.
var wechatCodes = map[Code]string{
	UnknownUser: "40003", RefusedContent: "47003", Malformed: "47001", TooFast: "45009", Busy: "-1", Unauthorized: "40014",
}

// wechatCall is a call.
type wechatCall struct {
	To       string                     `json:"touser"`
	Template string                     `json:"template_id"`
	ID       string                     `json:"client_msg_id"`
	Data     map[string]json.RawMessage `json:"data"`
}

// accounts are WeChat's official accounts: any app id is one.
type accounts struct {
	tokens tokens

	mu   sync.Mutex
	day  string         // for which sent counts
	sent map[string]int // by app id
}

func wechatTemplate(back *caller) provider {
	p := wechat(provider{
		name: "wechat", title: "WeChat template message", titleZH: "微信模板消息", path: "/wechat/cgi-bin/message/template/send", prefix: "wx",
	})
	p.more.back, p.more.taken = back, func(arrivals []Arrival) {
		for i := range arrivals {
			if a := &arrivals[i]; a.taken() {
				for _, after := range receiptsOf(a.User) {
					back.tellAfter(after, finished(a))
				}
			}
		}
	}
	return p
}

// finished is the event that tells what became of a message: user-block and system-failed are the names of those who do not
// get it.
func finished(a *Arrival) string {
	status := "success"
	for name, why := range map[string]string{"user-block": "failed:user block", "system-failed": "failed: system failed"} {
		if strings.HasPrefix(a.User, name) {
			status = why
		}
	}
	return fmt.Sprintf("<xml><ToUserName><![CDATA[us]]></ToUserName><FromUserName><![CDATA[%s]]></FromUserName><CreateTime>%d</CreateTime>"+
		"<MsgType><![CDATA[event]]></MsgType><Event><![CDATA[TEMPLATESENDJOBFINISH]]></Event><MsgID>%s</MsgID><Status><![CDATA[%s]]></Status></xml>",
		a.User, a.At.Unix(), a.ID, status)
}

// receiptLate is how late the event comes of those whose name asks for that.
const receiptLate = 10 * time.Second

// receiptsOf is after which waits the event comes that tells what became of a message: at once, but for receipt-late, twice for
// receipt-twice, and never for receipt-never.
func receiptsOf(user string) []time.Duration {
	switch {
	case strings.HasPrefix(user, "receipt-late"):
		return []time.Duration{receiptLate}
	case strings.HasPrefix(user, "receipt-twice"):
		return []time.Duration{0, time.Second}
	case strings.HasPrefix(user, "receipt-never"):
		return nil
	}
	return []time.Duration{0}
}

// wechatSubscribe are subscription notices, which know no client_msg_id.
func wechatSubscribe() provider {
	return wechat(provider{
		name: "wechat_subscribe", title: "WeChat subscription notice", titleZH: "微信订阅通知", path: "/wechat_subscribe/cgi-bin/message/subscribe/bizsend",
		prefix: "ws",
	})
}

func wechat(p provider) provider {
	a := new(accounts)
	a.forget()
	p.read, p.status, p.answer = a.read, always200, answerWechat
	p.more = &more{settle: wholly, forget: a.forget, paths: map[string]http.HandlerFunc{
		"POST /" + p.name + "/cgi-bin/stable_token":                     a.giveToken,
		"GET /" + p.name + "/cgi-bin/user/get":                          a.listFollowers,
		"GET /" + p.name + "/cgi-bin/template/get_all_private_template": a.listTemplates("template_list", "template_id"),
		"GET /" + p.name + "/wxaapi/newtmpl/gettemplate":                a.listTemplates("data", "priTmplId"),
		"DELETE /" + p.name + "/tokens":                                 a.tokens.drop,
	}}
	return p
}

func (s *accounts) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.day, s.sent = "", map[string]int{}
}

func (s *accounts) giveToken(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Grant  string `json:"grant_type"`
		App    string `json:"appid"`
		Secret string `json:"secret"`
	}
	body, err := readBody(w, r)
	switch {
	case err != nil:
		writeError(w, err)
	case json.Unmarshal(body, &in) != nil || in.Grant != "client_credential":
		errorLine("40002", "invalid grant_type").send(w, http.StatusOK)
	case in.App == "" || strings.HasPrefix(in.App, "wrong"):
		errorLine("40013", "invalid appid").send(w, http.StatusOK)
	case wrongSecret(in.Secret):
		errorLine("40125", "invalid appsecret").send(w, http.StatusOK)
	default:
		inJSON(fmt.Sprintf(`{"access_token":%q,"expires_in":%d}`, s.tokens.give(in.App), int(tokenLasts.Seconds()))).send(w, http.StatusOK)
	}
}

func (s *accounts) read(r *http.Request, body []byte) (order, *refusal) {
	now := time.Now()
	app, ref := s.tokens.whose(r, now)
	if ref != nil {
		return order{}, ref
	}
	var in wechatCall
	if err := json.Unmarshal(body, &in); err != nil {
		return order{}, malformed("the body is not the JSON this interface reads: %v", err)
	}
	switch {
	case in.To == "":
		return order{}, strange("40003", "invalid openid")
	case in.Template == "" || strings.HasPrefix(in.Template, "wrong"):
		return order{}, strange("40037", "invalid template_id")
	}
	ord := order{idempotent: in.ID != "", messages: []message{{user: in.To, title: in.Template, text: in.words(), key: in.ID}}}
	if s.over(app, now) {
		ord.violated, ord.refusals = true, allRefused(1, TooFast, "", "reach max api daily quota limit")
	}
	return ord, nil
}

// over counts a message of an account, and reports whether the quota of its day is used up.
func (s *accounts) over(app string, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if day := now.In(beijing).Format(time.DateOnly); day != s.day {
		s.day, s.sent = day, map[string]int{}
	}
	if s.sent[app] >= wechatPerDay {
		return true
	}
	s.sent[app]++
	return false
}

// words are the parameters, in the order of their names.
func (c *wechatCall) words() string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(c.Data)) {
		var v struct {
			Value string `json:"value"`
		}
		if json.Unmarshal(c.Data[name], &v) == nil {
			lines = append(lines, name+": "+v.Value)
		}
	}
	return strings.Join(lines, "\n")
}

func answerWechat(results []result) reply {
	if ref := results[0].refusal; ref != nil {
		return errorLine(ownCode(ref, wechatCodes), ref.text)
	}
	return inJSON(`{"errcode":0,"errmsg":"ok","msgid":` + quote(results[0].id) + `}`)
}
