package pull

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/posthouse/posthouse/torture/internal/house"
	"github.com/posthouse/posthouse/torture/internal/proxy"
)

// network is the links that phones reach the servers by, one for each.
type network struct {
	links     []*proxy.Proxy
	transport *http.Transport
}

func newNetwork(t *testing.T, h *house.House) *network {
	t.Helper()
	n := &network{transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	for i, m := range h.Members {
		link, err := proxy.Start(proxy.Options{Target: m.Addr, Protocol: proxy.HTTP, Seed: uint64(i + 1)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := link.Close(); err != nil {
				t.Error(err)
			}
		})
		n.links = append(n.links, link)
	}
	return n
}

// set has every link fail so, the zero value not at all.
func (n *network) set(f proxy.Faults) {
	for _, l := range n.links {
		l.Set(f)
	}
}

// lost is how many requests, and answers to them, were lost.
func (n *network) lost() int {
	sum := int64(0)
	for _, l := range n.links {
		sum += l.Stats().Struck()
	}
	return int(sum)
}

// lawless is what links do to one request in ten.
func lawless() proxy.Faults {
	return proxy.Faults{AnswerLost: proxy.Strike{Share: 0.06}, CommitLost: proxy.Strike{Share: 0.04}}
}

// statusError is an answer that is no success.
type statusError struct {
	status int
	text   string
}

func (e *statusError) Error() string { return fmt.Sprintf("%d: %s", e.status, e.text) }

// callLimit is how long a phone waits for an answer, beyond what it asks the server to wait.
const callLimit = 10 * time.Second

// call asks a server over one of the links. Authorize signs the request.
func (n *network) call(ctx context.Context, link int, method, path string, in, out any, authorize func(*http.Request)) error {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	var body []byte
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://"+n.links[link%len(n.links)].Addr()+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	authorize(req)
	resp, err := (&http.Client{Transport: n.transport}).Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode >= 300 {
		return &statusError{resp.StatusCode, string(text)}
	}
	return json.Unmarshal(text, out)
}

// register makes an agent without limits, and returns its key.
func (n *network) register(ctx context.Context, h *house.House, id string) (key string, err error) {
	var made struct {
		Secret string `json:"secret"`
	}
	in := map[string]any{"id": id, "channels": []string{channelName}, "limits": []any{}}
	err = n.call(ctx, 0, http.MethodPost, "/v1/agents", in, &made, func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+h.Key) })
	if err == nil && made.Secret == "" {
		err = fmt.Errorf("the agent %s has no key", id)
	}
	return made.Secret, err
}
