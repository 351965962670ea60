package mutant

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/verify"
	"github.com/posthouse/posthouse/torture/internal/house"
)

// The pair of the SMS front door, and how long its apps hold a task.
const (
	user     = "gateway"
	password = "Kj4-no-one-guesses-this"
	hold     = time.Second
)

// front is a house with a front door, and the journal of its apps.
type front struct {
	*house.House
	words *os.File
}

// front opens one, with apps' leases of a second.
func (r *rig) front() *front {
	r.Helper()
	path := filepath.Join(r.TempDir(), "agents.jsonl")
	words, err := os.Create(path)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { words.Close() })
	r.flags = append(r.flags, "--agents", path)
	h := house.Open(r, house.Options{DSN: r.db.DSN(r), Binary: r.binary, Env: []string{
		"BASIC_AUTH_USERNAME=" + user, "BASIC_AUTH_PASSWORD=" + password, "POSTHOUSE_SMS_TIMEOUT=" + hold.String(), "POSTHOUSE_SMS_RETRY_DELAY=100ms",
	}})
	return &front{h, words}
}

// text is a message to a number of its own.
func smsOf(n int) posthouse.Draft {
	return posthouse.Draft{Channel: "sms", To: []posthouse.Recipient{{Address: fmt.Sprintf("+86138%08d", n)}}, Content: &posthouse.Content{Text: "hello"}}
}

// ask is one request of an app; it returns the status, and data where there is any.
func (f *front) ask(t testing.TB, method, path string, in, data any) int {
	t.Helper()
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		body = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, "http://"+f.Members[0].Addr+path, body)
	if err != nil {
		t.Fatal(err)
	}
	req.SetBasicAuth(user, password)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	envelope := struct {
		Data any `json:"data"`
	}{data}
	if err := json.NewDecoder(resp.Body).Decode(&envelope); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode
}

// word writes what an app asked and was told.
func (f *front) word(t testing.TB, asked time.Time, app, op, task string, outcome posthouse.Outcome, answer string) {
	t.Helper()
	line := verify.AgentLine{Asked: asked.UTC(), At: time.Now().UTC(), Agent: app, Op: op, Delivery: task, Outcome: outcome, Answer: answer}
	if err := json.NewEncoder(f.words).Encode(line); err != nil {
		t.Fatal(err)
	}
}

// task is what an app is handed.
type task struct {
	ID    string `json:"task_id"`
	Phone string `json:"phone_number"`
}

// fetch has an app take so many tasks.
func (f *front) fetch(t testing.TB, app string, n int) (list []task) {
	t.Helper()
	asked := time.Now()
	if status := f.ask(t, http.MethodGet, fmt.Sprintf("/api/v1/sms/tasks/pending?limit=%d&app_id=%s", n, app), nil, &list); status != http.StatusOK {
		t.Fatalf("the app %s is answered %d", app, status)
	}
	for _, task := range list {
		f.word(t, asked, app, verify.OpClaim, task.ID, "", verify.AnswerHanded)
	}
	return list
}

// send sends a task over the simulator's phone.
func (f *front) send(t testing.TB, app string, task task) {
	t.Helper()
	text, err := json.Marshal(map[string]string{"to": task.Phone, "text": "hello", "key": task.ID})
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Post(f.Provider.URL+"/phones/"+app+"/sms", "application/json", bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
}

// report says what became of a task: whether it was sent.
func (f *front) report(t testing.TB, app string, task task, sent bool) {
	t.Helper()
	asked := time.Now()
	in, outcome := map[string]any{"task_id": task.ID, "app_id": app, "status": 2}, posthouse.OutcomeSent
	if !sent {
		in["status"], in["error_message"], in["should_retry"], outcome = 3, "no signal", true, posthouse.OutcomeNotSent
	}
	answer := verify.AnswerRefused
	if f.ask(t, http.MethodPost, "/api/v1/sms/report", in, nil) == http.StatusOK {
		answer = verify.AnswerOK
	}
	f.word(t, asked, app, verify.OpReport, task.ID, outcome, answer)
}

// drain has an app send all there is, until nothing has come for three leases.
func (f *front) drain(t testing.TB, app string) {
	t.Helper()
	for last := time.Now(); time.Since(last) < 3*hold; {
		list := f.fetch(t, app, 50)
		for _, task := range list {
			f.send(t, app, task)
			f.report(t, app, task, true)
		}
		if len(list) > 0 {
			last = time.Now()
		} else {
			house.Pause(t.Context(), 50*time.Millisecond)
		}
	}
}

// deadPhone has a phone die with twenty tasks in hand while another one goes on.
var deadPhone = scenario{fault: "a phone dies with 20 tasks in hand", db: house.SQLite, seen: "lease_lost_after_start", play: func(r *rig) *house.House {
	f := r.front()
	f.Produce(r, house.Load{Messages: 60, Draft: smsOf})
	f.fetch(r, "dead", 20)
	f.drain(r, "alive")
	return f.House
}}

// slowApp has an app fall silent until its tasks are with another one, and then say that it could not send them.
var slowApp = scenario{fault: "an app reports failure after its tasks were given to another", db: house.SQLite, seen: "lease_lost_after_start", play: func(r *rig) *house.House {
	f := r.front()
	f.Produce(r, house.Load{Messages: 10, Draft: smsOf})
	slow := f.fetch(r, "slow", 10)
	house.Pause(r.Context(), 2*hold)
	list := f.fetch(r, "quick", 10)
	for _, task := range list {
		f.send(r, "quick", task)
	}
	for _, task := range slow {
		f.report(r, "slow", task, false)
	}
	for _, task := range list {
		f.report(r, "quick", task, true)
	}
	f.drain(r, "quick")
	return f.House
}}

// killsAndPhones kills the process three times while messages for phones come in, and then has a phone send them.
var killsAndPhones = scenario{fault: "kill -9, three times, while messages for phones come in", db: house.SQLite, play: func(r *rig) *house.House {
	f := r.front()
	f.Produce(r, house.Load{Messages: 800, Draft: smsOf, Each: func(accepted int) {
		if accepted%200 == 0 && accepted < 800 {
			f.Members[0].Kill(r)
			f.Members[0].Start(r)
		}
	}})
	f.drain(r, "phone")
	return f.House
}}
