package cli

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/secret"
)

func TestARouteIsStoredShownPreviewedAndDeleted(t *testing.T) {
	t.Parallel()
	key := secret.FormatKey(secret.NewKey())
	environ := []string{"POSTHOUSE_URL=" + serveForTest(t, key, dbtest.SQLite(t)), "POSTHOUSE_API_KEY=" + key}
	file := filepath.Join(t.TempDir(), "route.json")
	run := func(code int, want string, args ...string) {
		t.Helper()
		if text, got := ran(t, environ, args...); got != code || !strings.Contains(text, want) {
			t.Errorf("%v: %d\n%s\nwant %d and %q", args, got, text, code, want)
		}
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run(0, "", "channel", "set", "desk", "--driver", "console")
	run(0, "", "channel", "set", "night", "--driver", "console")
	told := func(message string) {
		t.Helper()
		notification := posthouse.DeliveryID(message, 1)
		for command, wants := range map[string][2]string{
			"explain " + message: {"Step 1 began at ", "第 1 步开始于 "}, "explain " + notification: {" was told at ", "已于 "}, "status " + message: {"told", "told"}, "status " + notification: {"duty, version 1", "duty，版本 1"},
		} {
			for i, language := range []string{"en", "zh"} {
				run(0, wants[i], append(strings.Fields(command), "--lang", language)...)
			}
		}
		run(2, "its steps are told by posthouse notification show", "story", notification)
		run(2, "是通知编号", "story", notification, "--lang", "zh")
		run(2, "posthouse recall "+message+" cancels", "recall", notification)
		run(2, "撤回以整条消息为单位", "recall", notification, "--lang", "zh")
	}
	write(`{"steps": [{"channels": ["desk"], "within": "5m"}, {"channels": ["night"]}]}`)
	run(0, "duty: version 1: desk → night", "route", "put", "duty", "--file", file)
	run(0, "desk → night", "route", "list")
	run(0, "5m", "route", "show", "duty", "--version", "1")
	run(0, "night", "route", "preview", "duty", "--to", "u1=u1", "--text", "Hello")
	run(0, "", "tenant", "set", "default", "--caps", `[{"max":1,"per":"24h","kinds":["news"],"then":"suppress"}]`)
	run(0, "", "suppression", "add", "gone", "--channel", "desk", "--reason", "has left")
	for language, want := range map[string]string{"en": "skipped: address_suppressed, has left", "zh": "跳过：地址在禁发名单中，has left"} {
		run(0, want, "route", "preview", "duty", "--to", "=gone", "--kind", "news", "--text", "Hello", "--lang", language)
	}
	run(0, "", "channel", "set", "still", "--driver", "console", "--quiet-hours", `[{"from":"22:00","to":"07:00"}]`)
	write(`{"steps": [{"channels": ["still"]}]}`)
	run(0, "late: version 1", "route", "put", "late", "--file", file)
	day := time.Now().Add(72 * time.Hour).Format(time.DateOnly)
	for language, want := range map[string]string{"en": "quiet hours last until " + day + " 07:00:00 ", "zh": "免打扰时段到 " + day + " 07:00:00 "} {
		run(0, want, "route", "preview", "late", "--to", "u1=u1", "--kind", "news", "--text", "Hello", "--not-before", day+" 03:04", "--deadline", day+" 05:00", "--lang", language)
	}
	sent, code := ran(t, environ, "send", "--json", "--messages", `{"route":"duty","to":[{"user":"u1"}],"content":{"text":"Hello"}}`)
	message := regexp.MustCompile(`[0-9A-Z]{26}`).FindString(sent)
	if code != 0 || message == "" {
		t.Fatalf("send: %d\n%s", code, sent)
	}
	id := posthouse.DeliveryID(message, 1)
	run(0, id, "notification", "list", "--message", message)
	run(0, id, "status", message)
	eventually(t, "u1 was told", func() bool {
		text, _ := ran(t, environ, "notification", "show", id)
		return strings.Contains(text, "told ")
	})
	told(message)
	run(0, "its route says who is told", "send", "--route", "duty", "--to", "u3", "--text", "Hello")
	run(0, "duty, version 1", "notification", "show", id)
	run(0, "its links are revoked", "notification", "revoke-links", id)
	run(0, "told", "notification", "resume", id)
	run(0, "", "notification", "resume", "--all")
	run(0, "", "notification", "list", "--held")
	run(2, "ID is missing", "notification", "resume")
	run(0, "acknowledged by li.na", "notification", "ack", id, "--by", "li.na", "--evidence", "by telephone")
	run(0, "by telephone", "notification", "show", id)
	run(0, id, "notification", "list", "--state", "acknowledged")
	run(0, "acknowledged", "notification", "end", id)
	run(1, "notification", "notification", "show", "01JB2Z6N8Q4T7V0X3Y5W9A0000")
	run(1, "follows a route", "send", "--route", "duty", "--to", "u2", "--text", "Hello", "--wait")
	run(0, "", "channel", "set", "spare", "--driver", "console")
	write(`{"steps": [{"channels": ["desk", "spare"]}]}`)
	run(0, "version 1", "route", "put", "both", "--file", file)
	run(0, "warning: steps of these routes send nothing by it any more: both", "channel", "delete", "spare")
	run(0, "", "roster", "set", "nightly", "--day", "1=zhang")
	write(`{"steps": [{"channels": ["desk"], "to": [{"roster": "nightly"}]}]}`)
	run(0, "version 1", "route", "put", "called", "--file", file)
	run(0, "warning: steps of these routes find nobody by it any more: called", "roster", "delete", "nightly")
	write(`{"stages": []}`)
	run(2, "stages: there is no field of this name; known are", "route", "put", "duty", "--file", file)
	run(0, "deleted", "route", "delete", "duty")
	run(1, "duty", "route", "show", "duty")
}

// eventually waits until something is so.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	end, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for !is() {
		select {
		case <-tick.C:
		case <-end.Done():
			t.Fatalf("it never came that %s", what)
		}
	}
}
