package posthouse_test

import (
	"go/ast"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A program outside of the module cannot name an internal type, so it can neither make one nor keep one.
func TestNothingInternalStandsInAPublicSignature(t *testing.T) {
	t.Parallel()
	looked := map[string]bool{}
	for _, file := range sources(t) {
		if file.test || !public(file.pkg) {
			continue
		}
		looked[file.pkg] = true
		internal := file.internalNames()
		for _, decl := range file.Decls {
			for _, n := range signatures(decl) {
				ast.Inspect(n, func(n ast.Node) bool {
					sel, ok := n.(*ast.SelectorExpr)
					if !ok {
						return true
					}
					if of, ok := sel.X.(*ast.Ident); ok && slices.Contains(internal, of.Name) {
						t.Errorf("%s: %s.%s is internal and stands in a public signature", file.at(n), of.Name, sel.Sel.Name)
					}
					return true
				})
			}
		}
	}
	for _, pkg := range []string{".", "channel", "client", "outbox", "rule", "server", "simulator"} {
		if !looked[pkg] {
			t.Errorf("package %s was not looked at", pkg)
		}
	}
}

// public reports whether programs outside of the module may import a package, and are meant to.
func public(pkg string) bool {
	top, _, _ := strings.Cut(pkg, "/")
	return !slices.Contains([]string{"internal", "cmd", "examples"}, top) && !strings.Contains(pkg, "/internal/")
}

// internalNames are the names under which a file knows internal packages.
func (f source) internalNames() []string {
	var names []string
	for _, spec := range f.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil || !strings.HasPrefix(p, module+"/internal/") {
			continue
		}
		if spec.Name != nil {
			names = append(names, spec.Name.Name)
			continue
		}
		names = append(names, p[strings.LastIndex(p, "/")+1:])
	}
	return names
}

// signatures are the parts of a declaration that its package's users see.
func signatures(decl ast.Decl) []ast.Node {
	var out []ast.Node
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && (d.Recv == nil || exportedType(d.Recv.List[0].Type)) {
			out = append(out, d.Type)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() {
					out = append(out, visible(s.Type)...)
				}
			case *ast.ValueSpec:
				if s.Type != nil && slices.ContainsFunc(s.Names, (*ast.Ident).IsExported) {
					out = append(out, s.Type)
				}
			}
		}
	}
	return out
}

// visible is a type without what only its own package sees of it.
func visible(typ ast.Expr) []ast.Node {
	var list *ast.FieldList
	switch x := typ.(type) {
	case *ast.StructType:
		list = x.Fields
	case *ast.InterfaceType:
		list = x.Methods
	default:
		return []ast.Node{typ}
	}
	var out []ast.Node
	for _, f := range list.List {
		if len(f.Names) == 0 || slices.ContainsFunc(f.Names, (*ast.Ident).IsExported) {
			out = append(out, f.Type)
		}
	}
	return out
}

func exportedType(recv ast.Expr) bool {
	for {
		switch x := recv.(type) {
		case *ast.StarExpr:
			recv = x.X
		case *ast.IndexExpr:
			recv = x.X
		case *ast.Ident:
			return x.IsExported()
		default:
			return false
		}
	}
}
