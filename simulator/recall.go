package simulator

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// recallFor is how long messages can be taken back.
const recallFor = 24 * time.Hour

// recallLate begins the names of users whose messages are too old to be taken back as soon as they are sent.
const recallLate = "recall-late"

// recalls are the messages that can be taken back.
type recalls struct {
	mu   sync.Mutex
	sent recent[string, sending]
}

// sending is one call that told somebody.
type sending struct {
	at   time.Time
	gone bool
}

// recalled is what became of a request to take a message back.
type recalled int

const (
	recallDone recalled = iota
	recallAgain
	recallOld
	recallStrange
)

func (c *recalls) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent = newRecent[string, sending](maxTasks)
}

// taken remembers what was told.
func (c *recalls) taken(arrivals []Arrival) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range arrivals {
		a := &arrivals[i]
		if !a.taken() || a.ID == "" {
			continue
		}
		if _, known := c.sent.byKey[a.ID]; known {
			continue
		}
		at := a.At
		if strings.HasPrefix(a.User, recallLate) {
			at = at.Add(-recallFor)
		}
		c.sent.put(a.ID, sending{at: at})
	}
}

// take takes a message back.
func (c *recalls) take(id string, now time.Time) recalled {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, known := c.sent.byKey[id]
	switch {
	case !known:
		return recallStrange
	case s.gone:
		return recallAgain
	case now.Sub(s.at) >= recallFor:
		return recallOld
	}
	s.gone = true
	c.sent.byKey[id] = s
	return recallDone
}

// recall answers WeCom's request to take a message back. Its page names no codes of its own.
func (s *applications) recall(w http.ResponseWriter, r *http.Request) {
	body, err := readBody(w, r)
	if err != nil {
		writeError(w, err)
		return
	}
	var in struct {
		ID string `json:"msgid"`
	}
	now := time.Now()
	ref := s.tokens.verify(r, now)
	switch {
	case ref != nil:
	case json.Unmarshal(body, &in) != nil || in.ID == "":
		ref = malformed("msgid is missing")
	default:
		switch s.recalls.take(in.ID, now) {
		case recallStrange:
			ref = malformed("invalid msgid")
		case recallOld:
			ref = malformed("the message was sent more than 24 hours ago")
		}
	}
	if ref != nil {
		errorLine(ownCode(ref, wecomCodes), ref.text).send(w, http.StatusOK)
		return
	}
	inJSON(`{"errcode":0,"errmsg":"ok"}`).send(w, http.StatusOK)
}

// recall answers DingTalk's.
func (s *notices) recall(w http.ResponseWriter, r *http.Request) {
	body, err := readBody(w, r)
	if err != nil {
		writeError(w, err)
		return
	}
	var in struct {
		Agent json.Number `json:"agent_id"`
		Task  json.Number `json:"msg_task_id"`
	}
	now := time.Now()
	ref := s.tokens.verify(r, now)
	switch {
	case ref != nil:
	case json.Unmarshal(body, &in) != nil || in.Task == "" || in.Agent == "":
		ref = malformed("agent_id or msg_task_id is missing")
	default:
		switch s.recalls.take(in.Task.String(), now) {
		case recallStrange:
			ref = malformed("invalid msg_task_id")
		case recallOld:
			ref = malformed("the notification was sent more than 24 hours ago")
		}
	}
	if ref != nil {
		errorLine(ownCode(ref, workCodes), ref.text).send(w, http.StatusOK)
		return
	}
	inJSON(`{"errcode":0,"errmsg":"ok"}`).send(w, http.StatusOK)
}

// recall answers Feishu's, for one message and for those of a call of the batch interface.
func (l *lark) recall(w http.ResponseWriter, r *http.Request) {
	code, text := 0, "success"
	switch {
	case !l.tokens.has(bearer(r)):
		code, text = 99991663, "Invalid access token for authorization."
	default:
		switch l.recalls.take(strings.TrimPrefix(r.PathValue("id"), feishuBatch), time.Now()) {
		case recallStrange:
			code, text = 230030, "The message id is invalid, record not found."
		case recallAgain:
			code, text = 230110, "Action unavailable as the message has been deleted."
		case recallOld:
			code, text = 230009, "Message can only be recalled within one days."
		}
	}
	status := http.StatusOK
	if code != 0 {
		status = http.StatusBadRequest
	}
	inJSON(fmt.Sprintf(`{"code":%d,"msg":%q,"data":{}}`, code, text)).send(w, status)
}
