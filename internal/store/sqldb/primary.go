package sqldb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/posthouse/posthouse"
)

// primary keeps the connections of a process on the one PostgreSQL server that takes the writes, where there are several. Each
// promotion of a standby begins a timeline with a higher number. A server with a lower one than was ever seen is a former
// primary that does not know it yet: its connections are closed, in the midst of what they wait for, and no new ones are made. So a
// server that hangs, that was cut off, or that goes on as if nothing had happened does not hold up a process that can reach the
// new primary. Such a server takes writes that are lost, which is why the highest timeline wins and not the first answer.
type primary struct {
	log     *slog.Logger
	standby bool // connections may be to a standby too

	mu       sync.Mutex // guards all below
	hosts    []host
	probe    *pgconn.Config
	timeline int64           // the highest that was seen; 0 where the server tells none
	best     string          // the name of the host that was last seen as the primary
	links    map[*link]bool  // open connections of the pools
	fenced   map[string]bool // addresses of former primaries
	gated    bool
	decided  int64         // where gated, the timeline up to which anybody may work
	promoted chan struct{} // holds one where a timeline is undecided
}

func newPrimary(log *slog.Logger) *primary {
	return &primary{log: log, links: map[*link]bool{}, fenced: map[string]bool{}, promoted: make(chan struct{}, 1)}
}

// Gate keeps a promoted standby from all but what Deciding marks, until Decided is called: what it may lack has to be found before
// anything is sent by it. It returns a channel that tells of promotions; nil where there are none.
func (s *DB) Gate() <-chan struct{} {
	if s.primary == nil || !s.stands {
		return nil
	}
	if s.mysql != nil && s.mysql.writer.cluster() {
		s.mysql.claim()
		return nil
	}
	s.primary.mu.Lock()
	defer s.primary.mu.Unlock()
	s.primary.gated, s.primary.decided = true, s.primary.timeline
	return s.primary.promoted
}

// Deciding marks what decides about a promotion.
func Deciding(ctx context.Context) context.Context { return context.WithValue(ctx, deciding{}, true) }

type deciding struct{}

// Decided lets everything work on a timeline, and reports whether none is left to decide about.
func (s *DB) Decided(timeline int64) bool {
	if s.primary == nil {
		return true
	}
	s.primary.mu.Lock()
	defer s.primary.mu.Unlock()
	s.primary.decided = max(s.primary.decided, timeline)
	return !s.primary.gated || s.primary.decided >= s.primary.timeline
}

// errUndecided answers what comes between a promotion and the decision.
var errUndecided error = posthouse.Errorf(posthouse.CodeUnavailable, "a standby of the database was promoted: it is being found out whether it lacks anything; try again")

// pass lets a connection of a pool serve, or not yet.
func (p *primary) pass(ctx context.Context, c *pgx.Conn) (ok bool, err error) {
	timeline, _ := c.PgConn().CustomData()[timelineKey].(int64)
	return true, p.admits(ctx, timeline)
}

// admits refuses what comes between a promotion and the decision about it.
func (p *primary) admits(ctx context.Context, timeline int64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gated && timeline > p.decided && ctx.Value(deciding{}) == nil {
		return errUndecided
	}
	return nil
}

// timelineKey is what a connection is noted under that it was made to.
const timelineKey = "timeline"

// host is one of those that the DSN names, with all ways to it: with TLS and without.
type host struct {
	name string // host:port
	ways []*pgconn.FallbackConfig
}

// hostsOf are the hosts of a config in their order.
func hostsOf(c *pgconn.Config) (hosts []host) {
	for _, way := range append([]*pgconn.FallbackConfig{{Host: c.Host, Port: c.Port, TLSConfig: c.TLSConfig}}, c.Fallbacks...) {
		name := net.JoinHostPort(way.Host, strconv.Itoa(int(way.Port)))
		i := slices.IndexFunc(hosts, func(h host) bool { return h.name == name })
		if i < 0 {
			i, hosts = len(hosts), append(hosts, host{name: name})
		}
		hosts[i].ways = append(hosts[i].ways, way)
	}
	return hosts
}

// inOrder gives a config these hosts, the first of them first.
func inOrder(c *pgconn.Config, hosts []host) {
	var ways []*pgconn.FallbackConfig
	for _, h := range hosts {
		ways = append(ways, h.ways...)
	}
	c.Host, c.Port, c.TLSConfig, c.Fallbacks = ways[0].Host, ways[0].Port, ways[0].TLSConfig, ways[1:]
}

// severalTimeout is how long a connection may take to come up where another host can be tried.
const severalTimeout = 2 * time.Second

// guard lets a pool connect to the primary alone, whatever the DSN says of target_session_attrs: a look-up that a standby
// answers is of the past.
func (p *primary) guard(config *pgxpool.Config) {
	c := &config.ConnConfig.Config
	hosts := hostsOf(c)
	if len(hosts) > 1 {
		c.ConnectTimeout = severalTimeout
	}
	p.mu.Lock()
	p.hosts, p.probe = hosts, c.Copy()
	p.mu.Unlock()
	p.probe.ValidateConnect = nil
	if p.probe.RuntimeParams["application_name"] == "" {
		p.probe.RuntimeParams["application_name"] = "posthouse"
	}
	c.ValidateConnect = p.validate
	c.DialFunc = p.dial(c.DialFunc)
	c.OnPgError = onPostgresError(c.OnPgError)
	c.OnNotice = onPostgresNotice
	config.PrepareConn = p.pass
	config.BeforeConnect = func(_ context.Context, cc *pgx.ConnConfig) error {
		p.mu.Lock()
		defer p.mu.Unlock()
		inOrder(&cc.Config, bestFirst(hosts, p.best))
		return nil
	}
}

func bestFirst(hosts []host, best string) []host {
	sorted := slices.Clone(hosts)
	slices.SortStableFunc(sorted, func(a, b host) int { return cmp.Compare(rank(a.name == best), rank(b.name == best)) })
	return sorted
}

func rank(first bool) int {
	if first {
		return 0
	}
	return 1
}

// onPostgresError closes a connection whose server has become read-only: it was demoted, or fenced by a person, and another may be the
// primary now. The default closes one after a fatal error.
func onPostgresError(next pgconn.PgErrorHandler) pgconn.PgErrorHandler {
	return func(c *pgconn.PgConn, e *pgconn.PgError) bool { return e.Code != "25006" && next(c, e) }
}

// onPostgresNotice breaks a connection whose COMMIT was told not to wait for the standbys any more, by pg_cancel_backend: PostgreSQL warns, and
// says of a commit that no standby has that it is done. A broken connection makes its outcome unknown, which it is.
func onPostgresNotice(c *pgconn.PgConn, n *pgconn.Notice) {
	if n.Code == "01000" && n.Routine == "SyncRepWaitForLSN" {
		c.Frontend().SetMaxBodyLen(1) // the answer that follows is refused, also where it has been read already
	}
}

// errReplica says that a server takes no writes.
var errReplica = errors.New("this server is a read-only replica: want the primary")

// validate refuses a new connection to a server that is not the primary, or is one no more.
func (p *primary) validate(ctx context.Context, c *pgconn.PgConn) error {
	said, err := ask(ctx, c)
	switch {
	case err != nil:
		return err
	case said.readOnly && p.standby:
		return nil
	case said.readOnly:
		return errReplica
	}
	c.CustomData()[timelineKey] = said.timeline
	addr := ""
	if l := p.linkOf(c); l != nil {
		addr = l.addr
		p.mu.Lock()
		l.timeline = said.timeline
		p.mu.Unlock()
	}
	if !p.learn(said.timeline, addr, "") {
		return fmt.Errorf("this server was the primary before another was promoted: it is on timeline %d", said.timeline)
	}
	return nil
}

// said is what a server says of itself. One that tells no timeline, because it is not PostgreSQL's own, has 0.
type said struct {
	readOnly bool
	timeline int64
}

// whoAreYou reads the timeline from the name of the file of the log that is written now: the control file has it only
// after a checkpoint.
const whoAreYou = `SELECT (pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on')::int,
	CASE WHEN pg_is_in_recovery() THEN 0 ELSE ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint END`

func ask(ctx context.Context, c *pgconn.PgConn) (s said, err error) {
	results, err := c.Exec(ctx, whoAreYou).ReadAll()
	var refused *pgconn.PgError
	if errors.As(err, &refused) && !c.IsClosed() { // a pooler, or another make
		err := pgconn.ValidateConnectTargetSessionAttrsReadWrite(ctx, c)
		return said{readOnly: errors.Is(err, pgconn.ErrReadOnlyConnection)}, ignoring(err, pgconn.ErrReadOnlyConnection)
	}
	if err != nil {
		return said{}, err
	}
	row := results[0].Rows[0]
	s.readOnly = string(row[0]) == "1"
	s.timeline, err = strconv.ParseInt(string(row[1]), 10, 64)
	return s, err
}

func ignoring(err, what error) error {
	if errors.Is(err, what) {
		return nil
	}
	return err
}

// learn notes the timeline of a server that takes writes, and reports whether it is the newest. Connections to older ones are closed.
// addr is where it was reached, and name the host by the DSN; each may be unknown.
func (p *primary) learn(timeline int64, addr, name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if timeline == 0 {
		return true
	}
	if timeline < p.timeline {
		return false
	}
	if name != "" {
		p.best = name
	}
	delete(p.fenced, addr)
	if timeline == p.timeline {
		return true
	}
	if p.timeline > 0 {
		p.log.Warn("a standby of the database was promoted: connections to the former primary are closed", "timeline", timeline, "was", p.timeline)
	}
	if p.timeline > 0 && p.gated {
		select {
		case p.promoted <- struct{}{}:
		default: // it was told already
		}
	}
	p.timeline = timeline
	for l := range p.links {
		if l.timeline > 0 && l.timeline < timeline {
			if l.addr != addr {
				p.fenced[l.addr] = true
			}
			l.Conn.Close() // what waits on it learns so now
		}
	}
	return true
}

// leave closes the connections to a server that takes no writes any more.
func (p *primary) leave(addr string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		if l.addr == addr {
			l.Conn.Close()
		}
	}
}

// link is a connection that can be closed under what waits on it.
type link struct {
	net.Conn
	of       *primary
	addr     string
	timeline int64 // 0 until the server has told it
}

// dial makes links. A former primary is not called again: it may hang for as long as it is waited for.
func (p *primary) dial(dial pgconn.DialFunc) pgconn.DialFunc {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		p.mu.Lock()
		fenced := p.fenced[addr]
		p.mu.Unlock()
		if fenced {
			return nil, fmt.Errorf("%s was the primary before another was promoted", addr)
		}
		c, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		l := &link{Conn: c, of: p, addr: addr}
		p.mu.Lock()
		p.links[l] = true
		p.mu.Unlock()
		return l, nil
	}
}

// Close forgets the link too.
func (l *link) Close() error {
	l.of.mu.Lock()
	delete(l.of.links, l)
	l.of.mu.Unlock()
	return l.Conn.Close()
}

// linkOf is the link below a connection, nil where it cannot be told: those by a Unix socket have no address of their own.
func (p *primary) linkOf(c *pgconn.PgConn) *link {
	local := c.Conn().LocalAddr()
	if local.Network() == "unix" {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		if l.LocalAddr().String() == local.String() && l.RemoteAddr().String() == c.Conn().RemoteAddr().String() {
			return l
		}
	}
	return nil
}

// How often each host is asked who it is, and how long it may take to answer.
const (
	primaryLook    = 500 * time.Millisecond
	primaryPatient = 2 * time.Second
)

// watch asks each host who it is, over a connection of its own, until ctx ends.
func (p *primary) watch(ctx context.Context) {
	var all sync.WaitGroup
	for _, h := range p.hosts {
		all.Go(func() { p.watchHost(ctx, h) })
	}
	all.Wait()
}

func (p *primary) watchHost(ctx context.Context, h host) {
	config := p.probe.Copy()
	inOrder(config, []host{h})
	var c *pgconn.PgConn
	tick := time.NewTicker(primaryLook)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			shutPostgres(c)
			return
		case <-tick.C:
		}
		c = p.probeHost(ctx, h, config, c)
	}
}

// probeHost asks a host who it is, and returns the connection for the next time, nil where it failed.
func (p *primary) probeHost(ctx context.Context, h host, config *pgconn.Config, c *pgconn.PgConn) *pgconn.PgConn {
	ctx, cancel := context.WithTimeout(ctx, primaryPatient)
	defer cancel()
	var err error
	if c == nil {
		if c, err = pgconn.ConnectConfig(ctx, config); err != nil {
			return nil
		}
	}
	said, err := ask(ctx, c)
	if err != nil {
		shutPostgres(c)
		return nil
	}
	if !said.readOnly {
		p.learn(said.timeline, c.Conn().RemoteAddr().String(), h.name)
	}
	return c
}

// shutPostgres closes a connection that may hang.
func shutPostgres(c *pgconn.PgConn) {
	if c == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	_ = c.Close(ctx) // it is of no use any more
}
