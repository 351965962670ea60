package secret_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse/internal/secret"
)

const someKey = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="

func TestCreateThenLoadIsTheSameKeyring(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "posthouse.keys")
	made, err := secret.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got mode %v, %v, want 0600", info.Mode(), err)
	}
	loaded, err := secret.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := loaded.Open(seal(t, made, "x", ""), ""); err != nil || got != "x" {
		t.Errorf("got %q, %v, want x", got, err)
	}
	if files, _ := os.ReadDir(filepath.Dir(path)); len(files) != 1 {
		t.Errorf("%d files were left, want the key file alone", len(files))
	}
}

func TestCreateNeverReplacesAFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "posthouse.keys")
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wg.Go(func() { _, errs[i] = secret.Create(path) })
	}
	wg.Wait()
	made := 0
	for _, err := range errs {
		if err == nil {
			made++
		} else if !errors.Is(err, fs.ErrExist) {
			t.Errorf("got %v, want fs.ErrExist", err)
		}
	}
	if made != 1 {
		t.Errorf("the file was made %d times, want once", made)
	}
	if _, err := secret.Load(path); err != nil {
		t.Error(err)
	}
}

func TestLoadRefusesAFileThatOthersMayRead(t *testing.T) {
	t.Parallel()
	for _, mode := range []os.FileMode{0o644, 0o640, 0o604, 0o620, 0o660} {
		path := filepath.Join(t.TempDir(), "keys")
		if _, err := secret.Create(path); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := secret.Load(path); err == nil || !strings.Contains(err.Error(), "chmod 600 "+path) {
			t.Errorf("mode %o: got %v, want an error that says what to do", mode, err)
		}
	}
}

func TestLoadNamesTheFileAndTheLine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "keys")
	if err := os.WriteFile(path, []byte("# our keys, two of them\nk1 "+someKey+"\n\nk2 c2hv\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := secret.Load(path)
	if want := "key file " + path + ": line 4: the secret has 3 bytes; it must have 32"; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	if _, err := secret.Load(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want fs.ErrNotExist", err)
	}
	if _, err := secret.Load(dir); err == nil {
		t.Error("a folder was read as a key file")
	}
	big := filepath.Join(dir, "big")
	if err := os.WriteFile(big, make([]byte, 300<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := secret.Load(big); err == nil || !strings.Contains(err.Error(), "the most is") {
		t.Errorf("got %v, want an error about the size", err)
	}
}

func TestParseReadsTheFormsOfAnEnvironmentVariable(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"k1 " + someKey:                         {"k1"},
		"k1:" + someKey:                         {"k1"},
		"k1:" + strings.TrimRight(someKey, "="): {"k1"},
		"k1:" + someKey + ",k2:" + someKey:      {"k1", "k2"},
		"# old, then new\r\nk1\t" + someKey + "\r\n\r\nk2 " + someKey: {"k1", "k2"},
	} {
		r, err := secret.Parse(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if diff := cmp.Diff(want, r.IDs()); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

func TestParseRefusesWithoutShowingTheSecret(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "# nothing", "c2VjcmV0", "k1 c2VjcmV0", "k1 c2VjcmV0!", "K1 " + someKey,
		"k1 " + someKey + "\nk1 " + someKey, "k1 " + strings.Repeat("A", 43) + "=",
	} {
		_, err := secret.Parse(text)
		if err == nil {
			t.Errorf("%q was accepted", text)
		} else if strings.Contains(err.Error(), "c2VjcmV0") || strings.Contains(err.Error(), someKey) {
			t.Errorf("the error shows the secret: %v", err)
		}
	}
}
