package posthouse_test

import (
	"go/ast"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestEveryPackageSaysWhatItIs(t *testing.T) {
	t.Parallel()
	docs := make(map[string][]string) // package to its doc comments
	for _, file := range sources(t) {
		if file.test {
			continue
		}
		docs[file.pkg] = append(docs[file.pkg], file.packageDoc(t)...)
	}
	for _, pkg := range slices.Sorted(maps.Keys(docs)) {
		if n := len(docs[pkg]); n != 1 {
			t.Errorf("package %s has %d doc comments, want one, in doc.go or its main file", pkg, n)
		}
	}
}

// packageDoc is the file's package comment, if it has one, and checks how it begins.
func (f source) packageDoc(t *testing.T) []string {
	t.Helper()
	if f.Doc == nil {
		return nil
	}
	want := "Package " + f.Name.Name + " "
	if f.Name.Name == "main" {
		want = "Command " + path.Base(f.pkg) + " "
	}
	text := f.Doc.Text()
	if !strings.HasPrefix(text, want) {
		t.Errorf("%s: the package comment begins %.30q, want %q", f.path, text, want)
	}
	return []string{text}
}

func TestEverythingExportedIsDocumented(t *testing.T) {
	t.Parallel()
	for _, file := range sources(t) {
		if file.test || strings.HasPrefix(file.pkg, "internal/") || file.Name.Name == "main" {
			continue
		}
		for _, decl := range file.Decls {
			for _, node := range undocumented(decl) {
				t.Errorf("%s: %s is exported and has no doc comment", file.at(node), node.Name)
			}
		}
	}
}

// undocumented lists the exported names of a declaration that no comment explains:
// neither their own, nor one behind them, nor that of their group.
func undocumented(decl ast.Decl) (names []*ast.Ident) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Doc == nil && d.Name.IsExported() && (d.Recv == nil || ast.IsExported(receiver(d))) {
			names = append(names, d.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			names = append(names, undocumentedIn(d, spec)...)
		}
	}
	return names
}

func undocumentedIn(group *ast.GenDecl, spec ast.Spec) (names []*ast.Ident) {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		if s.Name.IsExported() && s.Doc == nil && group.Doc == nil {
			names = append(names, s.Name)
		}
	case *ast.ValueSpec:
		for _, name := range s.Names {
			if name.IsExported() && s.Doc == nil && s.Comment == nil && group.Doc == nil {
				names = append(names, name)
			}
		}
	}
	return names
}

// receiver is the name of the type that a method belongs to.
func receiver(f *ast.FuncDecl) string {
	typ := f.Recv.List[0].Type
	for {
		switch t := typ.(type) {
		case *ast.StarExpr:
			typ = t.X
		case *ast.IndexExpr:
			typ = t.X
		case *ast.IndexListExpr:
			typ = t.X
		case *ast.Ident:
			return t.Name
		default:
			return ""
		}
	}
}

var (
	// steps are the places of the drawings: a type or a package, its method or function, and the file.
	steps = regexp.MustCompile(`(\w+)\.(\w+) +([a-z][\w/]*\.go)\b`)
	named = regexp.MustCompile("`([a-z][\\w/]*(?:\\.go|/\\*)?)`")
)

// architecture is docs/architecture.md, whose drawings name functions, files and packages.
func architecture(t *testing.T) []byte {
	t.Helper()
	text, err := os.ReadFile("docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestTheWaysOnTheArchitecturePageLeadThroughTheCode(t *testing.T) {
	t.Parallel()
	found := steps.FindAllSubmatch(architecture(t), -1)
	if len(found) < 40 {
		t.Errorf("only %d steps were found on the page", len(found))
	}
	for _, step := range found {
		of, name, file := string(step[1]), string(step[2]), string(step[3])
		code, err := os.ReadFile(file)
		if err != nil {
			t.Errorf("%s.%s: %v", of, name, err)
			continue
		}
		receiver := `\(\w+ \*?` + of + `(\[\w+\])?\) `
		if of == path.Base(path.Dir(file)) {
			receiver = ""
		}
		if !regexp.MustCompile(`(?m)^func ` + receiver + name + `[\[(]`).Match(code) {
			t.Errorf("%s has no %s.%s", file, of, name)
		}
	}
}

func TestTheArchitecturePageNamesEveryPackage(t *testing.T) {
	t.Parallel()
	names := map[string]bool{".": true, "examples/*": true}
	for _, name := range named.FindAllSubmatch(architecture(t), -1) {
		names[string(name[1])] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if _, err := os.Stat(strings.TrimSuffix(name, "/*")); strings.ContainsAny(name, "/.") && err != nil {
			t.Errorf("the page names %s: %v", name, err)
		}
	}
	for _, file := range sources(t) {
		if !names[file.pkg] && !names[path.Dir(file.pkg)+"/*"] {
			t.Errorf("the page does not say what package %s is", file.pkg)
			names[file.pkg] = true
		}
	}
}
