package audience

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// csvEnd finds the end of the first record of a CSV: a line's end outside of quotes. quote is where an open one stands, -1 for none.
func csvEnd(delimiter byte) func(b []byte) (n, quote int) {
	ends := string([]byte{delimiter, '\n'})
	return func(b []byte) (n, quote int) {
		end := bytes.IndexByte(b, '\n')
		if first := bytes.IndexByte(b[:max(end, 0)], '"'); end >= 0 && first < 0 {
			return end + 1, -1
		}
		at := 0
		for {
			if at < len(b) && b[at] == '"' {
				closed := quoteEnd(b, at+1)
				if closed < 0 {
					return 0, at
				}
				at = closed
			}
			n := bytes.IndexAny(b[at:], ends)
			if n < 0 {
				return 0, -1
			}
			at += n + 1
			if b[at-1] == '\n' {
				return at, -1
			}
		}
	}
}

// quoteEnd is the place behind the quote that closes, -1 for none yet.
func quoteEnd(b []byte, at int) int {
	for {
		n := bytes.IndexByte(b[at:], '"')
		if n < 0 {
			return -1
		}
		at += n + 1
		if at == len(b) || b[at] != '"' {
			return at
		}
		at++
	}
}

// fieldError is what is wrong with a field, and where it stands in the record, in bytes.
type fieldError struct {
	at      int
	message string
}

func (e *fieldError) Error() string { return e.message }

// splitCSV takes a record apart. starts are the places where its fields begin.
func splitCSV(rec []byte, delimiter byte, fields []string, starts []int) ([]string, []int, error) {
	fields, starts = fields[:0], starts[:0]
	if bytes.IndexByte(rec, '"') < 0 { // as most are
		text := string(rec)
		for at := 0; ; {
			n := strings.IndexByte(text[at:], delimiter)
			starts = append(starts, at)
			if n < 0 {
				return append(fields, text[at:]), starts, nil
			}
			fields = append(fields, text[at:at+n])
			at += n + 1
		}
	}
	for at := 0; ; {
		starts = append(starts, at)
		field, next, err := cutField(rec, at, delimiter)
		if err != nil {
			return nil, nil, err
		}
		fields = append(fields, field)
		if next < 0 {
			return fields, starts, nil
		}
		at = next
	}
}

// cutField reads the field that begins at a place. next is where the one behind it begins, -1 for none.
func cutField(rec []byte, at int, delimiter byte) (field string, next int, err error) {
	end := len(rec)
	if at < len(rec) && rec[at] == '"' {
		closed := quoteEnd(rec, at+1)
		if closed < 0 {
			return "", 0, &fieldError{at, "a quote opens here and is not closed"}
		}
		if closed < end && rec[closed] != delimiter {
			return "", 0, &fieldError{closed, "text follows a closing quote: a quote within a quoted field is written twice"}
		}
		field = strings.ReplaceAll(string(rec[at+1:closed-1]), `""`, `"`)
		if closed == end {
			return field, -1, nil
		}
		return field, closed + 1, nil
	}
	next = -1
	if n := bytes.IndexByte(rec[at:], delimiter); n >= 0 {
		end, next = at+n, at+n+1
	}
	if n := bytes.IndexByte(rec[at:end], '"'); n >= 0 {
		return "", 0, &fieldError{at + n, "a quote stands within a field that does not begin with one"}
	}
	return string(rec[at:end]), next, nil
}

// faults are what programs of spreadsheets write into a cell whose formula went wrong. Such a cell counts as empty.
var faults = []string{
	"#N/A", "#REF!", "#VALUE!", "#DIV/0!", "#NAME?", "#NULL!", "#NUM!", "#SPILL!", "#CALC!", "#FIELD!", "#GETTING_DATA", "#UNKNOWN!", "#BLOCKED!", "#CONNECT!", "#BUSY!", "#PYTHON!",
}

func faulty(cell string) bool {
	cell = strings.TrimSpace(cell)
	return strings.HasPrefix(cell, "#") && slices.Contains(faults, cell)
}

// CheckColumns says what is wrong with the names of columns, and which of them has the address.
func CheckColumns(columns []string, f Format) (place int, err error) {
	for i, name := range columns {
		if name != "" && slices.Index(columns, name) != i {
			return 0, fmt.Errorf("the column %.60q stands twice: name the columns yourself", name)
		}
	}
	if f.Address != "" {
		if place = slices.Index(columns, f.Address); place < 0 {
			return 0, fmt.Errorf("there is no column %.60q for the address: the columns are %s", f.Address, list(columns))
		}
		return place, nil
	}
	if at := f.named(columns); len(at) > 0 {
		return at[0], nil
	}
	return 0, fmt.Errorf("which column has the address? The columns are %s", list(columns))
}

// listed is how many columns are named.
const listed = 20

func list(columns []string) string {
	var quoted []string
	for i, name := range columns {
		if i == listed {
			quoted = append(quoted, fmt.Sprintf("and %d more", len(columns)-listed))
			break
		}
		quoted = append(quoted, fmt.Sprintf("%.40q", name))
	}
	return strings.Join(quoted, ", ")
}
