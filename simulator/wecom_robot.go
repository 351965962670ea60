package simulator

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
)

// wecomRobotMax is how many posts a minute a group's robot may make.
const wecomRobotMax = 20

// wecomRobots are the robots of WeCom's groups: any key is one that does not begin with "wrong".
type wecomRobots struct {
	files files

	mu      sync.Mutex
	windows recent[string, *window]
}

func wecomRobot() provider {
	r := new(wecomRobots)
	r.forget()
	return provider{
		name: "wecom_robot", title: "WeCom robot", titleZH: "企业微信群机器人", path: "/wecom_robot/cgi-bin/webhook/send", prefix: "wr",
		read: r.read, status: always200, answer: answerWecomRobot,
		more: &more{settle: wholly, forget: r.forget, paths: map[string]http.HandlerFunc{
			"POST /wecom_robot/cgi-bin/webhook/upload_media": r.upload,
		}},
	}
}

func (s *wecomRobots) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.windows = newRecent[string, *window](maxRobots)
	s.files.forget()
}

// known refuses a key that no robot has.
func (s *wecomRobots) known(r *http.Request) (key string, ref *refusal) {
	if key = r.URL.Query().Get("key"); key == "" || strings.HasPrefix(key, "wrong") {
		return "", strange("93000", "invalid webhook url")
	}
	return key, nil
}

func (s *wecomRobots) upload(w http.ResponseWriter, r *http.Request) {
	if _, ref := s.known(r); ref != nil {
		errorLine(ref.own, ref.text).send(w, http.StatusOK)
		return
	}
	s.files.take(w, r)
}

func (s *wecomRobots) read(r *http.Request, body []byte) (order, *refusal) {
	key, ref := s.known(r)
	if ref != nil {
		return order{}, ref
	}
	var in wecomCall
	if err := json.Unmarshal(body, &in); err != nil {
		return order{}, malformed("the body is not the JSON this interface reads: %v", err)
	}
	title, text, ref := in.words(&s.files)
	if ref != nil {
		return order{}, ref
	}
	ord := order{account: key, together: true, messages: in.posts(r, title, text)}
	if s.admit(key) > 0 {
		ord.violated = true
		ord.refusals = allRefused(len(ord.messages), TooFast, "", "api freq out of limit")
	}
	return ord, nil
}

func (s *wecomRobots) admit(key string) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.windows.byKey[key]
	if w == nil {
		w = newWindow(&Limit{Max: wecomRobotMax, Per: posthouse.Duration(time.Minute)})
		s.windows.put(key, w)
	}
	return w.admit(time.Now())
}

// posts are one for each delivery that shares the post, or the one of a stranger's.
func (c *wecomCall) posts(r *http.Request, title, text string) []message {
	named := slices.Concat(c.Text.Phones, c.Text.Users)
	keys := keysOf(r, 0)
	if len(keys) == 0 {
		keys = make([]string, max(1, len(named)))
	}
	all := make([]message, len(keys))
	for i, key := range keys {
		all[i] = message{user: "group", title: title, text: text, key: key}
		if len(named) == len(keys) {
			all[i].user = named[i]
		}
	}
	return all
}

func answerWecomRobot(results []result) reply {
	if ref := results[0].refusal; ref != nil {
		return errorLine(ownCode(ref, wecomCodes), ref.text)
	}
	return inJSON(`{"errcode":0,"errmsg":"ok"}`)
}
