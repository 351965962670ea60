package httpapi

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/channeltest"
)

func TestPatternsThatCouldTakeLongAreRefused(t *testing.T) {
	t.Parallel()
	for pattern, says := range map[string]string{
		`/^OK\|(.+)/`:                        "",
		`/"code":\s*"?(\d{1,6})"?/`:          "",
		`/\p{Han}{1,20}成功/`:                  "",
		`/(?:(?:a?){50}){20}b/`:              "too large",
		`/(?:a?){200}b/`:                     "too large",
		`/(?:\pL{1,10}x){20}/`:               "too large",
		"/" + strings.Repeat("a", 501) + "/": "501 bytes",
	} {
		for _, field := range []string{"success_path", "code_path", "message_path", "id_path", "result_code"} {
			_, problems := Type().Validate(map[string]any{"url": "http://a.example", field: pattern})
			found := ""
			for _, p := range problems {
				if p.Path == "config."+field && strings.HasPrefix(p.Message, "the regular expression") {
					found = p.Message
				}
			}
			if (found != "") != (says != "") || !strings.Contains(found, says) {
				t.Errorf("%s at %s: %q, want %q in it", pattern, field, found, says)
			}
		}
	}
}

// What is allowed, and takes long on a long answer, is not run on it.
func TestAnAnswerThatWouldTakeTooLongIsNotRead(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 60<<10)
	for _, c := range []struct {
		name, body string
		status     int
		class      posthouse.Class
		code       string
	}{
		{"a short answer", "aaab", 200, posthouse.ClassOK, "aaab"},
		{"a long one", long, 200, posthouse.ClassUnknown, CodeEffort},
		{"a long one that is an error", long, 400, posthouse.ClassRequest, "HTTP_400"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := channeltest.NewProvider(t, channeltest.Reply(c.status, c.body))
			config, problems := Type().Validate(map[string]any{"url": p.URL, "success_path": "/(?:a?){130}b/"})
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			d, err := open(config, channel.Env{Network: channel.Network{AllowPrivate: true}, Timeout: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { d.(*driver).Close() })
			out := channel.Outgoing{Recipient: posthouse.Recipient{User: "u", Address: "a"}}
			for _, got := range append(d.(*driver).SendBatch(t.Context(), []channel.Outgoing{out}), d.Send(t.Context(), out)) {
				if got.Class != c.class || got.Code != c.code {
					t.Errorf("got %q, code %q (%s), want %q, %q", got.Class, got.Code, got.Error, c.class, c.code)
				}
			}
		})
	}
}

// However many answers come at once, a channel's take their share of time and no more; cheap ones wait for nobody.
func TestCostlyAnswersOfAChannelAreReadAtABoundedRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var m meter
		began := time.Now()
		done := make(chan time.Duration, 20)
		for range 20 {
			go func() {
				if err := m.wait(t.Context(), mostEffort); err != nil {
					t.Error(err)
				}
				done <- time.Since(began)
			}()
		}
		synctest.Wait()
		if err := m.wait(t.Context(), freeEffort); err != nil || time.Since(began) != 0 {
			t.Errorf("a cheap one: %v after %s", err, time.Since(began))
		}
		for i := range 20 {
			if at, want := <-done, time.Duration(i)*time.Second; at != want {
				t.Errorf("answer %d was read after %s, want %s", i, at, want)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if err := m.wait(ctx, mostEffort); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the end of the call", err)
		}
	})
}

// Which part of an answer is the id is the configuration's choice: it must not be a way to a secret.
func TestAnIDShowsNoSecret(t *testing.T) {
	t.Parallel()
	p := channeltest.NewProvider(t, channeltest.Reply(200, `{"echo": "Bearer k-5f2b9c71d8e04", "id": "13812345678"}`))
	for path, want := range map[string]string{"$.echo": "Bearer ********", "$.id": "13812345678", `/Bearer (\S+)"/`: "********"} {
		config, problems := Type().Validate(map[string]any{"url": p.URL, "id_path": path, "secrets": map[string]any{"key": "k-5f2b9c71d8e04"}})
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		d, err := open(config, channel.Env{Network: channel.Network{AllowPrivate: true}, Timeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { d.(*driver).Close() })
		if got := d.Send(t.Context(), channel.Outgoing{Recipient: posthouse.Recipient{User: "u", Address: "a"}}); got.Ref != want {
			t.Errorf("%s: the id is %q, want %q", path, got.Ref, want)
		}
	}
}

// A channel's codes name a status of HTTP by its number too, where the answer names no code.
func TestCodesCoverStatuses(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]posthouse.Class{"500": posthouse.ClassTransient, "HTTP_500": posthouse.ClassTransient, "50": posthouse.ClassUnknown} {
		p := channeltest.NewProvider(t, channeltest.Reply(500, "oops"))
		config, problems := Type().Validate(map[string]any{"url": p.URL, "codes": map[string]any{code: "transient"}})
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		d, err := open(config, channel.Env{Network: channel.Network{AllowPrivate: true}, Timeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { d.(*driver).Close() })
		if got := d.Send(t.Context(), channel.Outgoing{Recipient: posthouse.Recipient{User: "u", Address: "a"}}); got.Class != want {
			t.Errorf("codes for %s: got %q, want %q", code, got.Class, want)
		}
	}
}
