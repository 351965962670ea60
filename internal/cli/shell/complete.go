package shell

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/client"
)

// Lister asks a server for names that the user's shell can complete.
type Lister func(ctx context.Context, c *client.Client) ([]string, error)

// completeWait bounds what a user's shell waits for: it is better to offer nothing.
const completeWait = 2 * time.Second

// Complete offers names of the server's. With commas before, it completes the last of a list.
func (sh *Shell) Complete(list Lister) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		c, err := sh.Dial(cmd)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completeWait)
		defer cancel()
		names, err := list(ctx, c)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return Matching(names, typed), cobra.ShellCompDirectiveNoFileComp
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
