package dbtest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
)

// KindEtcd is the store by which Patroni's members agree.
const KindEtcd Kind = "etcd"

var etcdRecipe = recipe{
	programs: []string{"etcd"},
	install:  "etcd-server (apt)",

	layOut: func(*Server) error { return nil },
	args:   etcdArgs,
	dsn:    func(s *Server, _ string) string { return "http://" + s.Addr },
	ask:    etcdAsk,

	shutDown: syscall.SIGTERM,
	abandon:  syscall.SIGKILL,
}

func etcdArgs(s *Server) ([]string, error) {
	peer, err := FreePort()
	if err != nil {
		return nil, err
	}
	among := fmt.Sprintf("http://127.0.0.1:%d", peer)
	return []string{
		"--name=one", "--data-dir=" + s.dataDir(), "--listen-client-urls=http://" + s.Addr, "--advertise-client-urls=http://" + s.Addr,
		"--listen-peer-urls=" + among, "--initial-advertise-peer-urls=" + among, "--initial-cluster=one=" + among, "--unsafe-no-fsync", "--log-level=warn",
	}, nil
}

func etcdAsk(ctx context.Context, s *Server) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.Addr+"/health", nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
	if err == nil && !strings.Contains(string(text), `"true"`) {
		err = fmt.Errorf("etcd says of its health: %s", text)
	}
	return err
}
