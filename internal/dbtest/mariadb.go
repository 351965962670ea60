package dbtest

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	_ "github.com/go-sql-driver/mysql" // the driver "mysql"
)

var mariadbRecipe = recipe{
	programs: []string{"mariadbd", "mariadb-install-db"},
	install:  "mariadb-server (apt) or mariadb (Homebrew)",

	layOut: mariadbLayOut,
	args:   mariadbArgs,
	dsn: func(s *Server, database string) string {
		return fmt.Sprintf("mysql://posthouse:%s@%s/%s", s.password, s.Addr, database)
	},
	ask: mariadbAsk,
	create: func(s *Server, name string) error {
		return s.own.execute("mysql", mariadbSource(s), "CREATE DATABASE "+name+" CHARACTER SET utf8mb4")
	},
	drop: func(s *Server, name string) error {
		return s.own.execute("mysql", mariadbSource(s), "DROP DATABASE "+name)
	},

	shutDown: syscall.SIGTERM,
	abandon:  syscall.SIGKILL,
}

func mariadbLayOut(s *Server) error {
	return s.run("mariadb-install-db", "--no-defaults", "--basedir="+mariadbHome(s), "--datadir="+s.dataDir(),
		"--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve",
		"--innodb-flush-log-at-trx-commit=0", "--innodb-log-file-size=4M")
}

// mariadbHome is the folder above the one that holds the server program, where
// its language files and first tables are.
func mariadbHome(s *Server) string {
	program := s.programs["mariadbd"]
	if real, err := filepath.EvalSymlinks(program); err == nil {
		program = real
	}
	return filepath.Dir(filepath.Dir(program))
}

// mariadbFirst runs at every start. Root has no password until it ran, and no
// way in: the server does not listen before.
const mariadbFirst = `SET sql_log_bin = 0;
ALTER USER root@localhost IDENTIFIED BY '%[1]s';
CREATE USER IF NOT EXISTS posthouse@'%%' IDENTIFIED BY '%[1]s';
GRANT ALL ON *.* TO posthouse@'%%' WITH GRANT OPTION;
`

func mariadbArgs(s *Server) ([]string, error) {
	first, err := s.secretFile("first.sql", fmt.Sprintf(mariadbFirst, s.password))
	if err != nil {
		return nil, err
	}
	args := []string{
		"--no-defaults",
		"--basedir=" + mariadbHome(s),
		"--datadir=" + s.dataDir(),
		"--init-file=" + first,
		"--bind-address=127.0.0.1",
		"--port=" + strconv.Itoa(s.port),
		"--socket=", // none: its path would often be too long
		"--pid-file=" + filepath.Join(s.dir, "pid"),
		"--skip-name-resolve",
		"--max-connections=500",
		"--default-time-zone=+08:00",
	}
	if !s.options.Durable {
		written := "0"
		if slices.Contains(s.options.Args, logsBinary) {
			written = "2" // else a kill leaves in that log what the tables have lost, and a replica ends when it meets that again
		}
		args = append(args, "--innodb-flush-log-at-trx-commit="+written, "--innodb-doublewrite=0", "--innodb-log-file-size=32M", "--innodb-flush-method=nosync")
	}
	return args, nil
}

func mariadbSource(s *Server) string {
	return fmt.Sprintf("posthouse:%s@tcp(%s)/", s.password, s.Addr)
}

func mariadbAsk(ctx context.Context, s *Server) error {
	dir, err := value(ctx, "mysql", mariadbSource(s), "SELECT @@datadir")
	if err != nil {
		return err
	}
	if strings.TrimSuffix(dir, "/") != s.dataDir() {
		return fmt.Errorf("the server at %s keeps its files in %s, not in %s", s.Addr, dir, s.dataDir())
	}
	return nil
}

// mariadbStatements are what makes the tables, views and rows of a database anew, in another one.
func mariadbStatements(s *Server, database string) (statements []string, err error) {
	db, err := sql.Open("mysql", mariadbSource(s)+database)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	rows, err := db.Query("SHOW FULL TABLES")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	views := map[string]string{} // how to create each
	for rows.Next() {
		var name, kind string
		if err := rows.Scan(&name, &kind); err != nil {
			return nil, err
		}
		if kind == "VIEW" {
			views[name] = ""
			continue
		}
		from := "`" + database + "`.`" + name + "`"
		statements = append(statements, "CREATE TABLE `"+name+"` LIKE "+from)
		var filled bool
		if err := db.QueryRow("SELECT EXISTS (SELECT 1 FROM " + from + ")").Scan(&filled); err != nil {
			return nil, err
		}
		if filled {
			statements = append(statements, "INSERT INTO `"+name+"` SELECT * FROM "+from)
		}
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	for name := range views {
		var create, charset, collation string
		if err := db.QueryRow("SHOW CREATE VIEW `"+name+"`").Scan(&name, &create, &charset, &collation); err != nil {
			return nil, err
		}
		views[name] = strings.ReplaceAll(create, "`"+database+"`.", "")
	}
	for len(views) > 0 { // those first that others look at
		for name, create := range views {
			if !slices.ContainsFunc(slices.Collect(maps.Keys(views)), func(other string) bool {
				return other != name && strings.Contains(create, "`"+other+"`")
			}) {
				statements = append(statements, create)
				delete(views, name)
			}
		}
	}
	return statements, nil
}
