package dbtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// process is a server's own process. It is reaped by wait4 and by no goroutine.
type process struct {
	pid     int // 0: none
	logFile string
	logFrom int64 // where this start's part of the log begins
}

// startProcess starts a command in a process group of its own, so that the
// terminal's Ctrl-C does not reach it, with its output appended to a log file.
func startProcess(cmd *exec.Cmd, logFile string) (process, error) {
	out, err := os.OpenFile(logFile, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		return process{}, err
	}
	defer out.Close()
	p := process{logFile: logFile}
	if st, err := out.Stat(); err == nil {
		p.logFrom = st.Size()
	}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		return process{}, err
	}
	p.pid = cmd.Process.Pid
	return p, cmd.Process.Release()
}

// exited reports whether the process has ended, and forgets it then.
func (p *process) exited() bool {
	if p.pid == 0 {
		return true
	}
	pid, err := syscall.Wait4(p.pid, nil, syscall.WNOHANG, nil)
	if pid == 0 || err == syscall.EINTR {
		return false
	}
	p.pid = 0
	return true
}

// freeze stops the process. A signal is only asked for when kill returns; its parent hears of a stop when the last thread has
// stopped (wait(2), WUNTRACED).
func (p *process) freeze() error {
	if err := syscall.Kill(p.pid, syscall.SIGSTOP); err != nil {
		return err
	}
	for {
		var how syscall.WaitStatus
		switch _, err := syscall.Wait4(p.pid, &how, syscall.WUNTRACED, nil); {
		case err == syscall.EINTR:
		case err != nil:
			return err
		case how.Stopped():
			return nil
		default:
			p.pid = 0
			return errors.New("the server ended instead")
		}
	}
}

// stopLimit is how long a server may take to shut down before it is killed.
const stopLimit = 30 * time.Second

// end asks the process to end, and kills it when it does not in time.
func (p *process) end(sig syscall.Signal) error {
	if err := syscall.Kill(p.pid, sig); err != nil {
		return err
	}
	tick := time.NewTicker(askEvery / 4)
	defer tick.Stop()
	for late := time.After(stopLimit); !p.exited(); {
		select {
		case <-tick.C:
		case <-late:
			log := p.log()
			p.kill()
			return fmt.Errorf("it did not end in %s after %s and was killed\n%s", stopLimit, sig, log)
		}
	}
	return nil
}

// kill kills the process, then its children (PostgreSQL has one for each
// connection, in groups of their own), and waits for its end.
func (p *process) kill() error {
	if p.pid == 0 {
		return nil
	}
	orphans := children(p.pid)
	err := syscall.Kill(p.pid, syscall.SIGKILL)
	for _, pid := range orphans {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	for {
		if _, werr := syscall.Wait4(p.pid, nil, 0, nil); werr != syscall.EINTR {
			break
		}
	}
	p.pid = 0
	return err
}

// children lists the child processes: from /proc on Linux, by pgrep elsewhere.
func children(pid int) []int {
	out, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		out, _ = exec.Command("pgrep", "-P", strconv.Itoa(pid)).Output()
	}
	var pids []int
	for _, word := range strings.Fields(string(out)) {
		if n, err := strconv.Atoi(word); err == nil {
			pids = append(pids, n)
		}
	}
	return pids
}

// log is what the process has printed, at most its last 8 kB.
func (p *process) log() string {
	b, err := os.ReadFile(p.logFile)
	if err != nil {
		return err.Error()
	}
	b = b[min(p.logFrom, int64(len(b))):]
	return string(b[max(0, len(b)-8<<10):])
}

// Ports are taken from a range below the ephemeral ports of Linux (32768) and
// macOS (49152): while a server is down, no outgoing connection can take its port
// or, dialling it, connect to itself. Test binaries that run beside each other have
// parts of their own in it, so that none is given what another's dead server will need
// again. Who listens on the port of a part below the range has it.
const firstPort, parts, ports = 20000, 60, 200

var (
	portOrder = rand.Perm(ports)
	portsUsed atomic.Int64
)

// part is a part of the range, and what holds it for as long as this process lives.
type part struct {
	first int
	guard net.Listener
}

var ownPart = sync.OnceValue(func() (p part) {
	for i := 0; i < parts && p.guard == nil; i++ {
		n := (os.Getpid() + i) % parts
		p.first = firstPort + n*ports
		p.guard, _ = net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", firstPort-parts+n)) // another has it: the next
	}
	return p
})

// FreePort is a port of that range on which nobody listens right now, another at
// each of 200 calls.
func FreePort() (int, error) {
	first := ownPart().first
	for range ports {
		port := first + portOrder[portsUsed.Add(1)%ports]
		l, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			return port, l.Close()
		}
	}
	return 0, fmt.Errorf("no free port found from %d to %d", first, first+ports-1)
}
