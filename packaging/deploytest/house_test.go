package deploytest

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// binary builds the program once, as the repository has it.
var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "posthouse-deploytest-*")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "posthouse")
	cmd := exec.Command("go", "build", "-o", path, "./cmd/posthouse")
	cmd.Dir = filepath.Join("..", "..")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w: %s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := binary(); err == nil {
		_ = os.RemoveAll(filepath.Dir(path)) // of the system's temporary files
	}
	os.Exit(code)
}

func program(t *testing.T) string {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// settings are the variables that the server knows, as its help names them.
func settings(t *testing.T) map[string]bool {
	t.Helper()
	out, err := exec.Command(program(t), "serve", "--help").Output()
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, name := range regexp.MustCompile(`POSTHOUSE_[A-Z_]+`).FindAllString(string(out), -1) {
		known[name] = true
	}
	return known
}

// serves starts the server with settings and flags, on addresses of its own, waits until each path answers 200 there, and then does what is to be done meanwhile.
func serves(t *testing.T, env, args []string, at map[string]string, meanwhile ...func()) {
	t.Helper()
	cmd := exec.Command(program(t), append([]string{"serve"}, args...)...)
	cmd.Dir = t.TempDir()
	cmd.Env = append([]string{"HOME=" + cmd.Dir}, env...)
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	defer func() {
		_ = cmd.Process.Kill() // it may have ended
		<-ended
	}()
	deadline := time.After(time.Minute)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for path, addr := range at {
		for {
			resp, err := http.Get("http://" + addr + path)
			if err == nil {
				resp.Body.Close()
				if resp.StatusCode == http.StatusOK {
					break
				}
			}
			select {
			case err := <-ended:
				ended <- err
				t.Fatalf("the server ended: %v\n%s", err, log.String())
			case <-deadline:
				t.Fatalf("%s does not answer 200: %v\n", path, err)
			case <-tick.C:
			}
		}
	}
	for _, do := range meanwhile {
		do()
	}
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

// known fails for variables that look like settings and are none.
func known(t *testing.T, settings map[string]bool, names ...string) {
	t.Helper()
	for _, name := range names {
		if strings.HasPrefix(name, "POSTHOUSE_") && !settings[strings.TrimSuffix(name, "_FILE")] && !settings[name] {
			t.Errorf("the server knows no %s", name)
		}
	}
}
