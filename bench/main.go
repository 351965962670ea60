// Command bench measures our engine beside its peers: River, Asynq and backlite do the
// same work on the same machine in one interleaved run, each trial in a process of its
// own, and what counts is the ratio of two rates that were taken minutes apart at most.
// It also measures what only we promise: an old snapshot, millions of finished rows, a
// steady 10,000 messages a second, and the idle program.
//
// It starts its own databases, in their durable settings, and its own sink.
// docs/benchmarks.md keeps dated results.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"time"
)

// options are the flags.
type options struct {
	databases []string
	only      string
	quick     bool
	rounds    int
	json      string
	profiles  string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})))
	err := start(ctx, os.Args[1:])
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func start(ctx context.Context, args []string) error {
	if len(args) > 0 && args[0] == trialCommand {
		return child(ctx, os.Stdin, os.Stdout)
	}
	o, err := parse(args)
	if err != nil {
		return err
	}
	return bench(ctx, o)
}

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	databases := flags.String("databases", "sqlite,postgres,mariadb,redis", "where queues are kept, comma-separated")
	flags.StringVar(&o.only, "only", "", "measure only what has one of these words in its name, comma-separated, such as drain")
	flags.BoolVar(&o.quick, "quick", false, "a short run: fewer rounds, cells and peers")
	flags.IntVar(&o.rounds, "rounds", 0, "how many rounds of each cell: 5, or 1 with -quick")
	flags.StringVar(&o.json, "json", "", "a file that all results go to as JSON")
	flags.StringVar(&o.profiles, "profiles", "", "a directory that CPU profiles of our own trials go to")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	o.databases = strings.Split(*databases, ",")
	if o.rounds == 0 {
		o.rounds = 5
		if o.quick {
			o.rounds = 1
		}
	}
	return o, nil
}

// wants reports whether a cell of this name is to be measured.
func (o options) wants(name string) bool {
	for word := range strings.SplitSeq(o.only, ",") {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}

func bench(ctx context.Context, o options) (err error) {
	begun := time.Now()
	h, err := open(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	results := results{Machine: machine(), Date: begun.UTC().Format(time.RFC3339), Quick: o.quick}
	fmt.Fprintln(os.Stderr, results.Machine)
	for n := range o.rounds {
		if err := h.round(ctx, n+1, &results); err != nil {
			return errors.Join(err, results.write(o))
		}
	}
	results.Took = time.Since(begun).Round(time.Second).String()
	return results.write(o)
}
