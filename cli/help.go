package cli

import (
	"bytes"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"
)

// readable wraps the help of all commands at so many columns.
func readable(root *cobra.Command, columns int) {
	usage := strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", ".FlagUsagesWrapped "+strconv.Itoa(columns))
	// Former words of commands go on, and are shown to nobody who does not use them.
	root.SetUsageTemplate(formerWords.ReplaceAllLiteralString(usage, ""))
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		cmd.Long = wrapped(cmd.Long, columns)
		for _, below := range cmd.Commands() {
			visit(below)
		}
	}
	visit(root)
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		var page bytes.Buffer
		out := cmd.OutOrStdout()
		cmd.SetOut(&page)
		help(cmd, args)
		cmd.SetOut(out)
		_, _ = io.WriteString(out, fitted(page.String(), columns))
	})
}

// formerWords is the part of the usage that lists aliases.
var formerWords = regexp.MustCompile(`(?s)\{\{if gt \(len \.Aliases\) 0\}\}.*?\{\{end\}\}`)

// fitted breaks the lines of a help page that are too long, behind their first column where they have one. Examples stay as
// they are: they are there to be copied.
func fitted(page string, columns int) string {
	var out []string
	examples := false
	for line := range strings.SplitSeq(page, "\n") {
		if line != "" && line[0] != ' ' {
			examples = line == "Examples:"
		}
		if examples || text.StringWidthWithoutEscSequences(line) <= columns {
			out = append(out, line)
			continue
		}
		head, rest := behind(line, columns/2)
		hang := strings.Repeat(" ", text.StringWidthWithoutEscSequences(head))
		for i, part := range lines(strings.Fields(rest), columns-len(hang)) {
			if i > 0 {
				head = hang
			}
			out = append(out, head+part)
		}
	}
	return strings.Join(out, "\n")
}

// column is what stands before the words of a line: its indent, and a name with two blanks or more behind it.
var column = regexp.MustCompile(`^ *(?:\S+(?: \S+)* {2,})?`)

// behind cuts a line where its words begin, or behind its indent where that is beyond half of the columns.
func behind(line string, half int) (head, rest string) {
	head = column.FindString(line)
	if len(head) > half {
		head = line[:len(line)-len(strings.TrimLeft(line, " "))]
	}
	return head, line[len(head):]
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
