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
	failed, err := run(&out, path, true)
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

func TestTableOfNothingIsAnError(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rows.ndjson")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := run(&strings.Builder{}, path, false); err == nil || !strings.Contains(err.Error(), "no rows") {
		t.Errorf("got %v", err)
	}
}
