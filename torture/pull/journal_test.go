package pull

import (
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// journal is a file of JSON, a line a call.
type journal[T any] struct {
	path string
	mu   sync.Mutex
	file *os.File
	n    int
}

func newJournal[T any](t *testing.T, name string) *journal[T] {
	t.Helper()
	j := &journal[T]{path: filepath.Join(t.TempDir(), name)}
	var err error
	if j.file, err = os.Create(j.path); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.file.Close() })
	return j
}

func (j *journal[T]) write(t testing.TB, line T) {
	t.Helper()
	text, err := json.Marshal(line)
	j.mu.Lock()
	defer j.mu.Unlock()
	if err == nil {
		_, err = j.file.Write(append(text, '\n'))
	}
	if err != nil {
		t.Error(err)
	}
	j.n++
}

func (j *journal[T]) lines() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.n
}
