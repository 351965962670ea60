package registry

import (
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse/internal/store/sqldb"
)

// A claim asks for suppressions, so SQLite must not plan that anew each time: it does where a bare placeholder is compared with
// until_at, to whose value an index is limited.
func TestSuppressionsAreFoundByOnePlan(t *testing.T) {
	t.Parallel()
	s := Suppressions{&sqldb.DB{Dialect: sqldb.SQLite}}
	text, args, err := s.lookup("default", "mail", time.Now(), []string{"a", "b"})
	if err != nil || len(args) != strings.Count(text, "?") {
		t.Fatalf("%q with %d arguments, %v", text, len(args), err)
	}
	if strings.Contains(text, "until_at > ?") || !strings.Contains(text, "until_at > "+sqldb.SQLite.Blind) {
		t.Errorf("the text is %q: want until_at to be compared with %q", text, sqldb.SQLite.Blind)
	}
}
