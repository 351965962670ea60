package server_test

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/posthouse/posthouse/internal/secret"
	"github.com/posthouse/posthouse/server"
)

// An orchestrator starts all processes of an empty database at one moment, in one folder: each makes the schema, the
// keyring and the key, or finds what another has made. Where no key is given, one of them makes one.
func TestManyProcessesStartAtOnceOnAnEmptyDatabase(t *testing.T) {
	t.Parallel()
	for name, key := range map[string]string{"with a key": secret.FormatKey(secret.NewKey()), "without a key": ""} {
		for _, d := range databases[1:] {
			t.Run(d.name+" "+name, func(t *testing.T) {
				t.Parallel()
				startTogether(t, d.dsn(t), key)
			})
		}
	}
}

func startTogether(t *testing.T, dsn, key string) {
	var made atomic.Int64
	o := server.Options{
		DSN: dsn, Addr: "127.0.0.1:0", Output: io.Discard, AdminKey: key, CreateKeyring: true,
		KeyringFile: filepath.Join(t.TempDir(), "posthouse.keys"), StateDir: t.TempDir(), Announce: func(string) { made.Add(1) },
	}
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			s, err := server.New(t.Context(), o)
			if err != nil {
				t.Errorf("start: %v", err)
				return
			}
			if err := s.Stop(t.Context()); err != nil {
				t.Errorf("stop: %v", err)
			}
		})
	}
	all.Wait()
	if want := int64(1); key == "" && made.Load() != want {
		t.Errorf("%d keys were made, want %d", made.Load(), want)
	}
}

// Another keyring than the one beside the database opens none of its secrets, so each way to write the DSN finds that one.
func TestTheKeyringLiesBesideTheDatabase(t *testing.T) {
	for dsn, want := range map[string]string{
		"sqlite:posthouse.db": "posthouse.keys", "sqlite://posthouse.db": "posthouse.keys", "sqlite://data/posthouse.db": "data/posthouse.keys",
	} {
		t.Run(dsn, func(t *testing.T) {
			t.Chdir(t.TempDir())
			s, err := server.New(t.Context(), server.Options{DSN: dsn, Addr: "127.0.0.1:0", Output: io.Discard, Log: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Stop(t.Context()); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(want); err != nil {
				t.Errorf("there is no keyring: %v", err)
			}
		})
	}
}
