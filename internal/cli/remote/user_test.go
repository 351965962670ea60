package remote

import (
	"slices"
	"testing"

	"github.com/posthouse/posthouse"
)

// Storing a user anew says what it has taken away, by the flags that would have kept it.
func TestStoringAUserSaysWhatIsGone(t *testing.T) {
	t.Parallel()
	before := posthouse.User{Name: "Li Na", Roles: []string{"ops"}, TimeZone: "Asia/Shanghai", Addresses: map[string]string{"chat": "li", "mail": "li@example.com", "text": "1"}}
	for _, c := range []struct {
		after posthouse.User
		want  []string
	}{
		{posthouse.User{Name: "Li", Addresses: map[string]string{"chat": "na"}}, []string{"--role", "--time-zone", "--address mail", "--address text"}},
		{before, nil},
		{posthouse.User{}, []string{"--name", "--role", "--time-zone", "--address chat", "--address mail", "--address text"}},
	} {
		if got := lostOf(before, c.after); !slices.Equal(got, c.want) {
			t.Errorf("of %+v it lost %q, want %q", c.after, got, c.want)
		}
	}
	if got := lostOf(posthouse.User{}, before); got != nil {
		t.Errorf("a new user lost %q", got)
	}
}
