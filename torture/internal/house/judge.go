package house

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse/internal/verify"
)

// Judge has posthouse verify decide the run so far, which must have come to rest: the event log, what
// arrived at the provider, what callers were told, the faults. Whatever does not hold fails the test with
// the checker's page. The names are of rare things that must have happened for the run to prove
// anything; none by default.
func (h *House) Judge(t testing.TB, sometimes ...string) verify.Report {
	t.Helper()
	report := h.Verdict(t, "--sometimes", cmp.Or(strings.Join(sometimes, ","), "none"))
	if report.Verdict != verify.Holds {
		t.Errorf("the checker says:\n%s", report.Page())
	}
	return report
}

// mostStall bounds what the checker is told of: with more it could see little of leases of some seconds.
const mostStall = 2 * time.Second

// Verdict is what Judge asks, with more flags of posthouse verify; it fails no test but where there is
// no verdict. The provider's times are as much later as the machine has stood still: what came in before
// is read after.
func (h *House) Verdict(t testing.TB, flags ...string) verify.Report {
	t.Helper()
	stall := time.Duration(h.stall.Load())
	if stall > time.Second {
		t.Logf("this machine stood still for %s: the checker is told of at most %s", stall, mostStall)
	}
	slack := 100*time.Millisecond + min(stall, mostStall)
	flags = append([]string{"verify", "--json", "--at-rest", "--client", h.Told, "--sink", h.Provider.Journal, "--faults", h.Faults, "--slack", slack.String()}, flags...)
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), Binary(t), flags...)
	cmd.Env = append(os.Environ(), "POSTHOUSE_DSN="+h.judgeDSN)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, exit := cmd.Output() // its exit code says what the report says
	var report verify.Report
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatalf("posthouse verify: %v, %v\n%s", exit, err, said.String())
	}
	return report
}
