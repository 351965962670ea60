package simulator

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
)

// The rules of applications' messages: what one call may name, how many calls a minute a corporation may make, and how many
// messages a minute and an hour a member gets of one application. What a member gets beyond is dropped without a word.
const (
	wecomUsers     = 1000
	wecomLists     = 100 // departments, and tags
	wecomPerMinute = 10_000
	wecomPerHour   = 150_000
	wecomMember    = 30
	wecomMemberDay = 1000 // an hour

	maxMembers = 100_000 // are remembered
)

// wecomCodes are WeCom's codes for a call that is refused as a whole.
var wecomCodes = map[Code]string{
	UnknownUser: "81013", RefusedContent: "45002", Malformed: "40058", TooFast: "45009", Busy: "-1", Unauthorized: "40014",
}

// wecomCall is a call, to an application or to a robot.
type wecomCall struct {
	Users   string `json:"touser"`
	Parties string `json:"toparty"`
	Tags    string `json:"totag"`
	Agent   int    `json:"agentid"`
	Type    string `json:"msgtype"`

	Text     wecomWords      `json:"text"`
	Markdown wecomWords      `json:"markdown"`
	Image    wecomFile       `json:"image"`
	Voice    wecomFile       `json:"voice"`
	Video    wecomFile       `json:"video"`
	File     wecomFile       `json:"file"`
	Card     wecomCard       `json:"textcard"`
	News     json.RawMessage `json:"news"`
	Template json.RawMessage `json:"template_card"`

	Check int `json:"enable_duplicate_check"`
}

type wecomWords struct {
	Content string   `json:"content"`
	Users   []string `json:"mentioned_list"`
	Phones  []string `json:"mentioned_mobile_list"`
}

type wecomFile struct {
	ID    string `json:"media_id"`
	Bytes string `json:"base64"`
	Sum   string `json:"md5"`
	Title string `json:"title"`
}

type wecomCard struct {
	Title string `json:"title"`
	Text  string `json:"description"`
	URL   string `json:"url"`
}

// applications are those of WeCom's corporations: any corporation and any number is one.
type applications struct {
	recalls recalls
	tokens  tokens // by corporation
	files   files

	mu      sync.Mutex
	minute  *window
	hour    *window
	members recent[string, *memberWindows]
}

// memberWindows are what one member gets.
type memberWindows struct{ minute, hour *window }

func wecomApp(back *caller) provider {
	a := new(applications)
	a.forget()
	return provider{
		name: "wecom", title: "WeCom application", titleZH: "企业微信应用消息", path: "/wecom/cgi-bin/message/send", prefix: "wc",
		read: a.read, status: always200, answer: answerWecom,
		more: &more{settle: settleWecom, forget: a.forget, taken: a.recalls.taken, back: back, paths: map[string]http.HandlerFunc{
			"GET /wecom/cgi-bin/gettoken":      a.giveToken,
			"DELETE /wecom/tokens":             a.tokens.drop,
			"POST /wecom/cgi-bin/media/upload": a.upload, "POST /wecom/cgi-bin/message/recall": a.recall,
		}},
	}
}

func (s *applications) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.minute = newWindow(&Limit{Max: wecomPerMinute, Per: posthouse.Duration(time.Minute)})
	s.hour = newWindow(&Limit{Max: wecomPerHour, Per: posthouse.Duration(time.Hour)})
	s.members = newRecent[string, *memberWindows](maxMembers)
	s.files.forget()
	s.recalls.forget()
}

func (s *applications) giveToken(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	switch {
	case q.Get("corpid") == "" || strings.HasPrefix(q.Get("corpid"), "wrong"):
		errorLine("40013", "invalid corpid").send(w, http.StatusOK)
	case wrongSecret(q.Get("corpsecret")):
		errorLine("40001", "invalid credential").send(w, http.StatusOK)
	default:
		inJSON(fmt.Sprintf(`{"errcode":0,"errmsg":"ok","access_token":%q,"expires_in":%d}`,
			s.tokens.give(q.Get("corpid")), int(tokenLasts.Seconds()))).send(w, http.StatusOK)
	}
}

func (s *applications) upload(w http.ResponseWriter, r *http.Request) {
	if ref := s.tokens.verify(r, time.Now()); ref != nil {
		errorLine(ownCode(ref, wecomCodes), ref.text).send(w, http.StatusOK)
		return
	}
	s.files.take(w, r)
}

func (s *applications) read(r *http.Request, body []byte) (order, *refusal) {
	now := time.Now()
	if ref := s.tokens.verify(r, now); ref != nil {
		return order{}, ref
	}
	var in wecomCall
	if err := json.Unmarshal(body, &in); err != nil {
		return order{}, malformed("the body is not the JSON this interface reads: %v", err)
	}
	to, ref := in.recipients()
	if ref != nil {
		return order{}, ref
	}
	title, text, ref := in.words(&s.files)
	if ref != nil {
		return order{}, ref
	}
	ord := order{account: strconv.Itoa(in.Agent), together: true, idempotent: in.Check == 1, messages: make([]message, len(to))}
	for i, key := range keysOf(r, len(to)) {
		ord.messages[i] = message{user: to[i], title: title, text: text, key: key}
	}
	s.judge(now, &ord)
	return ord, nil
}

// recipients are those of a call: members, then departments, then tags.
func (c *wecomCall) recipients() ([]string, *refusal) {
	users, parties, tags := listed(c.Users, ""), listed(c.Parties, "party:"), listed(c.Tags, "tag:")
	switch {
	case c.Agent == 0:
		return nil, strange("40056", "invalid agentid")
	case len(users)+len(parties)+len(tags) == 0:
		return nil, strange("82001", "touser & toparty & totag are all empty")
	case len(users) > wecomUsers:
		return nil, strange("40058", "touser names %d, at most %d are allowed", len(users), wecomUsers)
	case len(parties) > wecomLists:
		return nil, strange("82002", "toparty names %d, at most %d are allowed", len(parties), wecomLists)
	case len(tags) > wecomLists:
		return nil, strange("82003", "totag names %d, at most %d are allowed", len(tags), wecomLists)
	}
	return append(append(users, parties...), tags...), nil
}

func listed(list, prefix string) []string {
	var out []string
	for one := range strings.SplitSeq(list, "|") {
		if one != "" {
			out = append(out, prefix+one)
		}
	}
	return out
}

// words are the title and the text of a call, or what stands for them.
func (c *wecomCall) words(f *files) (title, text string, ref *refusal) {
	switch c.Type {
	case "text":
		text = c.Text.Content
	case "markdown":
		text = c.Markdown.Content
	case "textcard":
		title, text = c.Card.Title, c.Card.Text
		if c.Card.URL == "" || title == "" {
			return "", "", malformed("the title or the url of the textcard is missing")
		}
	case "news":
		text = string(c.News)
	case "template_card":
		var card wecomTemplate
		if err := json.Unmarshal(c.Template, &card); err == nil && card.asks() && card.Task == "" {
			return "", "", malformed("template_card.task_id is missing")
		}
		text = string(c.Template)
	case "image", "voice", "video", "file":
		return f.words(c.Type, map[string]wecomFile{"image": c.Image, "voice": c.Voice, "video": c.Video, "file": c.File}[c.Type])
	default:
		return "", "", strange("40008", "invalid message type %q", c.Type)
	}
	if text == "" {
		return "", "", strange("44004", "empty content")
	}
	return title, text, nil
}

// judge holds a call against the limits. A corporation that calls too often is refused; what a member gets too much of is
// accepted and dropped.
func (s *applications) judge(now time.Time, ord *order) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.minute.admit(now) > 0 || s.hour.admit(now) > 0 {
		ord.violated, ord.refusals = true, allRefused(len(ord.messages), TooFast, "", "reach max api minute or hour quota limit")
		return
	}
	for i, m := range ord.messages {
		w := s.members.byKey[m.user]
		if w == nil {
			w = &memberWindows{
				newWindow(&Limit{Max: wecomMember, Per: posthouse.Duration(time.Minute)}),
				newWindow(&Limit{Max: wecomMemberDay, Per: posthouse.Duration(time.Hour)}),
			}
			s.members.put(m.user, w)
		}
		if w.minute.admit(now) == 0 && w.hour.admit(now) == 0 {
			continue
		}
		if ord.refusals == nil {
			ord.refusals = make([]*refusal, len(ord.messages))
		}
		ord.violated = true
		ord.refusals[i] = &refusal{code: TooFast, text: "dropped without a word", later: true}
	}
}

// settleWecom refuses a call as a whole where WeCom is busy, the content is not allowed, or nobody is known. Those who are
// not known among others are named in the answer.
func settleWecom(refusals []*refusal) {
	for _, ref := range refusals {
		if ref != nil && !ref.later && ref.code != UnknownUser {
			fill(refusals, ref)
			return
		}
	}
}

func answerWecom(results []result) reply {
	var unknown []string
	var refused *refusal
	for _, res := range results {
		if ref := res.refusal; ref != nil && !ref.later {
			refused = ref
			unknown = append(unknown, strings.ToLower(res.user))
		}
	}
	if len(unknown) == len(results) {
		return errorLine(ownCode(refused, wecomCodes), refused.text)
	}
	invalid := map[string][]string{}
	for _, one := range unknown {
		list := "invaliduser"
		if id, is := strings.CutPrefix(one, "party:"); is {
			list, one = "invalidparty", id
		} else if id, is := strings.CutPrefix(one, "tag:"); is {
			list, one = "invalidtag", id
		}
		invalid[list] = append(invalid[list], one)
	}
	answer := map[string]any{"errcode": 0, "errmsg": "ok", "msgid": idOf(results)}
	for list, names := range invalid {
		answer[list] = strings.Join(names, "|")
	}
	return inJSON(jsonLine(answer))
}

// idOf is the id of a call, which is that of the first message it took.
func idOf(results []result) string {
	for _, res := range results {
		if res.id != "" {
			return res.id
		}
	}
	return ""
}
