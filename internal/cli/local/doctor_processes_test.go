package local

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse/wire"
)

func TestTheDoctorComparesProcesses(t *testing.T) {
	t.Parallel()
	here := wire.Process{ID: "a", Version: "v1", Key: "k1", Keyring: "00ff"}
	with := func(change func(p *wire.Process)) wire.Process {
		p := here
		change(&p)
		return p
	}
	for name, c := range map[string]struct {
		list []wire.Process
		want []finding
	}{
		"none":                  {nil, []finding{{"processes", true, "0 at work"}}},
		"two alike":             {[]wire.Process{here, here}, []finding{{"processes", true, "2 at work"}}},
		"two versions":          {[]wire.Process{here, with(func(p *wire.Process) { p.Version = "v0" })}, []finding{{"processes", true, "2 at work, of the versions v0, v1: start the older ones anew"}}},
		"another that is gone":  {[]wire.Process{here, with(func(p *wire.Process) { p.Keyring, p.Version, p.Gone = "11", "v0", true })}, []finding{{"processes", true, "1 at work"}}},
		"one outlived a backup": {[]wire.Process{with(func(p *wire.Process) { p.Stale = true })}, []finding{{"processes", true, "1 at work"}, {"process a", false, "the database was restored under it: restart it"}}},
		"one behind a proxy": {[]wire.Process{with(func(p *wire.Process) { p.Untrusted = true })}, []finding{{"processes", true, "1 at work"}, {"process a", false,
			"requests come to it by a proxy that it does not trust: wrong passwords are bounded by user there, and strangers can make users wait. Name the proxy in trusted_proxies"}}},
		"two keyrings": {[]wire.Process{here, with(func(p *wire.Process) { p.Keyring = "11" })}, []finding{{"processes", true, "2 at work"}, {"keyrings", false,
			"processes have different ones, by newest key and fingerprint: k1 00ff, k1 11. What one seals another may not open: give all of them the same keys and start them anew"}}},
	} {
		if diff := cmp.Diff(c.want, ofOneKind(c.list)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
