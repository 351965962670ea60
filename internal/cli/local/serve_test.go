package local

import (
	"slices"
	"strings"
	"testing"

	"github.com/posthouse/posthouse/internal/config"
	"github.com/posthouse/posthouse/server"
)

// Where the system has no locks, a server on SQLite says that nothing keeps a second one off its file.
func TestASystemWithoutLocksIsNamed(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		dsn   string
		locks bool
		want  bool
	}{
		{"sqlite:posthouse.db", false, true}, {"sqlite:posthouse.db", true, false}, {"postgres://db/posthouse", false, false},
	} {
		said := risks(config.Config{Server: server.Options{DSN: test.dsn, Addr: "127.0.0.1:8080"}}, test.locks)
		if got := slices.ContainsFunc(said, func(w string) bool { return strings.Contains(w, "no second server off posthouse.db") }); got != test.want {
			t.Errorf("%s with locks %v: %q", test.dsn, test.locks, said)
		}
	}
}
