package channeltest_test

import (
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/channeltest"
)

// naive is the driver one writes first: http.Client as it comes, every failure is tried again.
type naive struct {
	url, key  string
	timeout   time.Duration
	transport *http.Transport
}

func (d naive) Close() error {
	d.transport.CloseIdleConnections()
	return nil
}

func (d naive) Send(ctx context.Context, out channel.Outgoing) channel.Result {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.url, strings.NewReader(out.Content.Text))
	if err != nil {
		return channel.Result{Class: posthouse.ClassTransient, Error: err.Error()}
	}
	req.Header.Set("Idempotency-Key", out.IdemKey)
	req.Header.Set("X-Key", d.key)
	client := http.Client{Timeout: d.timeout, Transport: d.transport}
	resp, err := client.Do(req)
	if err != nil {
		return channel.Result{Class: posthouse.ClassTransient, Code: channel.CodeNetwork, Error: err.Error()}
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != 200 {
		return channel.Result{Class: posthouse.ClassTransient, Error: string(text)}
	}
	return channel.Result{Class: posthouse.ClassOK}
}

func naiveType() channel.Type {
	return channel.Type{
		Name: "naive",
		Fields: []channel.Field{
			{Name: "url", Kind: channel.KindURL, Required: true},
			{Name: "key", Kind: channel.KindSecret},
		},
		Open: func(c channel.Config, env channel.Env) (channel.Driver, error) {
			return naive{c.String("url"), c.String("key"), env.Timeout, &http.Transport{}}, nil
		},
	}
}

const child = "POSTHOUSE_CHANNELTEST_CHILD"

// The suite is run on the naive driver in a process of its own, where it must find all that is
// wrong with it.
func TestSuiteFindsWhatIsWrongWithANaiveDriver(t *testing.T) {
	if os.Getenv(child) != "" {
		channeltest.Run(t, channeltest.Case{
			Type:    naiveType(),
			Config:  func(url string) map[string]any { return map[string]any{"url": url, "key": "k-123456"} },
			Secrets: []string{"k-123456"},
		})
		return
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.timeout=5m")
	cmd.Env = append(os.Environ(), child+"=1")
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Fatalf("the suite accepts the naive driver:\n%s", out)
	}
	for _, found := range []string{
		"describes_itself", "zoo/reset_after_the_request", "zoo/closed_within_the_body", "zoo/HTTP_302", "zoo/HTTP_400",
		"zoo/HTTP_500", "zoo/HTTP_429,_wait_in_seconds", "zoo/200_with_rubbish", "forbidden_network", "cancelled/during", "echoed_secrets",
	} {
		if !strings.Contains(string(out), "--- FAIL: "+t.Name()+"/"+found) {
			t.Errorf("the suite does not find: %s", found)
		}
	}
	if !strings.Contains(string(out), "3 requests arrived of two sends") {
		t.Error("the suite does not find the request that was sent again")
	}
	for _, fine := range []string{"configuration", "accepted", "cancelled/before", "not_sent/refused_connection"} {
		if strings.Contains(string(out), "--- FAIL: "+t.Name()+"/"+fine+" ") {
			t.Errorf("the suite refuses what is right: %s", fine)
		}
	}
	if t.Failed() {
		t.Logf("the suite said:\n%s", out)
	}
}
