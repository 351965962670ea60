package main

import (
	"runtime"

	"github.com/spf13/cobra"
)

func (p *program) version() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: takes(),
		RunE: func(*cobra.Command, []string) error {
			out := map[string]string{"version": version, "go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH}
			return p.show(out, func() { p.printf("posthouse %s (%s, %s)\n", version, out["go"], out["platform"]) })
		},
	}
}
