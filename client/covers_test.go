package client_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// uncalled are the operations under /v1 that are for others than programs that send.
var uncalled = map[string]string{
	"checkCallback":   "a provider's",
	"takeCallback":    "a provider's",
	"getDutySchedule": "a calendar's, by a link",
	"watchCampaign":   "a page's, which follows it: a program reads the campaign",
}

// A route that is added to the API has its method here, so that the two can be written by hand.
func TestTheClientCallsWhatTheAPIHas(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/openapi/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Paths map[string]map[string]struct{ OperationID string }
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	called, left := calls(t), len(uncalled)
	for at, verbs := range doc.Paths {
		for verb, op := range verbs {
			if op.OperationID == "" || !strings.HasPrefix(at, "/v1/") {
				continue
			}
			if _, is := uncalled[op.OperationID]; is {
				left--
				continue
			}
			if !slices.ContainsFunc(called, func(c call) bool { return c.is(strings.ToUpper(verb), strings.Split(at[len("/v1/"):], "/")) }) {
				t.Errorf("no method calls %s %s (%s)", strings.ToUpper(verb), at, op.OperationID)
			}
		}
	}
	if left != 0 {
		t.Errorf("%d of the operations that nothing calls are not there any more", left)
	}
}

// call is a request as a method writes it: a segment that is no constant is empty, and so is a verb that the method leaves to another function.
type call struct {
	verb     string
	segments []string
}

func (c *call) is(verb string, segments []string) bool {
	return (c.verb == "" || c.verb == verb) && slices.EqualFunc(c.segments, segments, func(own, s string) bool {
		return own == s || own == ""
	})
}

// calls finds the addresses that the package makes by path, each with the verb of its statement.
func calls(t *testing.T) (list []call) {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			s, is := n.(ast.Stmt)
			if _, block := n.(*ast.BlockStmt); is && !block {
				list = append(list, callsOf(s)...)
			}
			return true
		})
	}
	return list
}

// callsOf are those of one statement, without those of its blocks.
func callsOf(s ast.Stmt) (list []call) {
	verb := ""
	ast.Inspect(s, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BlockStmt:
			return false
		case *ast.SelectorExpr:
			if method, is := strings.CutPrefix(n.Sel.Name, "Method"); is {
				verb = strings.ToUpper(method)
			}
		case *ast.CallExpr:
			if f, is := n.Fun.(*ast.Ident); is && f.Name == "path" {
				c := call{}
				for _, a := range n.Args {
					text := ""
					if lit, is := a.(*ast.BasicLit); is {
						text, _ = strconv.Unquote(lit.Value)
					}
					c.segments = append(c.segments, text)
				}
				list = append(list, c)
			}
		}
		return true
	})
	for i := range list {
		list[i].verb = verb
	}
	return list
}
