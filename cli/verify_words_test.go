package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/posthouse/posthouse/internal/catalog"
	"github.com/posthouse/posthouse/internal/verify"
)

// Each law of the checker is there in Chinese, and so is each format by which one is violated and each line of the page.
func TestEachSentenceOfAVerdictIsInChinese(t *testing.T) {
	t.Parallel()
	known := func(at, text string) {
		t.Helper()
		if !slices.ContainsFunc(catalog.Verdicts(), func(s catalog.Sentence) bool { return s.English == text }) {
			t.Errorf("%s: %q has no Chinese: add it to catalog/verdicts.go", at, text)
		}
	}
	for _, law := range verify.Laws() {
		known(law.ID, law.ID+" "+law.Name)
		known(law.ID, law.Means)
		for _, text := range append(slices.Clone(law.Needs), law.Missing) {
			if text != "" {
				known(law.ID, text)
			}
		}
	}
	for _, rare := range verify.SometimesList() {
		known(rare.Name, rare.Means)
	}
	names, err := filepath.Glob("../internal/verify/*.go")
	if err != nil {
		t.Fatal(err)
	}
	files, found := token.NewFileSet(), 0
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(files, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			of, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			at := 0
			switch of.Sel.Name {
			case "fail":
				at = 3
			case "line", "say":
			case "plural":
				if noun, ok := literal(call.Args[1]); ok {
					known(files.Position(n.Pos()).String(), "1 "+noun)
				}
				return true
			default:
				return true
			}
			text, ok := literal(call.Args[at])
			text = strings.Trim(text, " ")
			if !ok || !strings.ContainsFunc(verbs.ReplaceAllString(text, ""), unicode.IsLetter) {
				return true
			}
			found++
			if text == "a %s to %s came %s" { // its end is one of two
				text = "a %s to %s came with an attempt under way"
			}
			if !catalog.IsPrinted(text) && !strings.HasPrefix(text, "%-10s %6s   p50 ") {
				known(files.Position(n.Pos()).String(), text)
			}
			return true
		})
	}
	if found < 130 {
		t.Errorf("only %d formats were found", found)
	}
}

// The page of a verdict is in the person's language, but for the lines of the journals; JSON stays as it is.
func TestAVerdictIsInThePersonsLanguage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	log := write("events.jsonl", `{"delivery":"01KMJ000000000000000AB0001","version":1,"tenant":"bank","db_ts":"2026-03-01T08:00:00Z","type":"accept","to":"pending","token":0,"epoch":1}
{"delivery":"01KMJ000000000000000AB0001","version":2,"tenant":"bank","db_ts":"2026-03-01T08:00:01Z","type":"start","from":"pending","to":"sending","token":1,"attempt":1,"owner":"vm-1-a","lease_until":"2026-03-01T08:00:16Z","epoch":1}
{"delivery":"01KMJ000000000000000AB0001","version":3,"tenant":"bank","db_ts":"2026-03-01T08:00:02Z","type":"sent","from":"sending","to":"sent","token":1,"attempt":1,"owner":"vm-1-a","epoch":1}
{"delivery":"01KMJ000000000000000AB0001","version":4,"tenant":"bank","db_ts":"2026-03-01T07:00:02Z","type":"sent","from":"sending","to":"sent","token":3,"attempt":1,"owner":"vm-1-a","epoch":1}
`)
	sink := write("sink.jsonl", `{"seq":1,"at":"2026-03-01T08:00:01.5Z","provider":"generic","path":"/","key":"01KMJ000000000000000AB0001","user":"li.na","text":"hello","answer":"accepted","status":200}
{"seq":2,"at":"2026-03-01T08:00:01.7Z","provider":"generic","path":"/","key":"01KMJ000000000000000AB0001","user":"li.na","text":"hello","answer":"accepted","status":200}
{"seq":3,"at":"2026-03-01T08:00:01.7Z","provider":"generic","path":"/","key":"01KMJ000000000000000AB0099","user":"li.na","text":"hello","answer":"accepted","status":200}
`)
	text, code := ran(t, []string{"LANG=zh_CN.UTF-8"}, "verify", "--events", log, "--sink", sink, "--at-rest")
	if code != 1 {
		t.Fatalf("exit code %d\n%s", code, text)
	}
	for _, want := range []string{"不成立。违反了以下各条：", "I14 有因", "第 2 份到达时，此前结果未知的只有 0 次尝试", "未检查，需要调用方日志"} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %s:\n%s", want, text)
		}
	}
	for line := range strings.Lines(text) {
		if line != "\n" && !strings.HasPrefix(line, "    ") && !strings.ContainsFunc(line, func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
			t.Errorf("it is in English: %s", line)
		}
	}
	if text, _ := ran(t, []string{"LANG=zh_CN.UTF-8"}, "verify", "--events", log, "--sink", sink, "--json"); strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
		t.Errorf("JSON is in Chinese: %s", text)
	}
}
