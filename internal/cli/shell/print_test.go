package shell

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode"

	"go.yaml.in/yaml/v3"

	"github.com/posthouse/posthouse"
)

// evil turns the direction of writing, ends a line, colours what follows and moves the cursor by a control of one byte.
const evil = "a\u202eb\u2028c\x1b[31md\u009b2J\nend"

func TestNothingOthersWroteCommandsATerminal(t *testing.T) {
	t.Parallel()
	value := map[string]any{"name": evil, "list": []string{evil, "plain"}}
	for name, print := range map[string]func(sh *Shell) error{
		"text": func(sh *Shell) error {
			sh.Printf("%s: %s %v\n", evil, posthouse.State(evil), errors.New(evil))
			return nil
		},
		"fields": func(sh *Shell) error { sh.Fields([2]string{"name", evil}); return nil },
		"table":  func(sh *Shell) error { sh.Table([]string{"Name"}, [][]string{{evil}}); return nil },
		"json":   func(sh *Shell) error { return sh.PrintJSON(value) },
		"yaml":   func(sh *Shell) error { return sh.PrintYAML(value) },
		"fault":  func(sh *Shell) error { sh.Exit(Hint(errors.New(evil), evil)); return nil },
		"fault as JSON": func(sh *Shell) error {
			sh.JSON = true
			sh.Exit(Hint(errors.New(evil), evil))
			return nil
		},
	} {
		var out bytes.Buffer
		if err := print(&Shell{Out: &out, Err: &out}); err != nil {
			t.Fatal(err)
		}
		if i := strings.IndexFunc(out.String(), func(r rune) bool {
			return r != '\n' && (unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp))
		}); i >= 0 || out.Len() == 0 {
			t.Errorf("%s: got %q", name, out.String())
		}
		var again struct{ Name string }
		switch name {
		case "json":
			if err := json.Unmarshal(out.Bytes(), &again); err != nil || again.Name != evil {
				t.Errorf("json: read back as %q, %v", again.Name, err)
			}
		case "yaml":
			if err := yaml.Unmarshal(out.Bytes(), &again); err != nil || again.Name != evil {
				t.Errorf("yaml: read back as %q, %v", again.Name, err)
			}
		}
	}
}
