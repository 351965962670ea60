package main

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/posthouse/posthouse/cmd/posthouse/columns"
	"github.com/posthouse/posthouse/internal/config"
)

// printJSON prints a value, indented.
func (p *program) printJSON(v any) error {
	encoder := json.NewEncoder(p.out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(v)
}

// show prints a value as JSON where that is asked for, and else by the given function.
func (p *program) show(v any, human func()) error {
	if p.json {
		return p.printJSON(v)
	}
	human()
	return nil
}

func (p *program) printf(format string, args ...any) { fmt.Fprintf(p.out, format, args...) }

// printTable prints rows under a head, in columns that know how wide Chinese is.
func (p *program) printTable(head []string, rows [][]string) {
	if len(rows) == 0 {
		p.printf("none\n")
		return
	}
	for _, row := range rows {
		for i, cell := range row {
			row[i] = config.Printable(cell)
		}
	}
	p.printf("%s", columns.Text(head, rows, columns.Options{Bold: p.terminal}))
}

// printFields prints names with their values, one a line; empty values are left out.
func (p *program) printFields(fields ...[2]string) {
	width := 0
	for _, f := range fields {
		if f[1] != "" {
			width = max(width, len(f[0]))
		}
	}
	for _, f := range fields {
		if f[1] != "" {
			p.printf("%-*s  %s\n", width, f[0], config.Printable(f[1]))
		}
	}
}

// at is a time as tables show it, local and to the second; empty for none.
func at(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04:05")
}

// cut shortens a text to so many columns.
func cut(s string, most int) string { return text.Snip(s, most, "…") }
