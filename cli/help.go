package cli

import (
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"
)

// readable wraps the help of all commands at so many columns.
func readable(root *cobra.Command, columns int) {
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", ".FlagUsagesWrapped "+strconv.Itoa(columns)))
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		cmd.Long = wrapped(cmd.Long, columns)
		for _, below := range cmd.Commands() {
			visit(below)
		}
	}
	visit(root)
}

// wrapped breaks paragraphs at so many columns. Lines that are indented stay as they are.
func wrapped(long string, columns int) string {
	var out, paragraph []string
	end := func() {
		if len(paragraph) > 0 {
			out = append(out, lines(strings.Fields(strings.Join(paragraph, " ")), columns)...)
			paragraph = nil
		}
	}
	for line := range strings.SplitSeq(long, "\n") {
		if line != "" && line[0] != ' ' {
			paragraph = append(paragraph, line)
			continue
		}
		end()
		out = append(out, line)
	}
	end()
	return strings.Join(out, "\n")
}

// lines sets words in lines of so many columns.
func lines(words []string, columns int) []string {
	var out []string
	line := ""
	for _, word := range words {
		switch {
		case line == "":
			line = word
		case text.StringWidthWithoutEscSequences(line+" "+word) > columns:
			out = append(out, line)
			line = word
		default:
			line += " " + word
		}
	}
	return append(out, line)
}
