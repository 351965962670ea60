package main

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// finding is a figure of ours that no peer is asked for.
type finding struct {
	What     string  `json:"what"`
	Database string  `json:"database"`
	Value    float64 `json:"value"`
	Text     string  `json:"text"` // the value with its unit
	Bound    string  `json:"bound"`
	Verdict  string  `json:"verdict"`
	Note     string  `json:"note,omitempty"`
}

// atMost judges a figure that is to be small.
func (f finding) atMost(bound float64) finding {
	f.Verdict = verdict(f.Value <= bound)
	return f
}

// alone measures what only we promise.
func (h *house) alone(ctx context.Context, into *results) error {
	var errs []error
	for _, m := range []struct {
		name  string
		quick bool // part of the short run
		run   func(context.Context) ([]finding, error)
	}{
		{"held snapshot", true, h.heldSnapshot},
		{"finished rows", true, h.finishedRows},
		{"settled size", true, h.settledSize},
		{"prune", true, h.pruning},
		{"idle program", true, h.idleProgram},
		{"campaigns", true, h.campaigns},
		{"pages", false, h.pages},
		{"processes", false, h.processes},
		{"unskipped", false, h.unskipped},
		{"pull claims", false, h.pullClaims},
		{"pull-http", false, h.pullHTTP},
		{"callbacks", false, h.callbacks},
	} {
		if !hasWord(m.name, h.o.only) || h.o.quick && !m.quick {
			continue
		}
		found, err := m.run(ctx)
		for _, f := range found {
			fmt.Fprintf(os.Stderr, "-  %-44s %-12s %s  %s\n", f.What, f.Database, f.Text, f.Note)
		}
		into.Alone = append(into.Alone, found...)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", m.name, err))
		}
	}
	return errors.Join(errs...)
}

// ownDatabases are those that were asked for and that our engine runs on.
func (h *house) ownDatabases() []string {
	var out []string
	for _, name := range []string{"sqlite", "postgres", "mariadb"} {
		if h.has(name) {
			out = append(out, name)
		}
	}
	return out
}
