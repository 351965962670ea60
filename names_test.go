package posthouse_test

import (
	"go/ast"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// mixed are words of comments that only code has, such as openEngine.
var mixed = regexp.MustCompile(`\b[A-Za-z]*[a-z][A-Z][A-Za-z0-9]*\b`)

var goFiles = regexp.MustCompile(`\b[a-z][\w/]*\.go\b`)

// words are those of texts: a setting, a field of JSON, a column.
var words = regexp.MustCompile(`[A-Za-z][A-Za-z0-9_]*`)

// proper are names and units of the world outside of the code.
var proper = []string{"kB", "macOS", "JavaScript", "OpenStack", "DigitalOcean", "WireServer", "RapiDoc", "uPlot", "ZhaoHu"}

// TestCommentsNameWhatThereIs finds comments that were left behind when what they name went.
func TestCommentsNameWhatThereIs(t *testing.T) {
	t.Parallel()
	known := names(t)
	for _, file := range sources(t) {
		for _, group := range file.Comments {
			if strings.Contains(group.Text(), "Output:") {
				continue // what an example prints
			}
			for _, c := range group.List {
				for _, word := range mixed.FindAllString(c.Text, -1) {
					if !known[word] && !slices.Contains(proper, word) {
						t.Errorf("%s: the comment names %s, which is not there", file.at(c), word)
					}
				}
				for _, name := range goFiles.FindAllString(c.Text, -1) {
					if _, err := os.Stat(path.Join(file.pkg, name)); err == nil {
						continue
					}
					if _, err := os.Stat(name); err != nil && !slices.ContainsFunc(sources(t), func(s source) bool { return path.Base(s.path) == name }) {
						t.Errorf("%s: the comment names the file %s, which is not there", file.at(c), name)
					}
				}
			}
		}
	}
}

// names are all names in the code: what is declared, what is used of others, and the words of its texts.
func names(t *testing.T) map[string]bool {
	t.Helper()
	known := map[string]bool{}
	for _, file := range sources(t) {
		known[file.Name.Name] = true
		for _, imported := range file.imports() {
			known[imported] = true
		}
		file.inspect(func(n ast.Node) {
			switch n := n.(type) {
			case *ast.Ident:
				known[n.Name] = true
			case *ast.BasicLit:
				for _, word := range words.FindAllString(n.Value, -1) {
					known[word] = true
				}
			}
		})
	}
	return known
}

// backticked are names between backticks: a file, a folder, or something of Go.
var backticked = regexp.MustCompile("`([A-Za-z][\\w./*]*)`")

// TestPagesForContributorsNameWhatThereIs does the same for the pages that lead through the code.
func TestPagesForContributorsNameWhatThereIs(t *testing.T) {
	t.Parallel()
	known, seen := names(t), 0
	for _, page := range []string{"CONTRIBUTING.md", "docs/architecture.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range backticked.FindAllStringSubmatch(string(text), -1) {
			seen++
			if name := m[1]; !there(name, known) {
				t.Errorf("%s names %s, which is not there", page, name)
			}
		}
	}
	if seen < 150 {
		t.Errorf("only %d names were found", seen)
	}
}

// there reports whether a file, a folder, a package, a command of make or a name of Go is there.
func there(name string, known map[string]bool) bool {
	if _, err := os.Stat(strings.TrimSuffix(name, "/*")); err == nil || name == "bin/posthouse" { // which make build makes
		return true
	}
	if known[name] {
		return true
	}
	if strings.Contains(name, "/") || path.Ext(name) == ".go" || path.Ext(name) == ".md" {
		return false
	}
	for part := range strings.SplitSeq(name, ".") {
		if !known[part] {
			return false
		}
	}
	return true
}
