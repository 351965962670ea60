package main

import (
	"net/http"
	"strings"
	"testing"
)

func TestTheSinkKeepsNoAgeOfAWarmUp(t *testing.T) {
	t.Parallel()
	s := newSink()
	t.Cleanup(s.Close)
	for _, text := range []string{"1 posthouse", "warmup posthouse"} {
		resp, err := http.Post(s.URL+sinkStamped, "application/json", strings.NewReader(`{"to":"a1","text":"`+text+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("%q was answered %s", text, resp.Status)
		}
	}
	if got := s.take(); len(got) != 1 {
		t.Errorf("got the ages %v, want that of the stamped message alone", got)
	}
}
