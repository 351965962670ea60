package verify_test

import (
	"testing"

	"github.com/posthouse/posthouse/internal/verify"
)

func TestLegalRunsHold(t *testing.T) {
	t.Parallel()
	for seed := range uint64(25) {
		r := check(t, madeRun(seed, 200).inputs())
		if r.Verdict != verify.Holds {
			t.Fatalf("seed %d:\n%s", seed, r.Page())
		}
	}
}
