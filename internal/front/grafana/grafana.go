// Package grafana is the front for the alerting of Grafana: what its contact point of the type webhook posts, of version 1. Grafana
// sends once: what is refused is lost there, so little is.
package grafana

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/posthouse/posthouse/internal/inbound"
	"github.com/posthouse/posthouse/internal/inbound/alerts"
)

// Form is the language.
func Form() inbound.Form {
	return inbound.Form{
		Kind: "grafana", Title: "Grafana", Groups: true, Signs: true, Priorities: alerts.Priorities(), MaxBody: 8 << 20,
		Read: read, Answer: inbound.AnswerText, Setup: setup,
	}
}

// The headers of a signature: its name in Grafana can be changed, this is the usual one, and the time is sent where a name is given for it.
const (
	signatureHeader = "X-Grafana-Alerting-Signature"
	timeHeader      = "X-Grafana-Alerting-Timestamp"
)

// signedWithin is how old a signature may be that says when it was made.
const signedWithin = 5 * time.Minute

type body struct {
	Version  string `json:"version"`
	GroupKey string `json:"groupKey"`
	OrgID    int64  `json:"orgId"`
	Title    string `json:"title"`
	Message  string `json:"message"`
	alerts.Group
}

func read(r *inbound.Request) ([]inbound.Message, error) {
	if r.Method != http.MethodPost && r.Method != http.MethodPut {
		return nil, fmt.Errorf("the method is %.20s: want POST or PUT", r.Method)
	}
	if err := verify(r); err != nil {
		return nil, err
	}
	var b body
	if err := json.Unmarshal(r.Body, &b); err != nil {
		return nil, errors.New("the body is no JSON of a webhook of Grafana")
	}
	if b.Version != "1" && b.Version != "" {
		return nil, fmt.Errorf("the version is %.20q: want \"1\", as Grafana posts it since 9; of the payload nothing is customised", b.Version)
	}
	if len(b.Alerts) == 0 && (b.Title != "" || b.Message != "") {
		return []inbound.Message{{Title: b.Title, Text: b.Message, Labels: b.CommonLabels}}, nil
	}
	return alerts.Messages(r, fmt.Sprintf("%d %s", b.OrgID, b.GroupKey), b.Group), nil
}

// verify checks a signature, whose secret is the token: hex of HMAC-SHA256 over the body, after the time and a colon where one is sent.
func verify(r *inbound.Request) error {
	given := r.Header.Get(signatureHeader)
	if given == "" {
		if r.Front.Signed {
			return inbound.ErrSignature
		}
		return nil
	}
	mac := hmac.New(sha256.New, []byte(r.Token))
	if at := r.Header.Get(timeHeader); at != "" {
		unix, err := strconv.ParseInt(at, 10, 64)
		if err != nil || r.Now.Sub(time.Unix(unix, 0)).Abs() > signedWithin {
			return fmt.Errorf("%w: it is of another time than now", inbound.ErrSignature)
		}
		mac.Write([]byte(at + ":"))
	}
	mac.Write(r.Body)
	if want := hex.EncodeToString(mac.Sum(nil)); !hmac.Equal([]byte(want), []byte(given)) {
		return inbound.ErrSignature
	}
	return nil
}

func setup(s inbound.Setup) []inbound.Snippet {
	return []inbound.Snippet{
		{Title: "contact-points.yaml", Text: fmt.Sprintf(`apiVersion: 1
contactPoints:
  - orgId: 1
    name: posthouse
    receivers:
      - uid: posthouse
        type: webhook
        settings:
          url: %s
          httpMethod: POST
          authorization_scheme: Bearer
          authorization_credentials: %s
`, s.URL, s.Token)},
		{Title: "a try by hand", Text: fmt.Sprintf(`curl -H 'Content-Type: application/json' -d '{"version":"1","groupKey":"try","status":"firing","title":"a try","alerts":[{"status":"firing","labels":{"alertname":"Try"},"annotations":{"summary":"a try"},"startsAt":"2026-01-01T00:00:00Z","fingerprint":"1"}]}' %s
`, s.Address())},
	}
}
