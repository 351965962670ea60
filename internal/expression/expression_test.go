package expression_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"

	"github.com/posthouse/posthouse/internal/catalog"
	"github.com/posthouse/posthouse/internal/expression"
)

// What is wrong with an expression is said in our words, with its place and in Chinese too: none of the library's tokens and types.
func TestWhatIsWrongIsSaidInOurWords(t *testing.T) {
	t.Parallel()
	rules := expression.Rules{
		Noun: "condition", Want: "comparisons, in, contains, startsWith, endsWith, matches, and, or, not", Bytes: 200, Nodes: 50, Calls: []string{"len", "lower"},
		Refuse: func(n ast.Node) (string, bool) {
			if b, is := n.(*ast.BinaryNode); is && b.Operator == "/" {
				return "the operator /", true
			}
			return "", true
		},
		Options: []expr.Option{expr.AsBool(), expr.Env(map[string]any{"kind": "", "hour": 1, "payload": map[string]any{}})},
	}
	for source, want := range map[string]string{
		`kind ==`:            "is no condition: it ends too early, at line 1, character 7",
		`kind == )`:          `is no condition: ")" cannot stand there, at line 1, character 9`,
		`kind == "a`:         "is no condition: a text has no closing quotation mark, at line 1, character 11",
		`kind ＝ "a"`:         `is no condition: "＝" cannot stand there, at line 1, character 6`,
		`hour`:               "is no condition: it is a number, and has to be true or false",
		`kind > 3`:           "is no condition: the operator > does not take a text and a number, at line 1, character 6",
		`-kind == 3`:         "is no condition: the operator - does not take a text, at line 1, character 1",
		`hour / 0 == 1`:      "has the operator /: want comparisons, in, contains, startsWith, endsWith, matches, and, or, not, with the functions len(), lower()",
		`payload.level > 3`:  "the operator > does not take nothing and a number, at line 1, character 15",
		`payload.a.b == 1`:   "there is no b in nothing, at line 1, character 11",
		`len(payload.x) > 1`: "len() does not take nothing, at line 1, character 1",
	} {
		program, err := rules.Compile(source)
		if err == nil {
			_, err = expression.Run(program, map[string]any{"kind": "k", "hour": 1, "payload": map[string]any{}})
		}
		if got := fmt.Sprint(err); got != want {
			t.Errorf("%s: %q, want %q", source, got, want)
			continue
		}
		said, known := catalog.Chinese(want)
		for _, word := range strings.Fields(`operator stand early text number nothing take comparisons want true quotation`) {
			if !known || strings.Contains(said, word) {
				t.Errorf("%s: in Chinese it is %q", want, said)
				break
			}
		}
	}
}
