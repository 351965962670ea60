package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
)

// readFile reads the YAML file: one map of settings to texts, numbers, truths, or lists of them.
func readFile[T any](table []setting[T], path string) (layer, []posthouse.Problem) {
	if path == "" {
		return nil, nil
	}
	refuse := func(format string, args ...any) (layer, []posthouse.Problem) {
		return nil, []posthouse.Problem{{Path: path, Message: fmt.Sprintf(format, args...)}}
	}
	f, err := os.Open(path)
	if err != nil {
		return refuse("the file cannot be read; %s", unreadable(err))
	}
	defer f.Close()
	var document yaml.Node
	decoder := yaml.NewDecoder(f)
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return refuse("it is not YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return refuse("it holds more than one document; one is allowed")
	}
	if root := document.Content[0]; root.Kind == yaml.MappingNode {
		return readSettings(table, path, root)
	} else if root.Tag != "!!null" {
		return refuse("it must be a map of settings, such as addr: 127.0.0.1:8080")
	}
	return nil, nil
}

func readSettings[T any](table []setting[T], path string, root *yaml.Node) (layer, []posthouse.Problem) {
	known := make([]string, len(table))
	for i, s := range table {
		known[i] = s.name
	}
	out := layer{}
	var problems []posthouse.Problem
	for i := 0; i < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		at := fmt.Sprintf("%s:%d: %s", path, key.Line, key.Value)
		wrong := func(message string) {
			problems = append(problems, posthouse.Problem{Path: at, Message: message})
		}
		text, ok := scalar(value)
		switch {
		case !slices.Contains(known, key.Value):
			wrong(channel.UnknownName("setting", key.Value, known))
		case out[key.Value].at != "":
			wrong("it is there twice")
		case !ok:
			wrong("it must be one value, or a list of values")
		default:
			out[key.Value] = given{text, at}
		}
	}
	return out, problems
}

// scalar is a value's text; the members of a list are joined by commas, null is empty.
func scalar(n *yaml.Node) (string, bool) {
	switch {
	case n.Kind == yaml.AliasNode:
		return scalar(n.Alias)
	case n.Kind == yaml.ScalarNode && n.Tag == "!!null":
		return "", true
	case n.Kind == yaml.ScalarNode:
		return n.Value, true
	case n.Kind != yaml.SequenceNode:
		return "", false
	}
	parts := make([]string, len(n.Content))
	for i, member := range n.Content {
		if member.Kind != yaml.ScalarNode {
			return "", false
		}
		parts[i] = member.Value
	}
	return strings.Join(parts, ","), true
}
