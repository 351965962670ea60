package main

import "github.com/posthouse/posthouse/cli"

// Set by the build: -ldflags "-X main.version=0.1.0 -X main.commit=1d3de335 -X main.date=2026-11-27T00:00:00Z".
var version, commit, date string

func main() { cli.Main(cli.Options{Version: version, Commit: commit, Date: date}) }
