package expression

import (
	"fmt"
	"regexp"
	"strings"
)

// says is what the library says is wrong, in the words that a reader of expressions knows: without the names of its tokens and of Go's types. What it
// does not know stays as it is.
func says(message string) string {
	for _, s := range sayings {
		if m := s.of.FindStringSubmatch(message); m != nil {
			return s.as(m[1:])
		}
	}
	return message
}

// sayings are the sentences of the library (expr-lang/expr 1.17, its parser, checker and vm/runtime) that people meet.
var sayings = []struct {
	of *regexp.Regexp
	as func(m []string) string
}{
	{regexp.MustCompile(`^unexpected (?:token EOF|end of expression)$`), func([]string) string { return "it ends too early" }},
	{regexp.MustCompile(`^unexpected token \w+\((.+)\)$`), func(m []string) string { return m[0] + " cannot stand there" }},
	{regexp.MustCompile(`^unrecognized character: \S+ '(.+)'$`), func(m []string) string { return `"` + m[0] + `" cannot stand there` }},
	{regexp.MustCompile(`^literal not terminated$`), func([]string) string { return "a text has no closing quotation mark" }},
	{regexp.MustCompile(`^bad number syntax: (.+)$`), func(m []string) string { return m[0] + " is no number" }},
	{regexp.MustCompile(`^expected bool, but got (\S+)$`), func(m []string) string { return "it is " + typeName(m[0]) + ", and has to be true or false" }},
	{regexp.MustCompile(`^expected string, but got (\S+)$`), func(m []string) string { return "it is " + typeName(m[0]) + ", and has to be a text" }},
	{regexp.MustCompile(`^invalid operation: (\S+) \(mismatched types (\S+) and (\S+)\)$`), func(m []string) string { return operator(m[0], m[1], m[2]) }},
	{regexp.MustCompile(`^invalid operation: (\S+) \(mismatched type (\S+)\)$`), func(m []string) string { return operator(m[0], m[1]) }},
	{regexp.MustCompile(`^invalid operation: (\S+) (\S+) (\S+)$`), func(m []string) string { return operator(m[1], m[0], m[2]) }},
	{regexp.MustCompile(`^invalid operation: - (\S+)$`), func(m []string) string { return operator("-", m[0]) }},
	{regexp.MustCompile(`^operator "in" not defined on (\S+)$`), func(m []string) string { return operator("in", m[0]) }},
	{regexp.MustCompile(`^invalid argument for len \(type (\S+)\)$`), func(m []string) string { return "len() does not take " + typeName(m[0]) }},
	{regexp.MustCompile(`^cannot fetch (.+) from (\S+)$`), func(m []string) string { return fmt.Sprintf("there is no %s in %s", m[0], typeName(m[1])) }},
}

// operator says that an operator is for other values.
func operator(name string, types ...string) string {
	if len(types) == 1 {
		return fmt.Sprintf("the operator %s does not take %s", name, typeName(types[0]))
	}
	return fmt.Sprintf("the operator %s does not take %s and %s", name, typeName(types[0]), typeName(types[1]))
}

// typeName is what a type of Go is called.
func typeName(of string) string {
	switch {
	case of == "string":
		return "a text"
	case of == "bool":
		return "true or false"
	case of == "<nil>", of == "nil":
		return "nothing"
	case strings.HasPrefix(of, "int"), strings.HasPrefix(of, "uint"), strings.HasPrefix(of, "float"):
		return "a number"
	case strings.HasPrefix(of, "[]"), of == "array":
		return "a list"
	case strings.HasPrefix(of, "map"):
		return "an object"
	}
	return of
}
