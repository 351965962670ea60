package shell

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/posthouse/posthouse/internal/consoletest"
)

// A workbook of several sheets is named before one of them is read, and is at its beginning afterwards.
func TestSheetsAreTold(t *testing.T) {
	t.Parallel()
	may, june := consoletest.Sheet{Name: "May", Rows: [][]any{{"phone"}}}, consoletest.Sheet{Name: "June", Rows: [][]any{{"phone"}}}
	for name, c := range map[string]struct{ file, want string }{
		"two":  {consoletest.Workbook(t, may, june), "the workbook has several sheets: May, June. The first with a column of addresses is read; --sheet NAME takes another\n"},
		"one":  {consoletest.Workbook(t, may), ""},
		"none": {"phone\n1\n", ""},
	} {
		var out bytes.Buffer
		file := strings.NewReader(c.file)
		(&Shell{Err: &out}).TellSheets(file)
		if left, err := io.ReadAll(file); out.String() != c.want || string(left) != c.file || err != nil {
			t.Errorf("%s: it is told %q, and %d of %d bytes are left, %v", name, &out, len(left), len(c.file), err)
		}
	}
}
