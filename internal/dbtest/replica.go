package dbtest

import (
	"database/sql"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"
)

// logsBinary has a server write a binary log.
const logsBinary = "--log-bin=binlog"

// ReplicaArgs are the arguments of a MariaDB server, Options.Args, that replicas follow or that follows one. The id is its own
// among them.
func ReplicaArgs(id int) []string {
	return []string{"--server-id=" + strconv.Itoa(id), logsBinary, "--log-slave-updates", "--gtid-strict-mode=ON", "--binlog-format=ROW", "--sync-binlog=1",
		"--rpl-semi-sync-master-wait-point=AFTER_SYNC", "--rpl-semi-sync-master-timeout=86400000", "--slave-net-timeout=2"}
}

// replica starts an empty MariaDB server that follows this one by GTID from its first statement on, and waits until it has come to it.
func (s *Server) replica(o StandbyOptions) (*Server, error) {
	r := mariadbRecipe
	r.create = nil // it has the databases of the primary
	programs, err := find(KindMariaDB, r)
	if err != nil {
		return nil, err
	}
	options := s.options
	options.Clock = o.Clock
	options.Dir, options.Args = "", append(append(ReplicaArgs(2), "--read-only=ON", "--rpl-semi-sync-slave-enabled=ON"), o.Args...)
	layOut := r.layOut
	r.layOut = func(c *Server) error {
		c.password = s.password
		return layOut(c)
	}
	c := &Server{options: options, recipe: r, programs: programs}
	err = c.open()
	if err == nil {
		err = c.follow(o.Through)
	}
	if err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

// follow has a MariaDB server follow another by GTID, and waits until it is connected.
func (s *Server) follow(addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return err
	}
	for _, statement := range []string{
		fmt.Sprintf("CHANGE MASTER TO MASTER_HOST = '%s', MASTER_PORT = %s, MASTER_USER = 'posthouse', MASTER_PASSWORD = '%s', MASTER_USE_GTID = slave_pos, MASTER_CONNECT_RETRY = 1, MASTER_HEARTBEAT_PERIOD = 0.5", host, port, s.password),
		"START SLAVE",
	} {
		if err := s.Do(statement); err != nil {
			return err
		}
	}
	for _, w := range []struct{ query, want, what string }{
		{oneStatus("SLAVE_RUNNING"), "ON", "the replica to follow"},
		{oneStatus("RPL_SEMI_SYNC_SLAVE_STATUS"), "ON", "the replica to answer"},
		{"SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = '" + firstDatabase + "'", "1", "the replica to have the database"},
	} {
		if err := s.until(w.query, w.want, w.what); err != nil {
			return err
		}
	}
	return nil
}

func oneStatus(name string) string {
	return "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = '" + name + "'"
}

// promoteReplica promotes a replica of MariaDB, as the guide says: what it has received is applied before it forgets where from.
func (s *Server) promoteReplica() error {
	if err := s.Do("STOP SLAVE IO_THREAD"); err != nil {
		return err
	}
	received, err := s.slaveStatus("Gtid_IO_Pos")
	if err != nil {
		return err
	}
	if err := s.until("SELECT MASTER_GTID_WAIT('"+received+"', 60)", "0", "the replica to apply what it has received"); err != nil {
		return err
	}
	for _, statement := range []string{"STOP SLAVE", "RESET SLAVE ALL", "SET GLOBAL read_only = OFF"} {
		if err := s.Do(statement); err != nil {
			return err
		}
	}
	return nil
}

// handOverReplica takes no more writes, and promotes a replica that has all of them.
func (s *Server) handOverReplica(replica *Server) error {
	if err := s.Do("SET GLOBAL read_only = ON"); err != nil {
		return err
	}
	written, err := s.Ask("SELECT @@gtid_binlog_pos")
	if err != nil {
		return err
	}
	if err := replica.until("SELECT MASTER_GTID_WAIT('"+written+"', 60)", "0", "the replica to apply what was written"); err != nil {
		return err
	}
	return replica.promoteReplica()
}

// demoteReplica has a former primary, which takes no writes any more and has none that the new one lacks, follow that one.
func (s *Server) demoteReplica(primary *Server) error {
	for _, statement := range []string{"SET GLOBAL read_only = ON", "SET GLOBAL gtid_slave_pos = @@gtid_binlog_pos", "SET GLOBAL rpl_semi_sync_slave_enabled = ON"} {
		if err := s.Do(statement); err != nil {
			return err
		}
	}
	return s.follow(primary.Addr)
}

// slaveStatus is one column of SHOW SLAVE STATUS.
func (s *Server) slaveStatus(column string) (string, error) {
	db, err := sql.Open("mysql", mariadbSource(s))
	if err != nil {
		return "", err
	}
	defer db.Close()
	rows, err := db.Query("SHOW SLAVE STATUS")
	if err != nil {
		return "", err
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return "", err
	}
	row, into := make([]sql.NullString, len(names)), make([]any, len(names))
	for i := range row {
		into[i] = &row[i]
	}
	if !rows.Next() {
		return "", errors.Join(errors.New("it follows nothing"), rows.Err())
	}
	if err := rows.Scan(into...); err != nil {
		return "", err
	}
	return row[slices.Index(names, column)].String, nil
}

// source is the driver of a server, and how it reaches the first database.
func (s *Server) source() (driver, source string) {
	if s.options.Kind == KindMariaDB {
		return "mysql", mariadbSource(s)
	}
	return "pgx", postgresDSN(s, firstDatabase)
}

// until asks until the answer is as wanted.
func (s *Server) until(query, want, what string) error {
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	for late := time.After(startLimit); ; {
		got, err := s.Ask(query)
		if err == nil && got == want {
			return nil
		}
		select {
		case <-tick.C:
		case <-late:
			return fmt.Errorf("no end of the wait for %s: got %q, want %q: %w", what, got, want, err)
		}
	}
}
