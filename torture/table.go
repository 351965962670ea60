package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/posthouse/posthouse/torture/internal/house"
)

// stamp is how the table writes times, all of them UTC.
const stamp = "2006-01-02 15:04"

// span is when the first and the last row were written.
func span(rows []house.Row) (from, to time.Time) {
	from, to = rows[0].At, rows[0].At
	for _, r := range rows {
		if r.At.Before(from) {
			from = r.At
		}
		if r.At.After(to) {
			to = r.At
		}
	}
	return from.UTC(), to.UTC()
}

// machines are where the rows were written, and what a small synced write took there.
func machines(rows []house.Row) string {
	var names []string
	var least, most time.Duration
	for _, r := range rows {
		if name := cmp.Or(r.Machine, "a machine that was not noted"); !slices.Contains(names, name) {
			names = append(names, name)
		}
		if r.Sync > 0 {
			least, most = min(cmp.Or(least, r.Sync), r.Sync), max(most, r.Sync)
		}
	}
	slices.Sort(names)
	text := strings.Join(names, "; ")
	switch {
	case most == 0:
		return text
	case least == most:
		return fmt.Sprintf("%s, a sync of 4 KiB took %s", text, most)
	}
	return fmt.Sprintf("%s, a sync of 4 KiB took %s to %s", text, least, most)
}

// heads are the columns, as cells fills them.
var heads = []string{"test", "database", "what is done", "n", "found", "must hold", "a zero allows", "verdict"}

func cells(r house.Row) []string {
	verdict := "pass"
	if !r.Pass {
		verdict = "FAIL"
	}
	if !r.Full {
		verdict += " (small)"
	}
	return []string{r.Test, r.Database, r.What, fmt.Sprintf("%d %s", r.N, r.Unit), r.Figure, r.Bar, r.Bound, verdict}
}

func printText(out io.Writer, rows []house.Row) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, strings.Join(heads, "\t"))
	for _, r := range rows {
		fmt.Fprintln(w, strings.Join(cells(r), "\t"))
	}
	return w.Flush()
}

func printMarkdown(out io.Writer, rows []house.Row) {
	line := func(cells []string) { fmt.Fprintf(out, "| %s |\n", strings.Join(cells, " | ")) }
	line(heads)
	line(strings.Split(strings.Repeat("---,", len(heads)-1)+"---", ","))
	for _, r := range rows {
		row := cells(r)
		for i := range row {
			row[i] = strings.ReplaceAll(row[i], "|", "\\|")
		}
		line(row)
	}
}
