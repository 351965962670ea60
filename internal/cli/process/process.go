// Package process has the command that lists the processes of a database. It calls a server through package client, as package remote's do.
package process

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/wire"
)

// Commands are the commands in the order that the help shows them.
func Commands(sh *shell.Shell) []*cobra.Command {
	return []*cobra.Command{sh.Calling(&cobra.Command{
		Use: "processes", Short: "List the processes that work on the database, with version, epoch and keyring", Args: shell.Takes(),
		Long: `List the processes that work on the server's database: version, epoch, newest key and fingerprint of the keyring, since when,
and when each last said that it is there. One that ended without a word is listed as gone for a day.`,
		RunE: sh.Over(func(ctx context.Context, c *client.Client, _ []string) error {
			list, err := c.Processes.List(ctx)
			if err != nil {
				return err
			}
			return sh.Show(list, func() {
				var rows [][]string
				for _, p := range list {
					rows = append(rows, []string{p.ID, p.Version, strconv.FormatInt(p.Epoch, 10), p.Key + " " + p.Keyring, sh.At(p.StartedAt), sh.At(p.SeenAt), stateOf(sh, p)})
				}
				sh.Table([]string{"Process", "Version", "Epoch", "Keyring", "Started", "Seen", "State"}, rows)
			})
		}),
	})}
}

// stateOf is what is to be said of a process, in words.
func stateOf(sh *shell.Shell, p wire.Process) string {
	words := []string{sh.Text("there")}
	if p.Gone {
		words = []string{sh.Text("gone")}
	}
	if p.AcceptOnly {
		words = append(words, sh.Text("accepts only"))
	}
	if p.Stale {
		words = append(words, sh.Text("outlived a restore"))
	}
	if p.Untrusted {
		words = append(words, sh.Text("behind a proxy that it does not trust"))
	}
	return strings.Join(words, ", ")
}
