package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/posthouse/posthouse/channel"
)

// answer is a provider's answer while it is read.
type answer struct {
	body  []byte
	whole bool // the body is all of it: of a part, even a match may be half a value
	json  bool // and valid JSON
}

func newAnswer(r *channel.Reply) answer {
	whole := r.Err == nil && !r.Cut
	return answer{body: r.Body, whole: whole, json: whole && json.Valid(r.Body)}
}

// picker takes one value out of an answer. The zero picker finds nothing.
type picker struct {
	path    path
	isPath  bool
	pattern *regexp.Regexp
	size    int // of the pattern's program
}

func parsePicker(s string) (picker, error) {
	if s == "" {
		return picker{}, nil
	}
	if len(s) >= 2 && s[0] == '/' && s[len(s)-1] == '/' {
		return parsePattern(s[1 : len(s)-1])
	}
	if !strings.HasPrefix(s, "$") {
		return picker{}, fmt.Errorf(`%q is not allowed; give a JSON path such as $.code, or a regular expression between slashes such as /^OK (\d+)/`, s)
	}
	p, err := parsePath(s)
	return picker{path: p, isPath: true}, err
}

// parsePattern reads a regular expression, one that cannot take long.
func parsePattern(s string) (picker, error) {
	if len(s) > longestPattern {
		return picker{}, fmt.Errorf("the regular expression has %d bytes, at most %d are allowed", len(s), longestPattern)
	}
	re, err := regexp.Compile(s)
	if err != nil {
		return picker{}, fmt.Errorf("the regular expression /%s/ cannot be read: %w", s, err)
	}
	size, err := programSize(s)
	if err != nil {
		return picker{}, err
	}
	if size > largestProgram {
		return picker{}, fmt.Errorf("the regular expression /%s/ is too large: it has %d steps for each byte, at most %d are allowed; repeat less", s, size, largestProgram)
	}
	return picker{pattern: re, size: size}, nil
}

// raw finds a JSON value. A null is as if it were not there: it says neither success nor an error.
func (p picker) raw(a answer) ([]byte, bool) {
	if !p.isPath || !a.json {
		return nil, false
	}
	raw, found := p.path.find(a.body)
	if !found || string(bytes.TrimSpace(raw)) == "null" {
		return nil, false
	}
	return raw, true
}

// text finds a value as a text: of a regular expression the first group, or the whole match of
// one without groups.
func (p picker) text(a answer) (string, bool) {
	if p.pattern == nil {
		raw, ok := p.raw(a)
		return text(raw), ok
	}
	if !a.whole {
		return "", false
	}
	m := p.pattern.FindSubmatch(a.body)
	if m == nil {
		return "", false
	}
	return string(m[min(1, len(m)-1)]), true
}
