package rule

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
)

func TestUsersSwapTheirTurns(t *testing.T) {
	t.Parallel()
	// 2026-11-23 is a Monday.
	roster := posthouse.Roster{Days: map[string][]string{"1": {"a", "b"}, "2": {"c"}}, Overrides: map[string][]string{"2026-11-25": {"d"}}}
	got, problems := Swap(roster, Turn{"a", "2026-11-23"}, Turn{"d", "2026-11-25"})
	want := map[string][]string{"2026-11-23": {"d", "b"}, "2026-11-25": {"a"}}
	if diff := cmp.Diff(want, got.Overrides); diff != "" || problems != nil {
		t.Errorf("%v (-want +got):\n%s", problems, diff)
	}
	if len(roster.Overrides) != 1 || roster.Days["1"][0] != "a" {
		t.Errorf("the roster itself is %+v now", roster)
	}
	for name, c := range map[string]struct {
		one, other Turn
		want       []string
	}{
		"a date with itself":       {Turn{"a", "2026-11-23"}, Turn{"b", "2026-11-23"}, []string{"with_date"}},
		"turns of nobody's":        {Turn{"x", "2026-11-23"}, Turn{"y", "2026-11-24"}, []string{"user", "with"}},
		"dates that are none":      {Turn{"a", "Monday"}, Turn{"c", ""}, []string{"date", "with_date"}},
		"a turn of another's date": {Turn{"a", "2026-11-24"}, Turn{"d", "2026-11-25"}, []string{"user"}},
	} {
		_, problems := Swap(roster, c.one, c.other)
		var got []string
		for _, p := range problems {
			got = append(got, p.Path)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestAnOverrideIsSetAndCleared(t *testing.T) {
	t.Parallel()
	roster := posthouse.Roster{Overrides: map[string][]string{"2026-11-25": {"d"}, "2026-11-26": {"e"}}}
	got := Override(roster, map[string][]string{"2026-11-27": {}}, []string{"2026-11-25"})
	if diff := cmp.Diff(map[string][]string{"2026-11-26": {"e"}, "2026-11-27": {}}, got.Overrides); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(roster.Overrides) != 2 {
		t.Errorf("the roster itself has %v now", roster.Overrides)
	}
}
