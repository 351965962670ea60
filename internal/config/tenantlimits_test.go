package config

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
)

// FLEET-9: the windows of tenants are read, and what is wrong with one is said.
func TestTenantLimits(t *testing.T) {
	t.Parallel()
	got, err := Load(from(t, []string{"--tenant-limit", "acme=100/1s, acme=5000/1h,*=20/1s,free=unlimited"}, nil, nil))
	if err != nil {
		t.Fatal(err)
	}
	per := func(max int, d time.Duration) posthouse.Limit {
		return posthouse.Limit{Max: max, Per: posthouse.Duration(d)}
	}
	want := map[string][]posthouse.Limit{"acme": {per(100, time.Second), per(5000, time.Hour)}, "*": {per(20, time.Second)}, "free": {}}
	if diff := cmp.Diff(want, got.Server.TenantLimits); diff != "" {
		t.Error(diff)
	}
	for given, want := range map[string]string{
		"acme":                               `"acme" is no window of a tenant such as acme=100/1s, *=20/1s or acme=unlimited`,
		"=1/1s":                              `"=1/1s" is no window of a tenant such as acme=100/1s, *=20/1s or acme=unlimited`,
		"acme=0/1s":                          `"0/1s" is no window such as 100/1s or 5000/1h, nor unlimited`,
		"acme=5":                             `"5" is no window such as 100/1s or 5000/1h, nor unlimited`,
		"acme=5/1s,acme=6/1s":                `"acme" has two windows of 1s`,
		"acme=5/1s,acme=unlimited":           `"acme" has windows and is unlimited`,
		"a=1/1s,a=1/2s,a=1/3s,a=1/4s,a=1/5s": `"a" has more than 4 windows`,
	} {
		_, err := Load(from(t, []string{"--tenant-limit", given}, nil, nil))
		if err == nil {
			t.Errorf("%q is taken", given)
		} else if got := problems(t, err); len(got) != 1 || got[0] != "--tenant-limit: "+want {
			t.Errorf("%q: got %q, want %q", given, got, want)
		}
	}
}
