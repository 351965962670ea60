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

// connection runs the statements by which a server's databases come and go. It keeps its connection for a moment: to begin one takes
// PostgreSQL a tenth of a second of the processor.
type connection struct {
	open sync.Once
	db   *sql.DB
	err  error
}

func (c *connection) execute(driver, source, statement string) error {
	c.open.Do(func() {
		if c.db, c.err = sql.Open(driver, source); c.err == nil {
			c.db.SetConnMaxIdleTime(time.Second)
		}
	})
	if c.err != nil {
		return c.err
	}
	_, err := c.db.Exec(statement)
	return err
}

// close lets its connections go. It is not used again.
func (c *connection) close() error {
	c.open.Do(func() {})
	if c.db == nil {
		return nil
	}
	return c.db.Close()
}
