package server_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/wire"
)

// formCase is one request of a sender, in which T stands for the token.
type formCase struct {
	name, kind   string
	method, path string // behind /in/KIND
	body         string
	headers      []string
	status       int
	says         string // in the answer
	title, text  string // of the message; none where both are empty
	priority     posthouse.Priority
}

var formCases = []formCase{
	{name: "a text", kind: "dingtalk", method: "POST", path: "/robot/send?access_token=T", body: `{"msgtype":"text","text":{"content":"disk full"},"at":{"isAtAll":true}}`, status: 200, says: `{"errcode":0,"errmsg":"ok"}`, text: "disk full"},
	{name: "markdown", kind: "dingtalk", method: "POST", path: "/robot/send?access_token=T", body: `{"msgtype":"markdown","markdown":{"title":"Disk","text":"**full**"}}`, status: 200, says: `"errcode":0`, title: "Disk", text: "**full**"},
	{name: "a card", kind: "dingtalk", method: "POST", path: "/robot/send?access_token=T", body: `{"msgtype":"actionCard","actionCard":{"title":"Disk","text":"full","btns":[{"title":"Open","actionURL":"https://a.example"}]}}`, status: 200, says: `"errcode":0`, title: "Disk", text: "full\nOpen: https://a.example"},
	{name: "links", kind: "dingtalk", method: "POST", path: "/robot/send?access_token=T", body: `{"msgtype":"feedCard","feedCard":{"links":[{"title":"one","messageURL":"https://a.example"}]}}`, status: 200, says: `"errcode":0`, text: "one: https://a.example\n"},
	{name: "no such type", kind: "dingtalk", method: "POST", path: "/robot/send?access_token=T", body: `{"msgtype":"picture"}`, status: 200, says: `"errcode":40035`},
	{name: "no such robot", kind: "dingtalk", method: "POST", path: "/robot/send?access_token=x", body: `{}`, status: 200, says: `{"errcode":300005,"errmsg":"token is not exist"}`},
	{name: "a text", kind: "wecom", method: "POST", path: "/cgi-bin/webhook/send?key=T", body: `{"msgtype":"text","text":{"content":"disk full"}}`, status: 200, says: `{"errcode":0,"errmsg":"ok"}`, text: "disk full"},
	{name: "news", kind: "wecom", method: "POST", path: "/cgi-bin/webhook/send?key=T", body: `{"msgtype":"news","news":{"articles":[{"title":"Disk","description":"full","url":"https://a.example"}]}}`, status: 200, says: `"errcode":0`, title: "Disk", text: "Disk\nfull\nhttps://a.example"},
	{name: "a picture", kind: "wecom", method: "POST", path: "/cgi-bin/webhook/send?key=T", body: `{"msgtype":"image"}`, status: 200, says: `"errcode":40058`},
	{name: "no such robot", kind: "wecom", method: "POST", path: "/cgi-bin/webhook/send?key=x", body: `{}`, status: 200, says: `"errcode":93000`},
	{name: "a text", kind: "wecom-app", method: "POST", path: "/cgi-bin/message/send?access_token=T", body: `{"touser":"li.na|wang.fang","msgtype":"text","agentid":1000002,"text":{"content":"disk full"}}`, status: 200, says: `"msgid":"0`, text: "disk full"},
	{name: "a token", kind: "wecom-app", method: "GET", path: "/cgi-bin/gettoken?corpid=ww1&corpsecret=T", status: 200, says: `"expires_in":7200`},
	{name: "a card", kind: "wecom-app", method: "POST", path: "/cgi-bin/message/send?access_token=T", body: `{"touser":"@all","msgtype":"textcard","agentid":"1","textcard":{"title":"Disk","description":"full","url":"https://a.example"}}`, status: 200, says: `"errmsg":"ok"`, title: "Disk", text: "full\nhttps://a.example"},
	{name: "a wrong secret", kind: "wecom-app", method: "GET", path: "/cgi-bin/gettoken?corpid=ww1&corpsecret=x", status: 200, says: `"errcode":40001`},
	{name: "no such token", kind: "wecom-app", method: "POST", path: "/cgi-bin/message/send?access_token=x", body: `{}`, status: 200, says: `"errcode":40014`},
	{name: "another interface", kind: "wecom-app", method: "POST", path: "/cgi-bin/user/get?access_token=T", body: `{}`, status: 200, says: `"errcode":40058`},
	{name: "a text", kind: "feishu", method: "POST", path: "/open-apis/bot/v2/hook/T", body: `{"msg_type":"text","content":{"text":"disk full"}}`, status: 200, says: `"StatusCode":0`, text: "disk full"},
	{name: "a post", kind: "feishu", method: "POST", path: "/open-apis/bot/v2/hook/T", body: `{"msg_type":"post","content":{"post":{"zh_cn":{"title":"Disk","content":[[{"tag":"text","text":"full "},{"tag":"a","text":"open","href":"https://a.example"}]]}}}}`, status: 200, says: `"code":0`, title: "Disk", text: "full open https://a.example"},
	{name: "a card", kind: "feishu", method: "POST", path: "/open-apis/bot/v2/hook/T", body: `{"msg_type":"interactive","card":{"header":{"title":{"content":"Disk"}},"elements":[{"tag":"div","text":{"tag":"lark_md","content":"full"}},{"tag":"markdown","content":"now"}]}}`, status: 200, says: `"code":0`, title: "Disk", text: "full\n\nnow"},
	{name: "no such robot", kind: "feishu", method: "POST", path: "/open-apis/bot/v2/hook/x", body: `{}`, status: 200, says: `"code":19001`},
	{name: "a form", kind: "gotify", method: "POST", path: "/message?token=T", body: "title=Disk&message=full&priority=8", headers: []string{"Content-Type", "application/x-www-form-urlencoded"}, status: 200, says: `"appid":1,"date":`, title: "Disk", text: "full", priority: posthouse.High},
	{name: "JSON", kind: "gotify", method: "POST", path: "/message", body: `{"title":"Disk","message":"full","priority":2}`, headers: []string{"X-Gotify-Key", "T"}, status: 200, says: `"priority":2`, title: "Disk", text: "full", priority: posthouse.Low},
	{name: "no message", kind: "gotify", method: "POST", path: "/message?token=T", body: `{}`, status: 400, says: `"errorCode":400`},
	{name: "no token", kind: "gotify", method: "POST", path: "/message", body: `{"message":"full"}`, status: 401, says: `{"error":"Unauthorized","errorCode":401,"errorDescription":`},
	{name: "headers", kind: "ntfy", method: "POST", path: "/disks", body: "full", headers: []string{"Authorization", "Bearer T", "X-Title", "=?utf-8?q?Platte?=", "Priority", "urgent"}, status: 200, says: `"event":"message"`, title: "Platte", text: "full", priority: posthouse.High},
	{name: "JSON", kind: "ntfy", method: "POST", path: "/", body: `{"topic":"disks","message":"full","title":"Disk","priority":1}`, headers: []string{"Authorization", "Bearer T"}, status: 200, says: `"time":`, title: "Disk", text: "full", priority: posthouse.Low},
	{name: "too long", kind: "ntfy", method: "PUT", path: "/disks", body: strings.Repeat("x", 5000), headers: []string{"Authorization", "Bearer T"}, status: 413, says: `"http":413`},
	{name: "no token", kind: "ntfy", method: "PUT", path: "/disks", body: "full", status: 401, says: `"code":40101`},
	{name: "no such delay", kind: "ntfy", method: "PUT", path: "/disks?delay=tomorrow", body: "full", headers: []string{"Authorization", "Bearer T"}, status: 400, says: `"code":40001`},
	{name: "a path", kind: "bark", method: "GET", path: "/T/Disk/full?level=timeSensitive", status: 200, says: `"code":200,"message":"success"`, title: "Disk", text: "full", priority: posthouse.High},
	{name: "an escaped path", kind: "bark", method: "GET", path: "/T/Disk/a%2Fb", status: 200, says: `"code":200`, title: "Disk", text: "a/b"},
	{name: "JSON", kind: "bark", method: "POST", path: "/push", body: `{"device_key":"T","title":"Disk","body":"full","level":"passive"}`, status: 200, says: `"code":200`, title: "Disk", text: "full", priority: posthouse.Low},
	{name: "no such key", kind: "bark", method: "GET", path: "/x/full", status: 400, says: "failed to get device token"},
	{name: "a form", kind: "serverchan", method: "POST", path: "/T.send", body: "title=Disk&desp=full", headers: []string{"Content-Type", "application/x-www-form-urlencoded"}, status: 200, says: `"errno":0`, title: "Disk", text: "full"},
	{name: "a key of the newer form", kind: "serverchan", method: "GET", path: "/sctp123tT.send?title=Disk", status: 200, says: `"code":0`, title: "Disk", text: "Disk"},
	{name: "the old name", kind: "serverchan", method: "GET", path: "/T.send?text=Disk", status: 200, says: `"code":0`, title: "Disk", text: "Disk"},
	{name: "no such key", kind: "serverchan", method: "GET", path: "/x.send?text=Disk", status: 401, says: `"code":40001`},
	{name: "JSON", kind: "message-pusher", method: "POST", path: "/push/root", body: `{"title":"Disk","content":"full","token":"T"}`, status: 200, says: `"success":true`, title: "Disk", text: "full"},
	{name: "a query", kind: "message-pusher", method: "GET", path: "/push/root?title=Disk&description=full&token=T", status: 200, says: `"uuid":"0`, title: "Disk", text: "full"},
	{name: "no token", kind: "message-pusher", method: "GET", path: "/push/root?title=Disk", status: 401, says: `"success":false`},
	{name: "what Apprise posts", kind: "json", method: "POST", path: "/T", body: `{"version":"1.0","title":"Disk","message":"full","type":"failure","attachments":[]}`, status: 200, says: `{"messages":["0`, title: "Disk", text: "full", priority: posthouse.High},
	{name: "what GitLab posts", kind: "json", method: "POST", path: "/T", body: `{"object_kind":"pipeline","project":{"name":"shop"},"object_attributes":{"status":"success","detailed_status":"passed"}}`, status: 200, says: `{"messages":["0`, title: "shop", text: "passed", priority: posthouse.Low},
	{name: "nothing to tell", kind: "json", method: "POST", path: "/T", body: `{"a":1}`, status: 400, says: `{"error":"the expressions make neither a title nor a text`},
	{name: "no JSON", kind: "json", method: "POST", path: "/T", body: `x=1`, status: 400, says: `{"error":"the body is no JSON object"}`},
	{name: "no token", kind: "json", method: "POST", path: "/x", body: `{"text":"full"}`, status: 401, says: `{"error":`},
	{name: "JSON", kind: "pushplus", method: "POST", path: "/send", body: `{"token":"T","title":"Disk","content":"<b>full</b><br>now"}`, status: 200, says: `"code":200`, title: "Disk", text: "full\nnow"},
	{name: "too late", kind: "pushplus", method: "POST", path: "/send", body: `{"token":"T","title":"Disk","content":"full","timestamp":1000}`, status: 200, says: `"code":200`},
	{name: "a text", kind: "smsgate", method: "POST", path: "/3rdparty/v1/messages", body: `{"id":"a-1","textMessage":{"text":"full"},"phoneNumbers":["13800138000"],"priority":100,"simNumber":2}`, headers: []string{"Authorization", "Bearer T"}, status: 202, says: `{"id":"a-1","deviceId":"posthouse","state":"Pending","isHashed":false,"isEncrypted":false,"recipients":[{"phoneNumber":"13800138000","state":"Pending"}],"states":{"Pending":"`, text: "full", priority: posthouse.High},
	{name: "the old name", kind: "smsgate", method: "POST", path: "/T/message", body: `{"message":"full","phoneNumbers":["13800138000"],"priority":-1,"ttl":60}`, status: 202, says: `"state":"Pending"`, text: "full", priority: posthouse.Low},
	{name: "no token", kind: "smsgate", method: "POST", path: "/3rdparty/v1/messages", body: `{}`, status: 401, says: `{"message":"Unauthorized"}`},
	{name: "another interface", kind: "smsgate", method: "GET", path: "/T/devices", status: 404, says: `{"message":"there is no GET devices here`},
	{name: "no text", kind: "smsgate", method: "POST", path: "/T/messages", body: `{"phoneNumbers":["13800138000"]}`, status: 400, says: `{"message":"textMessage.text is required"}`},
	{name: "no token", kind: "pushplus", method: "POST", path: "/send", body: `{"token":"x","content":"full"}`, status: 200, says: `"code":903`},
}

// Each form is read, becomes a message and is answered as its sender wants it.
func TestEachFormIsReadAndAnswered(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.SQLite(t))
	tokens := map[string]string{}
	for _, c := range formCases {
		name := c.kind + ", " + c.name
		if tokens[c.kind] == "" {
			tokens[c.kind] = h.front(c.kind).Token
		}
		fill := func(text string) string {
			for _, at := range []string{"=T", "/T", "\"T\"", " T", "3tT"} {
				text = strings.ReplaceAll(text, at, strings.Replace(at, "T", tokens[c.kind], 1))
			}
			if text == "T" {
				return tokens[c.kind]
			}
			return text
		}
		headers := make([]string, len(c.headers))
		for i := range c.headers {
			headers[i] = fill(c.headers[i])
		}
		before := len(h.lastMessages())
		status, said := h.knock(c.method, "/in/"+c.kind+fill(c.path), fill(c.body), headers...)
		if status != c.status || !strings.Contains(said, c.says) || !json.Valid([]byte(said)) {
			t.Errorf("%s: got %d %s, want %d %s", name, status, said, c.status, c.says)
		}
		list := h.lastMessages()
		if c.title+c.text == "" {
			if len(list) != before {
				t.Errorf("%s: it became a message", name)
			}
			continue
		}
		if len(list) != before+1 {
			t.Fatalf("%s: %d messages became %d", name, before, len(list))
		}
		priority := posthouse.Normal
		if c.priority != "" {
			priority = c.priority
		}
		if m := list[0]; m.Content.Title != c.title || m.Content.Text != c.text || m.Priority != priority || m.Kind != c.kind {
			t.Errorf("%s: the message is %q, %q of priority %s and kind %s", name, m.Content.Title, m.Content.Text, m.Priority, m.Kind)
		}
	}
}

// What cannot be committed is answered with 503 in each form, so that no sender takes it for done.
func TestEachFormSaysWhatCannotBeCommitted(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.SQLite(t))
	made := map[string]string{}
	for _, c := range formCases {
		if made[c.kind] == "" {
			made[c.kind] = h.front(c.kind, func(in *wire.PutFront) { in.To = []posthouse.Recipient{{Roster: "nobody"}} }).Token
		}
	}
	done := map[string]bool{}
	for _, c := range formCases {
		if done[c.kind] || len(c.headers) > 0 && c.headers[0] == "X-Gotify-Key" {
			continue
		}
		done[c.kind] = true
		fill := strings.NewReplacer("=T", "="+made[c.kind], "/T", "/"+made[c.kind], `"T"`, `"`+made[c.kind]+`"`, " T", " "+made[c.kind])
		var headers []string
		for _, one := range c.headers {
			headers = append(headers, fill.Replace(one))
		}
		if status, said := h.knock(c.method, "/in/"+c.kind+fill.Replace(c.path), fill.Replace(c.body), headers...); status != 503 || !strings.Contains(said, "there is no roster") {
			t.Errorf("%s: got %d %s, want 503", c.kind, status, said)
		}
	}
}

// Robots can sign: the secret is the token.
func TestRobotsSign(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.SQLite(t))
	signed := func(in *wire.PutFront) { in.Signed = true }
	ding, lark := h.front("dingtalk", signed), h.front("feishu", signed)
	sum := func(key, text string) string {
		mac := hmac.New(sha256.New, []byte(key))
		mac.Write([]byte(text))
		return base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}
	now := time.Now()
	at := fmt.Sprint(now.UnixMilli())
	for sign, want := range map[string]string{sum(ding.Token, at+"\n"+ding.Token): `"errcode":0`, sum("x", at+"\nx"): `"errcode":310000`, "": `"errcode":310000`} {
		if _, said := h.knock("POST", "/in/dingtalk/robot/send?access_token="+ding.Token+"&timestamp="+at+"&sign="+url.QueryEscape(sign), `{"msgtype":"text","text":{"content":"x"}}`); !strings.Contains(said, want) {
			t.Errorf("DingTalk: %s, want %s", said, want)
		}
	}
	at = fmt.Sprint(now.Unix())
	for sign, want := range map[string]string{sum(at+"\n"+lark.Token, ""): `"code":0`, "wrong": `"code":19021`} {
		if _, said := h.knock("POST", "/in/feishu/"+lark.Token, `{"msg_type":"text","content":{"text":"x"},"timestamp":"`+at+`","sign":"`+sign+`"}`); !strings.Contains(said, want) {
			t.Errorf("Feishu: %s, want %s", said, want)
		}
	}
}

// A front for any JSON makes what its expressions say, and refuses those that would loop or make nothing.
func TestExpressionsMakeAMessage(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.SQLite(t))
	token := h.front("json", func(f *wire.PutFront) {
		f.Expressions = map[string]string{
			"when": `build.phase == "FINALIZED"`, "title": `name + " #" + string(build.number)`, "text": `build.status + ": " + build.full_url`,
			"severity": "build.status", "key": `name + string(build.number)`, "label.job": "upper(name)", "markdown": `"**" + build.status + "**"`,
		}
	}).Token
	post := func(phase string) (int, string) {
		return h.knock("POST", "/in/json/"+token, `{"name":"shop","build":{"number":7,"phase":"`+phase+`","status":"FAILURE","full_url":"https://ci.example/7"}}`)
	}
	before := len(h.lastMessages())
	if status, said := post("STARTED"); status != 200 || said != `{"messages":[]}` {
		t.Errorf("what is not to be told: %d %s", status, said)
	}
	for range 2 { // a sender that comes again
		if status, said := post("FINALIZED"); status != 200 || !strings.Contains(said, `{"messages":["0`) {
			t.Errorf("got %d %s", status, said)
		}
	}
	list := h.lastMessages()
	if len(list) != before+1 || list[0].Content.Title != "shop #7" || !strings.Contains(list[0].Content.Text, "FAILURE") || list[0].Priority != posthouse.High {
		t.Errorf("%d messages more, the last is %+v", len(list)-before, list[0])
	}
	for name, source := range map[string]string{
		"title": `map(1..1000000, # )`, "text": `repeat("x", 1000000)`, "severity": `1..9`, "color": `"x"`, "key": "(", "label.": "name", "ref": `let x = 1; x`, "markdown": strings.Repeat("a+", 1100) + "a",
		"label.a": `toJSON(toJSON(name))`, "label.b": strings.Repeat("name+", 17) + "name",
	} {
		in := wire.PutFront{Kind: "json", FrontSettings: posthouse.FrontSettings{Channel: "out", To: []posthouse.Recipient{{User: "u1"}}, Expressions: map[string]string{name: source}}}
		if _, err := h.api.Fronts.Put(t.Context(), "bad", in); posthouse.CodeOf(err) != posthouse.CodeInvalid {
			t.Errorf("%s = %.40s: %v", name, source, err)
		}
	}
}

// A file that is uploaded is the file of a later message, where its channel sends files.
func TestAFileIsUploadedAndSent(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.SQLite(t))
	h.put(posthouse.Channel{Name: "group", Driver: "wecom_robot", Config: map[string]any{"url": h.sim.URL() + "/wecom_robot/cgi-bin/webhook/send", "key": "a-key"}})
	for kind, at := range map[string][2]string{
		"wecom":     {"/cgi-bin/webhook/upload_media?type=file&key=", "/cgi-bin/webhook/send?key="},
		"wecom-app": {"/cgi-bin/media/upload?type=file&access_token=", "/cgi-bin/message/send?access_token="},
	} {
		token := h.front(kind, func(in *wire.PutFront) { in.Channel = "group" }).Token
		form := "--b\r\nContent-Disposition: form-data; name=\"media\"; filename=\"report.txt\"\r\nContent-Type: text/plain\r\n\r\nall is well, says " + kind + "\r\n--b--\r\n"
		status, said := h.knock("POST", "/in/"+kind+at[0]+token, form, "Content-Type", "multipart/form-data; boundary=b")
		var up struct {
			Code  int    `json:"errcode"`
			Type  string `json:"type"`
			Media string `json:"media_id"`
		}
		h.must(json.Unmarshal([]byte(said), &up))
		if status != 200 || up.Code != 0 || up.Media == "" || up.Type != "file" {
			t.Fatalf("%s: the upload is answered %d %s", kind, status, said)
		}
		before := len(h.lastMessages())
		status, said = h.knock("POST", "/in/"+kind+at[1]+token, `{"msgtype":"file","file":{"media_id":"`+up.Media+`"}}`)
		list := h.lastMessages()
		if status != 200 || !strings.Contains(said, `"errcode":0`) || len(list) != before+1 || list[0].Content.Type != posthouse.FileContent || !strings.HasPrefix(up.Media, list[0].Content.Media[0].Upload+".") {
			t.Fatalf("%s: the message is answered %d %s and is %+v", kind, status, said, list[0].Content)
		}
		status, said = h.knock("POST", "/in/"+kind+at[1]+token, `{"msgtype":"file","file":{"media_id":"`+list[0].Content.Media[0].Upload+`"}}`) // as another caller of the tenant knows it
		list = h.lastMessages()
		if status != 200 || len(list) != before+2 || list[0].Content.Kind() != posthouse.TextContent || !strings.Contains(list[0].Content.Text, "[file]") {
			t.Errorf("%s: a file that is not there: %d %s and %+v", kind, status, said, list[0].Content)
		}
		if status, said = h.knock("POST", "/in/"+kind+at[0]+token, "no form", "Content-Type", "text/plain"); status != 200 || !strings.Contains(said, `"errcode":40058`) {
			t.Errorf("%s: no form: %d %s", kind, status, said)
		}
	}
}
