package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"time"
)

// The paths of the sink: a provider that answers at once, and one that takes its time.
const (
	sinkNow  = "/now"
	sinkSlow = "/slow"
)

// slowness is how long the slow provider takes.
const slowness = 20 * time.Millisecond

// newSink is the provider that every contender posts to. It runs in this process, apart from theirs.
func newSink() *httptest.Server {
	answer := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, `{"code":0}`)
	}
	mux := http.NewServeMux()
	mux.HandleFunc(sinkNow, answer)
	mux.HandleFunc(sinkSlow, func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(slowness):
		case <-r.Context().Done():
			return
		}
		answer(w, r)
	})
	return httptest.NewServer(mux)
}
