package campaign

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/vm"

	"github.com/posthouse/posthouse/internal/expression"
)

// Bounds of a condition. It runs once for each of millions of members, within the process that sends: so it has no loops, makes no
// text longer, and what it costs is its length times that of what a member has.
const (
	maxWhere   = 4096 // bytes
	maxNodes   = 500
	maxPattern = 100 // bytes of a pattern
)

// where is a condition on a member.
type where struct{ program *vm.Program }

// whereOf reads a condition.
func whereOf(text string) (*where, error) {
	program, err := expression.Rules{
		Noun: "condition", Want: "comparisons, in, contains, startsWith, endsWith, matches, and, or, not", Bytes: maxWhere, Nodes: maxNodes,
		Calls: []string{"int", "float", "len", "lower", "upper", "trim"}, Refuse: notPlain, Options: []expr.Option{expr.AsBool()},
	}.Compile(text)
	if err != nil {
		return nil, err
	}
	return &where{program}, nil
}

// holds reports whether it holds of a member.
func (w *where) holds(address string, variables json.RawMessage) (bool, error) {
	known := map[string]any{}
	if len(variables) > 0 {
		if err := json.Unmarshal(variables, &known); err != nil {
			return false, err
		}
	}
	if _, own := known[addressName]; !own {
		known[addressName] = address
	}
	is, err := expression.Run(w.program, known)
	if err != nil {
		return false, err
	}
	yes, _ := is.(bool)
	return yes, nil
}

// notPlain finds what a condition may not have: all that makes text or lists that are longer than what they are made of.
func notPlain(node ast.Node) (wrong string, known bool) {
	switch n := node.(type) {
	case *ast.UnaryNode:
		if !slices.Contains([]string{"not", "!", "-", "+"}, n.Operator) {
			wrong = "the operator " + n.Operator
		}
	case *ast.BinaryNode:
		wrong = notBinary(n)
	case *ast.ArrayNode:
		if slices.ContainsFunc(n.Nodes, func(e ast.Node) bool { return !literal(e) }) {
			wrong = "a list of something else than texts and numbers"
		}
	default:
		return "", false
	}
	return wrong, true
}

func notBinary(n *ast.BinaryNode) string {
	switch n.Operator {
	case "==", "!=", "<", "<=", ">", ">=", "in", "contains", "startsWith", "endsWith", "and", "&&", "or", "||":
	case "+", "-", "*":
		if !number(n.Left) || !number(n.Right) {
			return "a sum of something else than int(), float() and numbers"
		}
	case "matches":
		pattern, is := n.Right.(*ast.StringNode)
		switch {
		case !is:
			return "a pattern that is no text"
		case len(pattern.Value) > maxPattern || strings.Contains(pattern.Value, "{"):
			return fmt.Sprintf("a pattern of more than %d bytes, or with counts", maxPattern)
		}
	default:
		return "the operator " + n.Operator
	}
	return ""
}

func literal(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NilNode:
		return true
	case *ast.UnaryNode:
		return literal(n.Node)
	}
	return false
}

// number reports whether a part of a condition is a number, whatever a member has.
func number(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.IntegerNode, *ast.FloatNode:
		return true
	case *ast.UnaryNode:
		return number(n.Node)
	case *ast.BinaryNode:
		return slices.Contains([]string{"+", "-", "*"}, n.Operator) && number(n.Left) && number(n.Right)
	case *ast.BuiltinNode:
		return n.Name == "int" || n.Name == "float" || n.Name == "len"
	}
	return false
}
