package simulator

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
)

// The rules of work notifications.
const (
	workUsers     = 100  // in a call
	workBytes     = 2048 // of msg
	workPerSecond = 20   // calls
	workPerMinute = 5000 // people
	workPerDay    = 500  // to one person

	maxTasks = 100_000 // are remembered, and ten times as many texts
)

// workCodes are DingTalk's codes for a call that is refused as a whole, laterCodes those it gives when it
// is asked what became of a task.
var (
	workCodes  = map[Code]string{UnknownUser: "33012", RefusedContent: "41049", Malformed: "40035", TooFast: "90018", Busy: "-1"}
	laterCodes = map[Code]string{UnknownUser: "", RefusedContent: "1430002", TooFast: "143103"}
)

// workCall is a call.
type workCall struct {
	Agent json.Number     `json:"agent_id"`
	Users list            `json:"userid_list"`
	Msg   json.RawMessage `json:"msg"`
}

// notices are DingTalk's work notifications.
type notices struct {
	recalls recalls
	tokens  tokens // by app key

	mu     sync.Mutex
	calls  *window
	people *window
	told   recent[told, struct{}]
	today  recent[personDay, int]
	tasks  recent[string, []result]
}

// told is a text that somebody was told on a day, personDay how often somebody was told something.
type (
	told      struct{ user, day, words string }
	personDay struct{ user, day string }
)

func newNotices() *notices {
	n := new(notices)
	n.forget()
	return n
}

func dingtalkWork(n *notices) provider {
	return provider{
		name: "dingtalk_work", title: "DingTalk work notification", titleZH: "钉钉工作通知",
		path: "/dingtalk_work/topapi/message/corpconversation/asyncsend_v2",
		read: n.read, status: always200, answer: n.answer,
		more: &more{settle: settleWork, taken: n.taken, forget: n.forget, paths: map[string]http.HandlerFunc{
			"GET /dingtalk_work/gettoken":                                       n.giveToken,
			"POST /dingtalk_work/v1.0/oauth2/accessToken":                       n.giveNewToken,
			"DELETE /dingtalk_work/tokens":                                      n.tokens.drop,
			"POST /dingtalk_work/topapi/message/corpconversation/getsendresult": n.tellResult,
			"POST /dingtalk_work/topapi/message/corpconversation/recall":        n.recall,
		}},
	}
}

func (s *notices) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = newWindow(&Limit{Max: workPerSecond, Per: posthouse.Duration(time.Second)})
	s.people = newWindow(&Limit{Max: workPerMinute, Per: posthouse.Duration(time.Minute)})
	s.told = newRecent[told, struct{}](10 * maxTasks)
	s.today = newRecent[personDay, int](10 * maxTasks)
	s.tasks = newRecent[string, []result](maxTasks)
	s.recalls.forget()
}

func (s *notices) read(r *http.Request, body []byte) (order, *refusal) {
	now := time.Now()
	if ref := s.tokens.verify(r, now); ref != nil {
		return order{}, ref
	}
	var in workCall
	if err := json.Unmarshal(body, &in); err != nil {
		return order{}, malformed("the body is not the JSON this interface reads: %v", err)
	}
	title, text, ref := in.words()
	n := len(in.Users)
	switch {
	case ref != nil:
		return order{}, ref
	case in.Agent == "":
		return order{}, malformed("agent_id is missing")
	case n == 0:
		return order{}, malformed("userid_list is missing")
	case n > workUsers:
		return order{}, malformed("userid_list names %d, at most %d are allowed", n, workUsers)
	case len(in.Msg) > workBytes:
		return order{}, strange("45002", "msg has %d bytes, at most %d are allowed", len(in.Msg), workBytes)
	}
	ord := order{together: true, messages: make([]message, n)}
	for i, key := range keysOf(r, n) {
		ord.messages[i] = message{user: in.Users[i], title: title, text: text, key: key}
	}
	s.judge(now, &ord)
	return ord, nil
}

// words are the title and the text of a call's msg.
func (c workCall) words() (title, text string, ref *refusal) {
	var in robotCall
	if err := json.Unmarshal(c.Msg, &in); err != nil {
		return "", "", malformed("msg is missing or not an object")
	}
	return in.words()
}

// judge holds a call against the limits. Too many calls a second are refused; of all others DingTalk says
// later who was told too much.
func (s *notices) judge(now time.Time, ord *order) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(ord.messages)
	if s.calls.admit(now) > 0 {
		ord.violated, ord.refusals = true, allRefused(n, TooFast, "90018", "the application calls more than %d times a second", workPerSecond)
		return
	}
	ord.refusals = make([]*refusal, n)
	for i, m := range ord.messages {
		own := s.withheld(now, tellingOf(now, m.user, m.title, m.text))
		if own != "" {
			ord.violated = true
			ord.refusals[i] = &refusal{code: TooFast, own: own, text: "withheld", later: true}
		}
	}
}

// withheld is the code for which DingTalk does not tell a person, or empty where it does.
func (s *notices) withheld(now time.Time, t told) string {
	_, same := s.told.byKey[t]
	switch {
	case same:
		return "143106"
	case s.today.byKey[personDay{t.user, t.day}] >= workPerDay:
		return "143105"
	case s.people.admit(now) > 0:
		return "143103"
	}
	return ""
}

// taken remembers who was told what.
func (s *notices) taken(arrivals []Arrival) {
	s.recalls.taken(arrivals)
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range arrivals {
		a := &arrivals[i]
		if a.Answer == Refused || a.Code != "" {
			continue
		}
		t := tellingOf(a.At, a.User, a.Title, a.Text)
		s.told.put(t, struct{}{})
		day := personDay{t.user, t.day}
		s.today.put(day, s.today.byKey[day]+1)
	}
}

func tellingOf(at time.Time, user, title, text string) told {
	return told{user, at.In(beijing).Format(time.DateOnly), title + "\n" + text}
}

// settleWork refuses a call as a whole where DingTalk is busy or all of its people are refused at once.
// Faults of some of them are told later.
func settleWork(refusals []*refusal) {
	all := true
	var hard *refusal
	for _, ref := range refusals {
		if ref == nil || ref.later {
			all = false
			continue
		}
		if hard == nil || ref.code == Busy {
			hard = ref
		}
	}
	if hard != nil && (all || hard.code == Busy) {
		fill(refusals, hard)
		return
	}
	for i, ref := range refusals {
		if ref != nil && !ref.later {
			later := *ref
			later.later, later.own = true, laterCodes[ref.code]
			refusals[i] = &later
		}
	}
}

// answer takes a task, and keeps what is to be told of it.
func (s *notices) answer(results []result) reply {
	if ref := results[0].refusal; ref != nil && !ref.later {
		return errorLine(ownCode(ref, workCodes), ref.text)
	}
	id := results[0].id
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tasks.put(id, results)
	return inJSON(`{"errcode":0,"errmsg":"ok","task_id":` + id + `,"request_id":"` + id + `"}`)
}

// sendResult is what DingTalk tells of a task.
type sendResult struct {
	Invalid   []string       `json:"invalid_user_id_list"`
	Forbidden []string       `json:"forbidden_user_id_list"`
	Failed    []string       `json:"failed_user_id_list"`
	Read      []string       `json:"read_user_id_list"`
	Unread    []string       `json:"unread_user_id_list"`
	Reasons   []forbiddenFor `json:"forbidden_list"`
}

type forbiddenFor struct {
	Code  string `json:"code"`
	Count int    `json:"count"`
	User  string `json:"userid"`
}

func (s *notices) tellResult(w http.ResponseWriter, r *http.Request) {
	body, err := readBody(w, r)
	if err != nil {
		writeError(w, err)
		return
	}
	var in struct {
		Task json.Number `json:"task_id"`
	}
	ref := s.tokens.verify(r, time.Now())
	if ref == nil && (json.Unmarshal(body, &in) != nil || in.Task == "") {
		ref = malformed("task_id is missing")
	}
	if ref != nil {
		errorLine(ownCode(ref, workCodes), ref.text).send(w, http.StatusOK)
		return
	}
	s.mu.Lock()
	results := s.tasks.byKey[in.Task.String()]
	s.mu.Unlock()
	told := jsonLine(resultOf(results))
	inJSON(`{"errcode":0,"errmsg":"ok","send_result":`+told+`,"request_id":"`+in.Task.String()+`"}`).send(w, http.StatusOK)
}

func resultOf(results []result) sendResult {
	out := sendResult{[]string{}, []string{}, []string{}, []string{}, []string{}, []forbiddenFor{}}
	for _, res := range results {
		switch ref := res.refusal; {
		case ref == nil:
			out.Unread = append(out.Unread, res.user)
		case ref.code == UnknownUser:
			out.Invalid = append(out.Invalid, res.user)
		default:
			out.Forbidden = append(out.Forbidden, res.user)
			out.Reasons = append(out.Reasons, forbiddenFor{ref.own, 1, res.user})
		}
	}
	return out
}

func (s *notices) giveToken(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("appkey") == "" || wrongSecret(q.Get("appsecret")) {
		errorLine("40089", "the appkey or the appsecret is not valid").send(w, http.StatusOK)
		return
	}
	inJSON(fmt.Sprintf(`{"errcode":0,"errmsg":"ok","access_token":%q,"expires_in":%d}`,
		s.tokens.give(q.Get("appkey")), int(tokenLasts.Seconds()))).send(w, http.StatusOK)
}

func (s *notices) giveNewToken(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Key    string `json:"appKey"`
		Secret string `json:"appSecret"`
	}
	body, err := readBody(w, r)
	if err != nil {
		writeError(w, err)
		return
	}
	if json.Unmarshal(body, &in) != nil || in.Key == "" || wrongSecret(in.Secret) {
		inJSON(`{"code":"invalidClientIdOrSecret","message":"the appKey or the appSecret is not valid","requestid":"1"}`).send(w, http.StatusBadRequest)
		return
	}
	inJSON(fmt.Sprintf(`{"accessToken":%q,"expireIn":%d}`, s.tokens.give(in.Key), int(tokenLasts.Seconds()))).send(w, http.StatusOK)
}
