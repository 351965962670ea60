package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// lines are what go test -json prints of a package that passes, of one that fails and of one whose code is not Go.
const lines = `{"ImportPath":"c [c.test]","Action":"build-output","Output":"c/c.go:3:1: syntax error\n"}
{"Time":"2026-01-01T00:00:01Z","Action":"start","Package":"a"}
{"Time":"2026-01-01T00:00:01Z","Action":"start","Package":"b"}
{"Time":"2026-01-01T00:00:01Z","Action":"output","Package":"a","Test":"TestWell","Output":"=== RUN   TestWell\n"}
{"Time":"2026-01-01T00:00:01Z","Action":"output","Package":"a","Test":"TestWell","Output":"    a_test.go:1: all is well\n"}
{"Time":"2026-01-01T00:00:02Z","Action":"pass","Package":"a","Test":"TestWell","Elapsed":1}
{"Time":"2026-01-01T00:00:02Z","Action":"output","Package":"a","Output":"ok  \ta\t1.0s\n"}
{"Time":"2026-01-01T00:00:02Z","Action":"pass","Package":"a","Elapsed":1}
{"Time":"2026-01-01T00:00:03Z","Action":"output","Package":"b","Test":"TestIll","Output":"    b_test.go:1: got 1, want 2\n"}
{"Time":"2026-01-01T00:00:03Z","Action":"output","Package":"b","Test":"TestIll","Output":"--- FAIL: TestIll (1.00s)\n"}
{"Time":"2026-01-01T00:00:03Z","Action":"fail","Package":"b","Test":"TestIll","Elapsed":1}
{"Time":"2026-01-01T00:00:04Z","Action":"output","Package":"b","Test":"TestGood","Output":"--- PASS: TestGood (1.00s)\n"}
{"Time":"2026-01-01T00:00:04Z","Action":"output","Package":"b","Test":"TestGood","Output":"panic: test timed out after 1m0s\n"}
{"Time":"2026-01-01T00:00:04Z","Action":"output","Package":"b","Test":"TestGood","Output":"\trunning tests:\n"}
{"Time":"2026-01-01T00:00:04Z","Action":"pass","Package":"b","Test":"TestGood","Elapsed":1}
{"Time":"2026-01-01T00:01:04Z","Action":"output","Package":"b","Output":"FAIL\tb\t63.0s\n"}
{"Time":"2026-01-01T00:01:04Z","Action":"fail","Package":"b","Elapsed":63}
{"Time":"2026-01-01T00:01:05Z","Action":"start","Package":"c"}
{"Time":"2026-01-01T00:01:05Z","Action":"fail","Package":"c","Elapsed":0,"FailedBuild":"c [c.test]"}
{"Time":"2026-01-01T00:01:05Z","Action":"start","Package":"d"}
{"Time":"2026-01-01T00:01:05Z","Action":"output","Package":"d","Output":"?   \td\t[no test files]\n"}
{"Time":"2026-01-01T00:01:05Z","Action":"skip","Package":"d","Elapsed":0.003}
`

func TestWhatARunSays(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	started := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	r := newReport(&out, 3, started)
	for e := range events(strings.NewReader(lines)) {
		if e.Package == "c" && e.Action == "start" { // meanwhile
			r.running["e"] = started
			r.sayRunning(started.Add(time.Minute))
			delete(r.running, "e")
			r.sayRunning(started.Add(time.Minute))
		}
		r.take(e)
	}
	r.end(started.Add(66 * time.Second))
	want := `c/c.go:3:1: syntax error
ok  	a	1.0s	(1 of 3, 2s)
FAIL	b TestIll
FAIL	b	63.0s	(2 of 3, 1m4s)
...	2 of 3, 1m0s: e (1m0s)
...	2 of 3, 1m0s: compiling
FAIL	c	0.0s	(3 of 3, 1m5s)

What failed:
c/c.go:3:1: syntax error
    b_test.go:1: got 1, want 2
--- FAIL: TestIll (1.00s)
panic: test timed out after 1m0s
	running tests:
FAIL	b	63.0s
FAIL	c [build failed]
3 of 3 packages in 1m6s
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("the run says (-want +got):\n%s", diff)
	}
}

// broken is output that ends with an error.
type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("the pipe broke") }

// A package that fails while each of its tests passes, such as by a data race that is found between two of them, says what it printed last.
func TestAFailureOfNoTestIsSaid(t *testing.T) {
	t.Parallel()
	const lines = `{"Action":"output","Package":"a","Test":"TestWell","Output":"=== RUN   TestWell\n"}
{"Action":"output","Package":"a","Test":"TestWell","Output":"--- PASS: TestWell (1.00s)\n"}
{"Action":"output","Package":"a","Test":"TestWell","Output":"WARNING: DATA RACE\n"}
{"Action":"pass","Package":"a","Test":"TestWell","Elapsed":1}
{"Action":"output","Package":"a","Output":"FAIL\ta\t1.0s\n"}
{"Action":"fail","Package":"a","Elapsed":1}
`
	var out strings.Builder
	r := newReport(&out, 1, time.Time{})
	for e := range events(strings.NewReader(lines)) {
		r.take(e)
	}
	r.end(time.Time{})
	if want := "The last that it printed:\n=== RUN   TestWell\n--- PASS: TestWell (1.00s)\nWARNING: DATA RACE\nFAIL\ta\t1.0s\n1 of 1"; !strings.Contains(out.String(), want) {
		t.Errorf("the run says %s, want %s", out.String(), want)
	}
}

// Where the race detector itself dies nothing has failed, and the package is run again. Without it a crash is a failure.
func TestADetectorThatDiesIsNoFailure(t *testing.T) {
	t.Parallel()
	const lines = `{"Action":"output","Package":"a","Test":"TestWell","Output":"--- PASS: TestWell (1.00s)\n"}
{"Action":"output","Package":"a","Test":"TestWell","Output":%q}
{"Action":"pass","Package":"a","Test":"TestWell","Elapsed":1}
{"Action":"output","Package":"a","Test":"TestLong","Output":"    a_test.go:1: half of it\n"}
%s{"Action":"output","Package":"a","Output":"FAIL\ta\t1.0s\n"}
{"Action":"fail","Package":"a","Elapsed":1}
`
	stack := strings.Repeat(`{"Action":"output","Package":"a","Output":"goroutine 1 [running]\n"}`+"\n", 2*mostLast)
	for said, race := range map[string]bool{"ThreadSanitizer: CHECK failed: tsan_rtl.cpp:346\n": true, detectorCrashed: true, "\tSIGSEGV: segmentation violation\n": false} {
		for _, with := range []bool{false, true} {
			var out strings.Builder
			r := newReport(&out, 1, time.Time{})
			r.race = with
			for e := range events(strings.NewReader(fmt.Sprintf(lines, said, stack))) {
				r.take(e)
			}
			r.end(time.Time{})
			died := race && (with || strings.HasPrefix(said, "Thread"))
			if again := slices.Equal(r.again, []string{"a"}); again != died || (len(r.failures) == 0) != died || strings.Contains(out.String(), "the race detector died in a") != died {
				t.Errorf("%q, race %t: again %v, failed %q: %s", said, with, r.again, r.failures, out.String())
			}
		}
	}
}

func TestWhatIsNoEventIsSaid(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	r := newReport(&out, 0, time.Time{})
	r.follow(events(strings.NewReader("go: cannot find main module")), nil)
	r.follow(events(broken{}), nil)
	if got := out.String(); !strings.Contains(got, "cannot find main module") || !strings.Contains(got, "the pipe broke") {
		t.Errorf("said %q", got)
	}
}
