package simulator

import (
	"context"
	"net"
	"strings"
	"testing"
)

func TestStartServesUntilStop(t *testing.T) {
	t.Parallel()
	sim := New(Options{})
	if got := sim.URL(); got != "" {
		t.Errorf("URL before Start: %q", got)
	}
	must(t, sim.Start(t.Context(), ""))
	if got := call(t, "GET", sim.URL()+"/healthz", ""); got.status != 200 || got.body != "{\"status\":\"ok\"}\n" {
		t.Errorf("healthz: got %d %s", got.status, got.body)
	}
	if err := sim.Start(t.Context(), ""); err == nil {
		t.Error("a second Start went well")
	}
	if _, err := tianyuan(t, sim.URL(), "of-this-one"); err != nil {
		t.Fatal(err)
	}
	url := sim.URL()
	if got := call(t, "GET", url+"/messages", ""); !strings.Contains(got.body, "of-this-one") {
		t.Errorf("messages: got %s, want the one that was sent", got.body)
	}
	for range 2 {
		must(t, sim.Stop(t.Context()))
	}
	// Another process may have taken the port since: what answers must not be this simulator.
	if got, err := try(t, "GET", url+"/messages", ""); err == nil && strings.Contains(got.body, "of-this-one") {
		t.Error("it still answers after Stop")
	}
}

func TestStartNamesAnAddressThatIsTaken(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer taken.Close()
	addr := taken.Addr().String()
	if err := New(Options{}).Start(t.Context(), addr); err == nil || !strings.Contains(err.Error(), addr) {
		t.Errorf("got %v, want an error that names %s", err, addr)
	}
}

func TestURLCanBeCalledFromThisMachine(t *testing.T) {
	t.Parallel()
	sim := New(Options{})
	must(t, sim.Start(t.Context(), ":0"))
	defer sim.Stop(context.Background())
	if got := call(t, "GET", sim.URL()+"/healthz", ""); got.status != 200 || !strings.HasPrefix(sim.URL(), "http://127.0.0.1:") {
		t.Errorf("%s: got %d", sim.URL(), got.status)
	}
}

func TestStopBeforeStart(t *testing.T) {
	t.Parallel()
	sim := New(Options{})
	must(t, sim.Stop(t.Context()))
	if err := sim.Start(t.Context(), ""); err == nil {
		t.Error("it started after Stop")
	}
}
