package proof

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/catalog"
	"github.com/posthouse/posthouse/wire"
)

// constants are the texts of a type's constants, as the source has them: none that is added later is forgotten.
func constants(t *testing.T, glob string, is func(kind, name string) bool) (list []string) {
	t.Helper()
	names, err := filepath.Glob(glob)
	if err != nil || len(names) == 0 {
		t.Fatalf("%s: %v", glob, err)
	}
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 {
				return true
			}
			kind, _ := spec.Type.(*ast.Ident)
			text, isText := spec.Values[0].(*ast.BasicLit)
			if kind == nil {
				kind = &ast.Ident{}
			}
			if isText && text.Kind == token.STRING && is(kind.Name, spec.Names[0].Name) {
				word, _ := strconv.Unquote(text.Value) // the parser took it
				list = append(list, word)
			}
			return true
		})
	}
	return list
}

// Each text that a page may ask for is there in both languages: none stands on it as its key.
func TestNoTextOfAPageIsMissing(t *testing.T) {
	t.Parallel()
	raw, err := files.ReadFile("page.html")
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, m := range regexp.MustCompile(`\.T "([^"]+)"`).FindAllStringSubmatch(string(raw), -1) {
		keys = append(keys, m[1])
	}
	of := func(prefix, glob, kind string) {
		list := constants(t, glob, func(of, _ string) bool { return of == kind })
		if len(list) < 2 {
			t.Errorf("only %d of %s were found", len(list), kind)
		}
		for _, word := range list {
			keys = append(keys, prefix+word)
		}
	}
	of("event_", "../../event.go", "EventType")
	of("via_", "../../route.go", "AckVia")
	of("told_", "../../route.go", "NotificationState")
	of("chain_", "../../wire/proofs.go", "ProofChainState")
	of("ack_", "../../wire/proofs.go", "ProofChainState")
	for _, word := range constants(t, "../route/*.go", func(_, name string) bool { return strings.HasPrefix(name, "Skipped") }) {
		keys = append(keys, "skip_"+word)
	}
	var states []string
	for _, s := range posthouse.States() {
		states = append(states, string(s))
	}
	for lang, words := range map[string]map[string]string{"en": english(), "zh": chineseWords()} {
		for _, key := range keys {
			if words[key] == "" {
				t.Errorf("%s: there is no %s", lang, key)
			}
		}
		for _, s := range states {
			if words[s] == "" && lang == "zh" { // in English they are words as they are
				t.Errorf("%s: there is no %s", lang, s)
			}
		}
		for key := range words {
			if !slices.Contains(keys, key) && !slices.Contains(states, key) && !strings.HasPrefix(key, "note_") {
				t.Errorf("%s: no page shows %s", lang, key)
			}
		}
		for code := range noteTexts() {
			if words["note_"+code] == "" && lang == "zh" {
				t.Errorf("%s: there is no note_%s", lang, code)
			}
		}
	}
	reasons := slices.Concat(
		constants(t, "../state/*.go", func(_, name string) bool { return strings.HasPrefix(name, "Reason") }),
		constants(t, "../route/*.go", func(_, name string) bool { return strings.HasPrefix(name, "Reason") }), []string{"late_result"})
	for _, code := range reasons {
		if catalog.Reason(code) == code {
			t.Errorf("the reason %s has no Chinese", code)
		}
	}
}

// On a Chinese page the reasons are Chinese, and a step that was passed over says why.
func TestAChinesePageSaysReasonsInChinese(t *testing.T) {
	t.Parallel()
	d := drawn{Lang: "zh-CN", words: chineseWords()}
	for got, want := range map[string]string{
		d.Reason("late_result"): "迟到的结果", d.Reason("told"): "已由其他步骤通知到", d.T("skip_condition"): "条件不成立", d.Reason("insufficient balance"): "insufficient balance",
		d.Says("is required; insufficient balance"): "必填; insufficient balance", d.Says("the message was sealed and is not there"): "消息曾封存，现已不存在", d.Note(wire.ProofNote{Code: "new", Text: "said"}): "said",
	} {
		if got != want {
			t.Errorf("it is %q, want %q", got, want)
		}
	}
}
