package people

import (
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/hotp"

	"github.com/posthouse/posthouse/internal/work"
)

// The key of RFC 6238, appendix B, whose codes of eight digits end in these six.
func TestCodesAreThoseOfTheRFC(t *testing.T) {
	t.Parallel()
	const rfc = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
	for at, code := range map[int64]string{59: "287082", 1111111109: "081804", 1111111111: "050471", 1234567890: "005924", 2000000000: "279037"} {
		if f := (work.TOTP{}); !takeCode(&f, rfc, code, time.Unix(at, 0)) || f.Step != at/30 {
			t.Errorf("at %d the code %s is not taken: %+v", at, code, f)
		}
	}
}

// A code is taken once, within a step of its time, and never one of before.
func TestNoCodeIsTakenTwice(t *testing.T) {
	t.Parallel()
	const secret, step = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ", 1000
	code := func(n uint64) string {
		text, err := hotp.GenerateCode(secret, n)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	now := time.Unix(step*30+15, 0)
	f := work.TOTP{Wrong: 3, WrongSince: now}
	for _, c := range []struct {
		name, code string
		want       bool
	}{
		{"of two steps ago", code(step - 2), false},
		{"of two steps ahead", code(step + 2), false},
		{"of the step before", code(step - 1), true},
		{"the same again", code(step - 1), false},
		{"of now, with a blank", code(step)[:3] + " " + code(step)[3:], true},
		{"one of before", code(step - 1), false},
		{"of now again", code(step), false},
		{"of a clock that is ahead", code(step + 1), true},
		{"nothing", "", false},
	} {
		if got := takeCode(&f, secret, c.code, now); got != c.want {
			t.Errorf("the code %s: got %v", c.name, got)
		}
	}
	if f.Step != step+1 || f.Wrong != 0 || !f.WrongSince.IsZero() {
		t.Errorf("it stands at %+v", f)
	}
}

func TestARecoveryCodeIsTakenOnce(t *testing.T) {
	t.Parallel()
	codes, marks := newSpare()
	f := work.TOTP{Spare: marks}
	typed := strings.ToUpper(strings.ReplaceAll(codes[3], "-", " "))
	if isCode(typed) || !takeSpare(&f, typed) || takeSpare(&f, codes[3]) || takeSpare(&f, "") || len(f.Spare) != spareCodes-1 {
		t.Errorf("%d are left of %v", len(f.Spare), codes)
	}
	for _, mark := range marks {
		if strings.Contains(mark, codes[0]) {
			t.Error("a recovery code is kept as it is")
		}
	}
}
