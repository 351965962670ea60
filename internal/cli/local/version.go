package local

import (
	"cmp"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/internal/store/schema"
)

// built is what a program says of itself.
type built struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Date     string `json:"date,omitempty"` // of the commit
	Schema   int64  `json:"schema"`         // that this binary makes
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func versionCommand(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version, the commit, and which version of the schema it makes", Args: shell.Takes(),
		RunE: func(*cobra.Command, []string) error {
			newest, err := schema.Newest()
			if err != nil {
				return err
			}
			b := built{sh.Version, sh.Commit, sh.Date, newest, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
			return sh.Show(b, func() {
				sh.Printf("posthouse %s (%s, %s)\n", b.Version, b.Go, b.Platform)
				sh.Printf("commit  %s %s\nschema  %d\n", cmp.Or(b.Commit, sh.Text("unknown")), b.Date, b.Schema)
			})
		},
	}
}
