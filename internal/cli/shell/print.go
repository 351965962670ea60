package shell

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/posthouse/posthouse/internal/cli/columns"
	"github.com/posthouse/posthouse/internal/config"
)

// PrintJSON prints a value, indented.
func (sh *Shell) PrintJSON(v any) error {
	encoder := json.NewEncoder(sh.Out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(v)
}

// Show prints a value as JSON where that is asked for, and else by the given function.
func (sh *Shell) Show(v any, human func()) error {
	if sh.JSON {
		return sh.PrintJSON(v)
	}
	human()
	return nil
}

// Printf prints to the output.
func (sh *Shell) Printf(format string, args ...any) { fmt.Fprintf(sh.Out, format, args...) }

// printTable prints rows under a head, in columns that know how wide Chinese is.
func (sh *Shell) Table(head []string, rows [][]string) {
	if len(rows) == 0 {
		sh.Printf("none\n")
		return
	}
	for _, row := range rows {
		for i, cell := range row {
			row[i] = config.Printable(cell)
		}
	}
	sh.Printf("%s", columns.Text(head, rows, columns.Options{Bold: sh.Terminal}))
}

// printFields prints names with their values, one a line; empty values are left out.
func (sh *Shell) Fields(fields ...[2]string) {
	width := 0
	for _, f := range fields {
		if f[1] != "" {
			width = max(width, len(f[0]))
		}
	}
	for _, f := range fields {
		if f[1] != "" {
			sh.Printf("%-*s  %s\n", width, f[0], config.Printable(f[1]))
		}
	}
}

// At is a time as tables show it, local and to the second; empty for none.
func (sh *Shell) At(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04:05")
}

// Cut shortens a text to so many columns.
func Cut(s string, most int) string { return text.Snip(s, most, "…") }
