package doctor

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Each thing that the command looks at has its name in both languages, and something to do about it.
func TestWhatIsLookedAtHasAName(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("../../cli/local/doctor*.go")
	if err != nil || len(names) == 0 {
		t.Fatal(err)
	}
	words, all, found := texts(), kinds(), 0
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		for _, check := range checksIn(t, name) {
			kind := strings.TrimSpace(check)
			page, known := all[kind]
			if _, said := words["doctor_"+strings.ReplaceAll(kind, " ", "_")]; !known || !said {
				t.Errorf("%s: the check %q has no name on the page of findings (%q)", name, kind, page)
			}
			found++
		}
	}
	if found < 30 {
		t.Errorf("only %d checks were found", found)
	}
}

// checksIn are the names of what a file looks at, as its findings have them. A name that another function gives is looked at there.
func checksIn(t *testing.T, name string) (list []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	note := func(e ast.Expr) {
		if sum, ok := e.(*ast.BinaryExpr); ok {
			e = sum.X
		}
		if text, ok := e.(*ast.BasicLit); ok && text.Kind == token.STRING {
			if plain, err := strconv.Unquote(text.Value); err == nil {
				list = append(list, plain)
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			if of, is := n.Type.(*ast.Ident); len(n.Elts) == 3 && (n.Type == nil || is && of.Name == "finding") {
				note(n.Elts[0])
			}
		case *ast.ValueSpec:
			if n.Names[0].Name == "name" && len(n.Values) == 1 {
				note(n.Values[0])
			}
		}
		return true
	})
	return list
}
