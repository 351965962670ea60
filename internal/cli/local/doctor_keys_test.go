package local

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheDoctorSaysWhichKeysAreNeeded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ids    []string
		needed map[string]int
		want   []finding
	}{
		"one key":                 {[]string{"one"}, map[string]int{"one": 3}, nil},
		"an old one still needed": {[]string{"old", "new"}, map[string]int{"old": 2, "new": 1}, []finding{{"key old", true, "2 sealed texts need it: keep it; a running server seals them anew with the newest key"}}},
		"an old one no longer":    {[]string{"old", "new"}, map[string]int{"new": 1}, []finding{{"key old", true, keyUnneeded}}},
		"one that was removed":    {[]string{"new"}, map[string]int{"old": 2}, []finding{{"key old", false, "the keyring lacks it, and 2 sealed texts need it: put it back, or they cannot be read"}}},
	} {
		if diff := cmp.Diff(c.want, verdicts(c.ids, c.needed)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
