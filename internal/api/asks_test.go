package api

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// asked is what is known of the functions of a package: which ask a call what is wrong, by themselves or by one that they call.
type asked struct {
	bodies map[string][]*ast.BlockStmt // by receiver's type and name, and by name alone
	knows  map[string]bool
}

// asks reports whether a function asks. Those whose receiver is not known here are found by their name alone.
func (a asked) asks(receiver, of, name string) bool {
	key := name
	if receiver != "" && receiver == of {
		key = receiver + "." + name
	}
	if known, seen := a.knows[key]; seen {
		return known
	}
	a.knows[key] = false // a circle asks nobody
	is := false
	look := func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || is {
			return !is
		}
		switch fn := call.Fun.(type) {
		case *ast.SelectorExpr:
			is = fn.Sel.Name == "Wrong" || a.asks("", "", fn.Sel.Name)
		case *ast.Ident:
			is = a.asks("", "", fn.Name)
		}
		return true
	}
	for _, body := range a.bodies[key] {
		ast.Inspect(body, look)
	}
	a.knows[key] = is
	return is
}

// left are the ways to read a body that leave its problems to the handler.
var left = []string{"Loose", "Keyed", "OrCSV", "OrCalendar", "OrLines"}

func leaves(e ast.Expr, loose map[string]bool) bool {
	is := false
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			is = is || slices.Contains(left, n.Sel.Name)
		case *ast.Ident:
			is = is || loose[n.Name]
		}
		return true
	})
	return is
}

// A handler to which the problems of its body are left asks for them: one that did not once began campaigns that it refused.
func TestWhoIsLeftAProblemAsksForIt(t *testing.T) {
	t.Parallel()
	folders, err := filepath.Glob("../front/*")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, folder := range append(folders, ".") {
		files := token.NewFileSet()
		names, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		a, loose := asked{map[string][]*ast.BlockStmt{}, map[string]bool{}}, map[string]bool{}
		var parsed []*ast.File
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(files, name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			parsed = append(parsed, file)
			for _, d := range file.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
					_, kind := receiverOf(fn)
					for _, key := range slices.Compact([]string{fn.Name.Name, strings.TrimPrefix(kind+"."+fn.Name.Name, ".")}) {
						a.bodies[key] = append(a.bodies[key], fn.Body)
					}
				}
			}
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.ValueSpec:
					for i, v := range n.Values {
						loose[n.Names[i].Name] = leaves(v, nil)
					}
				case *ast.AssignStmt:
					for i, v := range n.Rhs {
						if to, ok := n.Lhs[i].(*ast.Ident); ok && len(n.Lhs) == len(n.Rhs) && leaves(v, nil) {
							loose[to.Name] = true
						}
					}
				}
				return true
			})
		}
		for _, file := range parsed {
			for _, d := range file.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok || fn.Body == nil {
					continue
				}
				self, kind := receiverOf(fn)
				ast.Inspect(fn.Body, func(n ast.Node) bool {
					call, ok := n.(*ast.CallExpr)
					if !ok || len(call.Args) < 5 {
						return true
					}
					if !slices.Contains([]string{"web.Post", "web.Put", "web.Patch"}, nameOf(call.Fun)) {
						return true
					}
					body, handler := call.Args[len(call.Args)-2], call.Args[len(call.Args)-1]
					if !leaves(body, loose) {
						return true
					}
					found++
					if of, is := handler.(*ast.SelectorExpr); is {
						at, _ := of.X.(*ast.Ident)
						if at != nil && at.Name == self && a.asks(kind, kind, of.Sel.Name) || at != nil && at.Name != self && a.asks("", "", of.Sel.Name) {
							return true
						}
					}
					t.Errorf("%s: the handler never asks Call.Wrong, and the problems of its body are left to it", files.Position(call.Pos()))
					return true
				})
			}
		}
	}
	if found < 40 {
		t.Errorf("only %d such handlers were found", found)
	}
}

// nameOf is a function of a package as it is called, empty for others.
func nameOf(fn ast.Expr) string {
	if of, ok := fn.(*ast.SelectorExpr); ok {
		if in, ok := of.X.(*ast.Ident); ok {
			return in.Name + "." + of.Sel.Name
		}
	}
	return ""
}

// receiverOf are a method's name for its receiver, and the receiver's type.
func receiverOf(fn *ast.FuncDecl) (name, kind string) {
	if fn.Recv == nil || len(fn.Recv.List) == 0 || len(fn.Recv.List[0].Names) == 0 {
		return "", ""
	}
	of := fn.Recv.List[0].Type
	if p, ok := of.(*ast.StarExpr); ok {
		of = p.X
	}
	if id, ok := of.(*ast.Ident); ok {
		kind = id.Name
	}
	return fn.Recv.List[0].Names[0].Name, kind
}
