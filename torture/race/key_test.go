package race

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/torture/internal/house"
	"github.com/posthouse/posthouse/torture/internal/proxy"
)

// lostAnswers is the share of commits whose answer the proxy keeps, in the second half of the keys.
const lostAnswers = 0.1

// TestOneKeyIsOneMessage (C3) hands in each key from all clients at once, to all servers, and on the
// databases with a network half of the keys while answers of commits are lost. Every tenth key comes
// with two different bodies.
func TestOneKeyIsOneMessage(t *testing.T) {
	t.Parallel()
	house.EachDatabase(t, func(t *testing.T, db house.Database) {
		clients, keys := house.Form(16, 64), house.Size(100, 10_000)
		link, through, dsn := linked(t, db)
		h := house.Open(t, house.Options{DSN: through, JudgeDSN: dsn, Members: db.Several(2)})
		h.PutChannel(t, house.Patient(h.Channel("generic"))) // 64 callers leave the provider little of two cores
		r := &rush{House: h, calls: clientsOf(t, h), answers: make([][]answer, keys), counts: map[string]int{}}
		const wave = 10 // keys that are under way at once
		for from := 0; from < keys; from += wave {
			if link != nil && from >= keys/2 {
				link.Set(proxy.Faults{AnswerLost: proxy.Strike{Share: lostAnswers}})
			}
			r.wave(t, clients, from, min(from+wave, keys))
			if done := from + wave; done%(keys/10) == 0 && done < keys {
				t.Logf("%s: %d of %d keys to go", db, keys-done, keys)
			}
		}
		lost := int64(0)
		if link != nil {
			lost = link.Stats().AnswersLost
			link.Set(proxy.Faults{})
		}
		h.Settle(t)
		h.Judge(t)
		wrong := r.wrong()
		stored := 0
		if err := dbtest.SQL(t, dsn).QueryRowContext(t.Context(), "SELECT COUNT(*) FROM posthouse_messages").Scan(&stored); err != nil {
			t.Fatal(err)
		}
		for _, w := range wrong[:min(len(wrong), 10)] {
			t.Error(w)
		}
		what := fmt.Sprintf("%d clients hand in each key at once to %d servers", clients, len(h.Members))
		if link != nil {
			what += fmt.Sprintf(", half of them while %g %% of the answers to COMMIT are lost", 100*lostAnswers)
		}
		house.Report(t, house.Row{
			Test: "C3", Database: string(db), What: what, N: keys, Unit: "keys",
			Figure: fmt.Sprintf("%d messages, %d wrong answers of %d accepted or replayed; %d other bodies refused; %d answers of commits lost, %d outcome_unknown and %d unavailable told, 0 other errors",
				stored, len(wrong), r.counts["accepted"], r.counts[string(posthouse.CodeKeyReused)], lost,
				r.counts[string(posthouse.CodeOutcomeUnknown)], r.counts[string(posthouse.CodeUnavailable)]),
			Bar: "one message and one id a key, no 5xx but these two", Bound: house.Bound(keys), Pass: stored == keys && len(wrong) == 0 && (link == nil || lost > 0),
		})
	})
}

// linked is a new database, and the way to it through a proxy where it has a network.
func linked(t *testing.T, db house.Database) (link *proxy.Proxy, through, direct string) {
	t.Helper()
	direct = db.DSN(t)
	if db == house.SQLite {
		return nil, direct, direct
	}
	u, err := url.Parse(direct)
	if err != nil {
		t.Fatal(err)
	}
	protocol := proxy.Postgres
	if db == house.MariaDB {
		protocol = proxy.MySQL
	}
	link, err = proxy.Start(proxy.Options{Target: u.Host, Protocol: protocol})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := link.Close(); err != nil {
			t.Error(err)
		}
	})
	u.Host = link.Addr()
	return link, u.String(), direct
}

// clientsOf are clients of the members that keep their connections and repeat nothing.
func clientsOf(t *testing.T, h *house.House) (list []*client.Client) {
	t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 100}
	t.Cleanup(transport.CloseIdleConnections)
	for _, m := range h.Members {
		c, err := client.New(client.Options{URL: "http://" + m.Addr, Key: h.Key, Tries: 1, HTTP: &http.Client{Transport: transport, Timeout: time.Minute}})
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, c)
	}
	return list
}

// answer is how a caller's key ended: with an id, or refused.
type answer struct {
	body, id string
	refused  bool
}

// rush is many callers with the same keys.
type rush struct {
	*house.House
	calls []*client.Client

	mu      sync.Mutex
	answers [][]answer // by key
	counts  map[string]int
}

// wave has all clients hand in some keys at once, each until it has an answer.
func (r *rush) wave(t *testing.T, clients, from, to int) {
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			for k := from; k < to && !t.Failed(); k++ {
				body := "hello"
				if k%10 == 0 && c%2 == 1 {
					body = "good bye"
				}
				if err := r.insist(t.Context(), t, k, c, body); err != nil {
					t.Errorf("key %d of client %d: %v", k, c, err)
				}
			}
		})
	}
	wg.Wait()
}

// insist hands in a key until it is accepted or refused for good. Any answer that is neither, nor says
// to try again, is an error.
func (r *rush) insist(ctx context.Context, t *testing.T, k, c int, body string) error {
	for try := 0; ; try++ {
		draft := house.Text("generic", k)
		draft.Content.Text = body
		line := house.Told{Asked: time.Now(), Op: "send", Key: fmt.Sprintf("key-%d", k), Body: body, Recipients: 1, Answer: "accepted"}
		sent, err := r.calls[(c+try)%len(r.calls)].Messages.SendOnce(ctx, line.Key, draft)
		line.At = time.Now()
		a := answer{body: body}
		code := posthouse.CodeOf(err)
		switch {
		case err == nil:
			a.id, line.Message, line.Status = sent.Accepted[0].ID, sent.Accepted[0].ID, http.StatusAccepted
			if sent.Replayed {
				line.Answer = "replayed"
			}
			code = "accepted"
		case code == posthouse.CodeKeyReused, code == posthouse.CodeUnavailable:
			a.refused, line.Answer, line.Code = true, "refused", string(code)
		default:
			line.Answer, line.Code = "unknown", string(code)
		}
		r.Tell(t, line)
		r.mu.Lock()
		r.counts[string(code)]++
		if final := err == nil || code == posthouse.CodeKeyReused; final {
			r.answers[k] = append(r.answers[k], a)
			r.mu.Unlock()
			return nil
		}
		r.mu.Unlock()
		if code != posthouse.CodeUnavailable && code != posthouse.CodeOutcomeUnknown || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		house.Pause(ctx, 20*time.Millisecond)
	}
}

// wrong says which keys have answers that do not go together.
func (r *rush) wrong() (list []string) {
	for k, answers := range r.answers {
		var id, body string
		for _, a := range answers {
			if !a.refused {
				id, body = cmp.Or(id, a.id), cmp.Or(body, a.body)
			}
		}
		for _, a := range answers {
			if a.refused == (a.body == body) || !a.refused && a.id != id || !strings.HasPrefix(id, "0") {
				list = append(list, fmt.Sprintf("key %d stands for %s with %q: got %+v", k, id, body, a))
			}
		}
	}
	return list
}
