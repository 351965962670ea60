package disk

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse/torture/internal/house"
)

// op is one call that changes a file, as the kernel saw it.
type op struct {
	began, ended time.Time
	path, call   string
	data         []byte // of a write
	offset, size int64  // of a write; of a truncation
}

// tracer makes a script that runs a binary under strace, which stands beside it and dies with it, so
// that the process is the binary's own. The text says why there is none where it cannot be done.
func tracer(t *testing.T, binary, log string) (script, why string) {
	t.Helper()
	strace, err := exec.LookPath("strace")
	if err != nil {
		return "", "strace is not installed"
	}
	if out, err := exec.CommandContext(t.Context(), strace, "-o", os.DevNull, "true").CombinedOutput(); err != nil {
		return "", "strace may not trace here: " + strings.TrimSpace(string(out))
	}
	script = filepath.Join(t.TempDir(), "posthouse-traced")
	text := fmt.Sprintf(`#!/bin/sh
exec %s -D -f -y -xx -s 100000 --seccomp-bpf --absolute-timestamps=format:unix,precision:ns \
	-e trace=write,pwrite64,pwritev,ftruncate,fallocate,fsync,fdatasync,unlink,unlinkat,rename,renameat,renameat2 -o %s %s "$@"
`, strace, log, binary)
	if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return script, ""
}

// readTrace waits until the process has ended, and reads what was done to a database's files.
func readTrace(t *testing.T, log, database string) []op {
	t.Helper()
	house.Until(t, "strace to write its last line", func() bool {
		text, err := exec.CommandContext(t.Context(), "tail", "-n", "1", log).Output()
		return err == nil && strings.Contains(string(text), "+++")
	})
	f, err := os.Open(log)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var list []op
	cut := map[string]string{} // process → the first half of a call that another's line interrupts
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		pid, rest, _ := strings.Cut(lines.Text(), " ")
		at, call, _ := strings.Cut(strings.TrimSpace(rest), " ")
		if half, ok := strings.CutSuffix(call, " <unfinished ...>"); ok {
			cut[pid] = at + " " + half
			continue
		}
		ended := at
		if _, second, ok := strings.Cut(call, " resumed>"); ok && strings.HasPrefix(call, "<... ") {
			at, call, _ = strings.Cut(cut[pid]+second, " ")
		}
		o, ok, err := parse(call)
		if err != nil {
			t.Fatalf("a line of the trace cannot be read: %v: %.200s", err, call)
		}
		if ok && (o.path == database || o.path == database+"-wal" || o.path == database+"-journal") {
			o.began, o.ended = moment(t, at), moment(t, ended)
			list = append(list, o)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	slices.SortStableFunc(list, func(a, b op) int { return a.ended.Compare(b.ended) })
	return list
}

func moment(t *testing.T, text string) time.Time {
	t.Helper()
	seconds, nanos, _ := strings.Cut(text, ".")
	s, err := strconv.ParseInt(seconds, 10, 64)
	n, err2 := strconv.ParseInt(nanos, 10, 64)
	if err != nil || err2 != nil {
		t.Fatalf("a time of the trace cannot be read: %q", text)
	}
	return time.Unix(s, n)
}

// parse reads a call such as pwrite64(8<path>, "data", 24, 0) = 24; ok is false for what failed and
// for what is no call.
func parse(call string) (o op, ok bool, err error) {
	name, rest, found := strings.Cut(call, "(")
	end := strings.LastIndex(rest, ") = ")
	if end < 0 {
		end = strings.LastIndex(rest, ")      = ")
	}
	if !found || end < 0 || strings.Contains(rest[end:], "= -1") {
		return op{}, false, nil
	}
	args := strings.Split(rest[:end], ", ") // strings are hexadecimal: no comma stands in them
	o.call = name
	if strings.HasPrefix(name, "unlink") {
		o.path, err = unhex(args[min(1, len(args)-1)])
		if name == "unlink" {
			o.path, err = unhex(args[0])
		}
		return o, true, err
	}
	_, path, found := strings.Cut(args[0], "<")
	if !found {
		return op{}, false, nil
	}
	if o.path, err = unhex(strings.TrimSuffix(path, ">")); err != nil {
		return op{}, false, nil //nolint:nilerr // a socket or a pipe
	}
	switch name {
	case "pwrite64":
		var text string
		text, err = unhex(args[1])
		o.data = []byte(text)
		if err == nil {
			o.offset, err = strconv.ParseInt(args[3], 10, 64)
		}
	case "ftruncate":
		o.size, err = strconv.ParseInt(args[1], 10, 64)
	}
	return o, true, err
}

// unhex reads a text such as "\x2f\x74".
func unhex(text string) (string, error) {
	clear, err := hex.DecodeString(strings.ReplaceAll(strings.Trim(text, `"`), `\x`, ""))
	return string(clear), err
}
