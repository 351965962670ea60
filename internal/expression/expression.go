// Package expression compiles the expressions that users write, within bounds: no loops, a bounded length, and only the functions and
// parts that a place allows. They run in the process that sends.
package expression

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/vm"
)

// Rules are what expressions of one place may be made of.
type Rules struct {
	// Noun is what an expression is called in errors, such as "condition", and Want what may stand in one, before the functions.
	Noun, Want string
	// Bytes and Nodes bound its length and its parts.
	Bytes, Nodes int
	// Calls are the functions that it may call.
	Calls []string
	// Refuse says what is wrong with a part besides: constants, names, members of values and the calls are allowed anyway. known reports
	// whether the place knows such parts at all.
	Refuse func(ast.Node) (wrong string, known bool)
	// Options are more of the compiler's, such as the type of the result.
	Options []expr.Option
}

// Compile compiles an expression. An error says what is wrong, to follow the name of a field.
func (r Rules) Compile(source string) (*vm.Program, error) {
	if len(source) > r.Bytes {
		return nil, fmt.Errorf("has %d bytes: at most %d are allowed", len(source), r.Bytes)
	}
	tree, err := parser.Parse(source)
	if err != nil {
		return nil, r.none(err)
	}
	v := visitor{rules: r}
	ast.Walk(&tree.Node, &v)
	switch {
	case v.nodes > r.Nodes:
		return nil, fmt.Errorf("has %d parts: at most %d are allowed", v.nodes, r.Nodes)
	case v.wrong != "":
		return nil, fmt.Errorf("has %s: want %s, with the functions %s()", v.wrong, r.Want, strings.Join(r.Calls, "(), "))
	}
	options := append([]expr.Option{expr.Env(map[string]any{}), expr.AllowUndefinedVariables(), expr.DisableAllBuiltins()}, r.Options...)
	for _, name := range r.Calls {
		options = append(options, expr.EnableBuiltin(name))
	}
	program, err := expr.Compile(source, options...)
	if err != nil {
		return nil, r.none(err)
	}
	return program, nil
}

// none says in one line what is wrong, and where: the compiler draws the place below the expression.
func (r Rules) none(err error) error {
	var at *file.Error
	if !errors.As(err, &at) || at.Line == 0 {
		return fmt.Errorf("is no %s: %s", r.Noun, says(oneLine(err.Error())))
	}
	return fmt.Errorf("is no %s: %s, at line %d, character %d", r.Noun, says(oneLine(at.Message)), at.Line, at.Column+1)
}

// Run runs a program. An error is one line, with the place where it fails.
func Run(program *vm.Program, known map[string]any) (any, error) {
	out, err := expr.Run(program, known)
	if err == nil {
		return out, nil
	}
	var at *file.Error
	if errors.As(err, &at) && at.Line > 0 {
		return nil, fmt.Errorf("%s, at line %d, character %d", says(oneLine(at.Message)), at.Line, at.Column+1)
	}
	return nil, errors.New(says(oneLine(err.Error())))
}

// oneLine is a text without line breaks.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// visitor finds what an expression may not have. Of a part and what is in it, it keeps the part, which is visited last.
type visitor struct {
	rules Rules
	nodes int
	wrong string
}

// Visit is ast.Visitor's.
func (v *visitor) Visit(node *ast.Node) {
	v.nodes++
	switch n := (*node).(type) {
	case *ast.NilNode, *ast.IdentifierNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.StringNode, *ast.ConstantNode, *ast.MemberNode, *ast.ChainNode:
	case *ast.BuiltinNode:
		if !slices.Contains(v.rules.Calls, n.Name) {
			v.wrong = "the function " + n.Name
		}
	case *ast.CallNode:
		v.wrong = "a function that there is not"
	default:
		wrong, known := v.rules.Refuse(n)
		if !known {
			wrong = strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf("%T", n), "*ast."), "Node")) + ", which a " + v.rules.Noun + " cannot have"
		}
		if wrong != "" {
			v.wrong = wrong
		}
	}
}

// Names are those that an expression uses, each once. It was compiled.
func Names(source string) []string {
	tree, err := parser.Parse(source)
	if err != nil {
		return nil
	}
	var v identifiers
	ast.Walk(&tree.Node, &v)
	return v
}

// identifiers collects names.
type identifiers []string

// Visit is ast.Visitor's.
func (v *identifiers) Visit(node *ast.Node) {
	if n, is := (*node).(*ast.IdentifierNode); is && !slices.Contains(*v, n.Value) {
		*v = append(*v, n.Value)
	}
}

// Comparison is a name that an expression compares with a constant text, as in language == "zh-CN".
type Comparison struct{ Name, Text string }

// Comparisons are those of an expression by ==, != and in. It was compiled.
func Comparisons(source string) []Comparison {
	tree, err := parser.Parse(source)
	if err != nil {
		return nil
	}
	var v comparisons
	ast.Walk(&tree.Node, &v)
	return v
}

// comparisons collects names and the texts they are compared with.
type comparisons []Comparison

// Visit is ast.Visitor's.
func (v *comparisons) Visit(node *ast.Node) {
	n, is := (*node).(*ast.BinaryNode)
	if !is {
		return
	}
	switch n.Operator {
	case "==", "!=":
		v.add(n.Left, n.Right)
		v.add(n.Right, n.Left)
	case "in":
		if list, is := n.Right.(*ast.ArrayNode); is {
			for _, text := range list.Nodes {
				v.add(n.Left, text)
			}
		}
	}
}

func (v *comparisons) add(name, text ast.Node) {
	n, named := name.(*ast.IdentifierNode)
	if c, constant := text.(*ast.StringNode); named && constant {
		*v = append(*v, Comparison{n.Value, c.Value})
	}
}
