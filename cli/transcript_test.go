package cli

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/secret"
	"github.com/posthouse/posthouse/server"
)

var update = flag.Bool("update", false, "write the transcripts anew")

// TestTranscripts runs the commands of each file in testdata on a server of its own and compares
// what they print. A line "$ posthouse …" is a command, "< …" a line of its standard input, "# …" a
// remark, and all others are what is printed: standard error as it is, and the exit code if it
// is not 0.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := perform(t, string(want))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(string(want), got); diff != "" && !*update {
				t.Errorf("%s (-want +got; go test -update writes it anew):\n%s", file, diff)
			}
		})
	}
}

// step is one command of a transcript, with the lines before its output as they stand.
type step struct{ head, command, input string }

func steps(transcript string) []step {
	var out []step
	var now step
	for line := range strings.Lines(transcript) {
		switch {
		case strings.HasPrefix(line, "$ "):
			now.head += line
			now.command = strings.TrimSpace(strings.TrimPrefix(line, "$ "))
			out = append(out, now)
			now = step{}
		case strings.HasPrefix(line, "< "):
			last := &out[len(out)-1]
			last.head += line
			last.input += strings.TrimPrefix(line, "< ")
		case strings.HasPrefix(line, "#"):
			now.head += line
		}
	}
	return out
}

// perform runs a transcript's commands and writes it with what they print now.
func perform(t *testing.T, transcript string) string {
	key := secret.FormatKey(secret.NewKey())
	id, _, _ := secret.ParseKey(key)
	url := serveForTest(t, key, dbtest.SQLite(t))
	ids := map[string]string{} // what an id is called in the transcript
	var out strings.Builder
	for _, s := range steps(transcript) {
		var printed bytes.Buffer
		args := split(t, restore(s.command, ids))
		sh := &shell.Shell{
			In: strings.NewReader(s.input), Out: &printed, Err: &printed, Dir: t.TempDir(),
			Environ: []string{"POSTHOUSE_URL=" + url, "POSTHOUSE_API_KEY=" + key},
		}
		code := run(t.Context(), sh, args[1:])
		text := printed.String()
		if code != 0 {
			text += fmt.Sprintf("[exit %d]\n", code)
		}
		text = strings.NewReplacer(url, "http://SERVER", key, "KEY", id, "ID-OF-KEY---"[:len(id)]).Replace(text)
		text = waitText.ReplaceAllString(text, "")
		out.WriteString(s.head)
		out.WriteString(steady(text, ids))
	}
	return out.String()
}

func serveForTest(t *testing.T, key, dsn string) string {
	t.Helper()
	s, err := server.New(t.Context(), server.Options{
		DSN: dsn, Addr: "127.0.0.1:0", AdminKey: key, AllowPrivate: true,
		Log: slog.New(slog.DiscardHandler), Output: io.Discard, Version: "test",
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("stop the server: %v", err)
		}
	})
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s.URL()
}

var (
	idText   = regexp.MustCompile(`\b0[0-9A-HJKMNP-TV-Z]{25}\b`)
	timeText = regexp.MustCompile(`\b20\d\d-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?\b( [+-]\d\d:\d\d)?`)
	waitText = regexp.MustCompile(`(?m)^waiting at most 1m0s: .*\n`) // how much there is of it, chance decides
	keyText  = regexp.MustCompile(`\bph_[a-z0-9]+_[a-z0-9]+\b`)
	tookText = regexp.MustCompile(`(\d\d:\d\d:\d\d [+-]\d\d:\d\d  )[\d.]+m?s +`) // of an attempt
	tookHead = regexp.MustCompile(`\bTook +Class`)
	keyID    = regexp.MustCompile(`(?m)^(key +)[a-z2-7]{12}$`) // of an agent
	idName   = regexp.MustCompile(`\bID[MD]\d+-*`)
)

// steady names what differs from run to run; the names are as long, so that columns stay.
func steady(text string, ids map[string]string) string {
	text = idText.ReplaceAllStringFunc(text, func(id string) string {
		for name, known := range ids {
			if known == id {
				return name
			}
		}
		kind := "D"
		if strings.HasSuffix(id, "0000") {
			kind = "M"
		}
		name := fmt.Sprintf("ID%s%d", kind, len(ids)+1)
		name += strings.Repeat("-", 26-len(name))
		ids[name] = id
		return name
	})
	text = timeText.ReplaceAllStringFunc(text, func(at string) string {
		if zone := strings.LastIndexAny(at, " "); zone > 10 { // tables name the zone, which stays
			return "2026-01-01 00:00:00" + at[zone:]
		}
		return "2026-01-01 00:00:00"[:min(19, len(at))]
	})
	text = tookHead.ReplaceAllString(tookText.ReplaceAllString(text, "${1}1ms   "), "Took  Class")
	text = linkText.ReplaceAllString(text, "link=LINK")
	text = keyID.ReplaceAllString(text, "${1}ID-OF-KEY---")
	return keyText.ReplaceAllString(text, "ph_KEY")
}

// restore puts the real ids into a command.
func restore(command string, ids map[string]string) string {
	return idName.ReplaceAllStringFunc(command, func(short string) string {
		for name, id := range ids {
			if strings.TrimRight(name, "-") == strings.TrimRight(short, "-") {
				return id
			}
		}
		return short
	})
}

// split takes a command line apart as a shell does, as far as quotes go.
func split(t *testing.T, line string) []string {
	t.Helper()
	var out []string
	var word strings.Builder
	var quote rune
	open := false
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			quote, open = r, true
		case quote == 0 && r == ' ':
			if open {
				out = append(out, word.String())
			}
			word.Reset()
			open = false
		default:
			word.WriteRune(r)
			open = true
		}
	}
	if quote != 0 {
		t.Fatal(errors.New("a quote is open in: " + line))
	}
	if open {
		out = append(out, word.String())
	}
	return out
}
