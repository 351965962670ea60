package cli

import (
	"regexp"
	"strings"
	"testing"

	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/secret"
)

func TestErrorsAndReasonsInThePersonsLanguage(t *testing.T) {
	t.Parallel()
	key := secret.FormatKey(secret.NewKey())
	environ := []string{"POSTHOUSE_URL=" + serveForTest(t, key, dbtest.SQLite(t)), "POSTHOUSE_API_KEY=" + key}
	run := func(more string, code int, want string, args ...string) string {
		t.Helper()
		text, got := ran(t, append([]string{more}, environ...), args...)
		if got != code || !strings.Contains(text, want) {
			t.Errorf("%s %v: %d\n%s\nwant %d and %q", more, args, got, text, code, want)
		}
		return text
	}
	const zh = "LANG=zh_CN.UTF-8"
	run("", 0, "", "channel", "set", "desk", "--driver", "console")
	run("", 0, "", "channel", "pause", "desk")
	sent, _ := ran(t, environ, "send", "--json", "--messages", `{"channel":"desk","to":[{"user":"u1"}],"content":{"text":"Hello"}}`)
	message := regexp.MustCompile(`[0-9A-Z]{26}`).FindString(sent)

	run("", 0, "It waits: ", "explain", message)
	run(zh, 0, "正在等待：", "explain", message)
	if text := run(zh, 0, "到有人处理或有新的事件为止", "explain", message); strings.Contains(text, "until") {
		t.Errorf("it is half in English:\n%s", text)
	}
	run(zh, 0, "It waits: ", "explain", message, "--lang", "en")
	run("LC_ALL=C", 0, "It waits: ", "explain", message)
	run("", 0, "正在等待：", "--lang", "zh", "explain", message)
	run(zh, 0, "It waits: ", "explain", "--json", message) // programs read it

	run(zh, 1, "请换用有此权限的密钥", "channel", "set", "desk", "--driver", "console", "--key", narrow(t, environ))
	run(zh, 1, "必填", "send", "--messages", `{"channel":"desk","content":{"text":"Hello"}}`)
	run("", 2, `--lang`, "--lang", "fr", "explain", message)
}

// narrow is a key that may read alone.
func narrow(t *testing.T, environ []string) string {
	t.Helper()
	text, code := ran(t, environ, "key", "add", "reader", "--scope", "read")
	key := regexp.MustCompile(`ph_\S+`).FindString(text)
	if code != 0 || key == "" {
		t.Fatalf("key add: %d\n%s", code, text)
	}
	return key
}
