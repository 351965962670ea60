package render

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxTemplate is the longest template that Parse accepts, in bytes.
const MaxTemplate = 64 << 10

// maxName bounds a name, in bytes: an error that lists names stays readable.
const maxName = 256

// Template is a parsed text. It never changes and may be used by many
// goroutines at once.
type Template struct {
	segments []Segment
	names    []string
	literal  int // bytes of literal text: a first guess at the output's size
}

// Segment is a piece of literal text, or a placeholder where Name is set; Text
// is then the placeholder as it was written.
type Segment struct {
	Text, Name string
	Place      Place // of a placeholder; known to ParseDollars
}

// SyntaxError says where a template is wrong. Line and Column count from 1, the
// column in characters.
type SyntaxError struct {
	Line, Column int
	Message      string
}

// Error says the position and what is wrong there.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Message)
}

// Parse reads a template. Its error is a *SyntaxError for a wrong placeholder
// and for text that is not UTF-8, and another error for a text longer than
// MaxTemplate.
func Parse(text string) (*Template, error) {
	if len(text) > MaxTemplate {
		return nil, fmt.Errorf("the template has %d bytes; the most is %d", len(text), MaxTemplate)
	}
	if at := invalidUTF8(text); at >= 0 {
		return nil, syntaxError(text, at, "the text is not valid UTF-8")
	}
	p := parser{text: text, seen: map[string]bool{}}
	for p.pos < len(text) {
		next := strings.IndexAny(text[p.pos:], "${")
		if next < 0 {
			break
		}
		p.pos += next
		if err := p.step(); err != nil {
			return nil, err
		}
	}
	p.literal(text[p.done:])
	return &p.out, nil
}

// Variables lists the names in the template, each once, in the order in which
// they first appear.
func (t *Template) Variables() []string { return append([]string{}, t.names...) }

type parser struct {
	text string
	pos  int // where to look next
	done int // up to here everything is in out
	out  Template
	seen map[string]bool
}

// step reads what begins at a dollar sign or an opening brace.
func (p *parser) step() error {
	rest := p.text[p.pos:]
	if rest[0] == '$' {
		return p.dollars(len(rest) - len(strings.TrimLeft(rest, "$")))
	}
	name := nameAt(rest[1:])
	switch {
	case name != "":
		p.placeholder(len(name)+2, name)
	case strings.HasPrefix(rest, "{{"):
		if name := nameAt(rest[2:]); name != "" && strings.HasPrefix(rest[2+len(name):], "}}") {
			p.replace(len(name)+4, "{"+name+"}")
			return nil
		}
		p.pos++
	default:
		p.pos++
	}
	return nil
}

// dollars reads n dollar signs. Before a brace each pair stands for one of
// them, and one that is left over opens a placeholder; elsewhere they are text.
func (p *parser) dollars(n int) error {
	after := p.text[p.pos+n:]
	if !strings.HasPrefix(after, "{") {
		p.pos += n
		return nil
	}
	if n%2 == 0 {
		p.replace(n+1, strings.Repeat("$", n/2)+"{")
		return nil
	}
	name := nameAt(after[1:])
	if name == "" {
		return syntaxError(p.text, p.pos+n-1, wrongName(after[1:]))
	}
	p.replace(n-1, strings.Repeat("$", n/2))
	p.placeholder(len(name)+3, name)
	return nil
}

// replace puts other text where the next n bytes are.
func (p *parser) replace(n int, text string) {
	p.literal(p.text[p.done:p.pos] + text)
	p.pos += n
	p.done = p.pos
}

// placeholder takes the next n bytes as the place of a value.
func (p *parser) placeholder(n int, name string) {
	p.literal(p.text[p.done:p.pos])
	p.out.segments = append(p.out.segments, Segment{Text: p.text[p.pos : p.pos+n], Name: name})
	if !p.seen[name] {
		p.seen[name] = true
		p.out.names = append(p.out.names, name)
	}
	p.pos += n
	p.done = p.pos
}

func (p *parser) literal(text string) {
	if text == "" {
		return
	}
	p.out.segments = append(p.out.segments, Segment{Text: text})
	p.out.literal += len(text)
}

// nameAt is the name that text begins with, "" unless a closing brace follows it.
func nameAt(text string) string {
	first := true // of a part
	for i, r := range text {
		switch {
		case r == '}' && !first:
			return text[:i]
		case i > maxName:
			return ""
		case r == '.' && !first:
			first = true
		case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_':
			first = false
		case (r == '-' || unicode.IsMark(r)) && !first:
		default:
			return ""
		}
	}
	return ""
}

// wrongName says why what follows "${" is not a name.
func wrongName(after string) string {
	const hint = `; write "$${" for the text "${"`
	line, _, _ := strings.Cut(after, "\n")
	name, _, closed := strings.Cut(line, "}")
	switch {
	case !closed:
		return `"${" has no closing "}" on its line` + hint
	case name == "":
		return `"${}" names nothing` + hint
	case len(name) > maxName:
		return fmt.Sprintf("the name has %d bytes; the most is %d%s", len(name), maxName, hint)
	}
	return fmt.Sprintf("%q is not a name: use letters, digits, \"_\", \"-\" and dots between parts%s", name, hint)
}

func invalidUTF8(text string) int {
	for i, r := range text {
		if r != utf8.RuneError {
			continue
		}
		if _, size := utf8.DecodeRuneInString(text[i:]); size == 1 {
			return i
		}
	}
	return -1
}

func syntaxError(text string, at int, message string) *SyntaxError {
	before := text[:at]
	line := strings.LastIndexByte(before, '\n') + 1
	return &SyntaxError{
		Line:    strings.Count(before, "\n") + 1,
		Column:  utf8.RuneCountInString(before[line:]) + 1,
		Message: message,
	}
}
