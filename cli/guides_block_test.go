package cli

import (
	"regexp"
	"strings"
)

// block is one of a page's.
type block struct {
	line  int    // where it begins
	kind  string // the word after its fence
	text  string
	at    int         // where the text begins in the page
	steps []typedStep // what is typed, of blocks that are
	shown bool        // it is what the block before it prints
}

// typedStep is what is typed at once, and what is to be printed, empty where that is not shown.
type typedStep struct {
	command, want string
	at            int // where want begins in the page
}

var fence = regexp.MustCompile("(?m)^```(\\w*)\n((?s:.*?))^```$")

// blocksOf are the blocks of a page.
func blocksOf(page string) []block {
	var out []block
	typed := -1 // where the last sh or sql block ended, as long as nothing but blanks follows it
	for _, m := range fence.FindAllStringSubmatchIndex(page, -1) {
		b := block{line: strings.Count(page[:m[0]], "\n") + 1, kind: page[m[2]:m[3]], text: page[m[4]:m[5]], at: m[4]}
		follows := typed >= 0 && strings.TrimSpace(page[typed:m[0]]) == ""
		typed = -1
		switch {
		case b.kind == "sh", b.kind == "sql":
			b.steps, typed = []typedStep{{command: b.text}}, m[1]
		case b.kind == "" && strings.HasPrefix(b.text, "$ "):
			b.steps = dialogue(b.text, b.at)
		case follows && (b.kind == "" || b.kind == "json"):
			last := &out[len(out)-1].steps[0]
			last.want, last.at, b.shown = b.text, b.at, true
		}
		out = append(out, b)
	}
	return out
}

// dialogue takes a block apart that shows what is typed and printed. A command goes on as long as a quote of it is open.
func dialogue(text string, at int) []typedStep {
	var out []typedStep
	for line := range strings.Lines(text) {
		at += len(line)
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			out = append(out, typedStep{command: command, at: at})
			continue
		}
		last := &out[len(out)-1]
		if last.want == "" && strings.Count(last.command, "'")%2 == 1 {
			last.command += line
			last.at = at
			continue
		}
		last.want += line
	}
	return out
}
