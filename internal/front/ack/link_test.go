package ack

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/secret"
)

// A link is good for a week: after that neither a look nor its button does anything.
func TestALinkExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ring, err := secret.New(secret.GenerateKey())
		if err != nil {
			t.Fatal(err)
		}
		b := &book{posthouse.Notification{State: posthouse.NotificationWaiting}}
		l := &Links{Sealer: ring, Book: b, Log: slog.New(slog.DiscardHandler)}
		link, err := l.Link("t1", "N1", "li.na")
		if err != nil {
			t.Fatal(err)
		}
		ask := func(method string) (int, string) {
			w := httptest.NewRecorder()
			r := httptest.NewRequest(method, link, http.NoBody)
			r.Header.Set("Accept-Language", "en")
			l.ServeHTTP(w, r)
			return w.Code, w.Body.String()
		}
		time.Sleep(7 * 24 * time.Hour)
		if status, page := ask(http.MethodGet); status != http.StatusOK || !strings.Contains(page, "<form") {
			t.Errorf("after a week a look gets %d %s", status, page)
		}
		time.Sleep(time.Second)
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			if status, page := ask(method); status != http.StatusNotFound || !strings.Contains(page, "not valid") || b.Ack != nil {
				t.Errorf("a second later %s gets %d %s, and the acknowledgement is %+v", method, status, page, b.Ack)
			}
		}
	})
}
