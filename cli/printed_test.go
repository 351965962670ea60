package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/posthouse/posthouse/internal/catalog"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/secret"
)

// printedIn are the packages whose commands print by the shell. Those of the demo, and of an agent's journal, print English for programs and shows.
var printedIn = []string{"campaign", "follow", "local", "media", "process", "remote", "roster", "shell", "suppression"}

// labelled are the words that are handed to Label or DoneWord by a variable, by their file.
var labelled = map[string]string{
	"campaign/campaign.go": "members unsent started sent delivered undelivered failed unknown expired suppressed cancelled handed_over",                                                                                          // line.name
	"campaign/watch.go":    "under_way failed unknown expired cancelled suppressed",                                                                                                                                              // n.name
	"follow/follow.go":     "channels kinds refs states types paused resumed deleted",                                                                                                                                            // l.name, done
	"local/doctor.go":      "database connections schema clock keyring keys channels processes views place failover galera fronts quiet budget partitions front_door split_brain database_clocks database_settings read_replica", // f.Check
	"remote/accounts.go":   "changed created",
	"remote/channelset.go": "changed created",
	"remote/key.go":        "channels kinds actions",
	"remote/outbox.go":     "tried_at_once deleted",
	"remote/presets.go":    "Limits Notes Not_verified Pages",
	"remote/user.go":       "added changed deleted",
	"remote/workflow.go":   "not_configured;_run_this_again_when_it_is",
	"remote/tenant.go":     "mandatory_kinds optional_kinds",
	"remote/template.go":   "",
	"roster/roster.go":     "Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
	"shell/dial.go":        "",
	"shell/print.go":       "",
}

// Each format that a command prints, each head of a column and each name of a value is there in Chinese, and nothing is printed past the shell.
func TestNothingIsPrintedInEnglishAlone(t *testing.T) {
	t.Parallel()
	p := &printing{t: t, files: token.NewFileSet()}
	for _, dir := range printedIn {
		names, err := filepath.Glob("../internal/cli/" + dir + "/*.go")
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %v", dir, err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(p.files, name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			p.file = dir + "/" + filepath.Base(name)
			ast.Inspect(file, p.look)
		}
	}
	for _, words := range labelled {
		for word := range strings.FieldsSeq(words) {
			p.label(token.NoPos, strings.ReplaceAll(word, "_", " "))
		}
	}
	if p.formats < 150 || p.labels < 250 || p.details < 50 {
		t.Errorf("only %d formats, %d names and %d findings were found", p.formats, p.labels, p.details)
	}
}

// Tables, lists of values and what was done are in Chinese, their columns stand below one another, and JSON stays as it is.
func TestWhatIsPrintedIsInThePersonsLanguage(t *testing.T) {
	t.Parallel()
	key := secret.FormatKey(secret.NewKey())
	environ := []string{"LANG=zh_CN.UTF-8", "POSTHOUSE_URL=" + serveForTest(t, key, dbtest.SQLite(t)), "POSTHOUSE_API_KEY=" + key}
	run := func(args ...string) string {
		t.Helper()
		text, code := ran(t, environ, args...)
		if code != 0 {
			t.Fatalf("%v: exit code %d\n%s", args, code, text)
		}
		return text
	}
	if got, want := run("channel", "set", "desk", "--driver", "console"), "desk：已创建\n"; got != want {
		t.Errorf("it is created: %q, want %q", got, want)
	}
	if got, want := run("channel", "pause", "desk"), "desk：已暂停\n"; got != want {
		t.Errorf("it is paused: %q, want %q", got, want)
	}
	members := filepath.Join(t.TempDir(), "members.csv")
	if err := os.WriteFile(members, []byte("address\nu1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run("campaign", "add", "spring", "--channel", "desk", "--text", "hello")
	if got, want := run("campaign", "import", "spring", members), "已就绪：1 人，重复 0，被拒 0\n"; !strings.Contains(got, want) {
		t.Errorf("its people are read: %q, want %q", got, want)
	}
	if got, want := run("route", "list"), "无\n"; got != want {
		t.Errorf("nothing is listed: %q, want %q", got, want)
	}
	head, row, _ := strings.Cut(run("channel", "list"), "\n")
	if before, _, _ := strings.Cut(head, "状态"); !strings.HasPrefix(head, "渠道") || widthOf(before) != strings.Index(row, "paused")-len("立即")+widthOf("立即") {
		t.Errorf("the columns do not stand below one another:\n%s\n%s", head, row)
	}
	front := run("front", "add", "bark", "--to-channel", "desk", "--recipients", "u1")
	if !strings.Contains(front, "# 服务器地址和设备 Key\nhttp://127.0.0.1:") || !strings.Contains(front, "# 手工试发\n") {
		t.Errorf("what is to be pasted: %s", front)
	}
	people := filepath.Join(t.TempDir(), "people.csv")
	if err := os.WriteFile(people, []byte("name\n张三\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, code := ran(t, environ, "user", "import", people); code == 0 || !strings.Contains(text, "  第 1 行：缺少列 id") {
		t.Errorf("a line of a file that is wrong: exit code %d, %s", code, text)
	}
	user := run("tenant", "show", "default")
	for line := range strings.Lines(user) {
		name, _, _ := strings.Cut(strings.ReplaceAll(line, "   ", "  "), "  ")
		if !strings.ContainsFunc(name, func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
			t.Errorf("the name of a value is in English: %s", line)
		}
	}
	if got := run("channel", "delete", "desk", "--json"); !strings.Contains(got, `"result": "deleted"`) {
		t.Errorf("JSON is in Chinese: %s", got)
	}
}

func widthOf(s string) int { return text.StringWidth(s) }

type printing struct {
	t               *testing.T
	files           *token.FileSet
	file            string
	formats, labels int
	details         int    // of the doctor
	value           string // of the constant that was declared last
}

// look looks at one node of a file.
func (p *printing) look(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.CallExpr:
		if of, ok := n.Fun.(*ast.SelectorExpr); ok {
			p.call(n, of.Sel.Name)
		}
	case *ast.CompositeLit:
		p.fields(n)
		p.findings(n)
	case *ast.ValueSpec: // what a finding is about may be a constant of its function
		if len(n.Values) == 1 {
			p.value, _ = literal(n.Values[0])
		}
	}
	return true
}

// findings looks at what the doctor found: what about, and what. The latter is there in Chinese with the sentences of the server, which shows it too.
func (p *printing) findings(n *ast.CompositeLit) {
	list := []ast.Expr{n}
	if array, ok := n.Type.(*ast.ArrayType); ok && isNamed(array.Elt, "finding") {
		list = n.Elts
	} else if !isNamed(n.Type, "finding") {
		return
	}
	for _, one := range list {
		lit, ok := one.(*ast.CompositeLit)
		if !ok || len(lit.Elts) != 3 {
			continue
		}
		if name, ok := lit.Elts[0].(*ast.Ident); ok && name.Name == "name" {
			p.label(name.Pos(), p.value)
		} else if _, ok := lit.Elts[0].(*ast.BasicLit); ok {
			p.name(lit.Elts[0])
		}
		p.detail(lit.Elts[2])
	}
}

func (p *printing) detail(e ast.Expr) {
	if call, ok := e.(*ast.CallExpr); ok {
		if of, ok := call.Fun.(*ast.SelectorExpr); !ok || of.Sel.Name != "Sprintf" {
			return
		}
		e = call.Args[0]
	}
	text, ok := literal(e)
	if !ok {
		return
	}
	p.details++
	if said, known := catalog.Chinese(strings.ReplaceAll(verbs.ReplaceAllString(text, "7"), "%%", "%")); !known || !strings.ContainsFunc(said, func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
		p.t.Errorf("%s: %q has no Chinese: add it to catalog/doctor.go", p.files.Position(e.Pos()), text)
	}
}

func isNamed(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}

func (p *printing) call(n *ast.CallExpr, name string) {
	switch name {
	case "Printf", "Notef", "Text":
		p.format(n.Args[0])
	case "Done":
		if len(n.Args) > 1 {
			p.format(n.Args[1])
		}
	case "Label", "DoneWord":
		if text, ok := literal(n.Args[len(n.Args)-1]); ok {
			p.label(n.Pos(), text)
		} else if _, listed := labelled[p.file]; !listed {
			p.t.Errorf("%s: the words are in a variable: list them in labelled", p.files.Position(n.Pos()))
		}
	case "Table":
		p.head(n)
	case "Fprintf", "Fprintln", "Fprint":
		if to, ok := n.Args[0].(*ast.SelectorExpr); ok && (to.Sel.Name == "Err" || to.Sel.Name == "Out") && !strings.HasPrefix(p.file, "shell/") {
			p.t.Errorf("%s: it is printed past the shell: Printf and Notef print in the person's language", p.files.Position(n.Pos()))
		}
	}
}

// head looks at the head of a table. One that is put together is looked at where it is written.
func (p *printing) head(n *ast.CallExpr) {
	ast.Inspect(n.Args[0], func(n ast.Node) bool {
		if text, ok := n.(*ast.BasicLit); ok {
			p.label(n.Pos(), unquoted(text))
		}
		return true
	})
}

// fields looks at pairs of texts, whose first is the name of a value, and at heads of tables that are put together.
func (p *printing) fields(n *ast.CompositeLit) {
	array, ok := n.Type.(*ast.ArrayType)
	if !ok {
		return
	}
	if pair, ok := array.Elt.(*ast.ArrayType); ok && pair.Len != nil {
		for _, one := range n.Elts {
			if lit, ok := one.(*ast.CompositeLit); ok {
				p.name(lit.Elts[0])
			}
		}
	}
	if size, ok := array.Len.(*ast.BasicLit); ok && size.Value == "2" && len(n.Elts) == 2 {
		p.name(n.Elts[0])
	}
	if text, ok := literal(first(n.Elts)); ok && p.file != "shell/lang.go" && array.Len == nil && text != "" && unicode.IsUpper(rune(text[0])) {
		for _, one := range n.Elts {
			if text, ok := literal(one); ok {
				p.label(one.Pos(), text)
			}
		}
	}
}

func first(list []ast.Expr) ast.Expr {
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

// name looks at the name of a value, which may have one of somebody's behind it.
func (p *printing) name(e ast.Expr) {
	if sum, ok := e.(*ast.BinaryExpr); ok {
		if text, ok := literal(sum.X); ok {
			p.label(e.Pos(), text+"x")
		}
		return
	}
	if text, ok := literal(e); ok {
		p.label(e.Pos(), text)
	} else if _, listed := labelled[p.file]; !listed {
		p.t.Errorf("%s: the names are in a variable: list them in labelled", p.files.Position(e.Pos()))
	}
}

var verbs = regexp.MustCompile(`%[-+ #0]*\d*(?:\.\d+)?[a-zA-Z]`)

var letters = regexp.MustCompile(`%[-+ #0]*\d*(?:\.\d+)?[a-zA-Z%]|https?|smtp|\x1b\[K`)

func (p *printing) format(e ast.Expr) {
	text, ok := literal(e)
	if !ok {
		if call, ok := e.(*ast.Ident); ok && call.Name == "list" || p.file == "local/demo.go" {
			return // limits as text, and the demo's own output
		}
		if p.file != "shell/print.go" && p.file != "shell/dial.go" && p.file != "remote/remind.go" && p.file != "remote/proof.go" {
			p.t.Errorf("%s: the format is in a variable", p.files.Position(e.Pos()))
		}
		return
	}
	p.formats++
	if strings.ContainsFunc(letters.ReplaceAllString(text, ""), unicode.IsLetter) && !catalog.IsPrinted(text) {
		p.t.Errorf("%s: %q has no Chinese: add it to catalog/printed.go", p.files.Position(e.Pos()), text)
	}
}

func (p *printing) label(at token.Pos, text string) {
	p.labels++
	if text != "" && !catalog.IsLabel(text) {
		p.t.Errorf("%s: the name %q has no Chinese: add it to catalog/labels.go", p.files.Position(at), text)
	}
}

// literal is a text that stands there.
func literal(e ast.Expr) (string, bool) {
	if text, ok := e.(*ast.BasicLit); ok && text.Kind == token.STRING {
		return unquoted(text), true
	}
	return "", false
}

func unquoted(text *ast.BasicLit) string {
	out, err := strconv.Unquote(text.Value)
	if err != nil {
		return text.Value
	}
	return out
}
