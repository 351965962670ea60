package server_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse/server"
)

// The tests of the requirement table PULL over HTTP, on a whole server with the SMS front door: pull_*_test.go.
// PULL-11's import is proved with the command and in pull_import_test.go, PULL-14 with the native protocol.

// The shared pair of all front doors. It is not ASCII, as people write it.
const (
	smsUser     = "管理员"
	smsPassword = "一个 不好猜的 p4ssword"
)

// withSMS opens the front door of a house, with a retry that comes at once where a test says no other.
func withSMS(change ...func(*server.SMS)) func(*server.Options) {
	return func(o *server.Options) {
		o.SMS = server.SMS{Username: smsUser, Password: smsPassword, RetryDelay: time.Millisecond}
		for _, f := range change {
			f(&o.SMS)
		}
	}
}

// onEachFrontDoor runs a test in a house with a front door on each database.
func onEachFrontDoor(t *testing.T, test func(h *house), change ...func(*server.SMS)) {
	t.Parallel()
	for _, d := range databases {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			test(open(t, d.dsn(t), withSMS(change...)))
		})
	}
}

// asked is a request to the front door. Its user and password default to the shared pair; "-" shows none.
type asked struct {
	method, path, body string
	user, password     string
	url                string
	header             http.Header
}

// told is what it answered.
type told struct {
	status int
	header http.Header
	text   string

	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

// try is ask for other goroutines than the test's.
func (h *house) try(q asked) (told, error) {
	req, err := http.NewRequestWithContext(h.Context(), q.method, cmp.Or(q.url, h.url)+q.path, strings.NewReader(q.body))
	if err != nil {
		return told{}, err
	}
	for name, values := range q.header {
		req.Header[name] = values
	}
	if q.user != "-" {
		req.SetBasicAuth(cmp.Or(q.user, smsUser), cmp.Or(q.password, smsPassword))
	}
	if q.body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return told{}, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return told{}, err
	}
	out := told{status: res.StatusCode, header: res.Header, text: string(text)}
	if q.method != http.MethodHead {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		return out, fmt.Errorf("%s %s answered %d %s: %w", q.method, q.path, res.StatusCode, text, err)
	}
	return out, nil
}

// ask asks the front door; the envelope must say what the status says.
func (h *house) ask(q asked) told {
	h.Helper()
	out, err := h.try(q)
	h.must(err)
	if out.Code != out.status && q.method != http.MethodHead {
		h.Errorf("%s %s: the code is %d, the status %d", q.method, q.path, out.Code, out.status)
	}
	return out
}

// want asks with the shared pair and wants a status.
func (h *house) want(status int, method, path, body string) told {
	h.Helper()
	out := h.ask(asked{method: method, path: path, body: body})
	if out.status != status {
		h.Fatalf("%s %s %s: got %d %s, want %d", method, path, body, out.status, out.text, status)
	}
	return out
}

// dataOf is the data of an answer.
func dataOf[T any](h *house, t told) T {
	h.Helper()
	var v T
	if err := json.Unmarshal(t.Data, &v); err != nil {
		h.Fatalf("the data of %s: %v", t.text, err)
	}
	return v
}

// sms hands in a text and returns the task's id.
func (h *house) sms(phone, content string) string {
	h.Helper()
	body, err := json.Marshal(map[string]any{"phone_number": phone, "content": content})
	h.must(err)
	out := dataOf[struct {
		ID string `json:"task_id"`
	}](h, h.want(200, "POST", "/api/v1/sms/send", string(body)))
	return out.ID
}

// texts hands in so many texts and returns the tasks in order.
func (h *house) texts(n int) []string {
	h.Helper()
	var ids []string
	for i := range n {
		ids = append(ids, h.sms(fmt.Sprintf("138001380%02d", i), fmt.Sprintf("text %d", i)))
	}
	return ids
}

// taskOf is a task as an app is handed it.
type taskOf struct {
	ID      string `json:"task_id"`
	Phone   string `json:"phone_number"`
	Content string `json:"content"`
}

// fetch asks for tasks on behalf of an app.
func (h *house) fetch(app string, limit int) []taskOf {
	h.Helper()
	return dataOf[[]taskOf](h, h.want(200, "GET", fmt.Sprintf("/api/v1/sms/tasks/pending?limit=%d&app_id=%s", limit, url.QueryEscape(app)), ""))
}

// fetched are the ids of what an app is handed.
func (h *house) fetched(app string, limit int) []string {
	h.Helper()
	ids := []string{}
	for _, t := range h.fetch(app, limit) {
		ids = append(ids, t.ID)
	}
	return ids
}

// waits asks for tasks until there is one.
func (h *house) waits(app string) (id string) {
	h.Helper()
	h.eventually(app+" is handed a task", func() bool {
		for _, t := range h.fetch(app, 1) {
			id = t.ID
		}
		return id != ""
	})
	return id
}

// Reports: what became of a task.
const (
	wentOut   = `"status":2,"error_message":""`
	wentWrong = `"status":3,"error_message":"no signal","should_retry":false`
	wentAgain = `"status":3,"error_message":"no signal","should_retry":true`
)

// says reports on a task and wants a status.
func (h *house) says(status int, app, task, what string) told {
	h.Helper()
	return h.want(status, "POST", "/api/v1/sms/report", fmt.Sprintf(`{"task_id":%q,"app_id":%q,%s}`, task, app, what))
}

// storyOf is all that is known of a task.
type storyOf struct {
	Task struct {
		taskOf
		Status     int     `json:"status"`
		Source     string  `json:"source"`
		RetryCount int     `json:"retry_count"`
		App        string  `json:"processing_app_id"`
		Result     string  `json:"result"`
		CreatedAt  string  `json:"created_at"`
		SentAt     *string `json:"sent_at"`
		ReportedAt *string `json:"reported_at"`
		SMS        struct {
			Encoding string
			Parts    int
		} `json:"sms"`
	} `json:"task"`
	Received []lineOf `json:"receive_logs"`
	Handed   []lineOf `json:"send_logs"`
	Reported []lineOf `json:"report_logs"`
}

// lineOf is a line of a log.
type lineOf struct {
	At        time.Time `json:"created_at"`
	Task      string    `json:"task_id"`
	App       string    `json:"app_id"`
	Outcome   string    `json:"outcome"`
	Answer    string    `json:"answer"`
	Error     string    `json:"error_message"`
	RequestID string    `json:"request_id"`
	Phone     string    `json:"phone_number"`
	Content   string    `json:"content"`
	Templated bool      `json:"use_template"`
	SourceIP  string    `json:"source_ip"`
	UserAgent string    `json:"user_agent"`
	Request   kept      `json:"request_data"`
	Response  kept      `json:"response_data"`
	Status    int       `json:"status_code"`
}

// kept is JSON in an answer, as it is written there.
type kept string

// UnmarshalJSON keeps the text.
func (k *kept) UnmarshalJSON(text []byte) error {
	*k = kept(text)
	return nil
}

func (h *house) story(task string) storyOf {
	h.Helper()
	return dataOf[storyOf](h, h.want(200, "GET", "/api/v1/admin/task/"+task, ""))
}

// becomes waits until a task has a status with so many retries.
func (h *house) becomes(task string, status, retries int) (s storyOf) {
	h.Helper()
	h.eventually(fmt.Sprintf("task %s has status %d after %d retries", task, status, retries), func() bool {
		s = h.story(task)
		return s.Task.Status == status && s.Task.RetryCount == retries
	})
	return s
}
