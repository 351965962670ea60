package shell

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/posthouse/posthouse/internal/config"
)

// ReadFields reads a file's one map from YAML, or from JSON, which is YAML too.
func (sh *Shell) ReadFields(path string) (map[string]any, error) {
	b, err := sh.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if path == "-" {
		path = "standard input"
	}
	var document yaml.Node
	if err := yaml.Unmarshal(b, &document); err != nil {
		return nil, Usagef("%s: it is neither YAML nor JSON: %s", path, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if document.Kind == 0 {
		return nil, Usagef("%s: it is empty", path)
	}
	plain, err := plainOf(&document)
	if err != nil {
		return nil, Usagef("%s: %w", path, err)
	}
	out, ok := plain.(map[string]any)
	if !ok {
		return nil, Usagef("%s: it must be a map of fields, such as driver: httpapi", path)
	}
	return out, nil
}

// plainOf is a node as JSON has it: keys are always texts, so that 0: ok names a code, and so are
// dates.
func plainOf(n *yaml.Node) (any, error) {
	switch n.Kind {
	case yaml.DocumentNode:
		return plainOf(n.Content[0])
	case yaml.AliasNode:
		return nil, fmt.Errorf("line %d: aliases are not read", n.Line)
	case yaml.SequenceNode:
		out := []any{}
		for _, member := range n.Content {
			v, err := plainOf(member)
			if err != nil {
				return nil, err
			}
			out = append(out, v)
		}
		return out, nil
	case yaml.MappingNode:
		out := map[string]any{}
		for i := 0; i < len(n.Content); i += 2 {
			key := n.Content[i].Value
			if _, twice := out[key]; twice {
				return nil, fmt.Errorf("line %d: %s is there twice", n.Content[i].Line, key)
			}
			v, err := plainOf(n.Content[i+1])
			if err != nil {
				return nil, err
			}
			out[key] = v
		}
		return out, nil
	}
	if n.Tag == "!!timestamp" {
		return n.Value, nil
	}
	var v any
	err := n.Decode(&v)
	return v, err
}

// PrintYAML prints a value under its JSON names.
func (sh *Shell) PrintYAML(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	var node yaml.Node // JSON is YAML: so the order of the names stays
	if err := yaml.Unmarshal(config.PrintableJSON(text), &node); err != nil {
		return err
	}
	blockStyle(&node)
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := errors.Join(encoder.Encode(&node), encoder.Close()); err != nil {
		return err
	}
	_, err = sh.Out.Write(config.PrintableJSON(out.Bytes()))
	return err
}

func blockStyle(n *yaml.Node) {
	n.Style &^= yaml.FlowStyle | yaml.DoubleQuotedStyle
	switch {
	case n.Kind != yaml.ScalarNode:
	case config.Printable(n.Value) != strings.NewReplacer("\n", `\n`, "\t", " ").Replace(n.Value):
		n.Style = yaml.DoubleQuotedStyle // escapes are read in quotes alone
	case strings.Contains(n.Value, "\n"):
		n.Style = yaml.LiteralStyle
	}
	for _, child := range n.Content {
		blockStyle(child)
	}
}
