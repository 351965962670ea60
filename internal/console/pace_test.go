package console

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/people"
)

// A person's requests are bounded by the minute, and nobody else's with them.
func TestRequestsOfAPersonAreBounded(t *testing.T) {
	t.Parallel()
	p, now := &pace{}, time.Unix(1_000_000, 0)
	for i := range mostRequests {
		if wait := p.over("zhang", now.Add(time.Duration(i)*time.Millisecond)); wait != 0 {
			t.Fatalf("request %d waits %v", i+1, wait)
		}
	}
	if wait := p.over("zhang", now.Add(20*time.Second)); wait != 40*time.Second {
		t.Errorf("one too many waits %v", wait)
	}
	if wait := p.over("li", now.Add(20*time.Second)); wait != 0 {
		t.Errorf("another person waits %v", wait)
	}
	if wait := p.over("zhang", now.Add(paceWindow)); wait != 0 {
		t.Errorf("in the next minute it waits %v", wait)
	}
}

func TestOneTooManyIsToldWhenToGoOn(t *testing.T) {
	t.Parallel()
	drawn, err := readPages()
	if err != nil {
		t.Fatal(err)
	}
	c := &console{o: Options{Zone: time.UTC}, pages: drawn, pace: &pace{since: time.Now().Add(time.Hour), count: map[string]int{"zhang": mostRequests}}}
	w := httptest.NewRecorder()
	v := &visit{console: c, w: w, r: httptest.NewRequest(http.MethodGet, "/console/me", nil), person: people.Visitor{Person: posthouse.Person{Name: "zhang"}}}
	v.fail(paced(v))
	if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), "Too many requests") {
		t.Errorf("got %d, %v\n%s", w.Code, w.Header(), w.Body)
	}
}
