package house

import "testing"

func TestAShareOfTheFullForm(t *testing.T) {
	for share, want := range map[string]int{"": 1000, "1": 1000, "0.25": 250, "0.0001": 20} {
		t.Setenv("POSTHOUSE_TORTURE", "full")
		t.Setenv("POSTHOUSE_TORTURE_SHARE", share)
		if got := Size(20, 1000); got != want {
			t.Errorf("a share of %q is %d, want %d", share, got, want)
		}
		if got := Size(10, 2); got != 2 {
			t.Errorf("less in the full form is %d, want 2", got)
		}
	}
	for _, wrong := range []string{"0", "2", "-1", "half", "NaN"} {
		t.Setenv("POSTHOUSE_TORTURE_SHARE", wrong)
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("a share of %q is taken", wrong)
				}
			}()
			Size(20, 1000)
		}()
	}
	t.Setenv("POSTHOUSE_TORTURE", "")
	if got := Size(20, 1000); got != 20 {
		t.Errorf("the short form does %d, want 20", got)
	}
}
