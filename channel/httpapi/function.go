package httpapi

import (
	"crypto/hmac"
	"crypto/md5" //nolint:gosec // providers ask for it; it protects nothing of ours
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/posthouse/posthouse/internal/render"
)

// function makes a text of texts. It keeps nothing and calls nobody.
type function struct {
	least, most int // arguments; most defaults to mostArguments
	of          func(args []string) string
	bytes       bool // the result is bytes, which stand in no text by themselves
	passes      bool // the result is bytes where an argument is
	texts       bool // takes texts alone
	whole       bool // takes a secret or a value alone, and is the whole placeholder
}

// functions are what a placeholder may call. All but hmac_sha256, whose first argument is the key, take their arguments joined.
var functions = map[string]function{
	"sha256": {least: 1, bytes: true, of: func(a []string) string {
		sum := sha256.Sum256([]byte(joined(a)))
		return string(sum[:])
	}},
	"md5": {least: 1, bytes: true, of: func(a []string) string {
		sum := md5.Sum([]byte(joined(a))) //nolint:gosec // as above
		return string(sum[:])
	}},
	"hmac_sha256": {least: 2, bytes: true, of: func(a []string) string {
		mac := hmac.New(sha256.New, []byte(a[0]))
		mac.Write([]byte(joined(a[1:])))
		return string(mac.Sum(nil))
	}},
	"base64":    {least: 1, of: func(a []string) string { return base64.StdEncoding.EncodeToString([]byte(joined(a))) }},
	"hex":       {least: 1, of: func(a []string) string { return hex.EncodeToString([]byte(joined(a))) }},
	"urlencode": {least: 1, of: func(a []string) string { return url.QueryEscape(joined(a)) }},
	"json":      {least: 1, texts: true, of: func(a []string) string { return string(render.JSONValue.Append(nil, joined(a))) }},
	"join":      {least: 1, passes: true, of: joined},
	"lines":     {least: 1, texts: true, of: lines},
	"raw":       {least: 1, most: 1, texts: true, whole: true, of: joined},
}

func joined(args []string) string { return strings.Join(args, "") }

// lines are the texts that are not empty, each on a line of its own.
func lines(args []string) string {
	return strings.Join(slices.DeleteFunc(args, func(s string) bool { return s == "" }), "\n")
}

func functionNames() []string { return slices.Collect(maps.Keys(functions)) }

// call is a function with its arguments.
type call struct {
	name     string
	function function
	args     []part
}

// text calls the function.
func (c *call) text(s *scope) (string, error) {
	texts, size := make([]string, len(c.args)), 0
	for i, a := range c.args {
		var err error
		if texts[i], err = a.text(s); err != nil {
			return "", err
		}
		if size += len(texts[i]); size > render.MaxOutput {
			return "", fmt.Errorf("%s() is given more than %d bytes", c.name, render.MaxOutput)
		}
	}
	return c.function.of(texts), nil
}

// bytes reports whether a part is bytes, and no text.
func (p part) bytes() bool {
	if p.call == nil {
		return false
	}
	return p.call.function.bytes || p.call.function.passes && slices.ContainsFunc(p.call.args, part.bytes)
}

// leaves are the names that a part is made of.
func (p part) leaves() []part {
	if p.call == nil {
		return []part{p}
	}
	var list []part
	for _, a := range p.call.args {
		list = append(list, a.leaves()...)
	}
	return list
}
