//go:build nginx

package nginx

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/posthouse/posthouse/torture/internal/house"
)

// start runs nginx as packaging/compose has it, but for addresses, folders and a log of who answered, and returns its address and that log. What is read
// besides is a file of packaging/compose with its addresses replaced.
func start(t *testing.T, h *house.House, besides ...string) (addr, log string) {
	t.Helper()
	dir := t.TempDir()
	addr, log = house.FreeAddr(t), filepath.Join(dir, "access.log")
	config := edited(t, "nginx.conf", map[string]string{
		"server posthouse-1:8080 ":              "server " + h.Members[0].Addr + " ",
		"server posthouse-2:8080 ":              "server " + h.Members[1].Addr + " ",
		"listen 8080;":                          "listen " + addr + ";",
		"include /etc/nginx/posthouse.d/*.conf": "include " + dir + "/posthouse.d/*.conf",
		"pid /run/nginx.pid;":                   "pid " + dir + "/nginx.pid;",
		"error_log /dev/stderr warn":            "error_log " + dir + "/error.log warn",
		"    access_log off;": "    log_format answered '$status $upstream_addr'; access_log " + log + " answered;\n    client_body_temp_path " + dir + "/body; proxy_temp_path " + dir + "/proxy;\n" +
			"    fastcgi_temp_path " + dir + "/fastcgi; uwsgi_temp_path " + dir + "/uwsgi; scgi_temp_path " + dir + "/scgi;",
	})
	if len(besides) > 0 {
		// Debian has what passes connections on in a file of its own; the image of nginx has it built in.
		const module = "/usr/lib/nginx/modules/ngx_stream_module.so"
		if _, err := os.Stat(module); err == nil {
			config = "load_module " + module + ";\n" + config
		}
		if err := os.Mkdir(filepath.Join(dir, "posthouse.d"), 0o755); err != nil {
			t.Fatal(err)
		}
		for i, text := range besides {
			if err := os.WriteFile(filepath.Join(dir, "posthouse.d", strconv.Itoa(i)+".conf"), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	path := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() == 0 { // its workers become nobody, who has to reach the folders
		for up := dir; up != os.TempDir() && up != "/"; up = filepath.Dir(up) {
			if err := os.Chmod(up, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	if out, err := exec.Command("nginx", "-t", "-c", path).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.Command("nginx", "-c", path, "-g", "daemon off;")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait() // it was told to end
		if t.Failed() {
			said, _ := os.ReadFile(filepath.Join(dir, "error.log"))
			t.Logf("nginx says:\n%s", said)
		}
	})
	house.Until(t, "nginx to answer", func() bool { return get(addr, "/readyz") == http.StatusOK })
	return addr, log
}

// edited is a file of packaging/compose with what stands in it once replaced.
func edited(t *testing.T, name string, changes map[string]string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "packaging", "compose", name))
	if err != nil {
		t.Fatal(err)
	}
	config := string(text)
	for old, now := range changes {
		if strings.Count(config, old) != 1 {
			t.Fatalf("%q stands %d times in %s", old, strings.Count(config, old), name)
		}
		config = strings.Replace(config, old, now, 1)
	}
	return config
}

func get(addr, path string) int {
	resp, err := http.Get("http://" + addr + path)
	if err != nil {
		return 0
	}
	resp.Body.Close()
	return resp.StatusCode
}

// Servers behind nginx are killed and stopped under load, one after the other, and no caller gets an error: what one server had begun to read the other one accepts. Nothing is
// lost, and nothing is sent twice that the checker does not forgive a crash.
func TestServersBehindNginxAreKilledAndNoCallerNotices(t *testing.T) {
	h := house.Open(t, house.Options{DSN: house.Postgres.DSN(t), Members: 2, Env: []string{"POSTHOUSE_TRUSTED_PROXIES=127.0.0.1"}})
	h.PutChannel(t, h.Channel("generic"))
	addr, log := start(t, h)
	h.Through(t, addr)
	if got := get(addr, "/metrics"); got != http.StatusNotFound {
		t.Errorf("/metrics through nginx answers %d, want 404", got)
	}
	const part = 300
	steps := []func(m *house.Member){
		func(m *house.Member) { m.Kill(t) },
		func(m *house.Member) { m.Kill(t) },
		func(m *house.Member) {
			if _, err := m.Term(t); err != nil {
				t.Errorf("a stop: %v", err)
			}
		},
		func(m *house.Member) { m.Kill(t) },
	}
	due := make(chan struct{})
	var load sync.WaitGroup
	t.Cleanup(load.Wait)
	messages := part * (len(steps) + 1)
	var accepted map[int]string
	load.Go(func() {
		defer close(due)
		accepted = h.Produce(t, house.Load{Messages: messages, Each: func(done int) {
			if done%part != 0 || done == messages {
				return
			}
			select {
			case due <- struct{}{}:
			case <-t.Context().Done():
			}
		}})
	})
	taken := 0
	var restarts sync.WaitGroup
	for range due {
		m := h.Members[taken%2]
		restarts.Wait() // of the other one, which alone is there now
		steps[taken](m)
		taken++
		restarts.Go(func() {
			m.Start(t)
			before := answers(t, log, m.Addr)
			house.Until(t, "nginx to come back to the server", func() bool { get(addr, "/healthz"); return answers(t, log, m.Addr) > before })
		})
	}
	load.Wait()
	restarts.Wait()
	if taken != len(steps) || len(accepted) != messages {
		t.Errorf("%d steps and %d accepted messages, want %d and %d", taken, len(accepted), len(steps), messages)
	}
	h.Settle(t)
	h.Judge(t)
	for answer, n := range told(t, h.Told) {
		t.Logf("%d calls were %s", n, answer)
		if answer != "accepted" && answer != "replayed" {
			t.Errorf("%d callers were told %s", n, answer)
		}
	}
}

// answers counts what a server has answered of what nginx passed on, as its log has it.
func answers(t *testing.T, log, addr string) int {
	text, err := os.ReadFile(log)
	if err != nil {
		t.Error(err)
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "2") && strings.HasSuffix(strings.TrimSpace(line), addr) {
			n++
		}
	}
	return n
}

// told counts the answers in a client's journal.
func told(t *testing.T, path string) map[string]int {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	count := map[string]int{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var line house.Told
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		count[line.Answer]++
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return count
}
