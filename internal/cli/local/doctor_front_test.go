package local

import (
	"strings"
	"testing"

	"github.com/posthouse/posthouse/internal/config"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/server"
)

// The doctor repeats the warning of the start: a front door with a short password can be opened by trying.
func TestTheDoctorNamesAShortPasswordOfTheFrontDoor(t *testing.T) {
	t.Parallel()
	for password, want := range map[string]bool{"73915": true, "elevenchars": true, "twelve chars": false, "十二个字符的密码也算够长": false} {
		c := config.Config{Server: server.Options{DSN: dbtest.SQLite(t), SMS: server.SMS{Username: "admin", Password: password}}}
		s, err := server.New(t.Context(), server.Options{DSN: c.Server.DSN, NoListen: true, SMS: c.Server.SMS, Announce: func(string) {}})
		if err != nil {
			t.Fatal(err)
		}
		found := examine(t.Context(), c, false)
		if err := s.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		named := false
		for _, f := range found {
			if f.Check == "front door" {
				named = true
				if f.OK || !strings.Contains(f.Detail, "want 12 at least") || strings.Contains(f.Detail, password) {
					t.Errorf("%q: %+v", password, f)
				}
			}
		}
		if named != want {
			t.Errorf("%q: got %v, want it named: %v", password, found, want)
		}
	}
}
