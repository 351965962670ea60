package dbtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// galeraLibraries are where packages put Galera's provider.
var galeraLibraries = []string{"/usr/lib/galera/libgalera_smm.so", "/usr/lib64/galera-4/libgalera_smm.so", "/usr/lib64/galera/libgalera_smm.so", "/usr/lib/libgalera_smm.so"}

// transferScript says to Galera that a node has what it joins with, a copy of the first node's files: what has come since it gets from
// the others. The scripts of the package need rsync, and servers whose files are elsewhere.
const transferScript = `#!/bin/sh
role= data= gtid=
while [ $# -gt 0 ]; do
	case $1 in
	--role) role=$2 ;;
	--datadir) data=$2 ;;
	--gtid) gtid=$2 ;;
	esac
	shift
done
if [ "$role" = donor ]; then
	echo continue
	echo "done $gtid"
else
	echo "ready 127.0.0.1:1"
	cat "$data/../joins"
fi
`

// Galera starts the nodes of a Galera cluster of MariaDB for one test.
func Galera(t testing.TB, nodes int) []*Server {
	t.Helper()
	list, err := startGalera(nodes)
	t.Cleanup(func() {
		for _, s := range list {
			if err := s.Kill(); err != nil { // one may be frozen
				t.Error(err)
			}
			if err := s.Stop(); err != nil {
				t.Error(err)
			}
		}
	})
	require(t, err)
	return list
}

// galeraNode is where a node is among the others.
type galeraNode struct {
	name, library string
	port, ist     int
	all           []string // the addresses of all nodes among each other
}

func (n galeraNode) args(first bool) []string {
	address := "gcomm://" + strings.Join(n.all, ",")
	if first {
		address = "gcomm://"
	}
	return []string{
		"--wsrep-on=ON", "--wsrep-provider=" + n.library, "--wsrep-cluster-name=posthouse", "--wsrep-cluster-address=" + address, "--wsrep-node-name=" + n.name,
		fmt.Sprintf("--wsrep-node-address=127.0.0.1:%d", n.port), "--wsrep-sst-method=copied", "--binlog-format=ROW", "--innodb-autoinc-lock-mode=2",
		fmt.Sprintf("--wsrep-provider-options=gmcast.listen_addr=tcp://127.0.0.1:%d;ist.recv_addr=127.0.0.1:%d;gcache.size=32M;evs.keepalive_period=PT0.3S;evs.suspect_timeout=PT1S;evs.inactive_timeout=PT3S;evs.inactive_check_period=PT0.3S", n.port, n.ist),
	}
}

func startGalera(nodes int) (list []*Server, err error) {
	if os.Getenv(servers) == "none" {
		return nil, errLeftOut
	}
	library := ""
	for _, path := range galeraLibraries {
		if _, err := os.Stat(path); err == nil {
			library = path
			break
		}
	}
	if library == "" {
		return nil, &MissingError{Kind: "galera", Program: "libgalera_smm.so", Install: "galera-4 (apt)"}
	}
	programs, err := find(KindMariaDB, mariadbRecipe)
	if err != nil {
		return nil, err
	}
	known := make([]galeraNode, nodes)
	var all []string
	for i := range known {
		known[i] = galeraNode{name: fmt.Sprintf("node%d", i+1), library: library}
		for _, port := range []*int{&known[i].port, &known[i].ist} {
			if *port, err = FreePort(); err != nil {
				return nil, err
			}
		}
		all = append(all, fmt.Sprintf("127.0.0.1:%d", known[i].port))
	}
	for i, n := range known {
		n.all = all
		s, err := n.start(programs, list)
		list = append(list, s)
		if err != nil {
			return list, fmt.Errorf("start %s: %w", n.name, err)
		}
		if i > 0 {
			continue
		}
		if err := s.bootstrap(); err != nil {
			return list, err
		}
	}
	for _, s := range list {
		if err := errors.Join(s.until(oneStatus("WSREP_CLUSTER_SIZE"), fmt.Sprint(nodes), "all nodes to join"), s.until(oneStatus("WSREP_READY"), "ON", "a node to be ready")); err != nil {
			return list, err
		}
	}
	return list, nil
}

// start starts a node. The first makes the users and the database, the others begin with a copy of its files.
func (n galeraNode) start(programs map[string]string, before []*Server) (*Server, error) {
	r := mariadbRecipe
	plain := r.args
	first := len(before) == 0
	r.args = func(s *Server) ([]string, error) {
		args, err := plain(s)
		if !first || s.copied {
			args = without(args, "--init-file=") // its statements would go to all nodes
		}
		if err == nil {
			var script string
			if script, err = s.secretFile("wsrep_sst_copied", transferScript); err == nil {
				err = os.Chmod(script, 0o700)
			}
		}
		return append(args, n.args(first)...), err
	}
	if !first {
		r.create = nil
		r.layOut = func(c *Server) error {
			c.password = before[0].password
			cmd := c.owner.command(c.dir, "/bin/cp", "-a", before[0].spare()+"/.", c.dataDir())
			out, err := cmd.CombinedOutput()
			if err != nil {
				return fmt.Errorf("copy the first node's files: %w\n%s", err, out)
			}
			return c.joins()
		}
	}
	s := &Server{options: Options{Kind: KindMariaDB}, recipe: r, programs: programs}
	return s, s.open()
}

// joins notes the state that a node joins with.
func (s *Server) joins() error {
	text, err := os.ReadFile(filepath.Join(s.dataDir(), "grastate.dat"))
	if err != nil {
		return err
	}
	var id, number string
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		switch name {
		case "uuid":
			id = strings.TrimSpace(value)
		case "seqno":
			number = strings.TrimSpace(value)
		}
	}
	_, err = s.secretFile("joins", id+":"+number+"\n")
	return err
}

func (s *Server) spare() string { return filepath.Join(s.dir, "spare") }

// bootstrap ends the first node well, keeps a copy of its files for the others, and starts it again as the first of a cluster.
func (s *Server) bootstrap() error {
	if err := s.shutDown(); err != nil {
		return err
	}
	if out, err := s.owner.command(s.dir, "/bin/cp", "-a", s.dataDir(), s.spare()).CombinedOutput(); err != nil {
		return fmt.Errorf("keep a copy of the first node's files: %w\n%s", err, out)
	}
	s.copied = true
	return s.Restart()
}

func without(args []string, begin string) (left []string) {
	for _, arg := range args {
		if !strings.HasPrefix(arg, begin) {
			left = append(left, arg)
		}
	}
	return left
}
