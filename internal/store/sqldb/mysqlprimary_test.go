package sqldb

import (
	"errors"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/dbtest"
)

func TestADSNOfMariaDBMayNameSeveralHosts(t *testing.T) {
	t.Parallel()
	for dsn, want := range map[string]string{
		"mysql://u:p@db1/posthouse":                           "db1:3306",
		"mysql://u:p@db1:3307,db2,db3:3308/posthouse":         "db1:3307,db2:3306,db3:3308",
		"mysql://u:p@[::1]:3307,[fe80::2]/posthouse?tls=true": "[::1]:3307,[fe80::2]:3306",
		"mysql://u:a%40b,c@db1,db2/posthouse":                 "db1:3306,db2:3306",
		"mysql://u:p@db1,/posthouse":                          "",
		"mysql://u:p@,db2/posthouse":                          "",
	} {
		config, err := mysqlConfig(dsn)
		got := ""
		if err == nil {
			got = config.Addr
		}
		if got != want {
			t.Errorf("%s: got %q, want %q (%v)", dsn, got, want, err)
		}
	}
}

// A server that takes writes and was a replica counts as promoted, whatever its former primary does.
func TestThePlaceOfAMariaDBServerFollowsFromWhatIsKept(t *testing.T) {
	t.Parallel()
	kept := Stand{System: "s", Timeline: 4, Server: "1"}
	semi := map[string]string{
		"server_id": "1", "log_bin": "ON", "rpl_semi_sync_master_enabled": "ON", "rpl_semi_sync_master_status": "ON",
		"rpl_semi_sync_master_wait_point": "AFTER_SYNC", "rpl_semi_sync_master_wait_no_slave": "ON", "rpl_semi_sync_master_timeout": "3600000",
	}
	but := func(name, value string) map[string]string {
		set := map[string]string{name: value}
		for k, v := range semi {
			if k != name {
				set[k] = v
			}
		}
		return set
	}
	for name, c := range map[string]struct {
		set  map[string]string
		kept Stand
		want Stand
	}{
		"nothing follows it":        {map[string]string{"server_id": "1", "log_bin": "OFF"}, kept, Stand{}},
		"as it was":                 {map[string]string{"server_id": "1", "log_bin": "ON"}, kept, kept},
		"promoted":                  {map[string]string{"server_id": "2", "log_bin": "ON", "gtid_slave_pos": "0-1-7"}, kept, Stand{"s", 5, false, "2"}},
		"promoted without a log":    {map[string]string{"server_id": "2", "log_bin": "OFF", "gtid_slave_pos": "0-1-7"}, kept, Stand{"s", 5, false, "2"}},
		"commits wait":              {semi, kept, Stand{"s", 4, true, "1"}},
		"it fell back":              {but("rpl_semi_sync_master_status", "OFF"), kept, kept},
		"it falls back in a minute": {but("rpl_semi_sync_master_timeout", "60000"), kept, kept},
		"it waits after the commit": {but("rpl_semi_sync_master_wait_point", "AFTER_COMMIT"), kept, kept},
		"alone it does not wait":    {but("rpl_semi_sync_master_wait_no_slave", "OFF"), kept, kept},
	} {
		if got := mysqlStand(c.set, c.kept); got != c.want {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
	loaded := mysqlStand(map[string]string{"server_id": "2", "log_bin": "ON"}, kept)
	if loaded.System == kept.System || loaded.Promoted(kept) || loaded.Timeline <= kept.Timeline {
		t.Errorf("loaded from a dump: got %+v, want another system and no promotion", loaded)
	}
	first := mysqlStand(semi, Stand{})
	if first.System == "" || first.Timeline != 1 || first.Server != "1" {
		t.Errorf("the first: got %+v", first)
	}
	if got := ParseStand(first.Text()); got != first {
		t.Errorf("kept: got %+v, want %+v", got, first)
	}
}

func TestWhoWritesToGaleraIsReadAsItIsWritten(t *testing.T) {
	t.Parallel()
	w := writerClaim{3, 12, "a node"}
	if got := parseWriter(w.text()); got != w {
		t.Errorf("got %+v, want %+v", got, w)
	}
	if got := parseWriter("3 x"); got != (writerClaim{}) {
		t.Errorf("of what is none: got %+v", got)
	}
	if next := w.later("a node"); next.number != 3 || next.at <= w.at {
		t.Errorf("renewed: got %+v", next)
	}
	if next := w.later("b"); next.number != 4 || next.node != "b" {
		t.Errorf("moved: got %+v", next)
	}
}

// What goes to a node that is not the writer, or may be none any more, is refused with the reason.
func TestOnlyTheWritersNodeOfGaleraServes(t *testing.T) {
	t.Parallel()
	w := &galeraWriter{claims: true}
	at := writerClaim{1, 1, "node1"}
	w.look(mysqlSaid{galera: true, ready: true, node: "node2", writer: at}, "b")
	for node, says := range map[string]string{"node1": "", "node2": "the writer of the Galera cluster is the node node1"} {
		accepts, holds := w.accepts(mysqlSaid{ready: true, node: node, writer: at}), w.holds(node)
		if says == "" && (accepts != nil || holds != nil) {
			t.Errorf("%s: got %v, %v", node, accepts, holds)
		}
		if says != "" && (accepts == nil || holds == nil || !strings.Contains(accepts.Error(), says) || posthouse.CodeOf(holds) != posthouse.CodeUnavailable) {
			t.Errorf("%s: got %v, %v; want %q", node, accepts, holds, says)
		}
	}
	if err := w.accepts(mysqlSaid{node: "node1", writer: at}); !errors.Is(err, errNodeAway) {
		t.Errorf("a node that is not ready: got %v", err)
	}
	w.changed = w.changed.Add(-writerTrust)
	if err := w.holds("node1"); !errors.Is(err, errWriterOld) {
		t.Errorf("a process that stood still: got %v", err)
	}
	if got := w.strange(); got != "node1" {
		t.Errorf("the log is told of %q", got)
	}
	if again := w.strange(); again != "" {
		t.Errorf("the log is told twice, of %q", again)
	}
}

func TestAReadOnlyMariaDBIsPassedOver(t *testing.T) {
	t.Parallel()
	server := dbtest.Own(t, dbtest.Options{Kind: dbtest.KindMariaDB, Args: dbtest.ReplicaArgs(1)})
	s, err := Open(t.Context(), Options{DSN: strings.Replace(server.DSN, "@", "@127.0.0.1:1,", 1)}) // nothing is at the first
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if said := s.Hosts(t.Context()); len(said) != 2 || said[0].Err == nil || said[1].Err != nil || said[1].Timeline != 1 {
		t.Errorf("the hosts say: %+v", said)
	}
	if err := server.Do("SET GLOBAL read_only = ON"); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), Options{DSN: server.DSN}); err == nil || !strings.Contains(err.Error(), "read-only replica") {
		t.Errorf("got %v, want that it is a read-only replica", err)
	}
	looking, err := Open(t.Context(), Options{DSN: server.DSN, Standby: true})
	if err != nil {
		t.Fatal(err)
	}
	defer looking.Close()
	for _, is := range []bool{true, false} { // it is promoted
		if got, err := looking.InRecovery(t.Context()); err != nil || got != is {
			t.Errorf("that it is a replica: %t, %v, want %t", got, err, is)
		}
		if err := server.Do("SET GLOBAL read_only = OFF"); err != nil {
			t.Fatal(err)
		}
	}
}
