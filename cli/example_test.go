package cli_test

import (
	"context"
	"fmt"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/builtin"
	"github.com/posthouse/posthouse/cli"
)

// A pager of the house, as a driver of one's own.
type pager struct{}

func (pager) Send(_ context.Context, out channel.Outgoing) channel.Result {
	fmt.Println("beep", out.Recipient.Address)
	return channel.Result{Class: posthouse.ClassOK}
}

// A main of one's own has the drivers that ship and one more, and with them every command and flag of posthouse.
func Example() {
	own := channel.Type{
		Name: "pager", Title: "Pager",
		Doc:  "Beeps.",
		Open: func(channel.Config, channel.Env) (channel.Driver, error) { return pager{}, nil },
	}
	cli.Main(cli.Options{Drivers: append(builtin.Types(), own), Version: "1.0-pager"})
}
