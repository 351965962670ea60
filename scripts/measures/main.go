// Command measures prints the sizes of trees of Go side by side, so that ours can be read beside those of others. A size is
// a thermometer: none of them is a bar, and no test asks for one.
//
//	go run ./scripts/measures -without torture,simulator . ~/src/river ~/src/dex
//
// It reads what a person has written and reads again: no tests, no generated files, nothing below a folder named vendor,
// testdata or node_modules or named by -without, and no module that lies inside another one.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

func main() {
	without := flag.String("without", "", "folders of a module that are left out, comma-separated, such as torture,simulator")
	flag.Parse()
	if err := run(os.Stdout, flag.Args(), strings.Split(*without, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "measures:", err)
		os.Exit(1)
	}
}

// run measures the modules in some folders.
func run(w io.Writer, dirs, without []string) error {
	if len(dirs) == 0 {
		return errors.New("name folders, each with its go.mod, such as: measures . ../river")
	}
	trees := make([]*tree, len(dirs))
	for i, dir := range dirs {
		var err error
		if trees[i], err = read(dir, without); err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
		if trees[i].clones, err = clones(trees[i].files); err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
	}
	return write(w, trees)
}

// manyLines and manyParameters are what a reader notices: a function that no longer fits a screen, and a call whose
// arguments nobody keeps apart.
const (
	manyLines      = 60
	manyParameters = 5
	// cloneNodes is how many nodes of syntax two places must share to be a duplicate, as many as golangci-lint takes.
	cloneNodes = 150
)

// tree is a module, measured.
type tree struct {
	name     string
	module   string
	files    []string
	packages map[string]int // lines by folder
	imports  map[string]map[string]bool
	lines    int // with comments, without empty ones
	comments int
	lengths  []int // of functions
	wide     int   // functions with more parameters than manyParameters
	clones   int
}

// read measures the module in a folder, all but its duplicates.
func read(dir string, without []string) (*tree, error) {
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return nil, err
	}
	t := &tree{packages: map[string]int{}, imports: map[string]map[string]bool{}}
	first, _, _ := strings.Cut(strings.TrimPrefix(string(mod[strings.Index(string(mod), "module "):]), "module "), "\n")
	t.module = strings.TrimSpace(first)
	t.name = path.Base(t.module)
	err = filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return enter(dir, file, without)
		case !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go"):
			return nil
		}
		return t.add(dir, file)
	})
	return t, err
}

// enter skips the folders that are not this module's own code.
func enter(dir, folder string, without []string) error {
	relative, err := filepath.Rel(dir, folder)
	if err != nil || relative == "." {
		return err
	}
	base := filepath.Base(folder)
	_, err = os.Stat(filepath.Join(folder, "go.mod"))
	if err == nil || strings.HasPrefix(base, ".") || slices.Contains([]string{"vendor", "testdata", "node_modules"}, base) ||
		slices.Contains(without, filepath.ToSlash(relative)) {
		return filepath.SkipDir
	}
	return nil
}

// add reads a file.
func (t *tree) add(dir, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil || ast.IsGenerated(parsed) {
		return err
	}
	t.files = append(t.files, file)
	relative, err := filepath.Rel(dir, filepath.Dir(file))
	if err != nil {
		return err
	}
	folder := path.Join(t.module, filepath.ToSlash(relative))

	lines := 0
	for line := range strings.Lines(string(text)) {
		if strings.TrimSpace(line) != "" {
			lines++
		}
	}
	t.lines += lines
	t.packages[folder] += lines
	for _, group := range parsed.Comments {
		for _, comment := range group.List {
			t.comments += 1 + strings.Count(comment.Text, "\n")
		}
	}
	for _, spec := range parsed.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value)
		if imported != t.module && !strings.HasPrefix(imported, t.module+"/") {
			continue
		}
		if t.imports[folder] == nil {
			t.imports[folder] = map[string]bool{}
		}
		t.imports[folder][imported] = true
	}
	for _, d := range parsed.Decls {
		if f, is := d.(*ast.FuncDecl); is && f.Body != nil {
			t.lengths = append(t.lengths, set.Position(f.End()).Line-set.Position(f.Pos()).Line+1)
			if f.Type.Params.NumFields() > manyParameters {
				t.wide++
			}
		}
	}
	return nil
}

// upward counts the imports from a folder to one that it lies in: a part that knows the whole.
func (t *tree) upward() (n int) {
	for folder, imported := range t.imports {
		for up := range imported {
			if strings.HasPrefix(folder, up+"/") {
				n++
			}
		}
	}
	return n
}

// clones counts the groups of places that share cloneNodes of syntax, whatever their names are, as dupl finds them.
func clones(files []string) (int, error) {
	dupl := exec.Command("go", "run", "github.com/mibk/dupl@v1.0.0", "-files", "-threshold", strconv.Itoa(cloneNodes))
	dupl.Stdin = strings.NewReader(strings.Join(files, "\n"))
	dupl.Stderr = os.Stderr
	out, err := dupl.Output()
	if err != nil {
		return 0, fmt.Errorf("dupl: %w", err)
	}
	found := regexp.MustCompile(`Found total (\d+) clone groups`).FindSubmatch(out)
	if found == nil {
		return 0, errors.New("dupl said no total")
	}
	return strconv.Atoi(string(found[1]))
}

// at returns the value below which a share of the sorted values lies.
func at(sorted []int, share float64) int {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(share*float64(len(sorted))))]
}

// write prints the trees as the columns of a table in Markdown.
func write(w io.Writer, trees []*tree) error {
	out := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	row := func(what string, value func(*tree) string) {
		fmt.Fprintf(out, "| %s\t", what)
		for _, t := range trees {
			fmt.Fprintf(out, "| %s\t", value(t))
		}
		fmt.Fprintln(out, "|")
	}
	row("without tests and generated files", func(t *tree) string { return t.name })
	row("---", func(*tree) string { return "---" })
	row("packages; files", func(t *tree) string { return fmt.Sprintf("%d; %d", len(t.packages), len(t.files)) })
	row("lines that are not empty", func(t *tree) string { return strconv.Itoa(t.lines) })
	row("lines of a package: middle, 90 of 100, largest", func(t *tree) string {
		sizes := make([]int, 0, len(t.packages))
		largest := ""
		for folder, n := range t.packages {
			sizes = append(sizes, n)
			if largest == "" || n > t.packages[largest] || n == t.packages[largest] && folder < largest {
				largest = folder
			}
		}
		slices.Sort(sizes)
		name := cmp.Or(strings.TrimPrefix(strings.TrimPrefix(largest, t.module), "/"), ".")
		return fmt.Sprintf("%d, %d, %d (`%s`)", at(sizes, 0.5), at(sizes, 0.9), t.packages[largest], name)
	})
	row("lines of a function: middle, 95 of 100, longest", func(t *tree) string {
		slices.Sort(t.lengths)
		return fmt.Sprintf("%d, %d, %d", at(t.lengths, 0.5), at(t.lengths, 0.95), at(t.lengths, 1))
	})
	share := func(n, of int) string { return fmt.Sprintf("%.1f", 1000*float64(n)/float64(max(of, 1))) }
	row(fmt.Sprintf("of 1,000 functions, longer than %d lines", manyLines), func(t *tree) string {
		long := 0
		for _, n := range t.lengths {
			if n > manyLines {
				long++
			}
		}
		return share(long, len(t.lengths))
	})
	row(fmt.Sprintf("functions with more than %d parameters; of 1,000", manyParameters), func(t *tree) string {
		return fmt.Sprintf("%d; %s", t.wide, share(t.wide, len(t.lengths)))
	})
	row("lines of comments in 100", func(t *tree) string { return fmt.Sprintf("%.1f", 100*float64(t.comments)/float64(max(t.lines, 1))) })
	row("imports of a folder that one lies in", func(t *tree) string { return strconv.Itoa(t.upward()) })
	row(fmt.Sprintf("duplicates of %d nodes; in 10,000 lines", cloneNodes), func(t *tree) string {
		return fmt.Sprintf("%d; %.1f", t.clones, 10_000*float64(t.clones)/float64(max(t.lines, 1)))
	})
	return out.Flush()
}
