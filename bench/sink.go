package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"time"

	"github.com/posthouse/posthouse/bench/trial"
)

// The paths of the sink: a provider that answers at once, one that takes its time, and one
// that notes how old each message is when it arrives.
const (
	sinkNow     = "/now"
	sinkSlow    = "/slow"
	sinkStamped = "/stamped"
)

// slowness is how long the slow provider takes.
const slowness = 20 * time.Millisecond

// sink is the provider that every contender posts to. It runs in this process, apart from theirs.
type sink struct {
	*httptest.Server
	mu   sync.Mutex
	ages []time.Duration
}

func newSink() *sink {
	s := &sink{}
	mux := http.NewServeMux()
	mux.HandleFunc(sinkNow, answer)
	mux.HandleFunc(sinkSlow, func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(slowness):
			answer(w, r)
		case <-r.Context().Done():
		}
	})
	mux.HandleFunc(sinkStamped, s.note)
	s.Server = httptest.NewServer(mux)
	return s
}

func answer(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	_, _ = io.WriteString(w, `{"code":0}`)
}

// note keeps how long ago the message was handed in, by the clock that both processes share.
func (s *sink) note(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	var m trial.Posted
	if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if age, counts := trial.Age(m.Text, now); counts {
		s.mu.Lock()
		s.ages = append(s.ages, age)
		s.mu.Unlock()
	}
	answer(w, r)
}

// take returns the ages so far, sorted, and forgets them.
func (s *sink) take() []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.ages
	s.ages = nil
	slices.Sort(out)
	return out
}
