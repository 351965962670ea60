package house

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// Binary is the built command, made once in a test process.
func Binary(t testing.TB) string {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "posthouse-torture-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "posthouse")
	return path, Build(path)
})

// Build builds the command at a path, with more flags of go build before the package.
func Build(path string, flags ...string) error {
	args := append([]string{"build", "-o", path}, flags...)
	cmd := exec.Command("go", append(args, "github.com/posthouse/posthouse/cmd/posthouse")...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the command: %w\n%s", err, out)
	}
	return nil
}

// FreeAddr is a loopback address nobody listens on right now.
func FreeAddr(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// Until waits until something is true, looking every 20 ms, and ends the test after a limit:
// no bar, only the end of patience.
func Until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	if err := waitFor(t.Context(), patience, ok); err != nil {
		t.Fatalf("waited %s for %s", patience, what)
	}
}
