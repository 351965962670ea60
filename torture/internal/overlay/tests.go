package overlay

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Tests builds the tests of a package of the module, such as ./torture/internal/prove, with edits of the product, and returns the path of
// their program; it goes with the test.
func Tests(t testing.TB, pkg string, edits ...Edit) string {
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
	path := filepath.Join(dir, "tests")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-overlay", list, "-o", path, pkg)
	build.Dir, build.Stderr = root, os.Stderr
	if err := build.Run(); err != nil {
		t.Fatal(err)
	}
	return path
}
