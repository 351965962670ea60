package sqldb

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/posthouse/posthouse"
)

// galeraWriter keeps the processes of one database on one node of a Galera cluster. Each node takes writes, and two that do so undo
// each other's at the commit, or each goes by locks that the other does not see. So one node is the writer: its name stands in
// posthouse_meta, and a process that works on it renews that. Where it is not renewed any more, another node may become the writer.
// A row that a node has committed is ordered among all that others commit: a node that reads there that it is the writer has seen what
// the writer before it did.
//
// Nothing here goes by the nodes' clocks: a process that waits measures by its own for how long the row was not renewed.
type galeraWriter struct {
	mu      sync.Mutex
	on      bool // the database is a Galera cluster
	claims  bool // this process serves, and so keeps the row
	seen    writerClaim
	changed time.Time         // when seen was last seen to change
	moved   int               // how often it was
	nodes   map[string]string // address → name of the node that answers there
	missed  map[string]int    // address → how often it did not answer, one time after the other
	renewed bool              // this process has done so
	told    string            // the other node's name that the log was told of
}

const (
	writerRenew = time.Second     // between two renewals
	writerTrust = 4 * time.Second // without one, after which a process does nothing more
	writerGone  = 6 * time.Second // without one, after which another node may become the writer
)

// writerClaim is the row: how many writers there were, when it was renewed by the clock of the process that did it, and the node's name.
type writerClaim struct {
	number, at int64
	node       string
}

func (w writerClaim) text() string { return fmt.Sprintf("%d %d %s", w.number, w.at, w.node) }

// later is the claim of a node after this one. The number rises where the node is another one.
func (w writerClaim) later(node string) writerClaim {
	next := writerClaim{w.number, max(time.Now().UnixMicro(), w.at+1), node}
	if node != w.node {
		next.number++
	}
	return next
}

func parseWriter(text string) (w writerClaim) {
	words := strings.SplitN(text, " ", 3)
	if len(words) != 3 {
		return w
	}
	number, err := strconv.ParseInt(words[0], 10, 64)
	at, wrong := strconv.ParseInt(words[1], 10, 64)
	if err != nil || wrong != nil {
		return w
	}
	return writerClaim{number, at, words[2]}
}

// errOtherWriter refuses what would go to a second node.
func errOtherWriter(from, writer string) error {
	return posthouse.Errorf(posthouse.CodeUnavailable, "the writer of the Galera cluster is the node %.80s, where other processes of Posthouse work, and this process reaches %.80s: name the same node first in the DSN of each process, or stop the others; it goes on when nothing has written there for some seconds", writer, from)
}

var (
	errNodeAway  error = posthouse.Errorf(posthouse.CodeUnavailable, "this node of the Galera cluster is not in its primary component, or not in step: try again, or name more nodes in the DSN")
	errWriterOld error = posthouse.Errorf(posthouse.CodeUnavailable, "this process could not say of late that it still writes to the Galera cluster: another may do so; try again")
)

func (w *galeraWriter) cluster() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.on
}

// accepts says whether a connection to a node may serve.
func (w *galeraWriter) accepts(said mysqlSaid) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.on = true
	switch {
	case !said.ready:
		return errNodeAway
	case w.claims && said.writer.node != said.node:
		return errOtherWriter(said.node, w.seen.node)
	}
	return nil
}

// holds says whether what goes to a node may go there now. A process that stood still may have been taken for gone.
func (w *galeraWriter) holds(node string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case !w.on || !w.claims:
		return nil
	case w.seen.node != node:
		return errOtherWriter(node, w.seen.node)
	case time.Since(w.changed) >= writerTrust:
		return errWriterOld
	}
	return nil
}

// look notes what a node knows, and returns the newest that is known and for how long it has not changed.
func (w *galeraWriter) look(said mysqlSaid, addr string) (newest writerClaim, still time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.nodes == nil {
		w.nodes, w.missed = map[string]string{}, map[string]int{}
	}
	w.on, w.nodes[addr], w.missed[addr] = true, said.node, 0
	w.note(said.writer)
	return w.seen, time.Since(w.changed)
}

func (w *galeraWriter) note(c writerClaim) {
	if w.changed.IsZero() || c.number > w.seen.number || c.number == w.seen.number && c.at > w.seen.at {
		w.seen, w.changed = c, time.Now()
		w.moved++
	}
}

// mostMissed is how often a node may not answer before what waits for it is told so: each time takes up to primaryPatient.
const mostMissed = 2

// miss notes that a node did not answer, and reports whether it is to be left.
func (w *galeraWriter) miss(addr string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.claims || w.missed == nil {
		return false
	}
	w.missed[addr]++
	if w.missed[addr] < mostMissed {
		return false
	}
	delete(w.nodes, addr)
	return true
}

// apart refuses a connection at once where this process reaches other nodes than the writer alone: to try each takes its time.
func (w *galeraWriter) apart() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.claims || w.seen.node == "" || len(w.nodes) == 0 || w.reaches() {
		return nil
	}
	return errOtherWriter(strings.Join(slices.Sorted(maps.Values(w.nodes)), ", "), w.seen.node)
}

func (w *galeraWriter) reaches() bool {
	return slices.Contains(slices.Collect(maps.Values(w.nodes)), w.seen.node)
}

// settled reports whether this process has renewed the row by its own node, or has seen another's change.
func (w *galeraWriter) settled() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.moved > 1 || w.renewed
}

// strange returns the writer's name where this process reaches other nodes alone, and was not told of it yet.
func (w *galeraWriter) strange() (node string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.reaches() {
		w.told = ""
		return ""
	}
	if w.told == w.seen.node {
		return ""
	}
	w.told = w.seen.node
	return w.told
}

// considerNode renews the row of the writer, or has a node become the writer where there is none. rank is the node's place in the DSN:
// the first goes before the others.
func (p *mysqlPrimary) considerNode(ctx context.Context, c mysqlConn, said mysqlSaid, addr string, rank int) error {
	if !said.ready {
		p.leave(addr)
		return nil
	}
	w := &p.writer
	newest, still := w.look(said, addr)
	if said.writer != newest {
		return nil // it has not come so far yet
	}
	turn := time.Duration(rank) * writerRenew
	switch {
	case newest.node == "" && still < turn:
		return nil
	case said.node == newest.node && still < writerRenew && w.settled():
	case said.node == newest.node, newest.node == "", still >= writerGone+turn:
		next := newest.later(said.node)
		done, err := claimWriter(ctx, c, newest, next)
		if err != nil || !done {
			return err
		}
		w.mu.Lock()
		w.note(next)
		w.renewed = true
		w.mu.Unlock()
		if newest.node != "" && newest.node != next.node {
			p.log.Warn("this node is the writer of the Galera cluster now: the one before was not written to for some seconds", "node", next.node, "before", newest.node)
		}
		newest = next
	default:
		if other := w.strange(); other != "" {
			p.log.Error("nothing is accepted or sent: "+errOtherWriter(said.node, other).Error(), "writer", other, "node", said.node)
		}
		p.leave(addr)
		return nil
	}
	w.strange()
	p.learn(newest.number, addr, addr)
	return nil
}

// claimWriter writes the row, unless it has changed since it was read.
func claimWriter(ctx context.Context, c driver.ExecerContext, was, next writerClaim) (bool, error) {
	query, values := "UPDATE posthouse_meta SET value = ? WHERE name = 'writer' AND value = ?", []string{next.text(), was.text()}
	if was.node == "" {
		query, values = "INSERT INTO posthouse_meta (name, value) VALUES ('writer', ?)", values[:1]
	}
	var args []driver.NamedValue
	for i, v := range values {
		args = append(args, driver.NamedValue{Ordinal: i + 1, Value: v})
	}
	result, err := c.ExecContext(ctx, query, args)
	var refused *mysql.MySQLError
	if errors.As(err, &refused) && slices.Contains([]uint16{1062, 1213}, refused.Number) {
		return false, nil // another was first
	}
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n == 1, err
}

// claim makes this process one that keeps the row, and returns when it is known whether its node is the writer, or another that lives.
func (p *mysqlPrimary) claim() {
	w := &p.writer
	w.mu.Lock()
	w.claims, w.moved = true, 0
	w.mu.Unlock()
	ctx, stop := context.WithCancel(context.Background())
	p.stop = stop
	p.running.Go(func() { p.watchAll(ctx) })
	tick := time.NewTicker(primaryLook / 5)
	defer tick.Stop()
	late := time.After(2 * writerGone)
	for !w.settled() {
		select {
		case <-tick.C:
			continue
		case <-late:
		}
		break
	}
	for _, addr := range p.addrs {
		p.leave(addr) // what was connected before may be to another node
	}
}
