package access_test

import (
	"context"
	"testing"
	"time"

	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/internal/access"
)

// FLEET-14: a token is of the secret that it was got by, and of the place that it is shown to: after one of them has changed
// another is fetched by the next call, and who has the old ones goes on with the token of these.
func TestATokenIsOfItsSecretAndItsPlace(t *testing.T) {
	t.Parallel()
	var tokens channel.MemoryTokens
	var fetched []string
	open := func(by ...string) *access.Access {
		return access.New(&tokens, "t1/c1/ww1/7", by, func(context.Context) (string, time.Duration, error) {
			fetched = append(fetched, by[0]+" "+by[1])
			return "the token of " + by[1] + " at " + by[0], 2 * time.Hour, nil
		})
	}
	const here, elsewhere = "https://one.example", "https://two.example"
	before := open(here, "old")
	for _, c := range []struct {
		name string
		by   *access.Access
		want string
	}{
		{"the first", before, "the token of old at " + here},
		{"the same, opened anew", open(here, "old"), "the token of old at " + here},
		{"a new secret", open(here, "new"), "the token of new at " + here},
		{"another place", open(elsewhere, "old"), "the token of old at " + elsewhere},
		{"what is under way", before, "the token of old at " + here},
	} {
		if got, err := c.by.Token(t.Context()); err != nil || got != c.want {
			t.Errorf("%s: got %q, %v; want %q", c.name, got, err, c.want)
		}
	}
	if len(fetched) != 3 {
		t.Errorf("tokens were fetched for %v, want once for each of three", fetched)
	}
}
