package feed_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/feed"
	"github.com/posthouse/posthouse/internal/work"
)

// open seals nothing.
type open struct{}

func (open) Seal(plain, _ string) (string, error) { return plain, nil }
func (open) Open(text, _ string) (string, error)  { return text, nil }

// A person who may make a subscription reads why it failed, and neither what stands behind its URL nor at which address.
func TestAFailedCallShowsNothingOfTheHouse(t *testing.T) {
	t.Parallel()
	inner := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "inner secrets", http.StatusInternalServerError)
	}))
	t.Cleanup(inner.Close)
	for url, want := range map[string]string{
		inner.URL:            "HTTP_500: " + strings.TrimPrefix(inner.URL, "http://") + " answered HTTP 500 Internal Server Error",
		"http://localhost:1": "NETWORK_ERROR: localhost:1 refused the connection",
	} {
		sealed, err := feed.Secrets{{Key: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}}.Seal(open{}, "s1")
		if err != nil {
			t.Fatal(err)
		}
		p := feed.NewPoster(channel.Network{AllowPrivate: true}, open{})
		if got := p.Test(t.Context(), &work.Subscription{ID: "s1", Target: work.Target{URL: url}, Secrets: sealed}); got != want {
			t.Errorf("%s: got %q, want %q", url, got, want)
		}
		p.Client.Close()
	}
}
