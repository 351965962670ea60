package dbtest

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
)

var postgresRecipe = recipe{
	programs: []string{"postgres", "initdb"},
	folders: []string{
		"/usr/lib/postgresql/[1-9][0-9]/bin", // Debian
		"/usr/pgsql-[1-9][0-9]/bin",          // Red Hat
		"/opt/homebrew/opt/postgresql@[1-9][0-9]/bin",
		"/usr/local/opt/postgresql@[1-9][0-9]/bin",
	},
	install: "postgresql (apt) or postgresql@17 (Homebrew)",

	layOut: postgresLayOut,
	args:   postgresArgs,
	dsn:    postgresDSN,
	ask:    postgresAsk,
	create: func(s *Server, name string) error { return postgresCreate(s, name, "template0") },
	drop: func(s *Server, name string) error {
		return s.own.execute("pgx", postgresDSN(s, "postgres"), "DROP DATABASE "+name+" WITH (FORCE)")
	},

	shutDown: syscall.SIGINT, // "fast": does not wait for clients
	abandon:  syscall.SIGQUIT,
}

// postgresCreate makes a database that holds what another one does. To copy its files takes half as long as to log each page, where
// nothing is synced; before version 15 nothing else is done.
func postgresCreate(s *Server, name, from string) error {
	how := ""
	if s.version >= 15_00_00 && !s.options.Durable {
		how = " STRATEGY FILE_COPY"
	}
	return s.own.execute("pgx", postgresDSN(s, "postgres"), "CREATE DATABASE "+name+" TEMPLATE "+from+how)
}

func postgresLayOut(s *Server) error {
	file, err := s.secretFile("initdb-password", s.password)
	if err != nil {
		return err
	}
	defer os.Remove(file)
	return s.run("initdb", "--pgdata="+s.dataDir(), "--username=posthouse", "--pwfile="+file,
		"--auth=scram-sha-256", "--encoding=UTF8", "--no-locale", "--no-sync")
}

func postgresArgs(s *Server) ([]string, error) {
	settings := []string{
		"listen_addresses=127.0.0.1",
		"unix_socket_directories=",
		"port=" + strconv.Itoa(s.port),
		"max_connections=500",
		"timezone=Asia/Shanghai",
	}
	if !s.options.Durable {
		settings = append(settings, "fsync=off", "full_page_writes=off")
	}
	args := []string{"-D", s.dataDir()}
	for _, setting := range settings {
		args = append(args, "-c", setting)
	}
	return args, nil
}

func postgresDSN(s *Server, database string) string {
	return fmt.Sprintf("postgres://posthouse:%s@%s/%s?sslmode=disable", s.password, s.Addr, database)
}

func postgresAsk(ctx context.Context, s *Server) error {
	text, err := value(ctx, "pgx", postgresDSN(s, "postgres"), "SELECT current_setting('server_version_num') || ' ' || current_setting('data_directory')")
	if err != nil {
		return err
	}
	version, dir, _ := strings.Cut(text, " ")
	if s.version, err = strconv.Atoi(version); err != nil {
		return err
	}
	if dir != s.dataDir() {
		return fmt.Errorf("the server at %s keeps its files in %s, not in %s", s.Addr, dir, s.dataDir())
	}
	return nil
}
