package server_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/posthouse/posthouse/server"
)

// The same content once more is a repeat; another one, or rearm, may be sent once more.
func TestPULL_TheSameDefaultContentAgainIsNotSentAgain(t *testing.T) {
	onEachFrontDoor(t, func(h *house) {
		put := func(body string) { h.want(200, "POST", "/api/v1/admin/default-sms", body) }
		send := func(want int) {
			h.Helper()
			h.want(want, "POST", "/api/v1/sms/send", `{"phone_number":"13800138000"}`)
		}
		put(`{"phone_number":"13800138000","content":"welcome"}`)
		send(200)
		put(`{"phone_number":"13800138000","content":"welcome"}`)
		send(400)
		put(`{"phone_number":"13800138000","content":"welcome","rearm":true}`)
		send(200)
		put(`{"phone_number":"13800138000","content":"welcome back"}`)
		send(200)
		send(400)
		shown := dataOf[map[string]any](h, h.want(200, "GET", "/api/v1/admin/default-sms/13800138000", ""))
		if shown["id"] != 8613800138000.0 {
			h.Errorf("the default is shown as %v, want it to have an id", shown)
		}
	})
}

func TestPULL_AnErrorHasItsDetailBesideTheEnvelope(t *testing.T) {
	onEachFrontDoor(t, func(h *house) {
		got := h.want(404, "GET", "/api/v1/sms/task/none", "")
		var body struct{ Message, Detail string }
		if err := json.Unmarshal([]byte(got.text), &body); err != nil || body.Detail == "" || body.Detail != body.Message {
			h.Errorf("got %s, want the message as detail too", got.text)
		}
	})
}

func TestPULL_AnAppMayCallItselfAsPeopleDo(t *testing.T) {
	onEachFrontDoor(t, func(h *house) {
		h.texts(2)
		for _, app := range []string{"柜台手机", "phone 1"} {
			tasks := h.fetch(app, 1)
			if len(tasks) != 1 {
				h.Fatalf("%q got %v", app, tasks)
			}
			h.says(200, app, tasks[0].ID, wentOut)
			whole := dataOf[struct {
				Task struct {
					App    string `json:"processing_app_id"`
					Result string `json:"result"`
				} `json:"task"`
			}](h, h.want(200, "GET", "/api/v1/admin/task/"+tasks[0].ID, ""))
			if whole.Task.App != app || whole.Task.Result != "发送成功" {
				h.Errorf("a task that %s sent is shown as %+v", app, whole)
			}
		}
	})
}

// An app that reads the form page must not lose what it is handed because the setting says list.
func TestPULL_AnAppGetsTheFormItShows(t *testing.T) {
	onEachFrontDoor(t, func(h *house) {
		for want, asks := range map[string][]asked{
			`"data":{"total_count":0`:                {{path: "&format=page"}, {header: http.Header{"Accept": {"text/html, application/json;profile=page"}}}, {header: http.Header{"User-Agent": {"FieldApp/2.1 (Android)"}}}},
			`"data":[]`:                              {{}, {path: "&format=list", header: http.Header{"User-Agent": {"FieldApp/2.1"}}}, {header: http.Header{"Accept": {"application/json;profile=other"}}}},
			`format is \"other\": want list or page`: {{path: "&format=other"}},
			`format is \"\": want list or page`:      {{path: "&format="}},
		} {
			for _, q := range asks {
				q.method, q.path = http.MethodGet, "/api/v1/sms/tasks/pending?app_id=a"+q.path
				if got := h.ask(q); !strings.Contains(got.text, want) {
					h.Errorf("%s %v: got %s, want %s", q.path, q.header, got.text, want)
				}
			}
		}
	}, func(s *server.SMS) { s.PageAgents = []string{"FieldApp/"} })
}

func TestPULL_PagesOfNamedOriginsMayCall(t *testing.T) {
	onEachFrontDoor(t, func(h *house) {
		for origin, want := range map[string]int{"https://desk.example": 200, "https://other.example": 403} {
			q := asked{method: "GET", path: "/api/v1/admin/template", header: http.Header{"Origin": {origin}, "Sec-Fetch-Site": {"cross-site"}}}
			if got := h.ask(q); got.status != want || (got.header.Get("Access-Control-Allow-Origin") == origin) != (want == 200) {
				h.Errorf("%s: got %d %s", origin, got.status, got.text)
			}
			ask, err := http.NewRequestWithContext(t.Context(), http.MethodOptions, h.url+q.path, nil)
			h.must(err)
			ask.Header = http.Header{"Origin": {origin}, "Access-Control-Request-Method": {"PUT"}}
			res, err := http.DefaultClient.Do(ask)
			h.must(err)
			res.Body.Close()
			if (res.StatusCode == 204) != (want == 200) {
				h.Errorf("%s asks first: got %d", origin, res.StatusCode)
			}
		}
	}, func(s *server.SMS) { s.Origins = []string{"https://desk.example"} })
}

// An app that wants another form reads nothing, and asks again and again: what it was handed is not used up by that. It is
// used up once an app has shown that it reads, by a report.
func TestPULL_AnAppThatReadsNothingUsesUpNothing(t *testing.T) {
	onEachFrontDoor(t, func(h *house) {
		id := h.sms("13800138000", "x")
		for range 4 { // one retry is all there is
			if got := h.waits("mute"); got != id {
				h.Fatalf("got %s, want %s", got, id)
			}
			h.fetched("mute", 1)
			h.endLeases()
			if s := h.becomes(id, 0, 0).Task; s.Result != "处理超时，自动重试" {
				h.Errorf("got %+v", s)
			}
		}
		h.waits("mute")
		h.says(200, "mute", id, wentAgain)
		h.becomes(id, 0, 1)
		h.waits("mute")
		h.fetched("mute", 1)
		h.endLeases()
		if s := h.becomes(id, 3, 1).Task; s.Result != "处理超时，超过最大重试次数" {
			h.Errorf("what an app holds that has reported: %+v", s)
		}
	}, func(s *server.SMS) { s.MaxRetries = 1 })
}

// One that died with what it was handed does use it up: it does not ask again.
func TestPULL_AnAppThatIsNotHeardOfAgainUsesUpWhatItHas(t *testing.T) {
	onEachFrontDoor(t, func(h *house) {
		id := h.sms("13800138000", "x")
		h.fetched("dead", 1)
		h.endLeases()
		h.becomes(id, 0, 1)
	})
}

// The operator of the server hears of such an app: at its first poll, and once when it asks again without a report.
func TestPULL_AnAppThatMayWantAnotherFormIsNamedInTheLog(t *testing.T) {
	t.Parallel()
	var log lines
	h := open(t, databases[0].dsn(t), withSMS(), func(o *server.Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	h.texts(2)
	h.ask(asked{method: "GET", path: "/api/v1/sms/tasks/pending?limit=1&app_id=shows&format=list"})
	for range 3 {
		h.fetched("mute", 1)
	}
	for want, n := range map[string]int{"app=mute": 2, "app=shows": 0, "for the first time": 1, "reports on none": 1} {
		if got := strings.Count(log.String(), want); got != n {
			t.Errorf("%q stands %d times in the log, want %d:\n%s", want, got, n, log.String())
		}
	}
}

// lines is a log that several goroutines write.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write adds to it.
func (l *lines) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(text)
}

// String is all of it.
func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
