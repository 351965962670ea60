// Package overlay builds the command with named edits of its source, by the -overlay
// flag of go build: places where it kills itself, and the seeded bugs that the
// checker must find. So the product's own code holds no hooks for tests.
//
// An edit names text that stands exactly once in its file. When the code moves on
// and the text is gone, the build fails and names the edit: it is then put anew,
// never skipped.
package overlay

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/posthouse/posthouse/torture/internal/house"
)

// Edit replaces Old, which must stand once in File, by New. An empty Old makes File anew.
type Edit struct {
	// File is a path from the module's root, such as internal/engine/recorder.go, or an absolute one.
	File     string
	Old, New string
}

// Build builds the command with edits and returns its path; it goes with the test.
func Build(t testing.TB, edits ...Edit) string {
	t.Helper()
	dir := t.TempDir()
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	list, err := write(dir, root, edits)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "posthouse")
	if err := house.Build(path, "-overlay", list); err != nil {
		t.Fatal(err)
	}
	return path
}

// Check applies edits and builds nothing: it tells in no time whether they still fit the source.
func Check(t testing.TB, edits ...Edit) {
	t.Helper()
	root, err := moduleRoot()
	if err == nil {
		_, err = write(t.TempDir(), root, edits)
	}
	if err != nil {
		t.Error(err)
	}
}

// Compile compiles the packages of the module that edits change, and links nothing: it tells in seconds whether what the
// edits leave is a program.
func Compile(t testing.TB, edits ...Edit) {
	t.Helper()
	dir := t.TempDir()
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	list, err := write(dir, root, edits)
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"build", "-overlay", list}
	for _, e := range edits {
		if dir := "./" + filepath.ToSlash(filepath.Dir(e.File)); !filepath.IsAbs(e.File) && !slices.Contains(args, dir) {
			args = append(args, dir)
		}
	}
	build := exec.Command("go", args...)
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func moduleRoot() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/posthouse/posthouse").Output()
	return strings.TrimSpace(string(out)), err
}

// write applies the edits to copies in dir and returns the overlay's file.
func write(dir, root string, edits []Edit) (string, error) {
	texts := map[string]string{} // by the file's path
	for _, e := range edits {
		path := e.File
		if !filepath.IsAbs(path) {
			path = filepath.Join(root, path)
		}
		text, ok := texts[path]
		if !ok && e.Old != "" {
			whole, err := os.ReadFile(path)
			if err != nil {
				return "", err
			}
			text = string(whole)
		}
		edited, err := e.apply(text)
		if err != nil {
			return "", err
		}
		texts[path] = edited
	}
	replace := map[string]string{}
	for path, text := range texts {
		replace[path] = filepath.Join(dir, fmt.Sprintf("%d-%s", len(replace), filepath.Base(path)))
		if err := os.WriteFile(replace[path], []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	list := filepath.Join(dir, "overlay.json")
	body, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	return list, os.WriteFile(list, body, 0o600)
}

func (e Edit) apply(text string) (string, error) {
	if e.Old == "" {
		return e.New, nil
	}
	if n := strings.Count(text, e.Old); n != 1 {
		return "", fmt.Errorf("%s: the text to edit stands there %d times, want once: put the edit anew\n%s", e.File, n, e.Old)
	}
	return strings.Replace(text, e.Old, e.New, 1), nil
}
