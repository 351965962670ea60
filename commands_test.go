package posthouse_test

import (
	"go/ast"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// A command that somebody copies into a shell has names in it that others gave: each is one word of it, whatever is called what.
func TestNamesInCommandsToCopyAreQuoted(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, file := range sources(t) {
		if file.test || strings.HasPrefix(file.pkg, "internal/store") { // whose texts are names of locks
			continue
		}
		file.inspect(func(n ast.Node) {
			for _, name := range namesInCommands(n) {
				seen++
				if !isQuoted(name) {
					t.Errorf("%s: what stands in a command to copy is not quoted: use shellword.Quote", file.at(name))
				}
			}
		})
	}
	if seen < 6 {
		t.Errorf("only %d names in commands were found", seen)
	}
}

var (
	// command is the beginning of a command of ours, up to the name that follows.
	command = regexp.MustCompile(`\bposthouse( [a-z-]+)+ $`)
	verb    = regexp.MustCompile(`%[-+# 0-9.]*[a-z]`)
)

// namesInCommands are the values that stand in a command within a text: put in by a verb, or joined to it.
func namesInCommands(n ast.Node) (names []ast.Expr) {
	switch n := n.(type) {
	case *ast.CallExpr:
		for i, arg := range n.Args {
			text, ok := textOf(arg)
			if !ok {
				continue
			}
			for k, at := range verb.FindAllStringIndex(text, -1) {
				if command.MatchString(text[:at[0]]) && i+1+k < len(n.Args) {
					names = append(names, n.Args[i+1+k])
				}
			}
		}
	case *ast.BinaryExpr:
		left := n.X
		if joined, ok := left.(*ast.BinaryExpr); ok {
			left = joined.Y
		}
		if text, ok := textOf(left); ok && n.Op == token.ADD && command.MatchString(text) {
			names = append(names, n.Y)
		}
	}
	return names
}

func textOf(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(lit.Value)
	return text, err == nil
}

func isQuoted(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	of, ok := sel.X.(*ast.Ident)
	return ok && of.Name+"."+sel.Sel.Name == "shellword.Quote"
}

var (
	shown    = regexp.MustCompile(`(?s)<(?:pre|code)[^>]*>(.*?)</(?:pre|code)>`)
	action   = regexp.MustCompile(`\{\{-?\s*(.*?)\s*-?\}\}`)
	harmless = regexp.MustCompile(`^(sh |if |else|end$|with |range )`)
)

// The same on the pages of the console, where the function of templates is called sh.
func TestNamesInCommandsOnPagesAreQuoted(t *testing.T) {
	t.Parallel()
	seen := 0
	err := filepath.WalkDir("internal/console", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(p) != ".html" {
			return err
		}
		page, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		for _, block := range shown.FindAllStringSubmatch(string(page), -1) {
			if !strings.Contains(block[1], "posthouse ") && !strings.Contains(block[1], "curl ") {
				continue
			}
			for line := range strings.Lines(block[1]) {
				if !strings.HasPrefix(line, "posthouse ") && !strings.HasPrefix(line, "curl ") {
					continue // an address to subscribe to
				}
				for _, a := range action.FindAllStringSubmatch(line, -1) {
					seen++
					if !harmless.MatchString(a[1]) {
						t.Errorf("%s: {{%s}} stands in a command to copy: want {{sh %s}}", p, a[1], a[1])
					}
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 20 {
		t.Errorf("only %d values were found in commands", seen)
	}
}
