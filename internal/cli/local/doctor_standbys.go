package local

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/store/sqldb"
)

// How far a standby may lag, and the clocks of two database servers lie apart.
const (
	mostLag  = 10 * time.Second
	mostSkew = 2 * time.Second
)

// examineStandbys says whether a server of the database can be lost: whether commits wait for a standby, how far the standbys are behind, and
// what each host of the DSN says of itself.
func examineStandbys(ctx context.Context, s *store.Store) []finding {
	waits, list, err := s.DB.Standbys(ctx)
	if err != nil {
		return []finding{{"standbys", false, err.Error()}}
	}
	said, err := s.DB.MariaDB(ctx)
	if err != nil {
		return []finding{{"standbys", false, err.Error()}}
	}
	return append(append(ofStandbys(waits, list), ofMariaDB(said)...), ofHosts(s.DB.Hosts(ctx))...)
}

func ofStandbys(waits string, list []sqldb.Standby) (out []finding) {
	waited := 0
	for _, y := range list {
		f := finding{"standby " + y.Name, true, "commits do not wait for it"}
		if y.Waited {
			waited++
			f.Detail = "commits wait for it"
		}
		switch {
		case y.Behind < 0:
			f.Detail = "how far it is behind is not told: give the user the role pg_monitor"
		case y.Lag > mostLag:
			f.OK, f.Detail = false, fmt.Sprintf("%s; it is %s behind", f.Detail, y.Lag.Round(time.Second))
		default:
			f.Detail += fmt.Sprintf("; it is %d bytes behind", y.Behind)
		}
		out = append(out, f)
	}
	untold := len(list) > 0 && list[0].Behind < 0
	switch {
	case waits == "" && len(list) > 0:
		out = append(out, finding{"failover", false, "commits wait for no standby: where one is promoted, the last accepted messages are lost, and servers wait for a person; set synchronous_standby_names, for instance to 'ANY 1 (*)'"})
	case waits != "" && waited == 0 && !untold:
		out = append(out, finding{"failover", false, fmt.Sprintf("commits wait for a standby (synchronous_standby_names = '%s') and none of these is connected: nothing is accepted until one is", waits)})
	case waits != "":
		out = append(out, finding{"failover", true, fmt.Sprintf("commits wait for standbys: %s", waits)})
	}
	return out
}

func ofHosts(list []sqldb.HostSaid) (out []finding) {
	primaries := 0
	var least, most sqldb.HostSaid
	for _, h := range list {
		f := finding{"server " + h.Name, true, "a standby"}
		switch {
		case h.Err != nil:
			f.OK, f.Detail = false, "it does not answer: "+strings.ReplaceAll(h.Err.Error(), "\n", " ")
			out = append(out, f)
			continue
		case h.Node != "":
			f.Detail = fmt.Sprintf("the node %s of the Galera cluster", h.Node)
		case h.Behind > 0:
			f.Detail = fmt.Sprintf("a replica, %d transactions behind", h.Behind)
		case !h.Standby:
			primaries++
			f.Detail = fmt.Sprintf("the primary, on timeline %d", h.Timeline)
		}
		out = append(out, f)
		if least.Name == "" || h.Ahead < least.Ahead {
			least = h
		}
		if most.Name == "" || h.Ahead > most.Ahead {
			most = h
		}
	}
	if primaries > 1 {
		out = append(out, finding{"split brain", false, "more than one server takes writes: stop the one on the lower timeline, what it took is lost"})
	}
	if apart := most.Ahead - least.Ahead; apart > mostSkew {
		out = append(out, finding{"database clocks", false, fmt.Sprintf("%s is %s ahead of %s: leases and due times would jump with a promotion; set both by NTP", most.Name, apart.Round(100*time.Millisecond), least.Name)})
	}
	return out
}
