package house

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/posthouse/posthouse/internal/machine"
)

// Row is one line of the table in docs/reliability.md: what a test did and found.
type Row struct {
	Test     string `json:"test"`               // A1 … E6, mutants, sim
	Database string `json:"database,omitempty"` // sqlite, postgres, mariadb; empty where none matters
	What     string `json:"what"`               // the fault, in a few words
	N        int    `json:"n"`                  // how often it was done
	Unit     string `json:"unit"`               // what N counts: kills, commits, messages
	Figure   string `json:"figure"`             // what was found
	Bar      string `json:"bar"`                // what must hold
	Bound    string `json:"bound,omitempty"`    // what a zero in N allows, see Bound
	Pass     bool   `json:"pass"`
	// The rest is filled in by Report: the machine and what a small synced write took there belong to the
	// row, since who prints the table may do so another day and elsewhere.
	Name    string        `json:"name"`
	Full    bool          `json:"full"`
	At      time.Time     `json:"at"`
	Machine string        `json:"machine,omitempty"`
	Sync    time.Duration `json:"sync_ns,omitempty"`
}

var rowFile sync.Mutex

// Report prints a row and, where POSTHOUSE_TORTURE_ROWS names a file, appends it there. A row
// that does not pass fails its test, and one of a test that has failed does not pass.
func Report(t testing.TB, r Row) {
	t.Helper()
	r.Pass = r.Pass && !t.Failed()
	r.Name, r.Full, r.At = t.Name(), Full(), time.Now().UTC()
	verdict := "pass"
	if !r.Pass {
		verdict = "FAIL"
	}
	t.Logf("%s %-8s %s: %d %s: %s (bar: %s) %s %s", r.Test, r.Database, r.What, r.N, r.Unit, r.Figure, r.Bar, r.Bound, verdict)
	if path := os.Getenv("POSTHOUSE_TORTURE_ROWS"); path != "" {
		r.Machine, r.Sync = machine.Name(), machine.SyncTime()
		if err := appendRow(path, r); err != nil {
			t.Error(err)
		}
	}
	if !r.Pass {
		t.Errorf("%s %s does not hold: %s, want %s", r.Test, r.What, r.Figure, r.Bar)
	}
}

// appendRow writes a row on a line of its own, also where an interruption has cut the last one off.
func appendRow(path string, r Row) (err error) {
	rowFile.Lock()
	defer rowFile.Unlock()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	last := make([]byte, 1)
	if end, err := f.Seek(0, io.SeekEnd); err != nil {
		return err
	} else if end > 0 {
		if _, err := f.ReadAt(last, end-1); err != nil {
			return err
		}
		if last[0] != '\n' {
			line = append([]byte("\n"), line...)
		}
	}
	_, err = f.Write(append(line, '\n'))
	return err
}

// Bound says what zero cases in n tries allow: by the rule of three, a rate below 3/n with 95 %
// certainty.
func Bound(n int) string {
	if n <= 0 {
		return "nothing was tried"
	}
	return fmt.Sprintf("0 of %d: < %.3g %% with 95 %%", n, min(300/float64(n), 100))
}
