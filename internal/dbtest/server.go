package dbtest

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Options say which server to start.
type Options struct {
	// Kind is KindPostgres, KindMariaDB, KindRedis or KindPooler.
	Kind Kind
	// Dir is where the server keeps its files; a second Start on it finds them
	// again. Defaults to a temporary directory that Stop removes.
	Dir string
	// Durable makes a commit wait until it is synced, as in production. Defaults to
	// false: a commit survives the death of its client, not that of the machine.
	Durable bool
	// Args are more arguments of the server program. Defaults to none. Those of a pooler are lines of its file, as in "pool_mode=session".
	Args []string
	// Clock is by how much the server's clock is ahead of the true one; negative is behind. Defaults to 0. What is not needs libfaketime.
	Clock time.Duration
	// Before is the DSN of the database that a pooler stands before. Required for one.
	Before string
}

// Server is a running server. Its methods are for one goroutine at a time.
type Server struct {
	// DSN is how Posthouse reaches the server's first database; for Redis it is
	// "redis://127.0.0.1:port".
	DSN string
	// Addr is "127.0.0.1:port". It outlives Kill and Restart.
	Addr string

	options  Options
	recipe   recipe
	programs map[string]string // name to path
	dir      string
	password string
	port     int
	owner    owner
	process  process
	own      connection
	watch    *watch
	version  int  // of a PostgreSQL, as in 150003
	copied   bool // the first node of a Galera cluster, whose users all nodes have
}

const (
	startLimit = time.Minute           // from exec to the first answer, on a busy machine
	askEvery   = 20 * time.Millisecond // how often a starting server is asked
	portTries  = 5                     // how often another program may take our port
	inUseTries = 50                    // how often a restart waits for what it needs
	inUseWait  = 100 * time.Millisecond
)

// Start starts a server and returns when it answers a query. The error is a
// *MissingError when it is not installed, and ends with the server's log when it
// did not come up.
func Start(o Options) (*Server, error) {
	r, ok := recipes[o.Kind]
	if !ok {
		return nil, fmt.Errorf("kind %q: want postgres, mariadb, redis or pgbouncer", o.Kind)
	}
	if os.Getenv(servers) == "none" {
		return nil, errLeftOut
	}
	programs, err := find(o.Kind, r)
	if err != nil {
		return nil, err
	}
	s := &Server{options: o, recipe: r, programs: programs}
	if err := s.open(); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

func (s *Server) open() error {
	fresh, err := s.prepare()
	if err != nil {
		return fmt.Errorf("prepare %s: %w", s.options.Kind, err)
	}
	for range portTries {
		if s.port, err = FreePort(); err != nil {
			return err
		}
		s.Addr = fmt.Sprintf("127.0.0.1:%d", s.port)
		if err = s.launch(); !inUse(err) {
			break
		}
	}
	if err == nil && fresh && s.recipe.create != nil {
		err = s.recipe.create(s, firstDatabase)
	}
	s.DSN = s.recipe.dsn(s, firstDatabase)
	return err
}

// firstDatabase is the one DSN names.
const firstDatabase = "posthouse"

// prepare makes the directory and the watch over it, and reports whether the
// directory is fresh: it is then filled.
func (s *Server) prepare() (fresh bool, err error) {
	if s.owner, err = whoRuns(); err != nil {
		return false, err
	}
	if s.dir, err = s.owner.folder(s.options.Dir); err != nil {
		return false, err
	}
	remove := s.dir
	if s.options.Dir != "" {
		remove = ""
	}
	if s.watch, err = startWatch(s.recipe.abandon, remove); err != nil {
		return false, err
	}
	kept, err := os.ReadFile(s.passwordFile())
	if err == nil {
		s.password = string(kept)
		return false, nil
	}
	return true, s.fill()
}

// fill makes the data of a new server. The password is written last: it marks a
// directory that is whole.
func (s *Server) fill() error {
	s.password = rand.Text()
	if err := os.Mkdir(s.dataDir(), 0o700); err != nil {
		return err
	}
	if err := s.owner.own(s.dataDir()); err != nil {
		return err
	}
	if err := s.recipe.layOut(s); err != nil {
		return err
	}
	return os.WriteFile(s.passwordFile(), []byte(s.password), 0o600)
}

func (s *Server) passwordFile() string { return filepath.Join(s.dir, "password") }
func (s *Server) dataDir() string      { return filepath.Join(s.dir, "data") }
func (s *Server) logFile() string      { return filepath.Join(s.dir, "log") }

// secretFile writes a file that only the server may read.
func (s *Server) secretFile(name, text string) (string, error) {
	path := filepath.Join(s.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return "", err
	}
	return path, s.owner.own(path)
}

// run runs a program to its end.
func (s *Server) run(name string, args ...string) error {
	var out bytes.Buffer
	cmd := s.owner.command(s.dir, s.programs[name], args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, out.String())
	}
	return nil
}

// launch starts the server program and waits until it answers.
func (s *Server) launch() error {
	args, err := s.recipe.args(s)
	if err != nil {
		return err
	}
	cmd := s.owner.command(s.dir, s.programs[s.recipe.programs[0]], append(args, s.arguments()...)...)
	if err := skew(cmd, s.options.Clock); err != nil {
		return err
	}
	if s.process, err = startProcess(cmd, s.logFile()); err != nil {
		return err
	}
	s.watch.over(s.process.pid)
	if err := s.answer(); err != nil {
		s.process.kill()
		s.watch.over(0)
		return fmt.Errorf("start %s: %w\n%s", s.options.Kind, err, s.process.log())
	}
	return nil
}

// arguments are the test's own of the server program.
func (s *Server) arguments() []string {
	if s.options.Kind == KindPooler { // they stand in its file
		return nil
	}
	return s.options.Args
}

// answer waits until the server answers a query and tells that it is ours:
// another test binary may have been given the same port.
func (s *Server) answer() error {
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	for {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", s.Addr)
		if err == nil { // else the drivers would write to the log
			conn.Close()
			err = s.recipe.ask(ctx, s)
		}
		if err == nil {
			return nil
		}
		if s.process.exited() {
			return errors.New("the server ended")
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("no answer in %s: %w", startLimit, err)
		case <-tick.C:
		}
	}
}

// Kind is which server it is.
func (s *Server) Kind() Kind { return s.options.Kind }

// PID is the process id of the server, 0 while it is stopped or killed.
func (s *Server) PID() int { return s.process.pid }

// Freeze stops the server's processes where they stand, as those of one that hangs, and returns when all threads of the first have
// stopped; Thaw lets it go on. PostgreSQL has a process for each connection, which are stopped after it.
func (s *Server) Freeze() error {
	err := s.process.freeze()
	for _, pid := range children(s.process.pid) {
		err = errors.Join(err, syscall.Kill(pid, syscall.SIGSTOP))
	}
	return err
}

// Thaw lets a frozen server go on.
func (s *Server) Thaw() error {
	for _, pid := range children(s.process.pid) {
		_ = syscall.Kill(pid, syscall.SIGCONT) // one that has ended needs none
	}
	return syscall.Kill(s.process.pid, syscall.SIGCONT)
}

// Alive reports whether the server's process runs.
func (s *Server) Alive() bool { return !s.process.exited() }

// Kill ends the server and its children as kill -9 does. Restart brings it back.
func (s *Server) Kill() error {
	if s.process.pid == 0 {
		return nil
	}
	err := s.process.kill()
	s.watch.over(0)
	return err
}

// Restart starts a killed server again, on the same directory and port; a running
// one is shut down first.
func (s *Server) Restart() error {
	if s.watch == nil {
		return errors.New("the server was stopped")
	}
	if err := s.shutDown(); err != nil {
		return err
	}
	var err error
	for range inUseTries {
		if err = s.launch(); !inUse(err) {
			break
		}
		<-time.After(inUseWait)
	}
	return err
}

// inUse reports whether a server did not start because another program has its
// port, or because the kernel is still tearing down what Kill left.
func inUse(err error) bool { return err != nil && strings.Contains(err.Error(), "in use") }

// Stop shuts the server down, in good order, and removes the directory if it was
// a temporary one. A second Stop does nothing.
func (s *Server) Stop() error {
	if s.watch == nil {
		return nil
	}
	err := errors.Join(s.own.close(), s.shutDown())
	s.watch.end()
	s.watch = nil
	return err
}

func (s *Server) shutDown() error {
	if s.process.pid == 0 {
		return nil
	}
	err := s.process.end(s.recipe.shutDown)
	s.watch.over(0)
	return err
}

// Database makes a new, empty database. It returns its DSN and what drops it,
// whoever is still connected.
func (s *Server) Database() (dsn string, drop func() error, err error) {
	if s.recipe.create == nil {
		return "", nil, fmt.Errorf("%s has no databases to create", s.options.Kind)
	}
	return s.made(func(name string) error { return s.recipe.create(s, name) })
}

// copyOf makes a database that holds what another one of a PostgreSQL does, to which nobody is connected.
func (s *Server) copyOf(dsn string) (string, func() error, error) {
	from, _, _ := strings.Cut(dsn[strings.LastIndexByte(dsn, '/')+1:], "?")
	return s.made(func(name string) error { return postgresCreate(s, name, from) })
}

func (s *Server) made(create func(name string) error) (dsn string, drop func() error, err error) {
	name := "t_" + strings.ToLower(rand.Text())
	if err := create(name); err != nil {
		return "", nil, fmt.Errorf("create database %s: %w", name, err)
	}
	return s.recipe.dsn(s, name), func() error { return s.recipe.drop(s, name) }, nil
}
