package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/posthouse/posthouse/bench/trial"
)

// idleProgram builds the binary and measures it on SQLite: how soon it is ready, and what it takes while nothing happens.
func (h *house) idleProgram(ctx context.Context) (out []finding, err error) {
	binary := filepath.Join(h.dir, "posthouse")
	if err := build(ctx, "..", "./cmd/posthouse", binary); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(h.dir, "idle-")
	if err != nil {
		return nil, err
	}
	var starts []time.Duration
	var p *program
	for range 6 {
		if p != nil {
			if err := p.stop(); err != nil {
				return nil, err
			}
		}
		if p, err = startProgram(ctx, binary, dir); err != nil {
			return nil, err
		}
		starts = append(starts, p.ready)
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	again := slices.Sorted(slices.Values(starts[1:]))
	out = append(out,
		seconds("start to ready, a new file", starts[0]).atMost(0.5),
		seconds("start to ready, median of 5", again[len(again)/2]).atMost(0.5))
	idle, err := p.idle(ctx, h.o.quick)
	return append(out, idle...), err
}

func seconds(what string, d time.Duration) finding {
	return finding{What: what, Database: "sqlite", Value: d.Seconds(), Text: fmt.Sprintf("%d ms", d.Milliseconds()), Bound: "below 500 ms"}
}

// build builds a package of a module into a static binary.
func build(ctx context.Context, dir, pkg, binary string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", binary, pkg) //nolint:gosec // our own packages
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", pkg, err, text)
	}
	return nil
}

// program is a running server of the built binary.
type program struct {
	cmd   *exec.Cmd
	ready time.Duration // from exec to the first good answer of /readyz
}

// freeAddr is an address nobody listens at: the program's own choice would have to be asked for, and its start is what is measured.
func freeAddr() (string, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

func startProgram(ctx context.Context, binary, dir string) (*program, error) {
	addr, err := freeAddr()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, binary, "serve", "--addr", addr, "--dsn", "sqlite:"+filepath.Join(dir, "posthouse.db"), "--create", "--log-level", "error") //nolint:gosec // our own binary
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	return await(cmd, addr)
}

// await starts a server and waits until it is ready.
func await(cmd *exec.Cmd, addr string) (*program, error) {
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &program{cmd: cmd}
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for time.Since(start) < 30*time.Second {
		resp, err := http.Get("http://" + addr + "/readyz")
		if err == nil {
			resp.Body.Close()
		}
		if err == nil && resp.StatusCode == http.StatusOK {
			p.ready = time.Since(start)
			return p, nil
		}
		<-tick.C
	}
	return nil, errors.Join(errors.New("the program was not ready in 30 seconds"), p.stop())
}

func (p *program) stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return p.cmd.Wait()
}

// idle watches the program while nothing happens.
func (p *program) idle(ctx context.Context, quick bool) ([]finding, error) {
	watched := 20 * time.Second
	if quick {
		watched = 5 * time.Second
	}
	pid := p.cmd.Process.Pid
	before := trial.TreeCPU(pid)
	select {
	case <-time.After(watched):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	share := float64(trial.TreeCPU(pid)-before) / float64(watched)
	memory := trial.Memory(pid, "VmRSS")
	if memory == 0 {
		return []finding{{What: "idle CPU and memory", Database: "sqlite", Text: "unknown", Note: "this system has no /proc"}}, nil
	}
	return []finding{
		finding{What: "idle CPU", Database: "sqlite", Value: share, Text: fmt.Sprintf("%.1f %%", 100*share), Bound: "below 1 %", Note: "over " + watched.String()}.atMost(0.01),
		finding{What: "idle memory", Database: "sqlite", Value: float64(memory), Text: fmt.Sprintf("%d MB", memory>>20), Bound: "below 60 MB"}.atMost(60 << 20),
	}, nil
}
