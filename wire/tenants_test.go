package wire_test

import (
	"encoding/json"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// A bound that the server refuses must reach it: left out, it would take away the quota that there was.
func TestAQuotaBelowZeroIsNotLeftOut(t *testing.T) {
	t.Parallel()
	for want, q := range map[string]posthouse.Quota{
		`{"quota":{"open":-3}}`:        {Open: -3},
		`{"quota":{"mention_all":-1}}`: {MentionAll: -1},
		`{}`:                           {},
	} {
		got, err := json.Marshal(wire.PutTenantOf(posthouse.Tenant{Quota: q}))
		if err != nil || string(got) != want {
			t.Errorf("got %s %v, want %s", got, err, want)
		}
	}
}
