package house

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/posthouse/posthouse/client"
)

// Member is one server process, at an address that outlives it. Kill, Term and Start are for one
// goroutine at a time.
type Member struct {
	Addr string
	// Env are more settings, NAME=VALUE; they take effect with the next Start.
	Env []string

	house  *House
	number int
	binary string
	quick  *client.Client // repeats nothing by itself
	mu     sync.Mutex
	cmd    *exec.Cmd
	log    lockedBuffer
}

// lockedBuffer is a process's output, readable while it runs.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// Start starts the process and waits until it is ready.
func (m *Member) Start(t testing.TB) {
	t.Helper()
	m.Launch(t)
	m.WaitReady(t, http.StatusOK)
}

// Launch starts the process and does not wait.
func (m *Member) Launch(t testing.TB) {
	t.Helper()
	cmd := exec.Command(m.binary, "serve")
	cmd.Dir = m.house.dir
	cmd.Env = append(os.Environ(), "POSTHOUSE_DSN="+m.house.DSN, "POSTHOUSE_ADDR="+m.Addr, "POSTHOUSE_API_KEY="+m.house.Key,
		"POSTHOUSE_KEYRING_FILE="+m.house.keyring, "POSTHOUSE_CREATE=true", "POSTHOUSE_CREATE_KEYRING=true", "POSTHOUSE_ALLOW_PRIVATE=true", "POSTHOUSE_LOG_LEVEL=warn", "POSTHOUSE_RESCUE_EVERY=200ms", "POSTHOUSE_LEASE_MARGIN=1s")
	cmd.Env = append(append(cmd.Env, m.house.env...), m.Env...)
	cmd.Stdout, cmd.Stderr = &m.log, &m.log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // no server outlives a test that is killed
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	m.cmd = cmd
}

// WaitReady waits until /readyz answers with a status.
func (m *Member) WaitReady(t testing.TB, status int) {
	t.Helper()
	got := "no answer"
	err := waitFor(context.WithoutCancel(t.Context()), patience, func() bool {
		resp, err := http.Get("http://" + m.Addr + "/readyz")
		if err != nil {
			got = err.Error()
			return false
		}
		resp.Body.Close()
		got = fmt.Sprint(resp.StatusCode)
		return resp.StatusCode == status
	})
	if err != nil {
		t.Fatalf("/readyz of %s: got %s, want %d\n%s", m.Name(), got, status, m.Log())
	}
}

// Becomes is another binary from the next Start on.
func (m *Member) Becomes(binary string) { m.binary = binary }

// Name is how journals name the member.
func (m *Member) Name() string { return "posthouse-" + strconv.Itoa(m.number) }

// PID is the process's id, 0 while there is none.
func (m *Member) PID() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cmd == nil {
		return 0
	}
	return m.cmd.Process.Pid
}

// Log is what the process has printed so far, all its lives.
func (m *Member) Log() string { return m.log.String() }

// Kill is kill -9; the fault journal notes it. Nothing happens to a member that does not run.
func (m *Member) Kill(t testing.TB) {
	t.Helper()
	at := time.Now()
	if m.end(syscall.SIGKILL) {
		m.house.Fault(t, Fault{At: at, Kind: "kill", Target: m.Name()})
	}
}

// Term is SIGTERM; it returns how long the process took to end, and its error where it did not end well.
func (m *Member) Term(t testing.TB) (time.Duration, error) {
	t.Helper()
	m.mu.Lock()
	cmd := m.cmd
	m.cmd = nil
	m.mu.Unlock()
	if cmd == nil {
		return 0, nil
	}
	at := time.Now()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	err := cmd.Wait()
	m.house.Fault(t, Fault{At: at, Until: time.Now(), Kind: "term", Target: m.Name()})
	return time.Since(at), err
}

// Wait waits until the process ends by itself, as one does that has reached a kill point; one that
// never gets there ends the test.
func (m *Member) Wait(t testing.TB) {
	t.Helper()
	m.mu.Lock()
	cmd := m.cmd
	m.mu.Unlock()
	if cmd == nil {
		return
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // its error says how it ended
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(patience):
		t.Fatalf("%s still runs after %s\n%s", m.Name(), patience, m.Log())
	}
	m.house.Fault(t, Fault{Kind: "kill", Target: m.Name()})
	m.mu.Lock()
	m.cmd = nil
	m.mu.Unlock()
}

// Freeze stops the process where it stands (SIGSTOP) and returns what lets it go on.
func (m *Member) Freeze(t testing.TB) (thaw func()) {
	t.Helper()
	at := time.Now()
	m.signal(t, syscall.SIGSTOP)
	return func() {
		m.signal(t, syscall.SIGCONT)
		m.house.Fault(t, Fault{At: at, Until: time.Now(), Kind: "pause", Target: m.Name()})
	}
}

func (m *Member) signal(t testing.TB, sig syscall.Signal) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cmd == nil {
		t.Fatalf("%s does not run", m.Name())
	}
	if err := m.cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
}

// end ends the process with a signal and reports whether it ran.
func (m *Member) end(sig syscall.Signal) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cmd == nil {
		return false
	}
	_ = m.cmd.Process.Signal(sig)
	_ = m.cmd.Wait() // its error says that it was killed
	m.cmd = nil
	return true
}

// Client is a client of the member that tries so often.
func (m *Member) Client(t testing.TB, tries int) *client.Client {
	t.Helper()
	c, err := client.New(client.Options{URL: "http://" + m.Addr, Key: m.house.Key, Tries: tries})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Key is the key of the administrator.
func (m *Member) Key() string { return m.house.Key }

// Metric is the sum of all series of a metric that /metrics shows, whose line begins with a prefix such
// as posthouse_lease_losses_total or posthouse_message_send_total{channel="generic".
func (m *Member) Metric(t testing.TB, begin string) float64 {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+m.Addr+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+m.house.Key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for line := range strings.Lines(string(text)) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), " ")
		if number, err := strconv.ParseFloat(value, 64); ok && err == nil && strings.HasPrefix(name, begin) {
			sum += number
		}
	}
	return sum
}

// Processor reports how much processor time the process has used so far, and its resident memory in bytes.
func (m *Member) Processor(t testing.TB) (used time.Duration, memory int64) {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", m.PID()))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(stat), ") ") // the name may hold spaces
	fields := strings.Fields(rest)
	const user, system, resident, tick = 11, 12, 21, 10 * time.Millisecond // proc_pid_stat(5), from the state on
	number := func(i int) int64 { n, _ := strconv.ParseInt(fields[i], 10, 64); return n }
	return time.Duration(number(user)+number(system)) * tick, number(resident) * int64(os.Getpagesize())
}
