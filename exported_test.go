package posthouse_test

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write anew what the packages export")

// What programs outside of the module may rely on stands in files, one a package: who changes it changes the file too, and sees what
// he promised before.
func TestWhatIsExportedIsWhatWasPromised(t *testing.T) {
	t.Parallel()
	const folder = "docs/exported"
	exported := map[string][]string{} // a file to the declarations of its package
	for _, file := range sources(t) {
		if file.test || !public(file.pkg) || file.Name.Name == "main" {
			continue
		}
		name := strings.ReplaceAll(strings.TrimPrefix(file.pkg, "."), "/", "-")
		name = cmp.Or(name, "posthouse") + ".txt"
		exported[name] = append(exported[name], declared(t, file.path)...)
	}
	maps.DeleteFunc(exported, func(_ string, declarations []string) bool { return len(declarations) == 0 }) // of tests alone
	if len(exported) < 10 {
		t.Fatalf("%d packages were looked at", len(exported))
	}
	page, err := os.ReadFile("docs/public-surface.md")
	if err != nil {
		t.Fatal(err)
	}
	for name := range exported {
		if pkg := strings.ReplaceAll(strings.TrimSuffix(name, ".txt"), "-", "/"); !strings.Contains(string(page), "\n| `"+pkg+"` |") {
			t.Errorf("docs/public-surface.md does not say for whom package %s is", pkg)
		}
	}
	stored, err := filepath.Glob(folder + "/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range stored {
		if _, ok := exported[filepath.Base(path)]; ok {
			continue
		}
		if !*update {
			t.Errorf("%s is of no package: run go test . -run Promised -update", path)
		} else if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	for name, declarations := range exported {
		path := filepath.Join(folder, name)
		slices.Sort(declarations)
		made := strings.Join(declarations, "\n") + "\n"
		if *update {
			if err := os.WriteFile(path, []byte(made), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		was, err := os.ReadFile(path)
		if err != nil {
			t.Errorf("%v: run go test . -run Promised -update", err)
		} else if diff := gocmp.Diff(string(was), made); diff != "" {
			t.Errorf("%s is not what is exported (-promised +made). Look whether anybody may have relied on it, say it in the changelog, and run go test . -run Promised -update:\n%s", path, diff)
		}
	}
}

// declared are the exported declarations of a file, without comments, bodies and what is not exported.
func declared(t *testing.T, path string) []string {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.FileExports(file)
	var all []string
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			if f.Recv != nil && !exportedReceiver(f.Recv.List[0].Type) {
				continue
			}
			f.Body = nil
			all = append(all, text(t, set, f))
			continue
		}
		g := d.(*ast.GenDecl)
		switch g.Tok {
		case token.IMPORT:
		case token.TYPE:
			for _, spec := range g.Specs {
				all = append(all, text(t, set, &ast.GenDecl{Tok: token.TYPE, Specs: []ast.Spec{spec}}))
			}
		case token.CONST, token.VAR:
			all = append(all, text(t, set, withoutValues(g)))
		}
	}
	return all
}

func exportedReceiver(e ast.Expr) bool {
	for {
		switch of := e.(type) {
		case *ast.StarExpr:
			e = of.X
		case *ast.IndexExpr:
			e = of.X
		case *ast.IndexListExpr:
			e = of.X
		case *ast.Ident:
			return of.IsExported()
		default:
			return false
		}
	}
}

// withoutValues leaves out what variables begin with, which may be long and binds nobody.
func withoutValues(g *ast.GenDecl) *ast.GenDecl {
	for _, spec := range g.Specs {
		if v, ok := spec.(*ast.ValueSpec); ok && g.Tok == token.VAR && v.Type != nil {
			v.Values = nil
		}
	}
	return g
}

// text is a node as gofmt writes it, without the blank lines that comments left.
func text(t *testing.T, set *token.FileSet, node ast.Node) string {
	t.Helper()
	var b bytes.Buffer
	if err := format.Node(&b, set, node); err != nil {
		t.Fatal(fmt.Errorf("write a declaration: %w", err))
	}
	var lines []string
	for line := range strings.Lines(b.String()) {
		if strings.TrimSpace(line) != "" {
			lines = append(lines, strings.TrimRight(line, "\n"))
		}
	}
	return strings.Join(lines, "\n")
}
