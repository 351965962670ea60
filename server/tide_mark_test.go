package server

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
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

// What a process accepts while it finds that the database went back is named by the next look, and nothing twice.
func TestEachAcceptedMessageIsLookedForOnce(t *testing.T) {
	t.Parallel()
	var r recent
	n, seen := 0, 0
	accept := func(count int) (want []string) {
		for range count {
			id := fmt.Sprint(n)
			n++
			r.add([]work.Outcome{{Accepted: []posthouse.Accepted{{ID: id, Deliveries: make([]posthouse.AcceptedDelivery, 1)}, {ID: "a plan"}}}})
			want = append(want, id)
		}
		return want
	}
	for _, count := range []int{3, 0, 2, mostRecent, 1, mostRecent + 5} {
		want := accept(count)
		want = want[max(len(want)-mostRecent, 0):]
		got, total := r.since(seen)
		if !slices.Equal(got, want) || total != n {
			t.Fatalf("after %d more: %d ids of %d, want %d: %.80s", count, len(got), total, len(want), strings.Join(got, " "))
		}
		seen = total
	}
}
