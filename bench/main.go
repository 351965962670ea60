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
	"math"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/posthouse/posthouse/bench/peers/posthouse"
	"github.com/posthouse/posthouse/bench/trial"
	"github.com/posthouse/posthouse/internal/machine"
)

// options are the flags.
type options struct {
	databases []string
	only      string
	who       string
	scale     float64
	finished  int
	members   int
	quick     bool
	rounds    int
	json      string
	profiles  string
	keep      string
	markdown  bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
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
		return trial.Serve(ctx, libraries(), os.Stdin, os.Stdout)
	}
	if len(args) == 2 && args[0] == processCommand {
		return posthouse.Process(ctx, args[1], os.Stdin, os.Stdout)
	}
	if len(args) == 3 && args[0] == bulkCommand {
		return posthouse.Bulk(ctx, args[1], args[2], os.Stdin, os.Stdout)
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
	flags.StringVar(&o.who, "who", "", "measure only contenders that have one of these words in their names, such as River")
	flags.Float64Var(&o.scale, "scale", 1, "multiplies the length of every trial")
	flags.IntVar(&o.finished, "finished", 0, "how many finished rows stand beside the queue, and how many tasks wait for phones: 10 million, or 1 million with -quick")
	flags.IntVar(&o.members, "members", 0, "how many people a campaign is for: 1 million, or 50,000 with -quick")
	flags.BoolVar(&o.quick, "quick", false, "a short run: fewer rounds, cells and peers")
	flags.IntVar(&o.rounds, "rounds", 0, "how many rounds of each cell: 5, or 1 with -quick")
	flags.StringVar(&o.json, "json", "", "a file that all results go to as JSON")
	flags.StringVar(&o.profiles, "profiles", "", "a directory that CPU profiles of our own trials go to")
	flags.StringVar(&o.keep, "keep", "", "a directory in which the databases of the pages stay, filled, for the next run")
	flags.BoolVar(&o.markdown, "markdown", false, "print the tables as docs/benchmarks.md keeps them")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("%q is no flag", flags.Arg(0))
	}
	for name, n := range map[string]float64{"rounds": float64(o.rounds), "finished": float64(o.finished), "members": float64(o.members), "scale": o.scale} {
		if !(n >= 0) || math.IsInf(n, 0) || n == 0 && name == "scale" {
			return o, fmt.Errorf("-%s %v: want more than 0", name, n)
		}
	}
	o.databases = strings.Split(*databases, ",")
	if o.members == 0 {
		o.members = 1_000_000
		if o.quick {
			o.members = 50_000
		}
	}
	if o.rounds == 0 {
		o.rounds = 5
		if o.quick {
			o.rounds = 1
		}
	}
	return o, o.check()
}

// check finds what would only show after the measurements, or instead of them.
func (o *options) check() error {
	for name, words := range map[string]string{"only": o.only, "who": o.who} {
		if words != "" && slices.Contains(strings.Split(words, ","), "") {
			return fmt.Errorf("-%s %q: there is an empty word, which everything has", name, words)
		}
	}
	known := func(c contender) bool {
		backend, _, _ := strings.Cut(c.backend, "-") // redis-aof is a Redis
		return hasWord(c.name, o.who) && slices.Contains(o.databases, backend) && !(c.rare && o.quick)
	}
	if o.who != "" && !slices.ContainsFunc(cells(fullSizes), func(c cell) bool { return slices.ContainsFunc(c.contenders, known) }) {
		return fmt.Errorf("-who %q: no contender on %s has one of these words in its name", o.who, strings.Join(o.databases, ", "))
	}
	if o.json == "" {
		return nil
	}
	f, err := os.OpenFile(o.json, os.O_CREATE|os.O_WRONLY, 0o600) // what it holds stays until there is more
	if err != nil {
		return fmt.Errorf("-json: %w", err)
	}
	return f.Close()
}

// hasWord reports whether a name has one of the words, comma-separated, in it.
func hasWord(name, words string) bool {
	for word := range strings.SplitSeq(words, ",") {
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
	if o.profiles != "" {
		if err := os.MkdirAll(o.profiles, 0o750); err != nil {
			return err
		}
	}
	results := results{Machine: machine.Describe(), Date: begun.UTC().Format(time.RFC3339), Quick: o.quick, out: os.Stdout, markdown: o.markdown}
	fmt.Fprintln(os.Stderr, results.Machine)
	for n := range o.rounds {
		if err = h.round(ctx, n+1, &results); err != nil {
			break
		}
	}
	if err == nil {
		err = h.alone(ctx, &results)
		results.Took = time.Since(begun).Round(time.Second).String()
		if err == nil && len(results.Trials)+len(results.Alone) == 0 {
			return fmt.Errorf("nothing was measured: on %s, no work has a word of -only %q and contenders of -who %q", strings.Join(o.databases, ", "), o.only, o.who)
		}
	}
	return errors.Join(err, results.write(o), results.failed())
}
