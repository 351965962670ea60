package shell

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/shellword"
)

// Lister asks a server for names that the user's shell can complete.
type Lister func(ctx context.Context, c *client.Client) ([]string, error)

// completeWait bounds what a user's shell waits for: it is better to offer nothing.
const completeWait = 2 * time.Second

// Complete offers names of the server's. With commas before, it completes the last of a list.
func (sh *Shell) Complete(list Lister) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return Matching(sh.listed(cmd, list), typed), cobra.ShellCompDirectiveNoFileComp
	}
}

// listed are the names that the server lists to the key of a command, none where it does not answer soon.
func (sh *Shell) listed(cmd *cobra.Command, list Lister) []string {
	c, err := sh.Dial(cmd)
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completeWait)
	defer cancel()
	names, err := list(ctx, c)
	if err != nil {
		return nil
	}
	return names
}

// Suggest has a command whose first argument or flags name what the server does not know say which names are near, of those that it lists to the
// same key. The first argument has no list where it names something else.
func (sh *Shell) Suggest(cmd *cobra.Command, first Lister, flags map[string]Lister) {
	run := cmd.RunE
	if run == nil {
		return
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		err := run(cmd, args)
		if err == nil {
			return nil
		}
		code := posthouse.CodeOf(err)
		if code == posthouse.CodeNotFound && first != nil && len(args) > 0 {
			if near := sh.near(cmd, args[0], first); len(near) > 0 {
				return Hint(err, didYouMean(near))
			}
		}
		if code != posthouse.CodeNotFound && code != posthouse.CodeInvalid {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(flags)) {
			flag := cmd.Flags().Lookup(name)
			if flag == nil || !flag.Changed || flag.Value.Type() != "string" || !strings.Contains(err.Error(), flag.Value.String()) { // another's mistake
				continue
			}
			if near := sh.near(cmd, flag.Value.String(), flags[name]); len(near) > 0 {
				for i := range near {
					near[i] = "--" + name + " " + near[i]
				}
				return Hint(err, didYouMean(near))
			}
		}
		return err
	}
}

func didYouMean(near []string) string { return "did you mean " + strings.Join(near, " or ") + "?" }

// near are the names that are near one that is not among those of a list.
func (sh *Shell) near(cmd *cobra.Command, name string, list Lister) []string {
	names := sh.listed(cmd, list)
	for i := range names {
		names[i], _, _ = strings.Cut(names[i], "\t") // what a shell shows beside it
	}
	if slices.Contains(names, name) {
		return nil
	}
	near := channel.Nearest(name, names)
	for i := range near {
		near[i] = shellword.Quote(near[i]) // it is copied
	}
	return near
}

// Matching are the names that begin as what was typed after its last comma, with what stands before that.
func Matching(names []string, typed string) []cobra.Completion {
	before := typed[:strings.LastIndex(typed, ",")+1]
	var out []cobra.Completion
	for _, name := range names {
		if strings.HasPrefix(name, typed[len(before):]) {
			out = append(out, before+name)
		}
	}
	return out
}
