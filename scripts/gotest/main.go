// Command gotest runs go test and says meanwhile what it does. Each package has a line as it ends, with how many have ended
// of how many and since when; what runs for long is named, and a failed test at once; what it printed comes at the end, where it is seen.
//
// It is not a runner of its own: it reads what go test -json prints, and its lines begin as those of go test do.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

// sayEvery is how often the packages that run are named.
const sayEvery = 30 * time.Second

func main() {
	// go test gets the signal too, as one of the same group, and ends by itself: what had failed by then is printed all the same.
	signal.Notify(make(chan os.Signal, 1), os.Interrupt, syscall.SIGTERM)
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "gotest:", err)
		os.Exit(1)
	}
}

// run runs go test with some arguments; the packages are those that begin with a dot. Packages in which the race detector died are run once more.
func run(ctx context.Context, args []string) error {
	pattern := func(a string) bool { return strings.HasPrefix(a, ".") }
	flags := slices.DeleteFunc(slices.Clone(args), pattern)
	again, err := once(ctx, flags, slices.DeleteFunc(slices.Clone(args), func(a string) bool { return !pattern(a) }))
	if err != nil || len(again) == 0 {
		return err
	}
	fmt.Println("Once more where the race detector died:")
	if again, err = once(ctx, flags, again); err == nil && len(again) > 0 {
		err = fmt.Errorf("the race detector died twice in %s", strings.Join(again, ", "))
	}
	return err
}

// once runs go test with flags on packages, and returns those that are to be run again where nothing else failed.
func once(ctx context.Context, flags, packages []string) (again []string, err error) {
	of, err := tested(ctx, packages)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "go", slices.Concat([]string{"test", "-json"}, flags, packages)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	r := newReport(os.Stdout, of, time.Now())
	r.race = slices.Contains(flags, "-race")
	tick := time.NewTicker(sayEvery)
	defer tick.Stop()
	r.follow(events(out), tick.C)
	r.end(time.Now())
	if err := cmd.Wait(); err != nil && (len(r.failures) > 0 || len(r.again) == 0) {
		return nil, fmt.Errorf("go test: %w", err)
	}
	return r.again, nil
}

// tested counts the packages that have tests.
func tested(ctx context.Context, patterns []string) (int, error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"list", "-e", "-f", "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}"}, patterns...)...)
	cmd.Stderr = os.Stderr
	list, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("go list: %w", err)
	}
	return len(strings.Fields(string(list))), nil
}

// event is a line of go test -json (go doc test2json), or of the build before it (go help buildjson).
type event struct {
	Time                        time.Time
	Action, Package, ImportPath string
	Test, Output, FailedBuild   string
	Elapsed                     float64 // seconds
}

// events reads the lines of go test. A line that is no event, such as a panic of go itself, is output of nobody's.
func events(r io.Reader) <-chan event {
	out := make(chan event)
	go func() {
		defer close(out)
		lines := bufio.NewReader(r)
		for {
			line, err := lines.ReadString('\n')
			var e event
			if json.Unmarshal([]byte(line), &e) != nil {
				e = event{Action: "build-output", Output: line}
			}
			if line != "" {
				out <- e
			}
			if err != nil {
				if !errors.Is(err, io.EOF) {
					out <- event{Action: "build-output", Output: err.Error() + "\n"}
				}
				return
			}
		}
	}()
	return out
}

// report is what has been seen of a run.
type report struct {
	out      io.Writer
	ended    int
	of       int // packages that have tests
	started  time.Time
	running  map[string]time.Time // since when
	printed  map[string][]string  // what a package, or one of its tests, printed: until it passes
	last     map[string][]string  // the end of all that a package has printed
	failed   map[string]bool      // packages with a test that failed
	panicked map[string]bool      // and whose program ended by a panic, as after too long
	failures []string
	race     bool            // with the race detector
	died     map[string]bool // packages in which it died
	again    []string        // of them those to run again: nothing else failed there
}

// detectorDied is what the race detector prints as it ends the program for a fault of its own, which tests by testing/synctest have about once
// in fifty runs (go.dev/issue/78156). No test is to blame. It may also touch memory that is not there, which the runtime says of code that is not
// Go's alone; a test with the race detector has no other.
const (
	detectorDied    = "ThreadSanitizer: CHECK failed"
	detectorCrashed = "SIGSEGV: segmentation violation\n"
)

// mostLast bounds the lines that are kept of a package.
const mostLast = 60

func newReport(out io.Writer, of int, started time.Time) *report {
	return &report{out: out, of: of, started: started, running: map[string]time.Time{}, printed: map[string][]string{}, last: map[string][]string{}, failed: map[string]bool{}, panicked: map[string]bool{}, died: map[string]bool{}}
}

// follow takes the events of a run until there are no more.
func (r *report) follow(events <-chan event, tick <-chan time.Time) {
	for {
		select {
		case e, more := <-events:
			if !more {
				return
			}
			r.take(e)
		case now := <-tick:
			r.sayRunning(now)
		}
	}
}

func (r *report) take(e event) {
	of := e.Package
	if e.Test != "" {
		of += " " + e.Test
	}
	switch e.Action {
	case "start":
		r.running[e.Package] = e.Time
	case "output":
		if strings.HasPrefix(e.Output, "panic: ") || strings.HasPrefix(e.Output, "fatal error: ") {
			r.panicked[e.Package] = true
		}
		if strings.Contains(e.Output, detectorDied) || r.race && e.Output == detectorCrashed {
			r.died[e.Package] = true
		}
		if r.panicked[e.Package] {
			of = e.Package // and of no test: it may be said of the last one that passed
		}
		lines := append(r.last[e.Package], e.Output)
		r.last[e.Package] = lines[max(0, len(lines)-mostLast):]
		if !strings.HasPrefix(e.Output, "=== ") { // that a test began, went on or was named
			r.printed[of] = append(r.printed[of], e.Output)
		}
	case "build-output":
		fmt.Fprint(r.out, e.Output)
		r.failures = append(r.failures, e.Output)
	case "pass", "skip", "fail":
		if e.Test == "" {
			r.endPackage(e)
		} else if e.Action == "fail" {
			r.failed[e.Package] = true
			r.failures = append(r.failures, r.printed[of]...)
			fmt.Fprintf(r.out, "FAIL\t%s\n", of) // at once: the rest of the run may take long
		}
		delete(r.printed, of)
	}
}

// endPackage prints the line of a package that has ended. What it printed outside of its tests, such as a panic, belongs to a failure.
func (r *report) endPackage(e event) {
	defer delete(r.last, e.Package)
	delete(r.running, e.Package)
	word := "ok  "
	switch {
	case e.Action == "fail":
		word = "FAIL"
		r.failPackage(e)
	case e.Action == "skip":
		return // it has no tests
	}
	r.ended++
	fmt.Fprintf(r.out, "%s\t%s\t%.1fs\t(%d of %d, %s)\n", word, e.Package, e.Elapsed, r.ended, r.of, round(e.Time.Sub(r.started)))
}

// failPackage keeps what a failed package and its unfinished tests have printed. Where no test failed, as after a data race that was found
// between two of them, it may be among what one that passed has printed.
func (r *report) failPackage(e event) {
	known := r.failed[e.Package] || r.panicked[e.Package] || e.FailedBuild != ""
	died := !known && r.died[e.Package]
	if died {
		r.again = append(r.again, e.Package)
		fmt.Fprintf(r.out, "...\tthe race detector died in %s\n", e.Package)
	}
	for _, of := range slices.Sorted(maps.Keys(r.printed)) {
		if of != e.Package && !strings.HasPrefix(of, e.Package+" ") {
			continue
		}
		known = known || of != e.Package
		if !died {
			r.failures = append(r.failures, r.printed[of]...)
		}
		delete(r.printed, of)
	}
	if !known && !died {
		r.failures = append(r.failures, fmt.Sprintf("No test of %s has failed. The last that it printed:\n", e.Package))
		r.failures = append(r.failures, r.last[e.Package]...)
	}
	if e.FailedBuild != "" {
		r.failures = append(r.failures, fmt.Sprintf("FAIL\t%s [build failed]\n", e.Package))
	}
}

// sayRunning names the packages that have run for long.
func (r *report) sayRunning(now time.Time) {
	var list []string
	for _, pkg := range slices.Sorted(maps.Keys(r.running)) {
		if ago := now.Sub(r.running[pkg]); ago >= sayEvery {
			list = append(list, fmt.Sprintf("%s (%s)", pkg, round(ago)))
		}
	}
	if len(list) == 0 {
		list = []string{"compiling"}
	}
	fmt.Fprintf(r.out, "...\t%d of %d, %s: %s\n", r.ended, r.of, round(now.Sub(r.started)), strings.Join(list, ", "))
}

// end prints what failed, and how it went.
func (r *report) end(now time.Time) {
	if len(r.failures) > 0 {
		fmt.Fprintln(r.out, "\nWhat failed:")
		for _, line := range r.failures {
			fmt.Fprint(r.out, line)
		}
	}
	fmt.Fprintf(r.out, "%d of %d packages in %s\n", r.ended, r.of, round(now.Sub(r.started)))
}

func round(d time.Duration) time.Duration { return d.Round(time.Second) }
