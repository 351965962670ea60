// Command driver is posthouse with a driver and a rule of one's own, a pager that is quiet at night: a main of a few lines
// has every command, flag and exit code of ours. Try it:
//
//	go run ./examples/driver channel drivers pager
//	go run ./examples/driver serve
//
// A channel with {"rules": [{"type": "quiet", "options": {"until": "7"}}]} beeps from seven o'clock on.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/builtin"
	"github.com/posthouse/posthouse/cli"
	"github.com/posthouse/posthouse/rule"
)

func main() {
	cli.Main(cli.Options{Drivers: append(builtin.Types(), pagerType(os.Stderr)), Rules: append(rule.Types(), quietType()), Version: "1.0-pager"})
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

// quietType describes the rule.
func quietType() rule.Type {
	return rule.Type{
		Name: "quiet", Title: "Quiet nights", Doc: "Tells nobody before an hour of the morning.",
		Open: func(s posthouse.RuleSettings, env rule.Env) (rule.Rule, []posthouse.Problem) {
			until, err := strconv.Atoi(s.Options["until"])
			if err != nil || until < 1 || until > 12 {
				return nil, []posthouse.Problem{{Path: "options.until", Message: "want an hour of the morning from 1 to 12"}}
			}
			zone, err := time.LoadLocation(env.TimeZone)
			if err != nil {
				return nil, []posthouse.Problem{{Path: "options", Message: err.Error()}}
			}
			return quiet{until, zone}, nil
		},
	}
}

type quiet struct {
	until int
	zone  *time.Location
}

// Judge defers to the morning.
func (q quiet) Judge(_ context.Context, s rule.Subject) (rule.Verdict, error) {
	at := s.Now.In(q.zone)
	if at.Hour() >= q.until {
		return rule.Verdict{}, nil
	}
	morning := time.Date(at.Year(), at.Month(), at.Day(), q.until, 0, 0, 0, q.zone)
	return rule.Verdict{Decision: rule.Defer, Until: morning, Reason: "quiet_night", Detail: "nobody is told before the morning"}, nil
}
