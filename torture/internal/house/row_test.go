package house

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// A row says where it was written, and stands on a line of its own after one that was cut off.
func TestRowsNameTheirMachineAndStandAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.ndjson")
	if err := os.WriteFile(path, []byte(`{"test":"C1","data`), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("POSTHOUSE_TORTURE_ROWS", path)
	Report(t, Row{Test: "A1", Pass: true})
	Report(t, Row{Test: "A2", Pass: true})
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Scan()
	for _, test := range []string{"A1", "A2"} {
		var r Row
		if !lines.Scan() || json.Unmarshal(lines.Bytes(), &r) != nil || r.Test != test || r.Machine == "" || r.Sync <= 0 {
			t.Errorf("got %s, want a row of %s with its machine", lines.Text(), test)
		}
	}
	if lines.Scan() {
		t.Errorf("and %s", lines.Text())
	}
}
