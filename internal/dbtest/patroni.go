package dbtest

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// KindPatroni is a PostgreSQL server that a Patroni of its own starts, watches over and promotes: see StartPatroni.
const KindPatroni Kind = "patroni"

// Patroni is a cluster of PostgreSQL servers that choose their primary themselves. A commit waits for a standby, whatever is left of them.
type Patroni struct {
	Members []*PatroniMember
	etcd    *Server
}

// PatroniMember is one of them: a PostgreSQL server, and the Patroni beside it. To kill or freeze it is to do so to its machine, to both.
type PatroniMember struct {
	*Server
	Name string
	api  int // the port at which its Patroni says who is what
}

// PatroniOptions say which cluster to start.
type PatroniOptions struct {
	// Members is how many servers there are. Defaults to 3: fewer, and the loss of one stops all commits.
	Members int
	// Durable is that of Options.
	Durable bool
	// Through is the address at which a member, counted from 0, finds the store by which they agree, and at which the others find its PostgreSQL and
	// its Patroni, for what lies at addr. Defaults to addr itself; links of a test's let it cut a machine off.
	Through func(member int, addr string) string
}

// The times of the tests' Patroni, in seconds: a primary that has not renewed its lock for so long is not the primary any more. What
// Patroni itself begins with is 30, 10 and 10.
const patroniTTL, patroniLoop, patroniRetry = 6, 1, 2

const patroniFile = `scope: posthouse
namespace: /posthouse/
name: %[1]s
restapi: {listen: "127.0.0.1:%[2]d", connect_address: "%[14]s"}
etcd3: {hosts: ["%[3]s"], use_proxies: true}
bootstrap:
  dcs:
    ttl: %[4]d
    loop_wait: %[5]d
    retry_timeout: %[6]d
    maximum_lag_on_failover: 1048576
    synchronous_mode: true
    synchronous_mode_strict: true
    postgresql:
      use_pg_rewind: true
      use_slots: true
      parameters: {max_connections: 300, wal_level: replica, hot_standby: "on", wal_log_hints: "on", timezone: Asia/Shanghai%[7]s}
  initdb: [{encoding: UTF8}, {locale: C}, {auth: scram-sha-256}, no-sync]
postgresql:
  listen: "127.0.0.1:%[8]d"
  connect_address: "%[9]s"
  data_dir: %[10]s
  bin_dir: %[11]s
  pgpass: %[12]s
  parameters: {unix_socket_directories: ""}
  pg_hba: ["host all all 127.0.0.1/32 scram-sha-256", "host replication all 127.0.0.1/32 scram-sha-256"]
  authentication:
    superuser: {username: posthouse, password: %[13]s}
    replication: {username: posthouse, password: %[13]s}
    rewind: {username: posthouse, password: %[13]s}
watchdog: {mode: "off"}
`

// StartPatroni starts a cluster for one test, and returns when the first member is the primary, all others follow it, and commits wait.
func StartPatroni(t testing.TB, o PatroniOptions) *Patroni {
	t.Helper()
	c := &Patroni{}
	t.Cleanup(func() {
		for _, m := range c.Members {
			if err := errors.Join(m.Kill(), m.Stop()); err != nil { // one may be frozen
				t.Error(err)
			}
		}
	})
	require(t, c.start(t, o))
	return c
}

func (c *Patroni) start(t testing.TB, o PatroniOptions) error {
	t.Helper()
	if o.Members == 0 {
		o.Members = 3
	}
	if o.Through == nil {
		o.Through = func(_ int, addr string) string { return addr }
	}
	programs, err := find(KindPostgres, recipe{programs: []string{"postgres", "pg_rewind", "pg_basebackup"}, folders: postgresRecipe.folders, install: postgresRecipe.install})
	if err != nil {
		return err
	}
	patroni, err := find(KindPatroni, recipe{programs: []string{"patroni"}, install: "patroni (apt)"})
	if err != nil {
		return err
	}
	programs["patroni"] = patroni["patroni"]
	if c.etcd, err = Start(Options{Kind: KindEtcd}); err != nil {
		return err
	}
	t.Cleanup(func() {
		if err := c.etcd.Stop(); err != nil {
			t.Error(err)
		}
	})
	password := rand.Text()
	for i := range o.Members {
		m, err := c.join(i, o, programs, password)
		if m != nil {
			c.Members = append(c.Members, m)
		}
		if err != nil {
			return fmt.Errorf("start member %d: %w", i+1, err)
		}
	}
	if err := c.until("the first member to be the primary", func() bool { return c.Members[0].Leads(t.Context()) }); err != nil {
		return err
	}
	if err := postgresRecipe.create(c.Members[0].Server, firstDatabase); err != nil {
		return err
	}
	return c.until("every member to follow and a commit to wait", func() bool {
		n, err := c.Members[0].Ask("SELECT COUNT(*) FILTER (WHERE state = 'streaming')::text || ' ' || COUNT(*) FILTER (WHERE sync_state = 'sync')::text FROM pg_stat_replication")
		return err == nil && n == fmt.Sprintf("%d 1", o.Members-1)
	})
}

// join starts one member.
func (c *Patroni) join(i int, o PatroniOptions, programs map[string]string, password string) (*PatroniMember, error) {
	m := &PatroniMember{Name: "db" + strconv.Itoa(i+1)}
	var err error
	if m.api, err = FreePort(); err != nil {
		return nil, err
	}
	r := postgresRecipe
	r.programs = []string{"patroni"}
	r.shutDown, r.abandon = syscall.SIGTERM, syscall.SIGTERM // it ends its PostgreSQL first
	r.layOut = func(s *Server) error {
		s.password = password
		return nil
	}
	r.args = func(s *Server) ([]string, error) {
		more := ""
		if !s.options.Durable {
			more = `, fsync: "off", full_page_writes: "off"`
		}
		file, err := s.secretFile("patroni.yml", fmt.Sprintf(patroniFile, m.Name, m.api, o.Through(i, c.etcd.Addr), patroniTTL, patroniLoop, patroniRetry, more,
			s.port, o.Through(i, s.Addr), s.dataDir(), filepath.Dir(programs["postgres"]), filepath.Join(s.dir, "pgpass"), password, o.Through(i, fmt.Sprintf("127.0.0.1:%d", m.api))))
		return []string{file}, err
	}
	r.create = nil // it answers before it is the primary, and commits wait for the others
	m.Server = &Server{options: Options{Kind: KindPatroni, Durable: o.Durable}, recipe: r, programs: programs}
	return m, m.open()
}

// until waits for something that the cluster does by itself.
func (c *Patroni) until(what string, ok func() bool) error {
	tick := time.NewTicker(askEvery * 5)
	defer tick.Stop()
	for late := time.After(2 * startLimit); ; {
		if ok() {
			return nil
		}
		select {
		case <-tick.C:
		case <-late:
			log := ""
			for _, m := range c.Members {
				log += m.Name + "\n" + m.process.log()
			}
			return fmt.Errorf("waited in vain for %s\n%s", what, log)
		}
	}
}

// postmaster is the process of its PostgreSQL, 0 for none.
func (m *PatroniMember) postmaster() int {
	text, err := os.ReadFile(filepath.Join(m.dataDir(), "postmaster.pid"))
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(first))
	if err != nil || syscall.Kill(pid, 0) != nil {
		return 0
	}
	return pid
}

// Kill ends Patroni and PostgreSQL as a machine that loses its power does.
func (m *PatroniMember) Kill() error {
	err := m.Server.Kill()
	pid := m.postmaster()
	if pid == 0 {
		return err
	}
	orphans := children(pid)
	err = errors.Join(err, syscall.Kill(pid, syscall.SIGKILL))
	for _, pid := range orphans {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	return err
}

// Freeze stops all of them where they stand. What follows is Kill.
func (m *PatroniMember) Freeze() error {
	err := m.Server.Freeze()
	pid := m.postmaster()
	if pid == 0 {
		return errors.Join(err, errors.New("there is no PostgreSQL to freeze"))
	}
	err = errors.Join(err, syscall.Kill(pid, syscall.SIGSTOP))
	for _, pid := range children(pid) {
		err = errors.Join(err, syscall.Kill(pid, syscall.SIGSTOP))
	}
	return err
}

// Log is what its Patroni has printed, at most the last of it.
func (m *PatroniMember) Log() string { return m.process.log() }

// Leads reports whether this member's Patroni says that it is the primary.
func (m *PatroniMember) Leads(ctx context.Context) bool { return m.is(ctx, "primary") }

// Follows reports whether it says that it is a standby that follows.
func (m *PatroniMember) Follows(ctx context.Context) bool { return m.is(ctx, "replica") }

func (m *PatroniMember) is(ctx context.Context, role string) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d/%s", m.api, role), nil)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	var said struct{ State string }
	return resp.StatusCode == http.StatusOK && json.NewDecoder(resp.Body).Decode(&said) == nil && said.State == "running"
}
