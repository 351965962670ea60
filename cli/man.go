package cli

import (
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/posthouse/posthouse/internal/cli/shell"
)

// manCommand writes the manual pages, which make install puts in their place.
func manCommand() *cobra.Command {
	return &cobra.Command{
		Use: "man FOLDER", Short: "Write the manual pages, one a command", Args: shell.Takes("FOLDER"),
		Example: "  posthouse man ~/.local/share/man/man1",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil { //nolint:gosec // manual pages are for everybody
				return err
			}
			return doc.GenManTree(cmd.Root(), &doc.GenManHeader{Title: "POSTHOUSE", Section: "1", Source: "Posthouse", Manual: "Posthouse"}, args[0])
		},
	}
}
