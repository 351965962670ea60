package shell

import "github.com/spf13/pflag"

// PageFlags are those of a list in pages: how long a page is, and where the one before ended.
func PageFlags(flags *pflag.FlagSet, limit *int, usual int, cursor *string) {
	flags.IntVar(limit, "limit", usual, "how many at most, a `NUMBER` from 1 to 1000")
	flags.StringVar(cursor, "cursor", "", "where the page before ended, a `CURSOR`")
}

// More says how the next page is had, where there is one.
func (sh *Shell) More(next string) {
	if next != "" {
		sh.Printf("  … and more: --cursor %s\n", next)
	}
}
