package torture

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/secret"
)

// fleet is a number of server processes on one database.
type fleet struct {
	dsn     string
	key     string
	keyring string
	members []*member
}

// member is one process, at an address that outlives it.
type member struct {
	fleet *fleet
	addr  string
	quick *client.Client // repeats nothing by itself
	mu    sync.Mutex
	cmd   *exec.Cmd
	log   bytes.Buffer
}

func build(path string) error {
	cmd := exec.Command("go", "build", "-o", path, "github.com/posthouse/posthouse/cmd/posthouse")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the command: %w\n%s", err, out)
	}
	return nil
}

// startFleet starts processes one after the other: the first brings the schema up.
func startFleet(t *testing.T, dsn string, n int) *fleet {
	t.Helper()
	f := &fleet{dsn: dsn, key: secret.FormatKey(secret.NewKey()), keyring: filepath.Join(t.TempDir(), "keys")}
	for range n {
		m := &member{fleet: f, addr: freeAddr(t)}
		m.quick = m.client(t, 1)
		f.members = append(f.members, m)
		m.start(t)
		t.Cleanup(func() { m.kill(t) })
	}
	return f
}

func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// start starts the process and waits until it is ready.
func (m *member) start(t *testing.T) {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "serve")
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "POSTHOUSE_DSN="+m.fleet.dsn, "POSTHOUSE_ADDR="+m.addr, "POSTHOUSE_API_KEY="+m.fleet.key,
		"POSTHOUSE_KEYRING_FILE="+m.fleet.keyring, "POSTHOUSE_ALLOW_PRIVATE=true", "POSTHOUSE_LOG_LEVEL=warn", "POSTHOUSE_RESCUE_EVERY=500ms")
	cmd.Stdout, cmd.Stderr = &m.log, &m.log
	m.mu.Lock()
	m.cmd = cmd
	err = cmd.Start()
	m.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		resp, err := http.Get("http://" + m.addr + "/readyz")
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			m.kill(t)
			t.Fatalf("the server is not ready: %v\n%s", err, m.log.String())
		}
	}
}

// kill is kill -9.
func (m *member) kill(t *testing.T) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cmd == nil || m.cmd.Process == nil {
		return
	}
	if err := m.cmd.Process.Kill(); err == nil {
		_ = m.cmd.Wait() // its error says that it was killed
	}
	m.cmd = nil
}

// killOne kills a process at a random moment of its work and starts it again.
func (f *fleet) killOne(t *testing.T, n int) {
	t.Helper()
	m := f.members[n%len(f.members)]
	pause := time.NewTimer(time.Duration(rand.IntN(30)) * time.Millisecond)
	<-pause.C
	m.kill(t)
	m.start(t)
}

// client is a client of the member that tries so often.
func (m *member) client(t *testing.T, tries int) *client.Client {
	t.Helper()
	c, err := client.New(client.Options{URL: "http://" + m.addr, Key: m.fleet.key, Tries: tries})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
