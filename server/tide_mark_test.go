package server

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// Several processes in one folder remember what they saw at once; each writes it whole, and nothing is left beside it.
func TestProcessesOfOneFolderRememberAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "posthouse-a.mark")
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 50 {
				if err := replace(path, fmt.Sprint(i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	text, err := os.ReadFile(path)
	if err != nil || len(text) != 1 {
		t.Errorf("%q, %v", text, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("%d files, %v", len(left), err)
	}
	if err := replace(filepath.Join(dir, "none", "a"), "x"); err == nil {
		t.Error("a folder that is not there is written to")
	}
}
