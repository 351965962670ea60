// Package anyjson is the front for whatever posts JSON: expressions of the front's own make a message of a body. Those of some senders
// are known and stand for what is not given.
package anyjson

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/vm"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/expression"
	"github.com/posthouse/posthouse/internal/inbound"
)

// What expressions make. "when" decides whether there is a message at all.
const (
	when     = "when"
	title    = "title"
	text     = "text"
	markdown = "markdown"
	severity = "severity"
	key      = "key"
	ref      = "ref"
	label    = "label." // and the label's name
)

// Form is the language: a POST with a JSON object as its body.
func Form() inbound.Form {
	return inbound.Form{
		Kind: "json", Title: "Any JSON", TitleZH: "任意 JSON", Expressions: true, MaxBody: 256 << 10,
		Priorities: map[string]posthouse.Priority{
			"critical": posthouse.High, "disaster": posthouse.High, "down": posthouse.High, "failure": posthouse.High, "high": posthouse.High, "failed": posthouse.High,
			"info": posthouse.Low, "information": posthouse.Low, "ok": posthouse.Low, "success": posthouse.Low, "low": posthouse.Low,
		},
		Read: read, Answer: answer, Setup: setup, Check: check,
	}
}

// usual are the expressions for bodies of nobody who is known: they fit what people write by hand.
func usual() map[string]string {
	return map[string]string{
		title:    `title ?? subject ?? service?.name ?? name ?? project?.name ?? ""`,
		text:     `message ?? text ?? body ?? content ?? output ?? description ?? build?.full_url ?? object_attributes?.detailed_status ?? ""`,
		severity: `severity ?? level ?? type ?? state ?? build?.status ?? object_attributes?.status ?? ""`,
	}
}

// The bounds of an expression. It runs once for each call, over a body that is bounded too; it has no loops, and makes texts by joining.
const (
	maxExpression = 2048 // bytes
	maxNodes      = 100
	maxJoins      = 16 // of texts: each copies what it joins
	maxNames      = 16
)

// compile reads an expression. Its functions make no text longer: toJSON would double the escapes of a text each time it is nested.
func compile(source string) (*vm.Program, error) {
	joins := 0
	return expression.Rules{
		Noun: "expression", Want: "members of the body, texts, +, ??, ? :, comparisons", Bytes: maxExpression, Nodes: maxNodes,
		Calls: []string{"int", "float", "string", "len", "lower", "upper", "trim", "trimPrefix", "trimSuffix"},
		Refuse: func(node ast.Node) (wrong string, known bool) {
			switch n := node.(type) {
			case *ast.ConditionalNode, *ast.ArrayNode, *ast.UnaryNode:
			case *ast.BinaryNode:
				if n.Operator == "+" {
					joins++
				}
				if joins > maxJoins {
					wrong = fmt.Sprintf("more than %d joins", maxJoins)
				}
				if slices.Contains([]string{"..", "**", "^", "matches", "|"}, n.Operator) {
					wrong = "the operator " + n.Operator
				}
			default:
				return "", false
			}
			return wrong, true
		},
	}.Compile(source)
}

func check(s posthouse.FrontSettings) []posthouse.Problem {
	var problems []posthouse.Problem
	add := func(name, format string, args ...any) {
		problems = append(problems, posthouse.Problem{Path: "expressions." + name, Message: fmt.Sprintf(format, args...)})
	}
	if len(s.Expressions) > maxNames {
		return []posthouse.Problem{{Path: "expressions", Message: fmt.Sprintf("has %d entries: at most %d are allowed", len(s.Expressions), maxNames)}}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Expressions)) {
		if !slices.Contains([]string{when, title, text, markdown, severity, key, ref}, name) && (!strings.HasPrefix(name, label) || name == label) {
			add(name, "makes nothing: want when, title, text, markdown, severity, key, ref or label.NAME")
		} else if _, err := compile(s.Expressions[name]); err != nil {
			add(name, "%v", err)
		}
	}
	return problems
}

func read(r *inbound.Request) ([]inbound.Message, error) {
	if r.Method != http.MethodPost && r.Method != http.MethodPut {
		return nil, fmt.Errorf("the method is %.20s: want POST or PUT", r.Method)
	}
	body := map[string]any{}
	if err := json.Unmarshal(bytes.TrimSpace(r.Body), &body); err != nil {
		return nil, errors.New("the body is no JSON object")
	}
	made := map[string]any{}
	_ = fill(made, usual(), body, func(string, error) {}) // what a body lacks is not made
	_ = fill(made, fitting(body), body, func(string, error) {})
	if err := fill(made, r.Front.Expressions, body, func(name string, err error) {
		delete(made, name)
		r.Note(fmt.Sprintf("the expression %s fails: %.200s", name, err))
	}); err != nil {
		return nil, err
	}
	if asks, is := made[when].(bool); is && !asks {
		return nil, nil
	}
	m := inbound.Message{
		Title: line(made[title]), Text: words(made[text]), Markdown: words(made[markdown]), Severity: strings.ToLower(line(made[severity])),
		Key: words(made[key]), Ref: line(made[ref]), Labels: labels(body), Payload: body,
	}
	for name, v := range made {
		if of, is := strings.CutPrefix(name, label); is {
			m.Labels[of] = words(v)
		}
	}
	m.Text = cmp.Or(m.Text, m.Markdown)
	if channel.Blank(m.Title + m.Text) {
		return nil, errors.New("the expressions make neither a title nor a text of this body: see what came with posthouse front show, and give --expression text=…")
	}
	m.Text = cmp.Or(m.Text, m.Title)
	return []inbound.Message{m}, nil
}

// fill makes what expressions make of a body. fails is told of one that fails.
func fill(made map[string]any, expressions map[string]string, body map[string]any, fails func(name string, err error)) error {
	for _, name := range slices.Sorted(maps.Keys(expressions)) {
		program, err := compile(expressions[name])
		if err != nil { // it was stored by another version
			return fmt.Errorf("the expression %s %w", name, err)
		}
		v, err := expression.Run(program, maps.Clone(body))
		if err != nil {
			fails(name, err)
			continue
		}
		made[name] = v
	}
	return nil
}

// labels are the texts and numbers of a body, for the front's table.
func labels(body map[string]any) map[string]string {
	out := map[string]string{}
	for name, v := range body {
		switch v.(type) {
		case string, float64, bool:
			out[name] = words(v)
		}
	}
	return out
}

// words is a value as a text: nothing for null, and JSON for an object or a list.
func words(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case map[string]any, []any:
		text, _ := json.Marshal(v) // it was JSON before
		return string(text)
	}
	return fmt.Sprint(v)
}

// line is words on one line.
func line(v any) string { return strings.Join(strings.Fields(words(v)), " ") }

func answer(w http.ResponseWriter, _ *inbound.Request, out inbound.Result) {
	if out.Status != inbound.Accepted {
		inbound.AnswerJSON(w, out.Status.HTTP(), map[string]any{"error": out.Reason})
		return
	}
	ids := make([]string, len(out.Accepted))
	for i, a := range out.Accepted {
		ids[i] = a.ID
	}
	inbound.AnswerJSON(w, http.StatusOK, map[string]any{"messages": ids})
}

func setup(s inbound.Setup) []inbound.Snippet {
	return []inbound.Snippet{
		{Title: "the webhook's URL", Text: s.Address() + "\n"},
		{Title: "a try by hand", Text: `curl -H 'Content-Type: application/json' -d '{"title":"Disk","message":"91 % full","severity":"critical"}' ` + s.Address() + "\n"},
	}
}
