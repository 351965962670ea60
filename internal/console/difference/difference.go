// Package difference tells how a text came to be another.
package difference

import (
	"encoding/json"
	"strings"
)

// Change is a line of a difference.
type Change struct {
	Line string
	Mark string // "+" only in the new text, "-" only in the old one, "" in both
}

// mostCompared bounds the lines of each text that are compared: the time goes with their product.
const mostCompared = 1000

// Lines is how a text came to be another, line by line, by the longest sequence of lines that both have.
func Lines(from, to string) []Change {
	a, b := linesOf(from), linesOf(to)
	long := make([][]int, len(a)+1) // the length of that sequence from here on
	for i := range long {
		long[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				long[i][j] = long[i+1][j+1] + 1
			} else {
				long[i][j] = max(long[i+1][j], long[i][j+1])
			}
		}
	}
	var out []Change
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			out = append(out, Change{a[i], ""})
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && long[i+1][j] >= long[i][j+1]:
			out = append(out, Change{a[i], "-"})
			i++
		default:
			out = append(out, Change{b[j], "+"})
			j++
		}
	}
	return out
}

// linesOf are the lines of a text, at most mostCompared with the rest as the last.
func linesOf(text string) []string {
	if text == "" {
		return nil
	}
	return strings.SplitN(text, "\n", mostCompared)
}

// JSON compares the texts of two values as JSON, a member a line.
func JSON(from, to any) ([]Change, error) {
	var texts [2]string
	for i, v := range []any{from, to} {
		text, err := json.MarshalIndent(v, "", "  ")
		if err != nil {
			return nil, err
		}
		texts[i] = string(text)
	}
	return Lines(texts[0], texts[1]), nil
}
