package local

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/internal/cli/columns"
	"github.com/posthouse/posthouse/internal/cli/demo"
	"github.com/posthouse/posthouse/internal/cli/shell"
)

func demoCommand(sh *shell.Shell) *cobra.Command {
	var o demo.Options
	cmd := &cobra.Command{
		Use: "demo", Short: "Show it: a server, played providers, messages in every way, and what became of each",
		Long: `Start a server on an embedded database and the provider simulator, both on this machine only; send
messages in every way there is; print what became of each recipient; and stay, to be tried.`,
		Args: shell.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Lang != "en" && o.Lang != "zh" {
				return shell.Usagef("--lang: %q is not a language of the demo; en and zh are", o.Lang)
			}
			ports := []struct {
				flag string
				addr *string
			}{{"addr", &o.Addr}, {"simulator-addr", &o.SimulatorAddr}}
			for _, port := range ports {
				switch {
				case cmd.Flags().Changed(port.flag):
				case o.Once:
					*port.addr = ""
				default:
					*port.addr = demo.Vacant(*port.addr)
				}
			}
			o.Out, o.Terminal, o.JSON, o.Version = sh.Out, sh.Terminal, sh.JSON, sh.Version
			o.Command = os.Args[0]
			o.Table = func(head []string, rows [][]string) string {
				return columns.Text(head, rows, columns.Options{Rule: true, Bold: sh.Terminal})
			}
			ctx, release := untilSignal(cmd.Context())
			defer release()
			return demo.Run(ctx, o)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&o.Once, "once", false, "end when everything is settled; on free ports and in a temporary folder")
	flags.StringVar(&o.Addr, "addr", "127.0.0.1:8080", "where the server listens, `HOST:PORT` (a free port where this one is taken)")
	flags.StringVar(&o.SimulatorAddr, "simulator-addr", "127.0.0.1:8090", "where the simulator listens, `HOST:PORT` (likewise)")
	flags.StringVar(&o.Dir, "dir", "", "a `FOLDER` that keeps the database and the log (default a temporary one)")
	flags.StringVar(&o.Lang, "lang", "en", "the `LANGUAGE`: en or zh")
	return cmd
}
