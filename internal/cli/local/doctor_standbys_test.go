package local

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse/internal/store/sqldb"
)

func TestDoctorSaysWhetherADatabaseServerCanBeLost(t *testing.T) {
	t.Parallel()
	follows := sqldb.Standby{Name: "db2", State: "streaming", Waited: true, Behind: 120}
	lags := sqldb.Standby{Name: "db2", State: "streaming", Behind: 1 << 30, Lag: time.Minute}
	for name, c := range map[string]struct {
		found []finding
		sick  string // of what is unsafe; empty for nothing
	}{
		"no standby":                   {ofStandbys("", nil), ""},
		"a standby that is waited for": {ofStandbys("ANY 1 (db2)", []sqldb.Standby{follows}), ""},
		"nobody waits":                 {ofStandbys("", []sqldb.Standby{{Name: "db2", State: "streaming"}}), "set synchronous_standby_names"},
		"it lags":                      {ofStandbys("ANY 1 (db2, db3)", []sqldb.Standby{follows, lags}), "1m0s behind"},
		"none is connected":            {ofStandbys("ANY 1 (db2)", nil), "nothing is accepted"},
		"it may not be asked":          {ofStandbys("ANY 1 (db2)", []sqldb.Standby{{Name: "db2", Behind: -1}}), ""},
		"room for a process":           {examineRoom(sqldb.Room{Used: 80, Most: 97, Own: 16}, nil), ""},
		"no room for a process":        {examineRoom(sqldb.Room{Used: 90, Most: 97, Own: 16}, nil), "90 of the server's 97 are in use, and a process takes up to 16: raise max_connections"},
		"one host":                     {ofHosts(nil), ""},
		"two hosts":                    {ofHosts([]sqldb.HostSaid{{Name: "db1:5432", Timeline: 1}, {Name: "db2:5432", Standby: true}}), ""},
		"one is away":                  {ofHosts([]sqldb.HostSaid{{Name: "db1:5432", Timeline: 1}, {Name: "db2:5432", Err: errors.New("refused")}}), "does not answer: refused"},
		"two primaries":                {ofHosts([]sqldb.HostSaid{{Name: "db1:5432", Timeline: 1}, {Name: "db2:5432", Timeline: 2}}), "more than one server takes writes"},
		"clocks apart":                 {ofHosts([]sqldb.HostSaid{{Name: "db1:5432", Timeline: 1, Ahead: time.Second}, {Name: "db2:5432", Standby: true, Ahead: -4 * time.Second}}), "db1:5432 is 5s ahead of db2:5432"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var sick []string
			for _, f := range c.found {
				if !f.OK {
					sick = append(sick, f.Detail)
				}
			}
			if c.sick == "" && len(sick) > 0 || c.sick != "" && (len(sick) != 1 || !strings.Contains(sick[0], c.sick)) {
				t.Errorf("unsafe: %q, want %q", sick, c.sick)
			}
		})
	}
}
