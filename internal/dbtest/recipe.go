package dbtest

import (
	"context"
	"database/sql"
	"sync"
	"syscall"
	"time"
)

// Kind is a kind of server.
type Kind string

// The kinds.
const (
	KindPostgres Kind = "postgres"
	KindMariaDB  Kind = "mariadb"
	KindRedis    Kind = "redis"
	KindPooler   Kind = "pgbouncer" // before a database of PostgreSQL: see Pooler
)

// recipe is how one kind of server is laid out, started, asked and ended.
type recipe struct {
	programs []string // the server program first
	folders  []string // patterns of folders that hold all of them, tried before PATH
	install  string   // for people

	layOut func(*Server) error // fills the empty data directory
	args   func(*Server) ([]string, error)
	dsn    func(s *Server, database string) string
	ask    func(context.Context, *Server) error // a query; an error if the server is not ours
	create func(s *Server, database string) error
	drop   func(s *Server, database string) error

	shutDown syscall.Signal // in good order
	abandon  syscall.Signal // at once, when nobody needs the files any more
}

var recipes = map[Kind]recipe{
	KindPostgres: postgresRecipe,
	KindMariaDB:  mariadbRecipe,
	KindRedis:    redisRecipe,
	KindPooler:   poolerRecipe,
	KindEtcd:     etcdRecipe,
}

// value runs a query that answers with one text, in a connection of its own.
func value(ctx context.Context, driver, source, query string) (string, error) {
	db, err := sql.Open(driver, source)
	if err != nil {
		return "", err
	}
	defer db.Close()
	var text string
	err = db.QueryRowContext(ctx, query).Scan(&text)
	return text, err
}

// execute runs a statement in a connection of its own.
func execute(driver, source, statement string) error {
	db, err := sql.Open(driver, source)
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.Exec(statement)
	return err
}

// connection runs the statements by which a server's databases come and go. It is kept for a moment after each, as to begin one takes
// PostgreSQL a tenth of a second of the processor, and then closed with its goroutines.
type connection struct {
	mu    sync.Mutex
	db    *sql.DB // nil while nobody needs it
	users int
	idle  *time.Timer // closes it
}

// keptFor is shorter than the two seconds for which goleak waits at the end of a package's tests.
const keptFor = 300 * time.Millisecond

func (c *connection) execute(driver, source, statement string) error {
	db, err := c.take(driver, source)
	if err != nil {
		return err
	}
	defer c.leave()
	_, err = db.Exec(statement)
	return err
}

func (c *connection) take(driver, source string) (_ *sql.DB, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.idle != nil {
		c.idle.Stop()
	}
	if c.db == nil {
		if c.db, err = sql.Open(driver, source); err != nil {
			return nil, err
		}
	}
	c.users++
	return c.db, nil
}

func (c *connection) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.users--; c.users == 0 {
		c.idle = time.AfterFunc(keptFor, func() { _ = c.close() })
	}
}

// close lets its connections go, unless somebody is at work with them.
func (c *connection) close() (err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.db != nil && c.users == 0 {
		err, c.db = c.db.Close(), nil
	}
	return err
}
