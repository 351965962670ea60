package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheExampleSendsByCallAndByHTTP(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := run(t.Context(), &out); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	const want = `anna is paged: the build is green
  and the delivery went from sending to sent
ben is paged: the build is red
  and the delivery went from sending to sent
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The go command lets no other module import an internal package, or keep a value of what it cannot name. The module is
// built from what is on this machine: nothing is fetched.
func TestTheExampleBuildsInAModuleOfItsOwn(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	mod := read(t, filepath.Join(root, "go.mod"))
	mod = strings.Replace(mod, "module github.com/posthouse/posthouse\n", "module example.com/embed\n", 1)
	mod += "\nrequire github.com/posthouse/posthouse v0.0.0\n\nreplace github.com/posthouse/posthouse => " + root + "\n"
	for name, text := range map[string]string{"go.mod": mod, "go.sum": read(t, filepath.Join(root, "go.sum")), "main.go": read(t, "main.go")} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(dir, "embed"), ".")
	build.Dir = dir
	build.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
