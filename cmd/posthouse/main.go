package main

import "github.com/posthouse/posthouse/cli"

// version is set by the build: -ldflags "-X main.version=v1.2.3".
var version = "dev"

func main() { cli.Main(cli.Options{Version: version}) }
