package dbtest

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Pooler is a pgbouncer before a database of PostgreSQL, which only this test uses. Its mode is "session" or "transaction"; more
// lines of its file may follow, as in "default_pool_size=4". Its DSN is that of the database by way of it.
func Pooler(t testing.TB, dsn, mode string, lines ...string) *Server {
	t.Helper()
	return Own(t, Options{Kind: KindPooler, Before: dsn, Args: append([]string{"pool_mode=" + mode}, lines...)})
}

var poolerRecipe = recipe{
	programs: []string{"pgbouncer"},
	install:  "pgbouncer (apt or Homebrew)",

	layOut: func(*Server) error { return nil },
	args:   poolerArgs,
	dsn:    func(s *Server, _ string) string { return s.through(s.options.Before) },
	ask:    poolerAsk,

	shutDown: syscall.SIGTERM, // at once: SIGINT waits for clients
	abandon:  syscall.SIGKILL,
}

// through is a DSN by way of a pooler.
func (s *Server) through(dsn string) string {
	u, err := url.Parse(dsn)
	if err != nil {
		return dsn
	}
	u.Host = s.Addr
	return u.String()
}

// poolerArgs writes the pooler's file. What the test wants besides comes last, and counts.
func poolerArgs(s *Server) ([]string, error) {
	u, err := url.Parse(s.options.Before)
	if err != nil || u.Hostname() == "" {
		return nil, fmt.Errorf("a pooler stands before a database: want its DSN in Before, not %q", s.options.Before)
	}
	password, _ := u.User.Password()
	users, err := s.secretFile("users", fmt.Sprintf("%q %q\n", u.User.Username(), password))
	if err != nil {
		return nil, err
	}
	lines := append([]string{
		"[databases]", fmt.Sprintf("* = host=%s port=%s", u.Hostname(), u.Port()),
		"[pgbouncer]", "listen_addr=127.0.0.1", fmt.Sprintf("listen_port=%d", s.port), "unix_socket_dir=",
		"auth_type=scram-sha-256", "auth_file=" + users, "admin_users=" + u.User.Username(),
		"max_client_conn=500", "default_pool_size=20", "log_connections=0", "log_disconnections=0",
	}, s.options.Args...)
	file := filepath.Join(s.dir, "pgbouncer.ini")
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		return nil, err
	}
	return []string{file}, s.owner.own(file)
}

func poolerAsk(ctx context.Context, s *Server) error {
	u, err := url.Parse(s.recipe.dsn(s, ""))
	if err != nil {
		return err
	}
	u.Path, u.RawQuery = "/pgbouncer", "sslmode=disable&default_query_exec_mode=simple_protocol"
	_, err = value(ctx, "pgx", u.String(), "SHOW VERSION") // with our password: another one's refuses it
	return err
}
