// Package columns sets rows in columns that know how wide Chinese is. It sets and
// prints nothing else; what a cell may hold is its caller's to clean.
package columns

import (
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// Options says how the head looks.
type Options struct {
	// Bold prints the head bold, for terminals. Defaults to false.
	Bold bool
	// Rule draws a line below the head. Defaults to false.
	Rule bool
}

// Text is the rows below their head, each a line without blanks at its end.
func Text(head []string, rows [][]string, o Options) string {
	t := table.NewWriter()
	style := table.StyleLight
	style.Format.Header = text.FormatDefault
	style.Options = table.Options{SeparateHeader: o.Rule}
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	if o.Bold {
		style.Color.Header = text.Colors{text.Bold}
	}
	t.SetStyle(style)
	t.AppendHeader(cells(head))
	for _, row := range rows {
		t.AppendRow(cells(row))
	}
	lines := strings.Split(t.Render(), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ") + "\n"
	}
	return strings.Join(lines, "")
}

func cells(row []string) table.Row {
	out := make(table.Row, len(row))
	for i, c := range row {
		out[i] = c
	}
	return out
}
