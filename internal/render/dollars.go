package render

import (
	"fmt"
	"strings"
)

// ParseDollars reads a template of the kind that requests to providers are written in, where braces are common: ${name}
// alone is a placeholder, a name is whatever stands before the closing brace that is not between double quotes, and "$${" is the text "${". Each placeholder
// knows its place, given that of the text's beginning.
func ParseDollars(text string, begin Place) (*Template, error) {
	p := parser{text: text, seen: map[string]bool{}}
	for {
		next := strings.Index(text[p.pos:], "${")
		if next < 0 {
			break
		}
		if p.pos += next; p.pos > p.done && text[p.pos-1] == '$' {
			p.pos--
			p.replace(len("$${"), "${")
			continue
		}
		end := closing(text[p.pos:])
		if end < 0 {
			return nil, fmt.Errorf("the placeholder at %q has no closing brace", text[p.pos:min(len(text), p.pos+22)])
		}
		p.placeholder(end+1, text[p.pos+2:p.pos+end])
	}
	p.literal(text[p.done:])
	for i := range p.out.segments {
		if s := &p.out.segments[i]; s.Name == "" {
			begin = begin.after(s.Text)
		} else {
			s.Place = begin
		}
	}
	return &p.out, nil
}

// closing is where the first brace closes that is not between double quotes, -1 for nowhere.
func closing(text string) int {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			if quoted {
				i++
			}
		case '"':
			quoted = !quoted
		case '}':
			if !quoted {
				return i
			}
		}
	}
	return -1
}
