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
	url := sim.URL()
	for range 2 {
		must(t, sim.Stop(t.Context()))
	}
	if _, err := try(t, "GET", url+"/healthz", ""); err == nil {
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
