package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/secret"
	"github.com/posthouse/posthouse/simulator"
)

// asCommand makes the test binary the command posthouse.
const asCommand = "POSTHOUSE_TEST_IS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		Main(Options{})
	}
	os.Exit(m.Run())
}

// typed are the guides whose blocks are typed here.
var typed = []string{"templates.md", "notify.md", "notify.zh-CN.md", "workflow.md", "workflow.zh-CN.md"}

// TestGuidesAsTyped types every shell block of the guides on a server of its own, in one shell, and compares what is printed,
// but for ids and times. In a block with "$ " before its commands what follows is printed by them; where nothing follows the
// guide does not show it. A JSON block right after a shell block is what that prints. A block after the comment "not typed" is
// left out.
func TestGuidesAsTyped(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Fatalf("the guides use curl: %v", err)
	}
	for _, name := range typed {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			page, err := os.ReadFile("../docs/guide/" + name)
			if err != nil {
				t.Fatal(err)
			}
			blocks := blocksOf(string(page))
			if len(blocks) == 0 {
				t.Fatal("it has no blocks")
			}
			reader := newGuideReader(t)
			for _, b := range blocks {
				reader.read(b)
			}
			if *update {
				for _, p := range reader.printed {
					page = []byte(strings.Replace(string(page), p.want, strings.TrimRight(p.command, "\n")+"\n", 1))
				}
				if err := os.WriteFile("../docs/guide/"+name, page, 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// block is one of a page: commands, what they print where that is shown, and the block's line.
type block struct {
	line     int
	commands []typedStep
}

// typedStep is what is typed at once, and what is to be printed, empty where that is not shown.
type typedStep struct{ command, want string }

var fence = regexp.MustCompile("(?m)^(<!-- not typed[^\n]*-->\n)?```(\\w*)\n((?s:.*?))^```$")

// blocksOf are the blocks of a page that are typed.
func blocksOf(page string) []block {
	var out []block
	last := -1 // where the last shell block ended
	for _, m := range fence.FindAllStringSubmatchIndex(page, -1) {
		kind, text := page[m[4]:m[5]], page[m[6]:m[7]]
		b := block{line: strings.Count(page[:m[4]], "\n") + 1}
		shown := last >= 0 && strings.TrimSpace(page[last:m[0]]) == ""
		last = -1
		switch {
		case m[2] >= 0:
		case kind == "sh":
			b.commands, last = []typedStep{{command: text}}, m[1]
		case kind == "" && strings.HasPrefix(text, "$ "):
			b.commands = dialogue(text)
		case kind == "json" && shown:
			out[len(out)-1].commands[0].want = text
		}
		if len(b.commands) > 0 {
			out = append(out, b)
		}
	}
	return out
}

// dialogue takes a block apart that shows what is typed and printed.
func dialogue(text string) []typedStep {
	var out []typedStep
	for line := range strings.Lines(text) {
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			out = append(out, typedStep{command: command})
			continue
		}
		out[len(out)-1].want += line
	}
	return out
}

// guideReader is somebody with a shell, who types what a guide says.
type guideReader struct {
	*testing.T
	api   *client.Client
	dir   string
	in    io.Writer
	out   *bufio.Reader
	names *strings.Replacer // addresses of the guide, and ours
	ids   map[string]string // ids of the guide, and ours

	printed []typedStep // with -update: what was printed in place of what the guide shows
}

func newGuideReader(t *testing.T) *guideReader {
	t.Helper()
	key := secret.FormatKey(secret.NewKey())
	url := serveForTest(t, key)
	sim := simulator.New(simulator.Options{})
	if err := sim.Start(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sim.Stop(context.WithoutCancel(t.Context())) })
	api, err := client.New(client.Options{URL: url, Key: key})
	if err != nil {
		t.Fatal(err)
	}
	r := &guideReader{T: t, api: api, dir: t.TempDir(), ids: map[string]string{}}
	r.names = strings.NewReplacer("http://127.0.0.1:8080", url, "http://127.0.0.1:8090", sim.URL(), "http://10.102.3.2/send", sim.URL()+"/dingtalk/send")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.Symlink(self, filepath.Join(bin, "posthouse")); err != nil {
		t.Fatal(err)
	}
	shell := exec.CommandContext(t.Context(), "bash", "--norc")
	shell.Dir = r.dir
	shell.Env = []string{asCommand + "=1", "PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + r.dir, "POSTHOUSE_URL=" + url, "POSTHOUSE_API_KEY=" + key, "NO_PROXY=*"}
	out, in := io.Pipe()
	shell.Stdout, shell.Stderr = in, in
	if r.in, err = shell.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	r.out = bufio.NewReader(out)
	if err := shell.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		fmt.Fprintln(r.in, "exit")
		_ = shell.Wait()
	})
	return r
}

// read types a block and compares what is printed.
func (r *guideReader) read(b block) {
	r.Helper()
	for _, s := range b.commands {
		if file, ok := strings.CutPrefix(strings.TrimSpace(s.command), "cat "); ok && s.want != "" && !strings.Contains(file, " ") {
			if err := os.WriteFile(filepath.Join(r.dir, file), []byte(s.want), 0o600); err != nil { // the guide shows a file
				r.Fatal(err)
			}
			continue
		}
		r.idle()
		got, code := r.typeIn(r.ours(s.command))
		if code != 0 {
			r.Errorf("line %d: %s\nended with %d and printed\n%s", b.line, s.command, code, got)
			continue
		}
		if s.want == "" {
			continue
		}
		r.learn(s.want, got)
		if diff := cmp.Diff(still(s.want), still(got)); diff != "" && *update {
			for theirs, mine := range r.ids {
				got = strings.ReplaceAll(got, mine, theirs)
			}
			r.printed = append(r.printed, typedStep{command: got, want: s.want})
		} else if diff != "" {
			r.Errorf("line %d: %s\nprints (-guide +got):\n%s\nthat is\n%s", b.line, s.command, diff, got)
		}
	}
}

// typeIn types a command and waits for its end.
func (r *guideReader) typeIn(command string) (printed string, code int) {
	r.Helper()
	const end = "@@@ended "
	fmt.Fprintf(r.in, "{ %s\n} </dev/null; echo; echo '%s'$?\n", strings.TrimRight(command, "\n"), end)
	for {
		line, err := r.out.ReadString('\n')
		if err != nil {
			r.Fatalf("%s: %v: %s", command, err, printed)
		}
		if text, ok := strings.CutPrefix(line, end); ok {
			code, err := strconv.Atoi(strings.TrimSpace(text))
			if err != nil {
				r.Fatal(err)
			}
			return printed, code
		}
		printed += line
	}
}

// idle waits until nothing is due: who reads on has taken a moment.
func (r *guideReader) idle() {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		list, err := r.api.Deliveries.List(ctx, client.Filter{States: []posthouse.State{posthouse.Pending, posthouse.Sending}})
		if err != nil {
			r.Fatal(err)
		}
		due := slices.ContainsFunc(list.Items, func(d posthouse.Delivery) bool { return !d.DueAt.After(time.Now()) })
		if !due {
			return
		}
		<-tick.C
	}
}

// ours is a command with our addresses and ids in place of the guide's.
func (r *guideReader) ours(command string) string {
	command = r.names.Replace(command)
	for theirs, mine := range r.ids {
		command = strings.ReplaceAll(command, theirs, mine)
	}
	return command
}

// learn notes which ids of ours stand for those of the guide.
func (r *guideReader) learn(want, got string) {
	theirs, mine := idText.FindAllString(want, -1), idText.FindAllString(got, -1)
	for i := range min(len(theirs), len(mine)) {
		r.ids[theirs[i]] = mine[i]
	}
}

var (
	refText   = regexp.MustCompile(`\bdt-[0-9a-z]+-[0-9]+\b`)
	clockText = regexp.MustCompile(`\b20\d\d-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?( ?(Z|[+-]\d\d:\d\d))?`)
	blankText = regexp.MustCompile(`[ \n]+`)
)

// still is a text without what differs from run to run: ids, times and the width of columns. JSON is compared as JSON.
func still(text string) string {
	text = idText.ReplaceAllString(text, "ID")
	text = refText.ReplaceAllString(text, "REF")
	text = clockText.ReplaceAllString(text, "TIME")
	var out []string
	for line := range strings.Lines(text) {
		var value any
		if json.Unmarshal([]byte(line), &value) == nil {
			canonical, _ := json.MarshalIndent(value, "", " ")
			line = string(canonical)
		}
		if line = strings.TrimSpace(blankText.ReplaceAllString(line, " ")); line != "" {
			out = append(out, line)
		}
	}
	return strings.Join(out, "\n") + "\n"
}
