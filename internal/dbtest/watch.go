package dbtest

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// watch outlives this process to clean up behind it. It is a shell that reads
// the server's process id from a pipe, an empty line for none; when the pipe
// ends, because end closed it or because this process is gone, it ends the server
// and removes the directory.
type watch struct {
	pipe int // a plain descriptor: the garbage collector must not close it
	cmd  *exec.Cmd
}

const watchScript = `
trap '' INT TERM HUP
ended() { # or only waits for init to notice
	kill -0 "$pid" || return 0
	case $(cat "/proc/$pid/stat") in *") Z "*) return 0 ;; esac
	return 1
}
pid=
while read -r line; do pid=$line; done
if [ -n "$pid" ]; then
	kill -CONT "$pid"
	kill -"$1" "$pid"
	tries=0
	until ended || [ $tries -ge 50 ]; do
		sleep 0.1
		tries=$((tries + 1))
	done
	kill -KILL "$pid"
fi 2>/dev/null
if [ -n "$2" ]; then rm -rf -- "$2"; fi
`

// startWatch starts a watch that ends the server with the signal, and then
// removes dir unless it is empty.
func startWatch(sig syscall.Signal, dir string) (*watch, error) {
	var ends [2]int
	syscall.ForkLock.RLock()
	err := syscall.Pipe(ends[:])
	if err == nil {
		syscall.CloseOnExec(ends[0])
		syscall.CloseOnExec(ends[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, fmt.Errorf("watch over the server: %w", err)
	}
	read := os.NewFile(uintptr(ends[0]), "watch")
	defer read.Close()
	cmd := exec.Command("/bin/sh", "-c", watchScript, "watch", strconv.Itoa(int(sig)), dir)
	cmd.Stdin = read
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		syscall.Close(ends[1])
		return nil, fmt.Errorf("watch over the server: %w", err)
	}
	return &watch{pipe: ends[1], cmd: cmd}, nil
}

// over tells which process to end, 0 for none.
func (w *watch) over(pid int) {
	line := "\n"
	if pid != 0 {
		line = strconv.Itoa(pid) + "\n"
	}
	syscall.Write(w.pipe, []byte(line))
}

// end ends the watch and waits until it has cleaned up.
func (w *watch) end() {
	syscall.Close(w.pipe)
	w.cmd.Wait()
}
