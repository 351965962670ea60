package sqldb

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/posthouse/posthouse"
)

// mysqlPrimary keeps the connections of a process on the one MariaDB server that takes the writes, where there are several. MariaDB
// numbers no promotions, so the database itself does: the stand in posthouse_meta has a number and the id of the server that took the
// writes when it was kept. A server that takes writes and finds the id of another one there was promoted since: its number is one
// more, and higher than that of its former primary, whatever that one still takes.
type mysqlPrimary struct {
	*primary
	config *mysql.Config
	addrs  []string
	hosts  []driver.Connector // one for each of addrs
	writer galeraWriter       // which node of a Galera cluster takes the writes
	any    bool               // each server serves: only look-ups come
	alone  bool               // nothing follows the one server of the DSN: there is nothing to watch

	stop    context.CancelFunc // ends the watch that claim has begun
	running sync.WaitGroup
}

// mysqlAddrs are the hosts of a DSN, which mysqlConfig has joined.
func mysqlAddrs(config *mysql.Config) []string { return strings.Split(config.Addr, ",") }

func newMySQLPrimary(config *mysql.Config, log *slog.Logger) (*mysqlPrimary, error) {
	p := &mysqlPrimary{primary: newPrimary(log), config: config, addrs: mysqlAddrs(config)}
	for _, addr := range p.addrs {
		own := config.Clone()
		own.Addr = addr
		own.DialFunc = p.dialer
		if len(p.addrs) > 1 {
			own.Timeout = severalTimeout
		}
		host, err := mysql.NewConnector(own)
		if err != nil {
			return nil, err
		}
		p.hosts = append(p.hosts, host)
	}
	return p, nil
}

// madeLink is where a context keeps the link that a connection is made over.
type madeLink struct{}

// dialer makes links for what serves, and tells by the context which one it has made. A probe goes to each host, a former primary too.
func (p *mysqlPrimary) dialer(ctx context.Context, network, addr string) (net.Conn, error) {
	plain := (&net.Dialer{}).DialContext
	made, serves := ctx.Value(madeLink{}).(**link)
	if !serves {
		return plain(ctx, network, addr)
	}
	c, err := p.dial(plain)(ctx, network, addr)
	l, ok := c.(*link)
	if err != nil || !ok {
		return c, err
	}
	*made = l
	return checkedLink{l}, nil
}

// checkedLink lets the driver see whether the server has closed a connection that rested.
type checkedLink struct{ *link }

// SyscallConn is that of the connection below.
func (l checkedLink) SyscallConn() (syscall.RawConn, error) {
	c, ok := l.link.Conn.(syscall.Conn)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	return c.SyscallConn()
}

// Connect connects to the primary alone: a look-up that a replica answers is of the past.
func (p *mysqlPrimary) Connect(ctx context.Context) (driver.Conn, error) {
	if err := p.writer.apart(); err != nil {
		return nil, err
	}
	var errs []error
	for _, addr := range p.order() {
		c, err := p.connect(ctx, addr)
		if err == nil {
			return c, nil
		}
		if len(p.addrs) > 1 && posthouse.CodeOf(err) == posthouse.CodeInternal {
			err = fmt.Errorf("%s: %w", addr, err)
		}
		errs = append(errs, err)
		if ctx.Err() != nil {
			break
		}
	}
	return nil, errors.Join(errs...)
}

// Driver is that of the driver's own connector.
func (p *mysqlPrimary) Driver() driver.Driver { return p.hosts[0].Driver() }

// order are the hosts, that which was last seen as the primary before the others.
func (p *mysqlPrimary) order() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	sorted := slices.Clone(p.addrs)
	if i := slices.Index(sorted, p.best); i > 0 {
		sorted = slices.Insert(slices.Delete(sorted, i, i+1), 0, p.best)
	}
	return sorted
}

// errFormer says that a server takes writes and is the primary no more.
var errFormer = errors.New("this server was the primary before another was promoted")

func (p *mysqlPrimary) connect(ctx context.Context, addr string) (driver.Conn, error) {
	if len(p.addrs) > 1 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, severalTimeout) // a frozen server takes connections and says nothing
		defer cancel()
	}
	var l *link
	c, err := p.reach(context.WithValue(ctx, madeLink{}, &l), addr)
	if err != nil || p.any {
		return c, err
	}
	said, err := askMySQL(ctx, c)
	if err == nil {
		err = p.validate(said, addr, l)
	}
	if err != nil {
		_ = c.Close() // it is of no use
		return nil, err
	}
	return primaryConn{c, p, said.timeline, said.node}, nil
}

// reach connects to a host, whatever it is.
func (p *mysqlPrimary) reach(ctx context.Context, addr string) (mysqlConn, error) {
	conn, err := p.hosts[slices.Index(p.addrs, addr)].Connect(ctx)
	if err != nil {
		return nil, err
	}
	c, ok := conn.(mysqlConn)
	if !ok {
		return nil, errors.Join(errors.New("the MySQL driver's connection has not the methods that we need"), conn.Close())
	}
	return c, nil
}

// validate refuses a new connection to a server that is not the primary, or is one no more.
func (p *mysqlPrimary) validate(said mysqlSaid, addr string, l *link) error {
	switch {
	case said.readOnly && p.standby:
		return nil
	case said.readOnly:
		return errReplica
	}
	if said.galera {
		if err := p.writer.accepts(said); err != nil {
			return err
		}
	}
	if l != nil {
		p.mu.Lock()
		l.timeline = said.timeline
		p.mu.Unlock()
	}
	if !p.learn(said.timeline, addr, "") {
		return fmt.Errorf("%w: its number is %d", errFormer, said.timeline)
	}
	return nil
}

// primaryConn does nothing between a promotion and the decision about it, nor on a node of Galera that may not take the writes.
type primaryConn struct {
	mysqlConn
	of       *mysqlPrimary
	timeline int64
	node     string
}

func (c primaryConn) admits(ctx context.Context) error {
	if err := c.of.writer.holds(c.node); err != nil {
		return err
	}
	return c.of.admits(ctx, c.timeline)
}

// BeginTx begins a transaction.
func (c primaryConn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	if err := c.admits(ctx); err != nil {
		return nil, err
	}
	return c.mysqlConn.BeginTx(ctx, o)
}

// QueryContext asks.
func (c primaryConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if err := c.admits(ctx); err != nil {
		return nil, err
	}
	return c.mysqlConn.QueryContext(ctx, query, args)
}

// ExecContext runs a statement.
func (c primaryConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if err := c.admits(ctx); err != nil {
		return nil, err
	}
	return c.mysqlConn.ExecContext(ctx, query, args)
}

// mysqlSaid is what a server says of itself.
type mysqlSaid struct {
	readOnly bool
	timeline int64 // 0 where it tells none
	stand    Stand
	galera   bool
	ready    bool // of a node: it is in the primary component and in step
	node     string
	writer   writerClaim // as the node knows it
	settings map[string]string
}

func (s mysqlSaid) mariadb() bool { return strings.Contains(s.settings["version"], "MariaDB") }

const whoAreYouMySQL = `SHOW GLOBAL VARIABLES WHERE Variable_name IN ('version', 'read_only', 'server_id', 'log_bin', 'gtid_slave_pos', 'gtid_current_pos', 'gtid_strict_mode', 'wsrep_on', 'wsrep_node_name',
	'rpl_semi_sync_master_enabled', 'rpl_semi_sync_master_wait_point', 'rpl_semi_sync_master_wait_no_slave', 'rpl_semi_sync_master_timeout')`

const howAreYouMySQL = "SHOW GLOBAL STATUS WHERE Variable_name IN ('Rpl_semi_sync_master_status', 'Rpl_semi_sync_master_clients', 'wsrep_ready', 'wsrep_cluster_status', 'wsrep_cluster_size', 'wsrep_local_state_comment')"

const keptOfMySQL = "SELECT name, value FROM posthouse_meta WHERE name IN ('stand', 'writer')"

// semiSyncForever is from how long a time-out of semi-synchronous commits on a commit counts as one that waits, in milliseconds: an hour.
// After a shorter one a primary that is cut off answers what no replica has.
const semiSyncForever = 3_600_000

// askMySQL asks a server over a connection of its own. Its tables may not be there yet, or be a stranger's.
func askMySQL(ctx context.Context, c driver.QueryerContext) (said mysqlSaid, err error) {
	set, err := pairs(ctx, c, whoAreYouMySQL)
	if err != nil {
		return said, err
	}
	said.readOnly, said.settings = isOn(set["read_only"]), set
	if !said.mariadb() {
		return said, nil
	}
	said.galera, said.node = isOn(set["wsrep_on"]), set["wsrep_node_name"]
	status, err := pairs(ctx, c, howAreYouMySQL)
	if err != nil {
		return said, err
	}
	for name, value := range status {
		set[strings.ToLower(name)] = value
	}
	said.ready = isOn(set["wsrep_ready"]) && set["wsrep_cluster_status"] == "Primary"
	if said.galera && !said.ready {
		return said, nil // it refuses to look
	}
	kept, err := pairs(ctx, c, keptOfMySQL)
	var refused *mysql.MySQLError
	if err != nil && (!errors.As(err, &refused) || refused.Number != 1146 && refused.Number != 1054) {
		return said, err
	}
	if said.galera {
		said.writer = parseWriter(kept["writer"])
		said.timeline = said.writer.number
		return said, nil
	}
	said.stand = mysqlStand(set, ParseStand(kept["stand"]))
	said.timeline = said.stand.Timeline
	return said, nil
}

func isOn(value string) bool { return value == "ON" || value == "1" }

// mysqlStand is where a server stands, from what it says and what is kept in it. One without a binary log that never was a replica has
// nothing that follows it.
func mysqlStand(set map[string]string, kept Stand) Stand {
	followed := set["gtid_slave_pos"] != ""
	if !isOn(set["log_bin"]) && !followed {
		return Stand{}
	}
	timeout, _ := strconv.ParseUint(set["rpl_semi_sync_master_timeout"], 10, 64)
	now := Stand{System: kept.System, Timeline: kept.Timeline, Server: set["server_id"]}
	now.Sync = isOn(set["rpl_semi_sync_master_enabled"]) && isOn(set["rpl_semi_sync_master_status"]) && set["rpl_semi_sync_master_wait_point"] == "AFTER_SYNC" &&
		isOn(set["rpl_semi_sync_master_wait_no_slave"]) && timeout >= semiSyncForever
	switch {
	case kept.System == "":
		now.System, now.Timeline = newSystem(), 1
	case kept.Server == now.Server:
	case followed:
		now.Timeline++
	default: // it was loaded from a dump, and has begun anew
		now.System, now.Timeline = newSystem(), kept.Timeline+1
	}
	return now
}

// pairs reads rows of two columns.
func pairs(ctx context.Context, c driver.QueryerContext, query string) (map[string]string, error) {
	rows, err := c.QueryContext(ctx, query, nil)
	if err != nil {
		return nil, err
	}
	list, row := map[string]string{}, make([]driver.Value, 2)
	for {
		if err = rows.Next(row); err != nil {
			break
		}
		list[text(row[0])] = text(row[1])
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return list, errors.Join(err, rows.Close())
}

func text(v driver.Value) string {
	if b, ok := v.([]byte); ok {
		return string(b)
	}
	return fmt.Sprint(v)
}

// stand is where a transaction stands.
func (p *mysqlPrimary) stand(t *Tx) (Stand, error) {
	set := map[string]string{}
	read := func(query string) (map[string]string, error) {
		list := map[string]string{}
		err := t.Query(query, nil, func(scan Scanner) error {
			var name, value string
			err := scan(&name, &value)
			list[name] = value
			return err
		})
		return list, err
	}
	for _, query := range []string{whoAreYouMySQL, howAreYouMySQL} {
		part, err := read(query)
		if err != nil {
			return Stand{}, err
		}
		for name, value := range part {
			set[strings.ToLower(name)] = value
		}
	}
	if isOn(set["wsrep_on"]) {
		return Stand{}, nil
	}
	kept, err := read(keptOfMySQL)
	return mysqlStand(set, ParseStand(kept["stand"])), err
}

// close ends the watch that claim has begun.
func (p *mysqlPrimary) close() {
	if p.stop != nil {
		p.stop()
		p.running.Wait()
	}
}

// watch asks each host who it is, over a connection of its own, until ctx ends.
func (p *mysqlPrimary) watch(ctx context.Context) {
	if p.alone || p.stop != nil { // claim has begun it
		return
	}
	p.watchAll(ctx)
}

func (p *mysqlPrimary) watchAll(ctx context.Context) {
	var all sync.WaitGroup
	for i, addr := range p.addrs {
		all.Go(func() { p.watchHost(ctx, addr, i) })
	}
	all.Wait()
}

func (p *mysqlPrimary) watchHost(ctx context.Context, addr string, rank int) {
	var c mysqlConn
	tick := time.NewTicker(primaryLook)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			if c != nil {
				_ = c.Close() // it is of no use any more
			}
			return
		case <-tick.C:
		}
		c = p.probe(ctx, addr, rank, c)
	}
}

// probe asks a host who it is, and returns the connection for the next time, nil where it failed.
func (p *mysqlPrimary) probe(ctx context.Context, addr string, rank int, c mysqlConn) mysqlConn {
	ctx, cancel := context.WithTimeout(ctx, primaryPatient)
	defer cancel()
	var err error
	if c == nil {
		if c, err = p.reach(ctx, addr); err != nil {
			p.miss(addr)
			return nil
		}
	}
	said, err := askMySQL(ctx, c)
	if err == nil {
		err = p.consider(ctx, c, said, addr, rank)
	}
	if err != nil {
		p.miss(addr)
		_ = c.Close() // it may hang
		return nil
	}
	return c
}

// miss leaves a node of Galera that does not answer any more.
func (p *mysqlPrimary) miss(addr string) {
	if p.writer.miss(addr) {
		p.leave(addr)
	}
}

// consider does what follows from what a host says.
func (p *mysqlPrimary) consider(ctx context.Context, c mysqlConn, said mysqlSaid, addr string, rank int) error {
	switch {
	case said.galera:
		return p.considerNode(ctx, c, said, addr, rank)
	case said.readOnly:
		p.leave(addr)
	default:
		p.learn(said.timeline, addr, addr)
	}
	return nil
}
