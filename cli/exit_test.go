package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// What is typed wrong ends with exit code 2 at every command, before anything is done: an argument too many or too few, a required flag that
// is not there, two flags of which one excludes the other.
func TestUsageMistakesExitWithTwo(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		for _, below := range cmd.Commands() {
			visit(below)
		}
		path := strings.Fields(cmd.CommandPath())[1:]
		if len(path) == 0 {
			return
		}
		for mistake, args := range mistakesAt(cmd) {
			seen[mistake]++
			args = append(slices.Clone(path), args...)
			if text, code := ran(t, nil, args...); code != 2 {
				t.Errorf("%s: %v ends with exit code %d, want 2\n%s", mistake, args, code, text)
			}
		}
	}
	visit(root((Options{}).shell()))
	if seen["too many"] < 130 || seen["too few"] < 50 || seen["no required flag"] < 1 || seen["flags at odds"] < 2 {
		t.Errorf("that is not all commands: %v", seen)
	}
}

// mistakesAt are what a person may type wrong at a command.
func mistakesAt(cmd *cobra.Command) map[string][]string {
	out := map[string][]string{}
	words := strings.Fields(cmd.Use)[1:]
	if !strings.Contains(cmd.Use, "...") && !strings.Contains(cmd.Use, "…") {
		out["too many"] = slices.Repeat([]string{"nix"}, len(words)+2)
	}
	if len(words) > 0 && !cmd.HasSubCommands() && words[0] == strings.ToUpper(words[0]) && !strings.HasPrefix(words[0], "[") && !strings.HasPrefix(words[0], "(") {
		out["too few"] = nil
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Annotations[cobra.BashCompOneRequiredFlag] != nil {
			out["no required flag"] = slices.Repeat([]string{"nix"}, len(words))
		}
		for _, group := range f.Annotations["cobra_annotation_mutually_exclusive"] {
			out["flags at odds"] = nil
			for name := range strings.FieldsSeq(group) {
				value := "=x"
				if cmd.Flags().Lookup(name).Value.Type() == "bool" {
					value = ""
				}
				out["flags at odds"] = append(out["flags at odds"], "--"+name+value)
			}
		}
	})
	return out
}
