package house

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/simulator"
)

// Provider is the simulator in a process of its own, so that it survives every kill to say what arrived.
type Provider struct {
	URL string
	// Journal is the file of arrivals, a line of JSON each, written before its sender is answered.
	Journal string
}

// StartProvider starts a simulator that goes with the test. Recipients with speaking names do not
// fail by themselves.
func StartProvider(t testing.TB) *Provider {
	t.Helper()
	p := &Provider{Journal: filepath.Join(t.TempDir(), "sink.jsonl")}
	cmd := exec.Command(Binary(t), "simulate", "--json", "--addr", "127.0.0.1:0", "--plain-recipients", "--journal", p.Journal)
	var log lockedBuffer
	cmd.Stderr = &log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the simulator: %v\n%s", err, log.String())
		}
	})
	var said struct{ URL string }
	if err := json.NewDecoder(out).Decode(&said); err != nil {
		t.Fatalf("the simulator did not say where it is: %v\n%s", err, log.String())
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	p.URL = said.URL
	if p.URL[:4] != "http" {
		p.URL = "http://" + p.URL
	}
	return p
}

// Behave sets how one of the simulator's providers answers; the zero Behaviour is well again.
func (p *Provider) Behave(t testing.TB, provider string, b simulator.Behaviour) {
	t.Helper()
	if b.Faults == nil {
		b.Faults = []simulator.Fault{}
	}
	p.put(t, "/faults/"+provider, b)
}

// CallBack says where one of the simulator's providers tells what became of messages.
func (p *Provider) CallBack(t testing.TB, provider string, to simulator.Callback) {
	t.Helper()
	p.put(t, "/callbacks/"+provider, to)
}

func (p *Provider) put(t testing.TB, path string, value any) {
	t.Helper()
	body, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodPut, p.URL+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode >= http.StatusMultipleChoices {
		text, _ := io.ReadAll(resp.Body)
		t.Fatalf("%s of the simulator: %s: %s", path, resp.Status, text)
	}
}

// Share is a fault that strikes a share of the requests.
func Share(kind simulator.Kind, probability float64) simulator.Fault {
	return simulator.Fault{Kind: kind, Probability: &probability}
}

// Size is how long the journal is: it grows when something arrives.
func (p *Provider) Size(t testing.TB) int64 {
	t.Helper()
	f, err := os.Stat(p.Journal)
	if err != nil {
		t.Fatal(err)
	}
	return f.Size()
}

// Arrivals reads the journal from its beginning. A line that is being written shows its first part for a moment: it is
// waited for, so that every arrival that was answered before is among them.
func (p *Provider) Arrivals(t testing.TB) (list []simulator.Arrival) {
	t.Helper()
	var err error
	Until(t, "the journal of arrivals to end with a whole line", func() bool {
		list = nil
		err = p.read(func(a *simulator.Arrival) { list = append(list, *a) })
		return !errors.Is(err, io.ErrUnexpectedEOF)
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// Each shows every arrival, one at a time, for journals that are too long to be held at once. It is for when nothing more comes.
func (p *Provider) Each(t testing.TB, each func(*simulator.Arrival)) {
	t.Helper()
	if err := p.read(each); err != nil {
		t.Fatal(err)
	}
}

func (p *Provider) read(each func(*simulator.Arrival)) error {
	f, err := os.Open(p.Journal)
	if err != nil {
		return err
	}
	defer f.Close()
	for d := json.NewDecoder(f); ; {
		var a simulator.Arrival
		if err := d.Decode(&a); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		each(&a)
	}
}

// Channel is a channel to the simulator's generic provider, whose sender knows no receipts: ambiguous
// attempts are retried at once and often, so that everything ends and duplicates can be counted.
func (h *House) Channel(name string) posthouse.Channel {
	ch := posthouse.Channel{Name: name, Driver: "httpapi", Config: map[string]any{
		"url":  h.Provider.URL + "/generic/send",
		"body": `{"id":"${idempotency_key}","to":"${user}","text":"${text}"}`, "id_path": "$.id",
	}}
	ch.OnUnknown, ch.Tries = posthouse.Retry, 100
	ch.Backoff = []posthouse.Duration{posthouse.Duration(100 * time.Millisecond)}
	ch.Timeout = posthouse.Duration(time.Second)
	return ch
}

// Patient is a channel on which no answer is late because the machine is busy, for tests in which nothing may come twice.
func Patient(ch posthouse.Channel) posthouse.Channel {
	ch.Timeout = posthouse.Duration(20 * time.Second)
	return ch
}

// PutChannel makes or changes a channel, at the first member.
func (h *House) PutChannel(t testing.TB, ch posthouse.Channel) {
	t.Helper()
	if _, _, err := h.Members[0].Client(t, 3).Channels.Put(t.Context(), ch); err != nil {
		t.Fatal(fmt.Errorf("put the channel: %w", err))
	}
}
