package local

import (
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse/internal/store/sqldb"
)

func TestDoctorSaysWhetherAMariaDBServerCanBeLost(t *testing.T) {
	t.Parallel()
	good := sqldb.MariaDBSaid{Binlog: true, GTIDs: true, SemiSync: true, Waits: true, AfterSync: true, Timeout: time.Hour, Clients: 1}
	node := sqldb.MariaDBSaid{Galera: true, Node: "db1", State: "Synced", Status: "Primary", Nodes: 3, Writer: "db1"}
	with := func(m sqldb.MariaDBSaid, change func(*sqldb.MariaDBSaid)) *sqldb.MariaDBSaid { change(&m); return &m }
	for name, c := range map[string]struct {
		said *sqldb.MariaDBSaid
		sick string // of what is unsafe; empty for nothing
	}{
		"another database":    {nil, ""},
		"nothing follows":     {&sqldb.MariaDBSaid{}, ""},
		"commits wait":        {&good, ""},
		"nothing waits":       {with(good, func(m *sqldb.MariaDBSaid) { m.SemiSync, m.Waits = false, false }), "commits wait for no replica"},
		"it fell back":        {with(good, func(m *sqldb.MariaDBSaid) { m.Waits = false }), "fallen back to asynchronous"},
		"it fell back alone":  {with(good, func(m *sqldb.MariaDBSaid) { m.Waits, m.Clients = false, 0 }), "no replica answers"},
		"after the commit":    {with(good, func(m *sqldb.MariaDBSaid) { m.AfterSync = false }), "set AFTER_SYNC"},
		"alone it goes on":    {with(good, func(m *sqldb.MariaDBSaid) { m.Alone = true }), "wait_no_slave is OFF"},
		"it gives up":         {with(good, func(m *sqldb.MariaDBSaid) { m.Timeout = 10 * time.Second }), "timeout is 10s"},
		"no strict GTIDs":     {with(good, func(m *sqldb.MariaDBSaid) { m.GTIDs = false }), "gtid_strict_mode"},
		"a node":              {&node, ""},
		"a node of two":       {with(node, func(m *sqldb.MariaDBSaid) { m.Nodes = 2 }), "fewer than three"},
		"a donor":             {with(node, func(m *sqldb.MariaDBSaid) { m.State = "Donor/Desynced" }), "Donor/Desynced"},
		"another writer":      {with(node, func(m *sqldb.MariaDBSaid) { m.Writer = "db2" }), "processes write to the node db2"},
		"another one of then": {with(node, func(m *sqldb.MariaDBSaid) { m.Writer, m.WriterBefore = "db2", time.Hour }), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var sick []string
			for _, f := range ofMariaDB(c.said) {
				if !f.OK {
					sick = append(sick, f.Detail)
				}
			}
			if c.sick == "" && len(sick) > 0 || c.sick != "" && (len(sick) != 1 || !strings.Contains(sick[0], c.sick)) {
				t.Errorf("unsafe: %q, want %q", sick, c.sick)
			}
		})
	}
}
