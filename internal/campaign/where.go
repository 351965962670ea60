package campaign

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/vm"
)

// Bounds of a condition. It runs once for each of millions of members, within the process that sends: so it has no loops, makes no
// text longer, and what it costs is its length times that of what a member has.
const (
	maxWhere   = 4096 // bytes
	maxNodes   = 500
	maxPattern = 100 // bytes of a pattern
)

// whereCalls are the functions of conditions.
func whereCalls() []string { return []string{"int", "float", "len", "lower", "upper", "trim"} }

// where is a condition on a member.
type where struct{ program *vm.Program }

// whereOf reads a condition.
func whereOf(text string) (*where, error) {
	if len(text) > maxWhere {
		return nil, fmt.Errorf("has %d bytes: at most %d are allowed", len(text), maxWhere)
	}
	tree, err := parser.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("is no condition: %w", err)
	}
	var v plain
	ast.Walk(&tree.Node, &v)
	if v.nodes > maxNodes {
		return nil, fmt.Errorf("has %d parts: at most %d are allowed", v.nodes, maxNodes)
	}
	if v.wrong != "" {
		return nil, fmt.Errorf("has %s: want comparisons, in, contains, startsWith, endsWith, matches, and, or, not, %s()", v.wrong, strings.Join(whereCalls(), "(), "))
	}
	options := []expr.Option{expr.Env(map[string]any{}), expr.AllowUndefinedVariables(), expr.AsBool(), expr.DisableAllBuiltins()}
	for _, name := range whereCalls() {
		options = append(options, expr.EnableBuiltin(name))
	}
	program, err := expr.Compile(text, options...)
	if err != nil {
		return nil, fmt.Errorf("is no condition: %w", err)
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
	is, err := expr.Run(w.program, known)
	if err != nil {
		return false, err
	}
	yes, _ := is.(bool)
	return yes, nil
}

// plain finds what a condition may not have: all that loops, or makes text or lists that are longer than what they are made of.
type plain struct {
	nodes int
	wrong string
}

// Visit is ast.Visitor's.
func (p *plain) Visit(node *ast.Node) {
	p.nodes++
	switch n := (*node).(type) {
	case *ast.NilNode, *ast.IdentifierNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.StringNode, *ast.ConstantNode, *ast.MemberNode, *ast.ChainNode:
	case *ast.UnaryNode:
		if !slices.Contains([]string{"not", "!", "-", "+"}, n.Operator) {
			p.refuse("the operator " + n.Operator)
		}
	case *ast.BinaryNode:
		p.binary(n)
	case *ast.ArrayNode:
		if slices.ContainsFunc(n.Nodes, func(e ast.Node) bool { return !literal(e) }) {
			p.refuse("a list of something else than texts and numbers")
		}
	case *ast.BuiltinNode:
		if !slices.Contains(whereCalls(), n.Name) {
			p.refuse("the function " + n.Name)
		}
	case *ast.CallNode:
		p.refuse("a function that there is not")
	default:
		p.refuse(strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf("%T", n), "*ast."), "Node")) + ", which conditions do not know")
	}
}

func (p *plain) binary(n *ast.BinaryNode) {
	switch n.Operator {
	case "==", "!=", "<", "<=", ">", ">=", "in", "contains", "startsWith", "endsWith", "and", "&&", "or", "||":
	case "+", "-", "*":
		if !number(n.Left) || !number(n.Right) {
			p.refuse("a sum of something else than int(), float() and numbers")
		}
	case "matches":
		pattern, is := n.Right.(*ast.StringNode)
		switch {
		case !is:
			p.refuse("a pattern that is no text")
		case len(pattern.Value) > maxPattern || strings.Contains(pattern.Value, "{"):
			p.refuse(fmt.Sprintf("a pattern of more than %d bytes, or with counts", maxPattern))
		}
	default:
		p.refuse("the operator " + n.Operator)
	}
}

// refuse notes what is wrong: of a part and what is in it, the part, which is visited last.
func (p *plain) refuse(what string) { p.wrong = what }

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
