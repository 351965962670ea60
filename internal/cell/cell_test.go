package cell

import "testing"

func TestAGuardedCellIsTextAndReadsAsItWas(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"": "", "u1": "u1", "=1+1": "'=1+1", "-5": "'-5", "+86": "'+86", "@a": "'@a", "\tx": "'\tx", "＝1": "'＝1", "'": "'", "'=1": "''=1", "a=1": "a=1",
	} {
		if got := Guard(given); got != want || Bare(got) != given {
			t.Errorf("Guard(%q) = %q, read as %q; want %q", given, got, Bare(got), want)
		}
	}
}
