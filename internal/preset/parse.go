package preset

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/httpapi"
	"github.com/posthouse/posthouse/internal/limittext"
)

// longest is the longest file that is read, in bytes.
const longest = 256 << 10

var (
	presetName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`)
	fieldName  = regexp.MustCompile(`^[a-z][a-z0-9_]{0,30}$`)
)

// reader reads one file, and collects what is wrong with it.
type reader struct{ problems []posthouse.Problem }

func (r *reader) wrong(line int, path, format string, args ...any) {
	message := limittext.Said(format, args...)
	if line > 0 {
		message = "line " + strconv.Itoa(line) + ": " + message
	}
	r.problems = append(r.problems, posthouse.Problem{Path: path, Message: message})
}

// Parse reads a preset and its shapes. Every problem is reported at once, each with its line.
func Parse(text, shapes string) (*Preset, error) {
	p, err := parsePreset(text)
	if err != nil {
		return nil, err
	}
	if p.Shapes, err = parseShapes(p.Name, shapes); err != nil {
		return nil, err
	}
	p.ShapesText = shapes
	return p, nil
}

func parsePreset(text string) (*Preset, error) {
	r := &reader{}
	p := &Preset{Text: text, Config: map[string]any{}}
	if root := r.document(text); root != nil {
		r.preset(root, p)
	}
	if len(r.problems) == 0 {
		r.check(p, text)
	}
	return p, posthouse.Invalid("the preset cannot be used", r.problems)
}

// document is the one mapping that a file is.
func (r *reader) document(text string) *yaml.Node {
	if len(text) > longest {
		r.wrong(0, "file", "has %d bytes, at most %d are allowed", len(text), longest)
		return nil
	}
	d := yaml.NewDecoder(strings.NewReader(text))
	var doc, more yaml.Node
	if err := d.Decode(&doc); err != nil {
		r.wrong(0, "file", "cannot be read: %s", strings.TrimPrefix(err.Error(), "yaml: "))
		return nil
	}
	if err := d.Decode(&more); !errors.Is(err, io.EOF) {
		r.wrong(more.Line, "file", "holds more than one document")
		return nil
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		r.wrong(1, "file", "is not a mapping of names")
		return nil
	}
	return doc.Content[0]
}

// members calls the function of each key of a mapping, and reports those that have none, or stand twice.
func (r *reader) members(n *yaml.Node, path string, known map[string]func(n *yaml.Node, path string)) {
	if n.Kind != yaml.MappingNode {
		r.wrong(n.Line, path, "must be a mapping of names")
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		at := strings.TrimPrefix(path+"."+key.Value, ".")
		read, ok := known[key.Value]
		switch {
		case seen[key.Value]:
			r.wrong(key.Line, at, "stands twice")
		case !ok:
			var names []string
			for name := range known {
				names = append(names, name)
			}
			slices.Sort(names)
			r.wrong(key.Line, at, "%s; there are %s", channel.UnknownName("key", key.Value, names), strings.Join(names, ", "))
		default:
			read(n.Content[i+1], at)
		}
		seen[key.Value] = true
	}
}

// items calls a function for each item of a list.
func (r *reader) items(n *yaml.Node, path string, read func(n *yaml.Node, path string)) {
	if n.Kind != yaml.SequenceNode {
		r.wrong(n.Line, path, "must be a list")
		return
	}
	for i, item := range n.Content {
		read(item, fmt.Sprintf("%s[%d]", path, i))
	}
}

func (r *reader) text(to *string) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		if n.Kind != yaml.ScalarNode {
			r.wrong(n.Line, path, "must be a text")
			return
		}
		*to = n.Value
	}
}

func (r *reader) texts(to *[]string) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		r.items(n, path, func(n *yaml.Node, path string) {
			var one string
			r.text(&one)(n, path)
			*to = append(*to, one)
		})
	}
}

func (r *reader) whole(to *int) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		v, err := strconv.Atoi(n.Value)
		if n.Kind != yaml.ScalarNode || err != nil {
			r.wrong(n.Line, path, "must be a whole number")
			return
		}
		*to = v
	}
}

func (r *reader) truth(to *bool) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		v, err := strconv.ParseBool(n.Value)
		if n.Kind != yaml.ScalarNode || err != nil {
			r.wrong(n.Line, path, "must be true or false")
			return
		}
		*to = v
	}
}

func (r *reader) duration(to *posthouse.Duration) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		if n.Kind != yaml.ScalarNode || to.UnmarshalText([]byte(n.Value)) != nil {
			r.wrong(n.Line, path, "must be a duration such as 1s, 10m or 24h")
		}
	}
}

func (r *reader) preset(root *yaml.Node, p *Preset) {
	var group string
	r.members(root, "", map[string]func(*yaml.Node, string){
		"preset": r.text(&p.Name), "version": r.whole(&p.Version), "group": r.text(&group),
		"title": r.text(&p.Title), "title_zh": r.text(&p.TitleZH), "doc": r.text(&p.Doc), "doc_zh": r.text(&p.DocZH),
		"links": r.texts(&p.Links), "notes": r.texts(&p.Notes), "notes_zh": r.texts(&p.NotesZH), "unverified": r.texts(&p.Unverified), "unverified_zh": r.texts(&p.UnverifiedZH),
		"fields": func(n *yaml.Node, path string) {
			r.items(n, path, func(n *yaml.Node, path string) { p.Fields = append(p.Fields, r.field(n, path)) })
		},
		"limits": func(n *yaml.Node, path string) {
			r.items(n, path, func(n *yaml.Node, path string) { p.Limits = append(p.Limits, r.limit(n, path)) })
		},
		"config": func(n *yaml.Node, path string) { r.config(n, path, p.Config) },
	})
	p.Group = Group(group)
	if !presetName.MatchString(p.Name) {
		r.wrong(0, "preset", "is %q: want 1 to 63 of a-z, 0-9, - and _, the first a letter or digit", p.Name)
	}
	if p.Version < 1 {
		r.wrong(0, "version", "is %d: want 1, and more with each change", p.Version)
	}
	if !slices.Contains(Groups(), p.Group) {
		r.wrong(0, "group", "is %q: want one of %v", group, Groups())
	}
	for _, t := range []struct{ name, text string }{{"title", p.Title}, {"title_zh", p.TitleZH}, {"doc", p.Doc}, {"doc_zh", p.DocZH}} {
		if t.text == "" {
			r.wrong(0, t.name, "is missing")
		}
	}
	if len(p.UnverifiedZH) > 0 && len(p.Unverified) != len(p.UnverifiedZH) {
		r.wrong(0, "unverified_zh", "has %d notes, and unverified %d: each stands in both languages", len(p.UnverifiedZH), len(p.Unverified))
	}
	if len(p.Notes) != len(p.NotesZH) {
		r.wrong(0, "notes_zh", "has %d notes, and notes %d: each stands in both languages", len(p.NotesZH), len(p.Notes))
	}
}

func (r *reader) field(n *yaml.Node, path string) (f Field) {
	var kind, pattern string
	r.members(n, path, map[string]func(*yaml.Node, string){
		"name": r.text(&f.Name), "kind": r.text(&kind), "label": r.text(&f.Label), "label_zh": r.text(&f.LabelZH), "help": r.text(&f.Help),
		"help_zh": r.text(&f.HelpZH), "secret": r.truth(&f.Secret), "default": r.text(&f.Default), "example": r.text(&f.Example), "pattern": r.text(&pattern),
	})
	f.Kind = cmp.Or(Kind(kind), Text)
	if f.Kind == Hook {
		f.Secret = true
	}
	var err error
	if pattern != "" {
		if f.Pattern, err = regexp.Compile(`^(?:` + pattern + `)$`); err != nil {
			r.wrong(n.Line, path+".pattern", "cannot be read: %s", err)
		}
	}
	switch {
	case !fieldName.MatchString(f.Name), f.Name == OriginField:
		r.wrong(n.Line, path+".name", "is %q: want 1 to 31 of a-z, 0-9 and _, the first a letter, and not %s, which every preset has", f.Name, OriginField)
	case !slices.Contains([]Kind{Text, URL, Hook}, f.Kind):
		r.wrong(n.Line, path+".kind", "is %q: want text, url or hook", kind)
	case f.Label == "" || f.LabelZH == "":
		r.wrong(n.Line, path, "lacks its label or label_zh")
	case (f.Help == "") != (f.HelpZH == ""):
		r.wrong(n.Line, path, "has help in one language only")
	case f.Secret && f.Default != "":
		r.wrong(n.Line, path+".default", "is of a secret, which has none")
	case f.Default == "" && f.Example == "":
		r.wrong(n.Line, path+".example", "is missing: say what such a value looks like")
	case f.Example != "" && !f.takes(f.Example), f.Default != "" && !f.takes(f.Default):
		r.wrong(n.Line, path, "does not take its own example or default")
	}
	return f
}

func (r *reader) limit(n *yaml.Node, path string) (l Limit) {
	r.members(n, path, map[string]func(*yaml.Node, string){
		"max": r.whole(&l.Max), "per": r.duration(&l.Per), "of": r.text(&l.Of), "source": r.text(&l.Source), "date": r.text(&l.Date), "unverified": r.truth(&l.Unverified),
	})
	l.Of = cmp.Or(l.Of, "channel")
	switch {
	case l.Max < 1 || l.Per.Std() <= 0:
		r.wrong(n.Line, path, "lacks max or per")
	case !slices.Contains([]string{"channel", "recipient"}, l.Of):
		r.wrong(n.Line, path+".of", "is %q: want channel or recipient", l.Of)
	case l.Source == "" || l.Date == "":
		r.wrong(n.Line, path, "lacks its source or its date: say who states it, and when")
	}
	return l
}

// config reads the driver's fields, each as its kind wants it.
func (r *reader) config(n *yaml.Node, path string, into map[string]any) {
	known := map[string]func(*yaml.Node, string){}
	for _, f := range httpapi.Type().Fields {
		known[f.Name] = func(n *yaml.Node, path string) {
			if v, ok := r.setting(n, path, f.Kind); ok {
				into[f.Name] = v
			}
		}
	}
	for _, name := range []string{"secrets", "values"} {
		known[name] = func(n *yaml.Node, path string) {
			r.wrong(n.Line, path, "are what the user gives: name them in fields")
		}
	}
	r.members(n, path, known)
}

func (r *reader) setting(n *yaml.Node, path string, kind channel.Kind) (any, bool) {
	switch kind {
	case channel.KindMap, channel.KindSecrets:
		out := map[string]any{}
		if n.Kind != yaml.MappingNode {
			r.wrong(n.Line, path, "must be a mapping of names to texts")
			return nil, false
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			var text string
			r.text(&text)(n.Content[i+1], path+"."+n.Content[i].Value)
			out[n.Content[i].Value] = text
		}
		return out, true
	case channel.KindList:
		var list []string
		r.texts(&list)(n, path)
		out := make([]any, len(list))
		for i, text := range list {
			out[i] = text
		}
		return out, true
	case channel.KindInt:
		var v int
		r.whole(&v)(n, path)
		return v, true
	case channel.KindBool:
		var v bool
		r.truth(&v)(n, path)
		return v, true
	}
	var text string
	r.text(&text)(n, path)
	return text, true
}

// check fills the preset with its own examples: what the driver refuses then is wrong in the file, and its line is named.
func (r *reader) check(p *Preset, text string) {
	config, problems := p.Fill(p.Examples(), nil)
	if _, more := httpapi.Type().Validate(config); len(more) > 0 {
		problems = append(problems, more...)
	}
	lines := linesOf(text)
	for _, one := range problems {
		r.wrong(lines.of(one.Path), one.Path, "%s", one.Message)
	}
}

// Examples are the fields with their examples.
func (p *Preset) Examples() map[string]string {
	given := map[string]string{}
	for _, f := range p.Fields {
		given[f.Name] = cmp.Or(f.Example, f.Default)
	}
	return given
}

// lineTable is the line of each key of a file, by its path.
type lineTable map[string]int

func linesOf(text string) lineTable {
	t := lineTable{}
	var doc yaml.Node
	if yaml.NewDecoder(bytes.NewReader([]byte(text))).Decode(&doc) == nil && len(doc.Content) == 1 {
		t.add(doc.Content[0], "")
	}
	return t
}

func (t lineTable) add(n *yaml.Node, path string) {
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		at := strings.TrimPrefix(path+"."+n.Content[i].Value, ".")
		t[at] = n.Content[i].Line
		t.add(n.Content[i+1], at)
	}
}

// of is the line of a path, or of what it is below.
func (t lineTable) of(path string) int {
	for path != "" {
		if line, ok := t[path]; ok {
			return line
		}
		path = path[:max(0, strings.LastIndexByte(path, '.'))]
	}
	return 0
}
