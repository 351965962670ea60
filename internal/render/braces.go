package render

import "strings"

// ParseBraces reads a template of the plainer kind that other products' documents
// have: {name} is a placeholder, a name is whatever stands between two braces, and
// nothing is escaped. Braces around nothing, and one without its other, are text,
// so no text is wrong.
func ParseBraces(text string) *Template {
	p := parser{text: text, seen: map[string]bool{}}
	for {
		end := strings.IndexByte(text[p.pos:], '}')
		if end < 0 {
			p.literal(text[p.done:])
			return &p.out
		}
		end += p.pos
		open := strings.LastIndexByte(text[p.pos:end], '{')
		if name := text[p.pos+open+1 : end]; open >= 0 && name != "" {
			p.pos += open
			p.placeholder(len(name)+2, name)
			continue
		}
		p.pos = end + 1
	}
}
