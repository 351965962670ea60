package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/builtin"
	"github.com/posthouse/posthouse/rule"
)

// beeper is a driver of somebody else's.
func beeper(sent chan<- string) channel.Type {
	return channel.Type{
		Name: "beeper", Title: "Beeper", Doc: "Beeps.",
		Open: func(channel.Config, channel.Env) (channel.Driver, error) { return beeps(sent), nil },
	}
}

type beeps chan<- string

func (b beeps) Send(_ context.Context, out channel.Outgoing) channel.Result {
	b <- out.Recipient.Address
	return channel.Result{Class: posthouse.ClassOK}
}

// mute is a rule of somebody else's: it tells the users alone whom its options name.
func mute() rule.Type {
	return rule.Type{Name: "mute", Title: "Mute", Doc: "Tells one user alone.", Open: func(s posthouse.RuleSettings, _ rule.Env) (rule.Rule, []posthouse.Problem) {
		return but(s.Options["but"]), nil
	}}
}

type but string

func (b but) Judge(_ context.Context, s rule.Subject) (rule.Verdict, error) {
	if s.Recipient.User == string(b) {
		return rule.Verdict{}, nil
	}
	return rule.Verdict{Decision: rule.Skip, Reason: "muted"}, nil
}

func TestAMainWithItsOwnDriverAndRuleHasEveryCommand(t *testing.T) {
	t.Parallel()
	sent := make(chan string, 1)
	own := Options{Drivers: append(builtin.Types(), beeper(sent)), Rules: append(rule.Types(), mute()), Version: "own"}
	dsn := "sqlite:" + filepath.Join(t.TempDir(), "posthouse.db")
	said, stop := untilURL(t, own, "serve", "--addr", "127.0.0.1:0", "--create", "--dsn", dsn)
	environ := []string{"POSTHOUSE_URL=" + said["url"].(string), "POSTHOUSE_API_KEY=" + said["first_key"].(string), "POSTHOUSE_DSN=" + dsn}
	expect := func(o Options, wantCode int, want string, args ...string) {
		t.Helper()
		var out bytes.Buffer
		sh := o.shell()
		sh.In, sh.Out, sh.Err, sh.Dir, sh.Environ = strings.NewReader(""), &out, &out, t.TempDir(), environ
		if code := run(t.Context(), sh, args); code != wantCode || !strings.Contains(out.String(), want) {
			t.Errorf("%v: got exit code %d and %q, want %d and %q", args, code, out.String(), wantCode, want)
		}
	}
	expect(own, 0, "posthouse own", "version")
	expect(own, 0, "Beeps.", "channel", "drivers", "beeper")
	expect(own, 0, "created", "channel", "set", "ward", "--driver", "beeper")
	expect(own, 0, "sent", "send", "--channel", "ward", "--to", "li.na=7001", "--text", "now", "--wait")
	ruled := func(rules string) string {
		file := filepath.Join(t.TempDir(), "ward.json")
		if err := os.WriteFile(file, []byte(`{"name": "ward", "driver": "beeper", "rules": `+rules+`}`), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	expect(own, 1, `there is no rule "deaf"; the rules are duty, mute`, "channel", "set", "-f", ruled(`[{"type": "deaf"}]`))
	expect(own, 0, "ward", "channel", "set", "-f", ruled(`[{"type": "mute", "options": {"but": "li.na"}}]`))
	expect(own, 0, "muted", "send", "--channel", "ward", "--to", "sun.li=7002", "--text", "now", "--wait")
	if got := <-sent; got != "7001" {
		t.Errorf("beeped %q, want 7001", got)
	}
	if code := stop(); code != 0 {
		t.Errorf("serve ended with exit code %d", code)
	}
	expect(own, 0, "1, all of them open", "doctor")
	expect(Options{}, 1, `there is no driver "beeper"`, "doctor")
}
