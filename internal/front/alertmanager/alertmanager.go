// Package alertmanager is the front for Prometheus Alertmanager: what its webhook posts, of version 4.
//
// An alert is firing or resolved. A notification brings a group of them, both kinds mixed, and comes again when something of the group
// changes, or after repeat_interval. Each of a pair that is highly available sends its own. Alertmanager tries again after a status of
// 5xx alone, so nothing that is to come again is answered with another.
package alertmanager

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/posthouse/posthouse/internal/inbound"
	"github.com/posthouse/posthouse/internal/inbound/alerts"
)

// Form is the language.
func Form() inbound.Form {
	return inbound.Form{
		Kind: "alertmanager", Paths: []string{"/alertmanager", "/alertmanager/", "/api/v1/alerts", "/api/v2/alerts"}, Title: "Prometheus Alertmanager", Groups: true, Priorities: alerts.Priorities(), MaxBody: maxBody,
		Read: read, Answer: inbound.AnswerText, Setup: setup,
	}
}

// maxBody takes a group of some ten thousand alerts.
const maxBody = 8 << 20

// body is what the webhook posts (https://prometheus.io/docs/alerting/latest/configuration/#webhook_config).
type body struct {
	Version  string `json:"version"`
	GroupKey string `json:"groupKey"`
	alerts.Group
}

func read(r *inbound.Request) ([]inbound.Message, error) {
	var b body
	if r.Method != http.MethodPost {
		return nil, fmt.Errorf("the method is %.20s: want POST", r.Method)
	}
	if err := json.Unmarshal(r.Body, &b); err != nil {
		return nil, errors.New("the body is no JSON of Alertmanager's webhook")
	}
	if b.Version != "4" {
		return nil, fmt.Errorf("the version is %.20q: want \"4\", as Alertmanager posts it since 0.7", b.Version)
	}
	return alerts.Messages(r, b.GroupKey, b.Group), nil
}

func setup(s inbound.Setup) []inbound.Snippet {
	return []inbound.Snippet{
		{Title: "alertmanager.yml: the entry of its receivers, and the receiver of its route", Text: fmt.Sprintf(`receivers:
  - name: posthouse
    webhook_configs:
      - url: %s
        send_resolved: true
        http_config:
          authorization:
            credentials: %s
route:
  receiver: posthouse
`, s.URL, s.Token)},
		{Title: "a try by hand", Text: fmt.Sprintf(`curl -H 'Content-Type: application/json' -d '%s' %s
`, sample, s.Address())},
	}
}

const sample = `{"version":"4","groupKey":"try","status":"firing","receiver":"posthouse","groupLabels":{"alertname":"Try"},"commonLabels":{"alertname":"Try","severity":"warning"},"commonAnnotations":{"summary":"a try"},"externalURL":"http://localhost:9093","alerts":[{"status":"firing","labels":{"alertname":"Try","severity":"warning"},"annotations":{"summary":"a try"},"startsAt":"2026-01-01T00:00:00Z","fingerprint":"1"}]}`
