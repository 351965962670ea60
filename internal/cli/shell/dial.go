package shell

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/config"
)

// Calling gives a command, or all of a group, the flags that say which server it calls.
func Calling(cmd *cobra.Command) *cobra.Command {
	config.AddClientFlags(cmd.PersistentFlags())
	return cmd
}

// Dial makes the client of a command's server.
func (sh *Shell) Dial(cmd *cobra.Command) (*client.Client, error) {
	c, err := config.LoadClient(sh.Sources(cmd))
	if err != nil {
		return nil, Usagef("%w", err)
	}
	out, err := client.New(client.Options{URL: c.URL, Key: c.Key})
	if err != nil {
		return nil, Usagef("%w", err)
	}
	return out, nil
}

// Over makes the RunE of a command that calls the server with its arguments.
func (sh *Shell) Over(do func(ctx context.Context, c *client.Client, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		c, err := sh.Dial(cmd)
		if err != nil {
			return err
		}
		return do(cmd.Context(), c, args)
	}
}

// Done says what was done to a thing.
func (sh *Shell) Done(name, what string) error {
	return sh.Show(map[string]string{"name": name, "result": what}, func() { sh.Printf("%s: %s\n", name, what) })
}
