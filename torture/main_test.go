package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Two rows, and a third that an interruption cut off.
const rows = `{"test":"B1","database":"mariadb","what":"cut","n":500,"unit":"commits","figure":"lost 1 | 2","bar":"lost 0","pass":false,"full":true,"at":"2026-05-04T12:00:00Z"}
{"test":"A1","database":"sqlite","what":"kill -9","n":200,"unit":"kills","figure":"lost 0","bar":"lost 0","bound":"0 of 200: < 1.5 % with 95 %","pass":true,"full":true,"at":"2026-05-04T13:30:00Z"}
{"test":"C1","data`

func TestTableSortsRowsAndCountsWhatFailed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rows.ndjson")
	if err := os.WriteFile(path, []byte(rows), 0o600); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	failed, err := show(&out, path, true)
	if err != nil || failed != 1 {
		t.Errorf("%d failed rows, %v; want 1", failed, err)
	}
	head, table, _ := strings.Cut(out.String(), "\n\n")
	if !strings.HasPrefix(head, "2026-05-04 12:00 to 2026-05-04 13:30, ") || !strings.HasSuffix(head, "2 rows, 1 failed.") {
		t.Errorf("the head is %q", head)
	}
	want := `| test | database | what is done | n | found | must hold | a zero allows | verdict |
| --- | --- | --- | --- | --- | --- | --- | --- |
| A1 | sqlite | kill -9 | 200 kills | lost 0 | lost 0 | 0 of 200: < 1.5 % with 95 % | pass |
| B1 | mariadb | cut | 500 commits | lost 1 \| 2 | lost 0 |  | FAIL |
`
	if table != want {
		t.Errorf("got\n%s\nwant\n%s", table, want)
	}
}

// printed is the table of a file, its head, and the error.
func printed(t *testing.T, text string) (head, table string, err error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rows.ndjson")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	_, err = show(&out, path, true)
	head, table, _ = strings.Cut(out.String(), "\n\n")
	return head, table, err
}

// Rows are of the machine that wrote them, and not of the one that prints them.
func TestTheHeadSaysWhereTheRowsWereWritten(t *testing.T) {
	t.Parallel()
	const row = `{"test":"A1","what":"x","pass":true,"at":"2026-05-04T12:00:00Z"`
	for text, want := range map[string]string{
		row + "}\n": ", a machine that was not noted. 1 rows",
		row + `,"machine":"the big one","sync_ns":2000000}` + "\n": ", the big one, a sync of 4 KiB took 2ms. 1 rows",
		row + `,"machine":"the big one","sync_ns":2000000}` + "\n" + row + `,"machine":"another","sync_ns":300000}` + "\n" +
			row + `,"machine":"another","sync_ns":900000}` + "\n": ", another; the big one, a sync of 4 KiB took 300µs to 2ms. 3 rows",
	} {
		head, _, err := printed(t, text)
		if err != nil || !strings.Contains(head, want) {
			t.Errorf("the head is %q, %v; want %q in it", head, err, want)
		}
	}
}

// A test that was run again is told of once, as it ended last.
func TestARowIsReplacedByALaterOneOfItsTest(t *testing.T) {
	t.Parallel()
	const row = `{"test":"A1","what":"x","name":"TestA1/sqlite","at":"2026-05-04T12:00:00Z","pass":`
	_, table, err := printed(t, row+"false}\n"+row+"true}\n")
	if err != nil || strings.Count(table, "A1") != 1 || strings.Contains(table, "FAIL") {
		t.Errorf("%v, the table is\n%s", err, table)
	}
}

// A line that is no row costs the table nothing but that row, and is not passed over.
func TestLinesThatAreNoRowsAreNamed(t *testing.T) {
	t.Parallel()
	const row = `{"test":"A1","what":"x","pass":true,"at":"2026-05-04T12:00:00Z"}`
	for bad, want := range map[string]string{
		`{"test":"C1","data{"test":"A2"}`: "line 2 is no row: invalid character",
		`{"test":"C1","data`:              "line 2 is no row: unexpected EOF",
		`{"foo":1}`:                       `line 2 is no row: json: unknown field "foo"`,
		`null`:                            "line 2 is no row: it does not say which test wrote it",
		`{"test":"A2","at":"2026-05-04T12:00:00Z"}{}`: "line 2 is no row: something stands after it",
	} {
		head, table, err := printed(t, row+"\n"+bad+"\n\n"+row+"\n")
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasSuffix(head, "2 rows, 0 failed.") || strings.Count(table, "\n") != 4 {
			t.Errorf("%s: got %v, want %s\n%s\n%s", bad, err, want, head, table)
		}
	}
}

func TestTableOfNothingIsAnError(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rows.ndjson")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := show(&strings.Builder{}, path, false); err == nil || !strings.Contains(err.Error(), "no rows") {
		t.Errorf("got %v", err)
	}
}
