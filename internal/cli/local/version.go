package local

import (
	"runtime"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/internal/cli/shell"
)

func versionCommand(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: shell.Takes(),
		RunE: func(*cobra.Command, []string) error {
			out := map[string]string{"version": sh.Version, "go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH}
			return sh.Show(out, func() { sh.Printf("posthouse %s (%s, %s)\n", sh.Version, out["go"], out["platform"]) })
		},
	}
}
