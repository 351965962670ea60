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
		name string
		run  func(context.Context) ([]finding, error)
	}{
		{"held snapshot", h.heldSnapshot},
		{"finished rows", h.finishedRows},
		{"idle program", h.idleProgram},
		{"pull claims", h.pullClaims},
		{"pull-http", h.pullHTTP},
	} {
		if !hasWord(m.name, h.o.only) {
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

// phoneDatabases are those that phones are measured on: in the short run the one that there is a bar for.
func (h *house) phoneDatabases() []string {
	if h.o.quick && h.has("postgres") {
		return []string{"postgres"}
	}
	return h.ownDatabases()
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
