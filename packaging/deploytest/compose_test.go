package deploytest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
)

// project is what compose makes of the file and of those read after it, beside the .env that secrets.sh has written.
func project(t *testing.T, more ...string) *types.Project {
	t.Helper()
	dir := t.TempDir()
	for _, name := range append([]string{"compose.yaml", "nginx.conf", "secrets.sh"}, more...) {
		text, err := os.ReadFile(filepath.Join("..", "compose", name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o700)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write := func() ([]byte, error) {
		cmd := exec.Command(filepath.Join(dir, "secrets.sh"), "1.2.3")
		cmd.Env = append(os.Environ(), "POSTHOUSE="+program(t))
		return cmd.CombinedOutput()
	}
	if out, err := write(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	env := filepath.Join(dir, ".env")
	info, err := os.Stat(env)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf(".env: %v, %v: want it to be for its owner alone", info, err)
	}
	if out, err := write(); err == nil || !strings.Contains(string(out), "stays") {
		t.Errorf("a second time: %v, %s: want a refusal", err, out)
	}
	files := []string{filepath.Join(dir, "compose.yaml")}
	for _, name := range more {
		files = append(files, filepath.Join(dir, name))
	}
	options, err := cli.NewProjectOptions(files, cli.WithWorkingDirectory(dir), cli.WithEnvFiles(env), cli.WithDotEnv)
	if err != nil {
		t.Fatal(err)
	}
	p, err := options.LoadProject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Two servers with the same secrets and a folder each run without rights, and start with what secrets.sh has drawn.
func TestTheServersOfTheComposeFile(t *testing.T) {
	t.Parallel()
	p := project(t)
	set := settings(t)
	folders := map[string]bool{}
	for _, name := range []string{"posthouse-1", "posthouse-2"} {
		s, err := p.GetService(name)
		if err != nil {
			t.Fatal(err)
		}
		if s.Image != "posthouse:1.2.3" || s.User != "65532:65532" || !s.ReadOnly || !slices.Equal(s.CapDrop, []string{"ALL"}) || s.Privileged || s.Restart != "unless-stopped" {
			t.Errorf("%s is %+v", name, s)
		}
		if len(s.Ports) > 0 {
			t.Errorf("%s is published at %v, beside nginx", name, s.Ports)
		}
		for _, v := range s.Volumes {
			if v.Target == "/data" {
				folders[v.Source] = true
			}
		}
		for e := range s.Environment {
			known(t, set, e)
		}
	}
	if len(folders) != 2 {
		t.Errorf("the servers' folders are %v", folders)
	}
	s, err := p.GetService("posthouse-1")
	if err != nil {
		t.Fatal(err)
	}
	api := freeAddr(t)
	env := []string{"POSTHOUSE_CREATE=true"}
	for name, value := range s.Environment {
		switch name {
		case "POSTHOUSE_DSN":
			database, err := p.GetService("postgres")
			if err != nil {
				t.Fatal(err)
			}
			of := func(name string) string { return *database.Environment[name] }
			if want := "postgres://" + of("POSTGRES_USER") + ":" + of("POSTGRES_PASSWORD") + "@postgres:5432/" + of("POSTGRES_DB") + "?sslmode=disable"; *value != want {
				t.Errorf("the servers look for %s, and there is %s", *value, want)
			}
			env = append(env, "POSTHOUSE_DSN=sqlite:posthouse.db")
		case "POSTHOUSE_METRICS_ADDR":
			env = append(env, name+"="+freeAddr(t))
		default:
			env = append(env, name+"="+*value)
		}
	}
	serves(t, append(env, "POSTHOUSE_ADDR="+api), nil, map[string]string{"/readyz": api})
}

// nginx leads to every server and to nobody else, and is the one proxy that the servers believe.
func TestTheProxyOfTheComposeFileLeadsToTheServers(t *testing.T) {
	t.Parallel()
	p := project(t)
	text, err := os.ReadFile("../compose/nginx.conf")
	if err != nil {
		t.Fatal(err)
	}
	var led []string
	for _, m := range regexp.MustCompile(`(?m)^\s*server ([a-z0-9-]+):8080 `).FindAllStringSubmatch(string(text), -1) {
		led = append(led, m[1])
	}
	var servers []string
	for name, s := range p.Services {
		if strings.HasPrefix(s.Image, "posthouse:") {
			servers = append(servers, name)
			if got, want := *s.Environment["POSTHOUSE_TRUSTED_PROXIES"], p.Services["nginx"].Networks["inside"].Ipv4Address; got != want {
				t.Errorf("%s believes %s, and nginx is %s", name, got, want)
			}
		}
	}
	slices.Sort(servers)
	if !slices.Equal(led, servers) || len(servers) != 2 {
		t.Errorf("nginx leads to %v, the servers are %v", led, servers)
	}
	for _, port := range p.Services["nginx"].Ports {
		if port.HostIP != "127.0.0.1" {
			t.Errorf("nginx is published at %+v", port)
		}
	}
	for _, name := range []string{"postgres", "nginx"} {
		if tag := p.Services[name].Image; !regexp.MustCompile(`^[a-z]+:\d`).MatchString(tag) {
			t.Errorf("%s runs %s: want a version", name, tag)
		}
	}
}
