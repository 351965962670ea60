package trial

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// tally counts handled messages and, with a steady pace, how long each took to its handler.
type tally struct {
	n     atomic.Int64
	mu    sync.Mutex
	waits []time.Duration
}

func (t *tally) handled() int { return int(t.n.Load()) }

func (t *tally) quantiles() (p50, p99 time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.waits) == 0 {
		return 0, 0
	}
	slices.Sort(t.waits)
	return t.waits[len(t.waits)/2], t.waits[len(t.waits)*99/100]
}

// stamped is a message that says when it was handed in.
func stamped() string { return text(strconv.FormatInt(time.Now().UnixNano(), 10)) }

// unstamped is a message whose age does not count.
func unstamped() string { return text("warmup") }

// Age is how long ago a message was handed in; counts is false where it is not stamped.
func Age(text string, now time.Time) (age time.Duration, counts bool) {
	word, _, _ := strings.Cut(text, " ")
	at, err := strconv.ParseInt(word, 10, 64)
	return time.Duration(now.UnixNano() - at), err == nil
}

// handler is what is done with each message.
func (r *run) handler() (func(context.Context, string) error, error) {
	switch {
	case r.Kind == Pace && r.Post == "":
		return r.note, nil
	case r.Post != "":
		return r.post(), nil
	}
	return func(context.Context, string) error { r.tally.n.Add(1); return nil }, nil
}

// note keeps how long a message took.
func (r *run) note(_ context.Context, text string) error {
	if wait, counts := Age(text, time.Now()); counts {
		r.tally.mu.Lock()
		r.tally.waits = append(r.tally.waits, wait)
		r.tally.mu.Unlock()
	}
	r.tally.n.Add(1)
	return nil
}

// post sends a message to the sink, as a program that uses the library would: one client, its connections kept.
func (r *run) post() func(context.Context, string) error {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: r.Workers}}
	return func(ctx context.Context, text string) error {
		body, err := json.Marshal(Posted{To: "a1", Text: text})
		if err != nil {
			return err
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.Post, bytes.NewReader(body))
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			return err
		}
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("the sink answered %s", resp.Status)
		}
		r.tally.n.Add(1)
		return nil
	}
}

// Posted is the body of what a sink is sent.
type Posted struct {
	To   string `json:"to"`
	Text string `json:"text"`
}
