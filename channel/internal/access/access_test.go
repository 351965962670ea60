package access_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
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
		return access.New(channel.Env{Tokens: &tokens}, "t1/c1/ww1/7", "ww1", by, func(context.Context) (string, time.Duration, error) {
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

// FLEET-7: 40 wrong secrets among 44 accounts of a corporation do not get the address blocked, and a secret that was right before
// is shown whenever its token has ended.
func TestWrongSecretsAreShownAFewAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		env := channel.Env{TokenCalls: new(channel.TokenCalls)}
		asked := 0
		open := func(name string, right bool) *access.Access {
			return access.New(env, name, "corp", nil, func(context.Context) (string, time.Duration, error) {
				asked++
				if right {
					return fmt.Sprint("token ", asked), time.Hour, nil
				}
				return "", 0, &access.Failed{Result: channel.Result{Class: posthouse.ClassAccount, Code: "40001"}}
			})
		}
		good := open("good", true)
		if _, err := good.Token(t.Context()); err != nil {
			t.Fatal(err)
		}
		var wrong []*access.Access
		for i := range 40 {
			wrong = append(wrong, open(fmt.Sprint("wrong ", i), false))
		}
		for minute := range 3 {
			asked = 0
			held := 0
			for _, a := range wrong {
				_, err := a.Token(t.Context())
				var failed *access.Failed
				if !errors.As(err, &failed) {
					t.Fatalf("a wrong secret gave %v", err)
				}
				if r := failed.Result; r.Code == access.CodeTooManyWrong && r.Class == posthouse.ClassBlocked && r.After > 0 {
					held++
				}
			}
			if asked != 8 || held != 32 {
				t.Errorf("in minute %d %d wrong secrets were shown and %d held back, want 8 and 32", minute, asked, held)
			}
			time.Sleep(time.Minute)
		}
		for _, a := range wrong[:8] {
			_, _ = a.Token(t.Context())
		}
		time.Sleep(time.Hour - 3*time.Minute) // the good one's token has ended
		for _, a := range wrong[8:] {
			_, _ = a.Token(t.Context())
		}
		if token, err := good.Token(t.Context()); err != nil || token == "token 1" {
			t.Errorf("the right secret gave %q, %v beside wrong ones, want a new token", token, err)
		}
	})
}
