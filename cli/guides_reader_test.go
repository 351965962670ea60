package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/secret"
	"github.com/posthouse/posthouse/simulator"
)

// guideReader is somebody with a shell, who types what a guide says.
type guideReader struct {
	*testing.T
	guide guide
	url   string         // of the server
	dsn   string         // of its database
	api   *client.Client // nil before the page has started its server
	dir   string
	bin   string // where the command is
	in    io.Writer
	lines chan string
	names map[string]string // addresses and files of the guide, and ours
	ids   map[string]string // ids and keys of the guide, and ours

	printed []typedStep // with -update: what was printed in place of what the guide shows
}

func newGuideReader(t *testing.T, g guide) *guideReader {
	t.Helper()
	r := &guideReader{T: t, guide: g, dir: t.TempDir(), bin: t.TempDir(), ids: map[string]string{}, lines: make(chan string)}
	addr, sim, mail := freeAddr(t), freeAddr(t), ""
	environ := []string{asCommand + "=1", "HOME=" + r.dir, "NO_PROXY=*"}
	r.dsn = "sqlite:" + filepath.Join(r.dir, "posthouse.db")
	if g.starts {
		r.url = "http://" + addr
		environ = append(environ, "POSTHOUSE_ADDR="+addr)
	} else {
		key := secret.FormatKey(secret.NewKey())
		r.url = serveForTest(t, key, r.dsn)
		r.api = clientOf(t, r.url, key)
		simulated := simulator.New(simulator.Options{})
		takes, err := simulated.StartMail(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		_, mail, _ = net.SplitHostPort(takes)
		if err := simulated.Start(t.Context(), sim); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = simulated.Stop(context.WithoutCancel(t.Context())) })
		environ = append(environ, "POSTHOUSE_API_KEY="+key)
	}
	r.names = map[string]string{
		"http://127.0.0.1:8080": r.url, "http://127.0.0.1:8090": "http://" + sim, "http://dingtalk.example.com/send": "http://" + sim + "/dingtalk/send",
		"posthouse simulate": "posthouse simulate --addr " + sim, `"port": 8025`: `"port": ` + mail, "/tmp/posthouse.log": filepath.Join(r.dir, "posthouse.log"),
	}
	if g.meet != nil {
		maps.Copy(r.names, g.meet(r))
	}
	r.start(append(environ, "POSTHOUSE_URL="+r.url))
	return r
}

// freeAddr is an address that nobody listens at. Its port is below those that systems give to whoever asks for any: one of
// these is somebody else's by the time that it is used.
func freeAddr(t *testing.T) string {
	t.Helper()
	for range 100 {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 10000+rand.IntN(22000)))
		if err != nil {
			continue
		}
		defer l.Close()
		return l.Addr().String()
	}
	t.Fatal("no port is free")
	return ""
}

func clientOf(t *testing.T, url, key string) *client.Client {
	t.Helper()
	api, err := client.New(client.Options{URL: url, Key: key})
	if err != nil {
		t.Fatal(err)
	}
	return api
}

// start starts the shell. What it leaves in the background ends with it.
func (r *guideReader) start(environ []string) {
	r.Helper()
	if _, err := exec.LookPath("curl"); err != nil {
		r.Fatalf("the guides use curl: %v", err)
	}
	self, err := os.Executable()
	if err != nil {
		r.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(r.bin, "posthouse")); err != nil {
		r.Fatal(err)
	}
	shell := exec.Command("bash", "--norc")
	shell.Dir = r.dir
	shell.Env = append(environ, "PATH="+filepath.Join(r.dir, ".local/bin")+":"+r.bin+":"+os.Getenv("PATH"))
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, in := io.Pipe()
	shell.Stdout, shell.Stderr = in, in
	if r.in, err = shell.StdinPipe(); err != nil {
		r.Fatal(err)
	}
	if err := shell.Start(); err != nil {
		r.Fatal(err)
	}
	go func() {
		for scanner := bufio.NewReader(out); ; {
			line, err := scanner.ReadString('\n')
			if err != nil {
				close(r.lines)
				return
			}
			r.lines <- line
		}
	}()
	if err := os.MkdirAll(filepath.Join(r.dir, ".local/bin"), 0o700); err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() {
		_ = syscall.Kill(-shell.Process.Pid, syscall.SIGKILL)
		go func() {
			for range r.lines { //nolint:revive // the pipe has to empty itself before Wait returns
			}
		}()
		_ = shell.Wait()
		in.Close()
	})
	r.typeIn("shopt -s expand_aliases") // as a shell has it in which somebody types
}

// readAll reads a page from its first block to its last.
func (r *guideReader) readAll(page string) {
	r.Helper()
	blocks := blocksOf(page)
	for what, keys := range map[string][]string{
		"untyped": slices.Collect(maps.Keys(r.guide.untyped)), "use": slices.Collect(maps.Keys(r.guide.use)), "before": slices.Collect(maps.Keys(r.guide.before)),
	} {
		for _, key := range keys {
			if !slices.ContainsFunc(blocks, func(b block) bool { return strings.HasPrefix(b.text, key) }) {
				r.Errorf("%s: no block begins as %q any more", what, key)
			}
		}
	}
	for _, b := range blocks {
		r.read(b)
	}
}

func entryOf[T any](table map[string]T, b block) (T, bool) {
	for key, value := range table {
		if strings.HasPrefix(b.text, key) {
			return value, true
		}
	}
	var none T
	return none, false
}

// read does with a block what a reader does.
func (r *guideReader) read(b block) {
	r.Helper()
	if happens, ok := entryOf(r.guide.before, b); ok {
		happens(r)
	}
	if _, ok := entryOf(r.guide.untyped, b); ok {
		return
	}
	if use, ok := entryOf(r.guide.use, b); ok {
		use(r, b)
		return
	}
	switch {
	case b.kind == "sql":
		r.query(b, b.steps[0])
	case b.steps != nil:
		for _, s := range b.steps {
			r.step(b, s)
		}
	case b.shown:
	case b.kind == "yaml":
		r.setChannel(b)
	default:
		r.Errorf("line %d: nothing says what this block is for:\n%s", b.line, b.text)
	}
}

// step types one thing and compares what is printed.
func (r *guideReader) step(b block, s typedStep) {
	r.Helper()
	if file, ok := strings.CutPrefix(strings.TrimSpace(s.command), "cat "); ok && s.want != "" && !strings.Contains(file, " ") {
		r.write(file, s.want) // the guide shows a file
		return
	}
	r.idle()
	got, code := r.look(s)
	if code != 0 && (s.want == "" || b.kind == "sh") {
		r.Errorf("line %d: %s\nended with %d and printed\n%s", b.line, s.command, code, got)
		return
	}
	if s.want != "" {
		got += r.more(s.want, got)
	}
	r.compare(b, s, got)
}

// glance is what only reads.
var glance = regexp.MustCompile(`^((call "?\$\S+|posthouse( \S+)+ (list|show)\b[^|>\n]*)\n*)+$`)

// look types one thing, and what only reads again until it prints what the guide shows: some of what a server does by itself is
// no delivery yet.
func (r *guideReader) look(s typedStep) (got string, code int) {
	r.Helper()
	deadline := time.Now().Add(10 * time.Second)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		got, code = "", 0
		for _, part := range terminals(r.ours(s.command)) {
			printed, failed := r.typeIn(part)
			got, code = got+printed+r.up(part), max(code, failed)
		}
		if code != 0 || *update || s.want == "" || !glance.MatchString(s.command) || r.fits(s.want, got) || time.Now().After(deadline) {
			return got, code
		}
		<-tick.C
	}
}

// fits reports whether what was printed is what the guide shows.
func (r *guideReader) fits(want, got string) bool {
	r.learn(want, got)
	return r.still(want) == r.still(r.theirs(got))
}

// compare compares what was printed with what the guide shows, if it does.
func (r *guideReader) compare(b block, s typedStep, got string) {
	r.Helper()
	if s.want == "" {
		return
	}
	r.learn(s.want, got)
	got = r.theirs(got)
	diff := cmp.Diff(r.still(s.want), r.still(got))
	switch {
	case diff == "":
	case *update:
		r.printed = append(r.printed, typedStep{command: got, want: s.want, at: s.at})
	default:
		r.Errorf("line %d: %s\nprints (-guide +got):\n%s\nthat is\n%s", b.line, s.command, diff, got)
	}
}

// typeIn types commands and waits for the end of all that are not in the background. The code is of the first that failed.
func (r *guideReader) typeIn(command string) (printed string, code int) {
	r.Helper()
	const end, failed = "@@@ended", "@@@failed "
	file := filepath.Join(r.TempDir(), "typed")
	if err := os.WriteFile(file, []byte(strings.TrimRight(command, "\n")+"\n"), 0o600); err != nil {
		r.Fatal(err)
	}
	fmt.Fprintf(r.in, "trap 'echo; echo \"%s$?\"' ERR; . %s </dev/null; trap - ERR; echo; echo '%s'\n", failed, file, end)
	timeout := time.NewTimer(60 * time.Second)
	defer timeout.Stop()
	for {
		select {
		case <-timeout.C:
			r.Fatalf("%s\ndoes not end, and printed %s", command, printed)
		case line, ok := <-r.lines:
			if !ok {
				r.Fatalf("%s: the shell ended: %s", command, printed)
			}
			if strings.HasPrefix(line, end) {
				return printed, code
			}
			if text, ok := strings.CutPrefix(line, failed); ok {
				_, _ = fmt.Sscan(text, &code)
				continue
			}
			printed += line
		}
	}
}

// more waits until as many lines are printed as the guide shows: some come from programs in the background.
func (r *guideReader) more(want, got string) string {
	r.Helper()
	timeout := time.NewTimer(10 * time.Second)
	defer timeout.Stop()
	printed := ""
	for written(want) > written(got+printed) && r.guide.starts {
		select {
		case <-timeout.C:
			return printed
		case line := <-r.lines:
			printed += line
		}
	}
	return printed
}

func written(text string) (lines int) {
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != "" {
			lines++
		}
	}
	return lines
}

var keyLine = regexp.MustCompile(`(?m)^key: ph_.*\n`)

var listens = regexp.MustCompile(`(?m)^ *posthouse (serve|simulate)\b[^\n]*`)

// up waits until what was started in the background answers, for it takes a moment to read on. It returns what that printed.
func (r *guideReader) up(command string) (printed string) {
	r.Helper()
	for _, m := range listens.FindAllStringSubmatch(command, -1) {
		addr := r.addr()
		if _, after, ok := strings.Cut(m[0], "--addr "); ok {
			addr, _, _ = strings.Cut(after, " ")
		}
		r.until("listening at "+addr, func() bool {
			c, err := net.Dial("tcp", addr)
			if err == nil {
				c.Close()
			}
			return err == nil
		})
		if m[1] == "serve" && addr == r.addr() {
			text, _ := r.typeIn("echo key: $POSTHOUSE_API_KEY")
			r.api = clientOf(r.T, r.url, keyText.FindString(text))
			printed += keyLine.ReplaceAllString(text, "")
		}
	}
	return printed
}

// idle waits until nothing is due.
func (r *guideReader) idle() {
	r.Helper()
	if r.api == nil {
		return
	}
	r.until("idle", func() bool {
		list, err := r.api.Deliveries.List(r.Context(), client.Filter{States: []posthouse.State{posthouse.Pending, posthouse.Sending}})
		if err != nil {
			r.Fatal(err)
		}
		pulled := map[string]bool{}
		channels, err := r.api.Channels.List(r.Context())
		if err != nil {
			r.Fatal(err)
		}
		for _, ch := range channels {
			pulled[ch.Name] = ch.Driver == "pull" // its deliveries wait for agents
		}
		return !slices.ContainsFunc(list.Items, func(d posthouse.Delivery) bool { return !d.DueAt.After(time.Now()) && !pulled[d.Channel] })
	})
}

// until waits for what happens soon: within seconds, on a machine that has much else to do within minutes.
func (r *guideReader) until(what string, happened func() bool) {
	r.Helper()
	deadline := time.Now().Add(3 * time.Minute)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !happened() {
		if time.Now().After(deadline) {
			r.Fatalf("not %s within 3 minutes", what)
		}
		<-tick.C
	}
}

func (r *guideReader) write(file, text string) {
	r.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, file), []byte(r.ours(text)), 0o600); err != nil {
		r.Fatal(err)
	}
}
