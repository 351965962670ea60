package house

import (
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"
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
	// Full and At are filled in by Report.
	Full bool      `json:"full"`
	At   time.Time `json:"at"`
}

var rowFile sync.Mutex

// Report prints a row and, where POSTHOUSE_TORTURE_ROWS names a file, appends it there. A row
// that does not pass fails its test.
func Report(t testing.TB, r Row) {
	t.Helper()
	r.Full, r.At = Full(), time.Now().UTC()
	verdict := "pass"
	if !r.Pass {
		verdict = "FAIL"
	}
	t.Logf("%s %-8s %s: %d %s: %s (bar: %s) %s %s", r.Test, r.Database, r.What, r.N, r.Unit, r.Figure, r.Bar, r.Bound, verdict)
	if err := appendRow(os.Getenv("POSTHOUSE_TORTURE_ROWS"), r); err != nil {
		t.Error(err)
	}
	if !r.Pass {
		t.Errorf("%s %s does not hold: %s, want %s", r.Test, r.What, r.Figure, r.Bar)
	}
}

func appendRow(path string, r Row) error {
	if path == "" {
		return nil
	}
	rowFile.Lock()
	defer rowFile.Unlock()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(f).Encode(r); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// Bound says what zero cases in n tries allow: by the rule of three, a rate below 3/n with 95 %
// certainty.
func Bound(n int) string {
	if n <= 0 {
		return "nothing was tried"
	}
	return fmt.Sprintf("0 of %d: < %.3g %% with 95 %%", n, min(300/float64(n), 100))
}
