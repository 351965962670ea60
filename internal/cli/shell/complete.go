package shell

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/client"
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

// Suggest has a command whose first argument names what the server does not know say which names are near, of those that it lists to the same key.
func (sh *Shell) Suggest(cmd *cobra.Command, list Lister) {
	run := cmd.RunE
	if run == nil {
		return
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		err := run(cmd, args)
		if err == nil || len(args) == 0 || posthouse.CodeOf(err) != posthouse.CodeNotFound {
			return err
		}
		names := sh.listed(cmd, list)
		for i := range names {
			names[i], _, _ = strings.Cut(names[i], "\t") // what a shell shows beside it
		}
		if near := channel.Nearest(args[0], names); len(near) > 0 && !slices.Contains(names, args[0]) {
			return Hint(err, "did you mean "+strings.Join(near, " or ")+"?")
		}
		return err
	}
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
