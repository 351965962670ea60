package local

import (
	"strings"
	"testing"

	"github.com/posthouse/posthouse/internal/store/sqldb"
)

func TestDoctorSaysWhatStandsBeforeTheDatabase(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		way   sqldb.Way
		found bool
		want  string
	}{
		{sqldb.Direct, false, "the server's own sessions"},
		{sqldb.BySession, false, "as pool=session says"},
		{sqldb.ByTransaction, false, "as pool=transaction says"},
		{sqldb.ByTransaction, true, "which was found out"},
		{"", false, ""},
	} {
		said := ""
		for _, f := range wayTo(c.way, c.found) {
			said += f.Detail
			if !f.OK {
				t.Errorf("%q is said to be unsafe", c.way)
			}
		}
		if !strings.Contains(said, c.want) || (said == "") != (c.want == "") {
			t.Errorf("%q, found out %t: %q, want %q", c.way, c.found, said, c.want)
		}
	}
}
