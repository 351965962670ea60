package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/posthouse/posthouse/torture/internal/house"
)

// packages are the fault tests.
const packages = "./torture/..."

// marks remember, beside the rows, which tests have ended: on the first line stands the sum of the command
// they tested, then one of them a line. A run of hours that was cut off goes on behind them, and does not forget
// those that failed: some fail before they have a row. A part of a test is marked by itself where it has a row of its
// own; of the others the test counts how many there were, and begins again.
type marks struct {
	path   string
	rows   string // where the tests' rows are
	sum    string
	ended  []string
	failed []string // of those that ended
}

// failMark stands before the name of a test that failed.
const failMark = "FAIL "

// readMarks reads what is there of those beside a file of rows. A file that is missing is an empty one.
func readMarks(rows string) (marks, error) {
	m := marks{path: rows + ".ended", rows: rows}
	text, err := os.ReadFile(m.path)
	if errors.Is(err, os.ErrNotExist) {
		return m, nil
	}
	if err != nil {
		return m, err
	}
	lines := strings.Split(string(text), "\n")
	m.sum, lines = lines[0], lines[1:]
	for _, line := range lines[:max(len(lines)-1, 0)] { // the last one is empty, or was cut off
		m.note(line)
	}
	return m, nil
}

func (m *marks) note(line string) {
	test, failed := strings.CutPrefix(line, failMark)
	if m.ended = append(m.ended, test); failed {
		m.failed = append(m.failed, test)
	}
}

// begin forgets what was marked, or adds a line's end where the last mark was cut off.
func (m *marks) begin(sum string, on bool) error {
	if on && m.sum == "" {
		return fmt.Errorf("%s says of no run that it was interrupted: begin one with make torture", m.path)
	}
	if on && m.sum != sum {
		return fmt.Errorf("the run in %s tested another state of the code: begin again with make torture", m.path)
	}
	if !on {
		m.ended, m.failed = nil, nil
	}
	m.sum = sum
	lines := []string{sum}
	for _, test := range m.ended {
		lines = append(lines, m.line(test))
	}
	return os.WriteFile(m.path, []byte(strings.Join(lines, "\n")+"\n"), 0o600)
}

func (m *marks) line(test string) string {
	if slices.Contains(m.failed, test) {
		return failMark + test
	}
	return test
}

// add marks a test.
func (m *marks) add(test string, failed bool) error {
	m.ended = append(m.ended, test)
	if failed {
		m.failed = append(m.failed, test)
	}
	f, err := os.OpenFile(m.path, os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(m.line(test) + "\n")
	return errors.Join(err, f.Close())
}

// skip is the expression by which go test leaves out what is marked; empty where nothing is. A name within a marked
// one needs none of its own.
func (m *marks) skip() string {
	var all []string
	for _, test := range m.ended {
		parts := strings.Split(test, "/")
		within := false
		for n := 1; n < len(parts); n++ {
			within = within || slices.Contains(m.ended, strings.Join(parts[:n], "/"))
		}
		if within {
			continue
		}
		for i := range parts {
			parts[i] = "^" + regexp.QuoteMeta(parts[i]) + "$"
		}
		all = append(all, strings.Join(parts, "/"))
	}
	return strings.Join(all, "|")
}

// test runs the fault tests in their full form, all of them or those that flags of go test name, and returns its exit
// code. What it finds is in the file of rows: a run of all begins that anew, unless it goes on.
func test(out io.Writer, rows string, on bool, flags []string) (int, error) {
	rows, err := filepath.Abs(rows)
	if err != nil {
		return 0, err
	}
	if err := os.MkdirAll(filepath.Dir(rows), 0o755); err != nil {
		return 0, err
	}
	// One package after the other: each wants the machine to itself.
	args := []string{"test", "-json", "-count=1", "-p", "1", "-timeout", "12h"}
	var done *marks
	if len(flags) == 0 {
		m, err := readMarks(rows)
		if err != nil {
			return 0, err
		}
		sum, err := sumOfCommand()
		if err != nil {
			return 0, err
		}
		if !on {
			if err := os.Rename(rows, rows+".old"); err != nil && !errors.Is(err, os.ErrNotExist) {
				return 0, err
			}
		}
		if err := m.begin(sum, on); err != nil {
			return 0, err
		}
		if skip := m.skip(); skip != "" {
			args = append(args, "-skip", skip)
		}
		done = &m
	}
	cmd := exec.Command("go", append(append(args, flags...), packages)...)
	// CI=true makes a server that is not installed a failure.
	cmd.Env = append(os.Environ(), "CI=true", "POSTHOUSE_TORTURE=full", "POSTHOUSE_TORTURE_ROWS="+rows)
	cmd.Stderr = os.Stderr
	events, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	signal.Ignore(syscall.SIGINT) // the tests hear it too, and what they found until then is told
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	wrong := follow(out, events, done)
	code := 0
	err = cmd.Wait()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		code, err = max(exit.ExitCode(), 1), nil
	}
	if done != nil && len(done.failed) > 0 {
		fmt.Fprintf(out, "Failed, in this run or before it was interrupted: %s\n\n", strings.Join(done.failed, ", "))
		code = max(code, 1)
	}
	return code, errors.Join(wrong, err)
}

// sumOfCommand is of the command as it is built here: the same for the same code, whatever was committed meanwhile.
func sumOfCommand() (string, error) {
	dir, err := os.MkdirTemp("", "posthouse-torture-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "posthouse")
	if err := house.Build(path, "-trimpath", "-buildvcs=false"); err != nil {
		return "", err
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// reported says whether a test has a row of its own.
func reported(rows, test string) bool {
	f, err := os.Open(rows)
	if err != nil {
		return false // none has yet
	}
	defer f.Close()
	list, _ := read(f) // lines that are no rows are told of at the end
	return slices.ContainsFunc(list, func(r house.Row) bool { return r.Name == test })
}

// event is a line of go test -json, as far as it matters here.
type event struct {
	Action, Test, Output string
	Elapsed              float64 // in seconds
}

// follow prints what the tests say, with how far the run is after each longer one, and marks those that ended. A test
// that failed has ended too: going on does not make it undone.
func follow(out io.Writer, events io.Reader, done *marks) (wrong error) {
	begun, ended := time.Now(), 0
	lines := bufio.NewReader(events)
	for {
		line, err := lines.ReadString('\n')
		var e event
		switch {
		case line == "":
		case json.Unmarshal([]byte(line), &e) != nil:
			fmt.Fprint(out, line)
		case e.Action == "output" || e.Action == "build-output":
			if !strings.HasPrefix(e.Output, "=== ") {
				fmt.Fprint(out, e.Output)
			}
		case e.Test != "" && (e.Action == "pass" || e.Action == "fail"):
			part := strings.Contains(e.Test, "/")
			if done != nil && (!part || reported(done.rows, e.Test)) {
				wrong = errors.Join(wrong, done.add(e.Test, e.Action == "fail"))
			}
			if part {
				break
			}
			if ended++; e.Elapsed >= 1 {
				fmt.Fprintf(out, "--- %d tests in %s\n", ended, time.Since(begun).Round(time.Second))
			}
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				wrong = errors.Join(wrong, err)
			}
			return wrong
		}
	}
}
