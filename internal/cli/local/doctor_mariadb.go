package local

import (
	"fmt"
	"time"

	"github.com/posthouse/posthouse/internal/store/sqldb"
)

// ofMariaDB says whether a MariaDB server can be lost: whether commits wait for a replica, or how its Galera cluster is.
func ofMariaDB(m *sqldb.MariaDBSaid) (out []finding) {
	switch {
	case m == nil:
		return nil
	case m.Galera:
		return ofGalera(m)
	case !m.Binlog:
		return nil // nothing follows it
	}
	out = append(out, ofSemiSync(m))
	if !m.GTIDs {
		out = append(out, finding{"failover", false, "gtid_strict_mode is OFF: a replica that has transactions of its own follows a promoted one without a word; set it ON on each server"})
	}
	return out
}

func ofSemiSync(m *sqldb.MariaDBSaid) finding {
	no := func(detail string) finding { return finding{"failover", false, detail} }
	switch {
	case !m.SemiSync && m.Clients == 0:
		return finding{"failover", true, "commits wait for no replica: nothing shows that one follows"}
	case !m.SemiSync:
		return no("commits wait for no replica: where one is promoted, the last accepted messages are lost, and servers wait for a person; set rpl_semi_sync_master_enabled = ON")
	case !m.Waits && m.Clients == 0:
		return no("semi-sync has fallen back to asynchronous, and no replica answers: where one is promoted, the last accepted messages are lost; bring a replica back")
	case !m.Waits:
		return no("semi-sync has fallen back to asynchronous since a replica was late: where one is promoted, the last accepted messages are lost; set rpl_semi_sync_master_timeout higher, and it comes back when the replica has caught up")
	case !m.AfterSync:
		return no("rpl_semi_sync_master_wait_point is AFTER_COMMIT: others see what no replica has; set AFTER_SYNC")
	case m.Alone:
		return no("rpl_semi_sync_master_wait_no_slave is OFF: without a replica commits do not wait; set it ON")
	case !m.Forever():
		return no(fmt.Sprintf("rpl_semi_sync_master_timeout is %s: a primary that is cut off answers after that what no replica has; set 3600000 (an hour) or more", m.Timeout))
	}
	return finding{"failover", true, fmt.Sprintf("commits wait for one of %d replicas (semi-sync, AFTER_SYNC)", m.Clients)}
}

// writerLate is how old the writer's row may be, which is renewed every second by the clock of the process that does it.
const writerLate = 30 * time.Second

func ofGalera(m *sqldb.MariaDBSaid) (out []finding) {
	out = append(out, finding{"galera", m.State == "Synced" && m.Status == "Primary", fmt.Sprintf("the node %s is %s, in the component %s of %d nodes", m.Node, m.State, m.Status, m.Nodes)})
	if m.Nodes < 3 {
		out = append(out, finding{"galera", false, fmt.Sprintf("the cluster has %d nodes: with fewer than three the loss of one stops the others", m.Nodes)})
	}
	switch {
	case m.Writer == "":
	case m.Writer == m.Node:
		out = append(out, finding{"galera", true, "this node takes the writes"})
	case m.WriterBefore > writerLate:
		out = append(out, finding{"galera", true, fmt.Sprintf("%s took the writes until %s ago; the next server to start takes this node", m.Writer, m.WriterBefore.Round(time.Second))})
	default:
		out = append(out, finding{"galera", false, fmt.Sprintf("processes write to the node %s, and this DSN reaches %s: name the same node first in the DSN of each process", m.Writer, m.Node)})
	}
	return out
}
