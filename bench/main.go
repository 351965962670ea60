// Command bench measures what the engine does alone: accepts a second, drains a
// second, and how long a message takes from accept to provider. It prints one table
// and the machine it ran on; docs/benchmarks.md keeps dated results.
//
// It starts its own databases, in their durable settings, and its own sink. Absolute
// rates hold for one machine at one moment: compare runs of the same machine only.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/posthouse/posthouse/internal/dbtest"
)

// options are the flags.
type options struct {
	databases []string
	seconds   time.Duration
	drain     int
	rate      int
	producers int
	only      string
}

// figure is one measured line.
type figure struct {
	database, what, value, floor string
}

func main() {
	var o options
	databases := flag.String("databases", "sqlite,postgres,mariadb", "which databases, comma-separated")
	quick := flag.Bool("quick", false, "a short run: a tenth of the work")
	flag.StringVar(&o.only, "only", "", "measure only what has this in its name, such as drain")
	flag.Parse()
	o.databases = strings.Split(*databases, ",")
	o.seconds, o.drain, o.rate, o.producers = 5*time.Second, 50000, 1000, 64
	if *quick {
		o.seconds, o.drain = time.Second, 10000
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})))
	var figures []figure
	for _, name := range o.databases {
		err := withDatabase(name, func(fresh func() (string, error)) error {
			list, err := measure(ctx, name, o, fresh)
			figures = append(figures, list...)
			return err
		})
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	fmt.Println(machine())
	t := table.NewWriter()
	t.SetOutputMirror(os.Stdout)
	t.AppendHeader(table.Row{"database", "what", "measured", "floor"})
	for _, f := range figures {
		t.AppendRow(table.Row{f.database, f.what, f.value, f.floor})
	}
	t.Render()
	return nil
}

// withDatabase starts a durable server, and hands over how to get fresh databases on it.
func withDatabase(name string, use func(fresh func() (string, error)) error) (err error) {
	if name == "sqlite" {
		dir, err := os.MkdirTemp("", "posthouse-bench-")
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
		n := 0
		return use(func() (string, error) {
			n++
			return "sqlite:" + filepath.Join(dir, fmt.Sprintf("%d", n), "posthouse.db"), nil
		})
	}
	kinds := map[string]dbtest.Kind{"postgres": dbtest.KindPostgres, "mariadb": dbtest.KindMariaDB}
	kind, ok := kinds[name]
	if !ok {
		return fmt.Errorf("there is no such database: want sqlite, postgres or mariadb")
	}
	s, err := dbtest.Start(dbtest.Options{Kind: kind, Durable: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Stop()) }()
	return use(func() (string, error) {
		dsn, _, err := s.Database()
		return dsn, err
	})
}

// measure runs every measurement on one database, each on a fresh one.
func measure(ctx context.Context, name string, o options, fresh func() (string, error)) ([]figure, error) {
	var out []figure
	for _, m := range []struct {
		what, floor string
		run         func(context.Context, string, options) (string, error)
	}{
		{fmt.Sprintf("accepts, Go API, %d producers", o.producers), "15,000/s", acceptGo},
		{fmt.Sprintf("accepts, HTTP, %d producers", o.producers), "-", acceptHTTP},
		{"accepts, Go API, batches of 1000", "-", acceptBatch},
		{"drain, no-op driver", "15,000/s", drainNoop},
		{"drain, HTTP driver", "5,000/s", drainHTTP},
		{fmt.Sprintf("accept to driver, %d/s", o.rate), "p99 50ms", latency},
	} {
		if !strings.Contains(m.what, o.only) {
			continue
		}
		dsn, err := fresh()
		if err != nil {
			return out, err
		}
		value, err := m.run(ctx, dsn, o)
		if err != nil {
			return out, fmt.Errorf("%s: %w", m.what, err)
		}
		fmt.Fprintf(os.Stderr, "%-9s %-36s %s\n", name, m.what, value)
		floor := m.floor
		if name == "mariadb" {
			floor = "-" // the floors are for the two others
		}
		out = append(out, figure{name, m.what, value, floor})
	}
	return out, nil
}
