package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// said is what go test -json says of a run that was cut off within B5, with a line of the compiler before.
const said = `# a line that is no event
{"Action":"run","Package":"p","Test":"TestA1"}
{"Action":"output","Package":"p","Test":"TestA1","Output":"=== RUN   TestA1\n"}
{"Action":"output","Package":"p","Test":"TestA1/sqlite","Output":"    --- PASS: TestA1/sqlite (0.10s)\n"}
{"Action":"pass","Package":"p","Test":"TestA1/sqlite","Elapsed":0.1}
{"Action":"pass","Package":"p","Test":"TestA2/sqlite","Elapsed":0.1}
{"Action":"pass","Package":"p","Test":"TestA1","Elapsed":1.1}
{"Action":"fail","Package":"p","Test":"TestB5/maria(db)/cut_off"}
{"Action":"run","Package":"p","Test":"TestB5/maria(db)/frozen"}
{"Action":"output","Pack`

func TestAnInterruptedRunGoesOnBehindWhatHasEnded(t *testing.T) {
	t.Parallel()
	rows := filepath.Join(t.TempDir(), "rows")
	path := rows + ".ended"
	// of A2 no part has a row, so all of it begins again
	if err := os.WriteFile(rows, []byte(`{"test":"B5","name":"TestB5/maria(db)/cut_off","pass":false,"at":"2026-05-04T12:00:00Z"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	first := marks{path: path, rows: rows}
	if err := first.begin("sum", false); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := follow(&out, strings.NewReader(said), &first); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"# a line that is no event\n", "    --- PASS: TestA1/sqlite (0.10s)\n", "--- 1 tests in 0s\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not printed:\n%s", want, &out)
		}
	}
	if strings.Contains(out.String(), "=== RUN") {
		t.Errorf("the beginnings are printed:\n%s", &out)
	}

	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(text, "TestB6/cut of"...), 0o600); err != nil {
		t.Fatal(err)
	}
	again, err := readMarks(rows)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.begin("another sum", true); err == nil || !strings.Contains(err.Error(), "another state of the code") {
		t.Errorf("with other code: %v", err)
	}
	if err := again.begin("sum", true); err != nil {
		t.Fatal(err)
	}
	if got, want := again.skip(), `^TestA1$|^TestB5$/^maria\(db\)$/^cut_off$`; got != want {
		t.Errorf("skips %s, want %s", got, want)
	}
	if got, want := strings.Join(again.failed, " "), "TestB5/maria(db)/cut_off"; got != want {
		t.Errorf("failed are %q, want %q: going on forgets none", got, want)
	}
	if err := again.add("TestB6", false); err != nil {
		t.Fatal(err)
	}
	last, err := readMarks(rows)
	if err != nil {
		t.Fatal(err)
	}
	if len(last.failed) != 1 {
		t.Errorf("failed are %q after the second run", last.failed)
	}
	if got, want := last.ended[len(last.ended)-1], "TestB6"; got != want {
		t.Errorf("the last mark is %q, want %q: what was cut off is gone", got, want)
	}
}

func TestOnlyAnInterruptedRunGoesOn(t *testing.T) {
	t.Parallel()
	m, err := readMarks(filepath.Join(t.TempDir(), "rows"))
	if err != nil {
		t.Fatal(err)
	}
	if err := m.begin("sum", true); err == nil || !strings.Contains(err.Error(), "begin one with make torture") {
		t.Errorf("without a run: %v", err)
	}
}
