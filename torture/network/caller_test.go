package network

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/torture/internal/house"
)

// hangLimit is how long a caller waits before it calls a call hung: the server bounds a write by 30 s
// and connecting by 5 s, and twice that is beyond doubt.
const hangLimit = 70 * time.Second

// caller hands in messages over plain HTTP and looks at the whole answer, which the client hides.
type caller struct {
	h    *house.House
	url  string
	http *http.Client
}

func newCaller(t testing.TB, h *house.House, m *house.Member) *caller {
	t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	t.Cleanup(transport.CloseIdleConnections)
	return &caller{h: h, url: "http://" + m.Addr + "/v1/messages", http: &http.Client{Transport: transport, Timeout: hangLimit}}
}

// answer is what a caller was told.
type answer struct {
	status     int // 0: nothing
	code       posthouse.Code
	retryAfter string
	id         string
	replayed   bool
	took       time.Duration
	err        error
}

func (a answer) accepted() bool { return a.status == http.StatusAccepted }

// kind is the answer in a word or two, for counting.
func (a answer) kind() string {
	switch {
	case a.err != nil:
		return "no answer"
	case a.replayed:
		return "replayed"
	case a.accepted():
		return "accepted"
	}
	return fmt.Sprint(a.status, " ", a.code)
}

// fault is what is wrong with an answer whatever happened to the database: a call ends with 202, or
// with a 503 that says that, and when, to repeat.
func (a answer) fault() string {
	switch {
	case a.err != nil:
		return fmt.Sprintf("no answer after %s: %v", a.took, a.err)
	case a.accepted():
		return ""
	case a.status != http.StatusServiceUnavailable:
		return fmt.Sprintf("HTTP %d %s", a.status, a.code)
	case a.code != posthouse.CodeOutcomeUnknown && a.code != posthouse.CodeUnavailable:
		return fmt.Sprintf("503 with the code %q", a.code)
	case a.retryAfter == "":
		return fmt.Sprintf("503 %s without Retry-After", a.code)
	}
	return ""
}

// send hands in one message once, and notes it in the client's journal.
func (c *caller) send(t testing.TB, key string, d posthouse.Draft) answer {
	t.Helper()
	return c.sendAs(t, key, key, d)
}

// sendAs is send with a name in the journal that is not the key.
func (c *caller) sendAs(t testing.TB, name, key string, d posthouse.Draft) answer {
	t.Helper()
	asked := time.Now()
	a := c.call(context.WithoutCancel(t.Context()), key, d)
	a.took = time.Since(asked)
	line := house.Told{Asked: asked, At: time.Now(), Op: "send", Key: name, Body: name, Status: a.status, Code: string(a.code), Message: a.id, Recipients: len(d.To)}
	switch {
	case a.replayed:
		line.Answer = "replayed"
	case a.accepted():
		line.Answer = "accepted"
	case a.code == posthouse.CodeUnavailable:
		line.Answer = "refused"
	default:
		line.Answer = "unknown"
	}
	c.h.Tell(t, line)
	return a
}

func (c *caller) call(ctx context.Context, key string, d posthouse.Draft) answer {
	text, err := json.Marshal(d)
	if err != nil {
		return answer{err: err}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(text))
	if err != nil {
		return answer{err: err}
	}
	req.Header.Set("Authorization", "Bearer "+c.h.Key)
	req.Header.Set("Content-Type", "application/json")
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return answer{err: err}
	}
	defer resp.Body.Close()
	var said struct {
		ID   string         `json:"id"`
		Code posthouse.Code `json:"code"`
	}
	a := answer{status: resp.StatusCode, retryAfter: resp.Header.Get("Retry-After"), replayed: resp.Header.Get("Idempotent-Replay") == "true"}
	if a.err = json.NewDecoder(resp.Body).Decode(&said); a.err == nil {
		a.code, a.id = said.Code, said.ID
		if !a.accepted() {
			a.id = ""
		}
	}
	return a
}

// tally is what all callers of a phase were told.
type tally struct {
	mu       sync.Mutex
	answers  map[string]int    // by kind
	accepted map[string]string // key to message
	unsure   map[string]bool   // keys whose first answer was outcome_unknown
	longest  time.Duration
	wrong    []string
}

func newTally() *tally {
	return &tally{answers: map[string]int{}, accepted: map[string]string{}, unsure: map[string]bool{}}
}

// note takes an answer in and reports whether the key is accepted now.
func (y *tally) note(key string, a answer) bool {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.answers[a.kind()]++
	y.longest = max(y.longest, a.took)
	if f := a.fault(); f != "" {
		y.wrong = append(y.wrong, key+": "+f)
	}
	if a.code == posthouse.CodeOutcomeUnknown {
		y.unsure[key] = true
	}
	if !a.accepted() {
		return false
	}
	if first := y.accepted[key]; first != "" && first != a.id {
		y.wrong = append(y.wrong, fmt.Sprintf("%s: two messages, %s and %s", key, first, a.id))
	}
	y.accepted[key] = a.id
	return true
}

func (y *tally) count(kind string) int {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.answers[kind]
}

func (y *tally) messageOf(key string) string {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.accepted[key]
}

// insist repeats one message with one key until it is accepted.
func (c *caller) insist(t testing.TB, y *tally, key string, d posthouse.Draft) {
	t.Helper()
	for !y.note(key, c.send(t, key, d)) {
		house.Pause(t.Context(), 20*time.Millisecond)
		if t.Context().Err() != nil {
			return
		}
	}
}

// each runs a test on all databases, and on the named ones alone in the small form.
func each(t *testing.T, test func(t *testing.T, db house.Database), small ...house.Database) {
	t.Helper()
	house.EachDatabase(t, func(t *testing.T, db house.Database) {
		if house.Full() || slices.Contains(small, db) {
			test(t, db)
		}
	})
}

// storm is producers that hand in messages until stopped; each finishes what it has begun.
type storm struct {
	stop chan struct{}
	wg   sync.WaitGroup
}

// storm starts producers, each of which waits for a pause after each message.
func (c *caller) storm(t testing.TB, y *tally, producers int, pause time.Duration, prefix, channel string) *storm {
	t.Helper()
	s := &storm{stop: make(chan struct{})}
	for p := range producers {
		s.wg.Go(func() {
			for n := p; ; n += producers {
				select {
				case <-s.stop:
					return
				case <-t.Context().Done():
					return
				default:
					c.insist(t, y, fmt.Sprintf("%s-%d", prefix, n), house.Text(channel, n))
					house.Pause(t.Context(), pause)
				}
			}
		})
	}
	return s
}

func (s *storm) end() {
	close(s.stop)
	s.wg.Wait()
}
