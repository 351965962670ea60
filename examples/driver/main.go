// Command driver is posthouse with a driver of one's own, a pager: a main of a few lines has every command, flag
// and exit code of ours. Try it:
//
//	go run ./examples/driver channel drivers pager
//	go run ./examples/driver serve
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/builtin"
	"github.com/posthouse/posthouse/cli"
)

func main() {
	cli.Main(cli.Options{Drivers: append(builtin.Types(), pagerType(os.Stderr)), Version: "1.0-pager"})
}

// pagerType describes the driver.
func pagerType(out io.Writer) channel.Type {
	return channel.Type{
		Name: "pager", Title: "Pager", Doc: "Beeps.",
		Open: func(channel.Config, channel.Env) (channel.Driver, error) { return pager{out}, nil },
	}
}

type pager struct{ out io.Writer }

// Send beeps.
func (p pager) Send(_ context.Context, out channel.Outgoing) channel.Result {
	if _, err := fmt.Fprintln(p.out, "beep", out.Recipient.Address); err != nil {
		return channel.Result{Class: posthouse.ClassTransient, Error: err.Error()}
	}
	return channel.Result{Class: posthouse.ClassOK}
}
