package server_test

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/posthouse/posthouse/internal/secret"
	"github.com/posthouse/posthouse/server"
)

// An orchestrator starts all processes of an empty database at one moment, with one key and one
// folder: each makes the schema, the keyring and the key, or finds what another has made.
func TestManyProcessesStartAtOnceOnAnEmptyDatabase(t *testing.T) {
	t.Parallel()
	for _, d := range databases[1:] {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			o := server.Options{
				DSN: d.dsn(t), Addr: "127.0.0.1:0", Output: io.Discard,
				AdminKey:    secret.FormatKey(secret.NewKey()),
				KeyringFile: filepath.Join(t.TempDir(), "posthouse.keys"),
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
		})
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
