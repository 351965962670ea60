package httpapi

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse/channel"
)

// Bounds of an expression. None of the signatures that providers ask for comes near them.
const (
	mostNested    = 8
	mostArguments = 16
)

// expression reads what stands between ${ and }: a name, or a function of names, quoted texts and further functions.
func (syn syntax) expression(text string) (part, error) {
	head, _, isCall := strings.Cut(text, "(")
	if !isCall || strings.Trim(strings.TrimSpace(head), functionLetters) != "" {
		return newPart(text, syn)
	}
	p := expressionParser{rest: text, syntax: syn}
	out, err := p.argument(0)
	switch {
	case err != nil:
	case p.rest != "":
		err = fmt.Errorf("%q stands behind the end", p.rest)
	case out.bytes():
		err = errors.New("its result is bytes and no text: put hex(…) or base64(…) around it")
	}
	if err != nil {
		return out, fmt.Errorf("${%s}: %w", text, err)
	}
	return out, nil
}

const functionLetters = "abcdefghijklmnopqrstuvwxyz0123456789_"

// expressionParser reads an expression from left to right.
type expressionParser struct {
	rest string
	syntax
}

// argument reads a quoted text, a function or a name, and the blanks around it.
func (p *expressionParser) argument(depth int) (part, error) {
	if p.blanks(); depth > mostNested {
		return part{}, fmt.Errorf("functions stand in each other more than %d deep", mostNested)
	}
	if strings.HasPrefix(p.rest, `"`) {
		return p.quoted()
	}
	end := strings.IndexAny(p.rest, "(),")
	if end < 0 {
		end = len(p.rest)
	}
	name := strings.TrimSpace(p.rest[:end])
	p.rest = p.rest[end:]
	if strings.HasPrefix(p.rest, "(") {
		return p.function(name, depth)
	}
	if name == "" {
		return part{}, errors.New(`an argument is missing; an empty text is ""`)
	}
	return newPart(name, p.syntax)
}

func (p *expressionParser) blanks() { p.rest = strings.TrimLeft(p.rest, " \t\r\n") }

// quoted reads a text between double quotes, with the escapes of JSON.
func (p *expressionParser) quoted() (part, error) {
	quote, err := strconv.QuotedPrefix(p.rest)
	if err != nil {
		return part{}, fmt.Errorf(`the text at %.20s has no closing quote, or an escape that is none`, p.rest)
	}
	p.rest = p.rest[len(quote):]
	p.blanks()
	text, err := strconv.Unquote(quote)
	return part{literal: true, value: text}, err
}

// function reads the arguments of a function, from its opening parenthesis.
func (p *expressionParser) function(name string, depth int) (part, error) {
	f, known := functions[name]
	if !known {
		return part{}, errors.New(channel.UnknownName("function", name, functionNames()))
	}
	out := &call{name: name, function: f}
	for p.rest = p.rest[1:]; ; p.rest = p.rest[1:] {
		one, err := p.argument(depth + 1)
		if err != nil {
			return part{}, err
		}
		out.args = append(out.args, one)
		if p.blanks(); !strings.HasPrefix(p.rest, ",") {
			break
		}
	}
	if !strings.HasPrefix(p.rest, ")") {
		return part{}, fmt.Errorf("%s( has no closing parenthesis", name)
	}
	p.rest = p.rest[1:]
	p.blanks()
	return part{call: out}, out.check(depth)
}

// check finds arguments that a function cannot take.
func (c *call) check(depth int) error {
	switch n := len(c.args); {
	case n < c.function.least:
		return fmt.Errorf("%s takes at least %d arguments, not %d", c.name, c.function.least, n)
	case n > cmp.Or(c.function.most, mostArguments):
		return fmt.Errorf("%s takes at most %d arguments, not %d", c.name, cmp.Or(c.function.most, mostArguments), n)
	}
	if c.function.whole && (depth > 0 || !c.args[0].secret && !c.args[0].fixed) {
		return fmt.Errorf("%s takes a secret or a value alone, and stands in no other function", c.name)
	}
	for _, a := range c.args {
		if c.function.texts && a.bytes() {
			return fmt.Errorf("%s takes a text, and its argument is bytes: put hex(…) or base64(…) around it", c.name)
		}
	}
	return nil
}
