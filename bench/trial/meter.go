package trial

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// meter reads what the measured part of a trial costs.
type meter struct {
	start   time.Time
	own     time.Duration
	server  time.Duration
	profile *os.File
}

// begin is where the measured part begins.
func (r *run) begin() error {
	runtime.GC()
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // resets the peak, where the system can
	if r.Profile != "" {
		f, err := os.Create(r.Profile)
		if err != nil {
			return err
		}
		r.meter.profile = f
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
	}
	r.meter.own, r.meter.server, r.meter.start = ownCPU(), TreeCPU(r.Server), time.Now()
	return nil
}

// end is where it ends, with n messages done.
func (r *run) end(n int, err error) (Outcome, error) {
	o := Outcome{
		N: n, Took: time.Since(r.meter.start), Own: ownCPU() - r.meter.own, Server: TreeCPU(r.Server) - r.meter.server, Peak: peak(),
	}
	if f := r.meter.profile; f != nil {
		pprof.StopCPUProfile()
		err = errors.Join(err, f.Close())
	}
	return o, err
}

// Cost is the processor time that fn takes here and in a server, whose pid is 0 where there is none.
func Cost(server int, fn func() error) (time.Duration, error) {
	before := ownCPU() + TreeCPU(server)
	err := fn()
	return ownCPU() + TreeCPU(server) - before, err
}

func ownCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// clockTick is the unit of CPU times in /proc: USER_HZ, which is 100 wherever Go runs.
const clockTick = time.Second / 100

// TreeCPU is the CPU time of a process, of its children and of those it has buried, by
// /proc: PostgreSQL has a child for each connection. It is 0 where there is no /proc.
func TreeCPU(pid int) time.Duration {
	if pid == 0 {
		return 0
	}
	own, buried := processCPU(pid)
	sum := own + buried
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	for _, word := range strings.Fields(string(text)) {
		if child, err := strconv.Atoi(word); err == nil {
			own, _ := processCPU(child)
			sum += own
		}
	}
	return sum
}

// processCPU reads /proc/PID/stat: utime and stime, cutime and cstime are the fields 14 to 17.
func processCPU(pid int) (own, buried time.Duration) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0
	}
	_, rest, _ := strings.Cut(string(text), ") ") // behind the name, which may hold anything
	fields := strings.Fields(rest)
	if len(fields) < 15 {
		return 0, 0
	}
	ticks := func(i int) time.Duration {
		n, _ := strconv.ParseInt(fields[i-3], 10, 64)
		return time.Duration(n) * clockTick
	}
	return ticks(14) + ticks(15), ticks(16) + ticks(17)
}

// peak is VmHWM of /proc/self/status.
func peak() int64 { return Memory(os.Getpid(), "VmHWM") }

// Memory is a line of /proc/PID/status, such as VmRSS, in bytes; 0 where there is none.
func Memory(pid int, name string) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			kib, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			return kib << 10
		}
	}
	return 0
}
