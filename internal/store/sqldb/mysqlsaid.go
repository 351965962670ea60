package sqldb

import (
	"context"
	"database/sql/driver"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
)

// MariaDBSaid is what a MariaDB server says of those that follow it, and of its Galera cluster.
type MariaDBSaid struct {
	Binlog    bool // without it nothing can follow
	GTIDs     bool // gtid_strict_mode
	SemiSync  bool // it is set: a commit waits for a replica
	Waits     bool // it does so now; false where it gave up waiting
	AfterSync bool // what no replica has is not seen
	Alone     bool // without a replica it does not wait
	Timeout   time.Duration
	Clients   int // replicas that answer

	Galera       bool
	Node         string
	State        string // such as Synced
	Status       string // of the cluster as the node sees it: Primary where it has the quorum
	Nodes        int
	Writer       string // the node that processes have said they write to; empty for none
	WriterBefore time.Duration
}

// MariaDB asks the server for it; nil of other databases.
func (s *DB) MariaDB(ctx context.Context) (*MariaDBSaid, error) {
	if s.mysql == nil {
		return nil, nil
	}
	c, err := s.mysql.Connect(ctx)
	if err != nil {
		return nil, s.Coded(err, "ask the server for its replicas")
	}
	defer func() { _ = c.Close() }() // it has said all
	said, err := askMySQL(ctx, c.(driver.QueryerContext))
	if err != nil {
		return nil, s.Coded(err, "ask the server for its replicas")
	}
	set := said.settings
	number := func(name string) int64 { n, _ := strconv.ParseInt(set[name], 10, 64); return n }
	out := &MariaDBSaid{
		Binlog: isOn(set["log_bin"]), GTIDs: isOn(set["gtid_strict_mode"]), SemiSync: isOn(set["rpl_semi_sync_master_enabled"]), Waits: isOn(set["rpl_semi_sync_master_status"]),
		AfterSync: set["rpl_semi_sync_master_wait_point"] == "AFTER_SYNC", Alone: !isOn(set["rpl_semi_sync_master_wait_no_slave"]),
		Timeout: time.Duration(min(number("rpl_semi_sync_master_timeout"), semiSyncForever)) * time.Millisecond, Clients: int(number("rpl_semi_sync_master_clients")),
		Galera: said.galera, Node: said.node, State: set["wsrep_local_state_comment"], Status: set["wsrep_cluster_status"], Nodes: int(number("wsrep_cluster_size")),
		Writer: said.writer.node,
	}
	if out.Writer != "" {
		out.WriterBefore = time.Since(time.UnixMicro(said.writer.at))
	}
	return out, nil
}

// Forever reports whether a commit waits for a replica for as long as it takes.
func (m *MariaDBSaid) Forever() bool { return m.Timeout >= semiSyncForever*time.Millisecond }

// hostsSaid asks each host of a DSN that names several.
func (p *mysqlPrimary) hostsSaid(ctx context.Context) []HostSaid {
	if len(p.addrs) < 2 {
		return nil
	}
	list, written := make([]HostSaid, len(p.addrs)), int64(0)
	positions := make([]int64, len(p.addrs))
	for i, addr := range p.addrs {
		list[i], positions[i] = p.hear(ctx, addr)
		if !list[i].Standby {
			written = max(written, positions[i])
		}
	}
	for i := range list {
		if list[i].Standby && written > 0 {
			list[i].Behind = max(written-positions[i], 0)
		}
	}
	return list
}

func (p *mysqlPrimary) hear(ctx context.Context, addr string) (out HostSaid, position int64) {
	out = HostSaid{Name: addr}
	ctx, cancel := context.WithTimeout(ctx, 2*primaryPatient)
	defer cancel()
	c, err := p.reach(ctx, addr)
	if err != nil {
		out.Err = err
		return out, 0
	}
	defer func() { _ = c.Close() }() // it has said all
	said, err := askMySQL(ctx, c)
	if err != nil {
		out.Err = err
		return out, 0
	}
	out.Standby, out.Timeline = said.readOnly, said.timeline
	if said.galera {
		out.Node, out.Standby = said.node, false
		if !said.ready {
			out.Err = errNodeAway
		}
	}
	asked := time.Now()
	at, err := one(ctx, c, MySQL.clock)
	if err != nil {
		out.Err = err
		return out, 0
	}
	us, err := strconv.ParseInt(at, 10, 64)
	out.Err, out.Ahead = errors.Join(out.Err, err), TimeOf(us).Sub(asked.Add(time.Since(asked)/2))
	return out, lastOf(said.settings["gtid_current_pos"])
}

// one reads the one column of one row.
func one(ctx context.Context, c driver.QueryerContext, query string) (string, error) {
	rows, err := c.QueryContext(ctx, query, nil)
	if err != nil {
		return "", err
	}
	row := make([]driver.Value, 1)
	err = rows.Next(row)
	return text(row[0]), errors.Join(err, rows.Close())
}

// lastOf is the highest number of a GTID position, such as 0-1-100,1-2-7: a transaction's.
func lastOf(position string) int64 {
	var numbers []int64
	for id := range strings.SplitSeq(position, ",") {
		n, _ := strconv.ParseInt(id[strings.LastIndex(id, "-")+1:], 10, 64)
		numbers = append(numbers, n)
	}
	return slices.Max(numbers)
}
