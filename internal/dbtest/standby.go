package dbtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// StandbyOptions say how a standby follows its primary.
type StandbyOptions struct {
	// Name is how the primary's synchronous_standby_names call it. Defaults to "standby".
	Name string
	// Through is the address, "127.0.0.1:port", by which it reaches the primary. Defaults to the primary's own; a proxy's
	// lets a test cut the two apart.
	Through string
	// Args are more arguments of the server program. Defaults to none.
	Args []string
	// Clock is by how much its machine's clock is ahead of the true one; negative is behind. Defaults to 0. What is not needs libfaketime.
	Clock time.Duration
}

// Standby starts a copy of a PostgreSQL server that follows it by streaming, over a replication slot of its own, and returns
// when it answers. Its user, password and databases are those of the primary. Promote makes it one itself. Of a MariaDB server that was
// started with ReplicaArgs it starts a replica.
func (s *Server) Standby(o StandbyOptions) (*Server, error) {
	if o.Through == "" {
		o.Through = s.Addr
	}
	switch s.options.Kind {
	case KindMariaDB:
		return s.replica(o)
	case KindPostgres:
	default:
		return nil, fmt.Errorf("a standby of %s: want postgres or mariadb", s.options.Kind)
	}
	if o.Name == "" {
		o.Name = "standby"
	}
	r := postgresRecipe
	r.programs = append(r.programs[:len(r.programs):len(r.programs)], "pg_basebackup")
	programs, err := find(KindPostgres, r)
	if err != nil {
		return nil, err
	}
	options := s.options
	options.Dir, options.Args, options.Clock = "", o.Args, o.Clock
	r.create = nil // a copy has the databases of the primary
	r.layOut = func(c *Server) error {
		c.password = s.password
		conn := fmt.Sprintf("postgres://posthouse:%s@%s/?sslmode=disable&application_name=%s", s.password, o.Through, o.Name)
		return c.run("pg_basebackup", "--dbname="+conn, "--pgdata="+c.dataDir(), "--wal-method=stream", "--checkpoint=fast", "--no-sync",
			"--create-slot", "--slot="+o.Name, "--write-recovery-conf")
	}
	c := &Server{options: options, recipe: r, programs: programs}
	if err := c.open(); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

// Promote makes a standby a primary, and returns when it takes writes.
func (s *Server) Promote() error {
	if s.options.Kind == KindMariaDB {
		return s.promoteReplica()
	}
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	done, err := value(ctx, "pgx", postgresDSN(s, "postgres"), "SELECT pg_promote(true, 60)::text")
	if err == nil && done != "true" {
		err = errors.New("it did not end recovery in a minute")
	}
	return err
}

// Ask runs a query of a server's user in its first database (of MariaDB in none), and returns the one text that it answers.
func (s *Server) Ask(query string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	driver, source := s.source()
	return value(ctx, driver, source, query)
}

// Do runs a statement of a server's superuser there.
func (s *Server) Do(statement string) error {
	driver, source := s.source()
	return execute(driver, source, statement)
}

// Set changes settings of a running PostgreSQL server, NAME and value one after the other, and has them read.
func (s *Server) Set(settings ...string) error {
	for i := 0; i+1 < len(settings); i += 2 {
		if err := s.Do(fmt.Sprintf("ALTER SYSTEM SET %s = '%s'", settings[i], settings[i+1])); err != nil {
			return err
		}
		want := settings[i+1]
		if err := s.Do("SELECT pg_reload_conf()"); err != nil {
			return err
		}
		tick := time.NewTicker(askEvery)
		defer tick.Stop()
		for late := time.After(startLimit); ; {
			got, err := s.Ask("SELECT current_setting('" + settings[i] + "')")
			if err == nil && got == want {
				break
			}
			select {
			case <-tick.C:
			case <-late:
				return fmt.Errorf("%s is %q after it was set to %q: %w", settings[i], got, want, err)
			}
		}
	}
	return nil
}

// Demote has a PostgreSQL server that was shut down or killed come back as a standby of another with Restart. What it has
// and the other has not must be nothing: it is not rewound.
func (s *Server) Demote(primary *Server, name string) error {
	if s.options.Kind == KindMariaDB {
		return s.demoteReplica(primary)
	}
	conn := fmt.Sprintf("primary_conninfo = 'user=posthouse password=%s host=127.0.0.1 port=%d application_name=%s sslmode=disable'\nprimary_slot_name = ''\n",
		primary.password, primary.port, name)
	f, err := os.OpenFile(filepath.Join(s.dataDir(), "postgresql.auto.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if _, err := f.WriteString(conn); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := f.Close(); err != nil {
		return err
	}
	signal := filepath.Join(s.dataDir(), "standby.signal")
	if err := os.WriteFile(signal, nil, 0o600); err != nil {
		return err
	}
	return s.owner.own(signal)
}

// HandOver promotes a standby that then has all that this server ever wrote: the old PostgreSQL is shut down, the old MariaDB takes no more writes.
func (s *Server) HandOver(standby *Server) error {
	if s.options.Kind == KindMariaDB {
		return s.handOverReplica(standby)
	}
	if err := s.ShutDown(); err != nil {
		return err
	}
	return standby.Promote()
}

// ShutDown ends the server in good order, as pg_ctl stop -m fast does: its standbys get the rest of its log first. Restart brings it back.
func (s *Server) ShutDown() error { return s.shutDown() }
