package simulator

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
)

// The rules of a custom robot: its limit and its punishment, how far a signature's time may be away, and
// how many people a post may mention.
const (
	robotMax      = 20
	robotLockout  = posthouse.Duration(10 * time.Minute)
	robotSkew     = time.Hour
	robotMentions = 50

	maxRobots = 10_000 // are remembered, and ten times as many posts
)

// robotCodes are DingTalk's codes. A robot knows no users: the post itself is refused then.
var robotCodes = map[Code]string{
	UnknownUser: "430104", RefusedContent: "430104", Malformed: "40035", TooFast: "410100", Busy: "-1", Unauthorized: "310000",
}

// robotCall is a post.
type robotCall struct {
	Type string `json:"msgtype"`
	Text struct {
		Content string `json:"content"`
	} `json:"text"`
	Markdown struct {
		Title string `json:"title"`
		Text  string `json:"text"`
	} `json:"markdown"`
	At struct {
		Phones []string `json:"atMobiles"`
		Users  []string `json:"atUserIds"`
		All    bool     `json:"isAtAll"`
	} `json:"at"`
	UUID string `json:"msgUuid"`
}

// robots are DingTalk's custom robots: any access token is one.
type robots struct {
	secret, keyword string

	mu      sync.Mutex
	windows recent[string, *window]
	posts   recent[string, struct{}] // by msgUuid
}

func dingtalkRobot(o Options) provider {
	r := &robots{secret: o.RobotSecret, keyword: o.RobotKeyword}
	r.forget()
	return provider{
		name: "dingtalk_robot", title: "DingTalk robot", titleZH: "钉钉群机器人", path: "/dingtalk_robot/robot/send", prefix: "dr",
		read: r.read, status: always200, answer: answerRobot,
		more: &more{settle: wholly, forget: r.forget},
	}
}

func (s *robots) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.windows = newRecent[string, *window](maxRobots)
	s.posts = newRecent[string, struct{}](10 * maxRobots)
}

func (s *robots) read(r *http.Request, body []byte) (order, *refusal) {
	token := r.URL.Query().Get("access_token")
	if token == "" {
		return order{}, strange("300005", "token is not exist")
	}
	if err := s.verify(r, time.Now()); err != nil {
		return order{}, err
	}
	var in robotCall
	if err := json.Unmarshal(body, &in); err != nil {
		return order{}, malformed("the body is not the JSON this interface reads: %v", err)
	}
	title, text, err := in.words()
	switch {
	case err != nil:
		return order{}, err
	case s.keyword != "" && !strings.Contains(title+text, s.keyword):
		return order{}, strange("310000", "keywords not in content")
	case len(in.At.Phones)+len(in.At.Users) > robotMentions:
		return order{}, malformed("at names more than %d people", robotMentions)
	}
	ord := order{together: true, messages: in.messages(r, title, text)}
	if wait, known := s.admit(token, in.UUID); wait > 0 {
		ord.violated = true
		ord.refusals = allRefused(len(ord.messages), TooFast, "", "send too fast, exceed %d times per minute", robotMax)
	} else {
		ord.idempotent = known
	}
	return ord, nil
}

// verify checks a signature, where there is a secret.
func (s *robots) verify(r *http.Request, now time.Time) *refusal {
	if s.secret == "" {
		return nil
	}
	q := r.URL.Query()
	ms, err := strconv.ParseInt(q.Get("timestamp"), 10, 64)
	if err != nil || now.Sub(time.UnixMilli(ms)).Abs() > robotSkew {
		return &refusal{code: Unauthorized, text: "invalid timestamp"}
	}
	mac := hmac.New(sha256.New, []byte(s.secret))
	mac.Write([]byte(q.Get("timestamp") + "\n" + s.secret))
	if !hmac.Equal([]byte(q.Get("sign")), []byte(base64.StdEncoding.EncodeToString(mac.Sum(nil)))) {
		return &refusal{code: Unauthorized, text: "sign not match"}
	}
	return nil
}

// admit counts a post to a robot, and says how long the robot is blocked, or whether it knows the post.
func (s *robots) admit(token, uuid string) (wait time.Duration, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.windows.byKey[token]
	if w == nil {
		w = newWindow(&Limit{Max: robotMax, Per: posthouse.Duration(time.Minute), Lockout: robotLockout})
		s.windows.put(token, w)
	}
	if wait = w.admit(time.Now()); wait > 0 {
		return wait, false
	}
	_, known = s.posts.byKey[uuid]
	if uuid != "" {
		s.posts.put(uuid, struct{}{})
	}
	return 0, known
}

func (c robotCall) words() (title, text string, ref *refusal) {
	switch c.Type {
	case "text":
		text = c.Text.Content
	case "markdown":
		title, text = c.Markdown.Title, c.Markdown.Text
	default:
		return "", "", strange("400105", "msgtype %q is not supported here", c.Type)
	}
	if text == "" || c.Type == "markdown" && title == "" {
		return "", "", malformed("the text or the title is missing")
	}
	return title, text, nil
}

// messages are one for each delivery that shares the post, or the one of a stranger's. Who is not
// mentioned by name is the group.
func (c robotCall) messages(r *http.Request, title, text string) []message {
	named := slices.Concat(c.At.Phones, c.At.Users)
	keys := keysOf(r, 0)
	if len(keys) == 0 {
		keys = make([]string, max(1, len(named)))
		keys[0] = c.UUID
	}
	all := make([]message, len(keys))
	for i, key := range keys {
		all[i] = message{user: "group", title: title, text: text, key: key}
		if len(named) == len(keys) {
			all[i].user = named[i]
		} else if c.At.All {
			all[i].user = "@all"
		}
	}
	return all
}

func answerRobot(results []result) reply {
	if ref := results[0].refusal; ref != nil {
		return errorLine(ownCode(ref, robotCodes), ref.text)
	}
	return inJSON(`{"errcode":0,"errmsg":"ok"}`)
}
