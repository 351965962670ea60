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

	// What ends the reading of flags before --lang does not hide it.
	for _, lang := range [][]string{{"--lang", "zh"}, {"--lang=zh"}} {
		for _, c := range []struct{ line, want string }{
			{"send --chanel wx", "--chanel：没有这个名称的选项，是否指 channel？"},
			{"send -Z", "没有短选项 'Z'（-Z）"},
			{"send --json=x", "应为 true 或 false"},
			{"send --wait=x", "为 \"x\"，应为"},
			{"channel lst", `"channel lst"：没有这个名称的命令，是否指 list？`},
			{"channel --limit 5 lst", "没有这个选项；posthouse channel --help 列出全部选项"},
			{"channel lst --limit 5", `"channel lst"：没有这个名称的命令，是否指 list？`},
			{"template nix", `"template nix"：没有这个命令；posthouse template --help 列出全部命令`},
			{"channel set", "缺少 NAME，用法：posthouse channel set NAME [flags]"},
		} {
			run("", 2, c.want, append(strings.Fields(c.line), lang...)...)
			if text := run("LANG=zh_CN.UTF-8", 2, "posthouse: ", append(strings.Fields(c.line), "--lang", "en")...); strings.Contains(text, "：") {
				t.Errorf("%s is not in English: %s", c.line, text)
			}
		}
	}
	run("", 2, "缺少值，用法：posthouse send [flags]", "send", "--lang", "zh", "--to")
	if text := run("", 2, "did you mean channel?", "send", "--chanel", "--", "--lang", "zh"); strings.Contains(text, "选项") {
		t.Errorf("what stands behind -- is no flag:\n%s", text)
	}
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
