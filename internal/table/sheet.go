// Package table reads and writes lists as tables: the users of a directory, the accounts of a channel.
//
// A table is CSV with a header, its columns in any order. Each problem names the line that it stands in.
package table

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Problems take what is wrong with a table.
type Problems interface {
	Refuse(path, format string, args ...any)
	// Room reports whether a further problem would still be listed.
	Room() bool
	// Wrong is the error of what was refused so far, nil without any.
	Wrong() error
}

// sheet is a table that is read.
type sheet struct {
	Problems
	text   []byte
	want   string            // a header, for who gave none
	first  string            // the column that there must be
	column func(name string) // refuses what is no column of it; nil where each name is one
	most   int               // lines: one more is read, and the rest left
	row    func(header, row []string, line int)
}

// read reads line after line. Nothing of a table is read whose header is refused.
func (s *sheet) read() (lines []int) {
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(s.text, []byte("\ufeff"))))
	r.TrimLeadingSpace = true
	header, err := r.Read()
	if err != nil {
		s.Refuse("line 1", "cannot be read: want a header such as %s", s.want)
		return nil
	}
	if s.head(header); s.Wrong() != nil {
		return nil
	}
	for s.Room() && len(lines) <= s.most {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		var wrong *csv.ParseError
		if errors.As(err, &wrong) {
			s.Refuse(fmt.Sprintf("line %d", wrong.Line), "%v", wrong.Err)
			continue
		}
		line, _ := r.FieldPos(0)
		s.row(header, row, line)
		lines = append(lines, line)
	}
	return lines
}

func (s *sheet) head(header []string) {
	seen := map[string]bool{}
	for _, name := range header {
		if s.column != nil {
			s.column(name)
		}
		if seen[name] {
			s.Refuse("line 1", "has the column %.80q twice", name)
		}
		seen[name] = true
	}
	if !seen[s.first] {
		s.Refuse("line 1", "has no column %s: want a header such as %s", s.first, s.want)
	}
}

// parts are the texts of a cell with ; between them.
func parts(cell string) []string {
	var list []string
	for part := range strings.SplitSeq(cell, ";") {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, part)
		}
	}
	return list
}
