package house

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/posthouse/posthouse/internal/dbtest"
)

// Binary is the built command, made once in a test process and removed after it.
func Binary(t testing.TB) string {
	t.Helper()
	b := binary()
	if b.err != nil {
		t.Fatal(b.err)
	}
	return b.path
}

// built is the command, and the pipe whose end tells that this process has ended.
type built struct {
	path  string
	alive io.Closer
	err   error
}

var binary = sync.OnceValue(func() (b built) {
	dir, err := os.MkdirTemp("", "posthouse-torture-")
	if err != nil {
		return built{err: err}
	}
	b.path = filepath.Join(dir, "posthouse")
	if b.alive, b.err = removeAfterUs(dir); b.err == nil {
		b.err = Build(b.path)
	}
	return b
})

// removeAfterUs starts a shell that removes a folder when this process ends, however it ends.
func removeAfterUs(dir string) (io.Closer, error) {
	cmd := exec.Command("sh", "-c", `read _; rm -rf "$0"`, dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is not for it
	alive, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	return alive, cmd.Start()
}

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

// FreeAddr is a loopback address nobody listens on right now. The system gives its port to nobody while its process is
// dead.
func FreeAddr(t testing.TB) string {
	t.Helper()
	port, err := dbtest.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", port)
}

// Until waits until something is true, looking every 20 ms, and ends the test after a limit:
// no bar, only the end of patience.
func Until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	if err := waitFor(t.Context(), patience, ok); err != nil {
		t.Fatalf("waited %s for %s", patience, what)
	}
}
