package main

import (
	"context"
	"os"
	_ "time/tzdata" // rosters have time zones, and a small machine may have none

	"github.com/mattn/go-isatty"
)

// version is set by the build: -ldflags "-X main.version=v1.2.3".
var version = "dev"

func main() {
	p := &program{
		in: os.Stdin, out: os.Stdout, err: os.Stderr, environ: os.Environ(),
		terminal:    isatty.IsTerminal(os.Stdout.Fd()),
		errTerminal: isatty.IsTerminal(os.Stderr.Fd()),
	}
	os.Exit(p.run(context.Background(), os.Args[1:]))
}
