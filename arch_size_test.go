package posthouse_test

import (
	"go/ast"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// How large a part of the house may get before it is the job of several.
const (
	mostMethods   = 35   // of a type
	mostAsked     = 10   // methods of an interface, those of the interfaces it is made of among them
	mostLines     = 5000 // of a package without its tests
	mostStoreSays = 7000 // of the store, which holds all SQL
)

func TestNoTypeCollectsTheJobsOfMany(t *testing.T) {
	t.Parallel()
	methods := map[string]int{}
	for _, file := range sources(t) {
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv != nil && !file.test {
				methods[file.pkg+"."+receiverName(f.Recv.List[0].Type)]++
			}
		}
	}
	if len(methods) < 100 {
		t.Fatalf("only %d types with methods were found", len(methods))
	}
	for _, name := range slices.Sorted(maps.Keys(methods)) {
		if n := methods[name]; n > mostMethods {
			t.Errorf("%s has %d methods, at most %d are allowed: give each of its jobs a value of its own", name, n, mostMethods)
		}
	}
}

// receiverName is the name of the type that a method belongs to.
func receiverName(typ ast.Expr) string {
	switch x := typ.(type) {
	case *ast.StarExpr:
		return receiverName(x.X)
	case *ast.IndexExpr:
		return receiverName(x.X)
	case *ast.IndexListExpr:
		return receiverName(x.X)
	case *ast.Ident:
		return x.Name
	}
	return ""
}

func TestPackagesStayReadable(t *testing.T) {
	t.Parallel()
	lines := map[string]int{}
	for _, file := range sources(t) {
		if !file.test {
			lines[file.pkg] += file.set.Position(file.FileEnd).Line - 1
		}
	}
	for _, pkg := range slices.Sorted(maps.Keys(lines)) {
		most := mostLines
		if pkg == "internal/store" {
			most = mostStoreSays
		}
		if lines[pkg] > most {
			t.Errorf("package %s has %d lines, at most %d are allowed: a part of it is a package", pkg, lines[pkg], most)
		}
	}
}

func TestInterfacesAskForLittle(t *testing.T) {
	t.Parallel()
	all := map[string]declared{} // by package and name
	for _, file := range sources(t) {
		file.inspect(func(n ast.Node) {
			spec, ok := n.(*ast.TypeSpec)
			if !ok || file.test {
				return
			}
			if i, ok := spec.Type.(*ast.InterfaceType); ok {
				all[file.pkg+"."+spec.Name.Name] = declared{i, file}
			}
		})
	}
	if len(all) < 50 {
		t.Fatalf("only %d interfaces were found", len(all))
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if asked := all[name].methods(all); len(asked) > mostAsked {
			t.Errorf("%s: interface %s asks for %d methods, at most %d are allowed", all[name].file.at(all[name].InterfaceType), name, len(asked), mostAsked)
		}
	}
}

// declared is an interface where it stands.
type declared struct {
	*ast.InterfaceType
	file source
}

// methods are the names of those that an interface asks for, by itself and by the module's interfaces in it.
func (d declared) methods(all map[string]declared) map[string]bool {
	found := map[string]bool{}
	for _, part := range d.Methods.List {
		for _, name := range part.Names {
			found[name.Name] = true
		}
		if len(part.Names) == 0 {
			maps.Copy(found, all[d.file.named(part.Type)].methodsOf(all))
		}
	}
	return found
}

// methodsOf is methods of an interface that may stand outside of the module.
func (d declared) methodsOf(all map[string]declared) map[string]bool {
	if d.InterfaceType == nil {
		return nil
	}
	return d.methods(all)
}

// named is a type by the module's package and its name, as a file writes it.
func (f source) named(typ ast.Expr) string {
	switch x := typ.(type) {
	case *ast.Ident:
		return f.pkg + "." + x.Name
	case *ast.SelectorExpr:
		of, _ := x.X.(*ast.Ident)
		for _, spec := range f.Imports {
			p, err := strconv.Unquote(spec.Path.Value)
			if err != nil || of == nil || !strings.HasPrefix(p, module) {
				continue
			}
			if path.Base(p) == of.Name || spec.Name != nil && spec.Name.Name == of.Name {
				return path.Clean("."+strings.TrimPrefix(p, module)) + "." + x.Sel.Name
			}
		}
	}
	return ""
}
