package audience

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
)

// Bounds of a preview.
const (
	shownRows    = 5
	shownRefused = 5
	shownCell    = 200 // characters of a cell
)

// Preview is how a file would be read, and its first records. Nothing of it is kept.
type Preview struct {
	Format           // complete; without Address where none can be told
	From    Encoding // what it was converted from to UTF-8, empty where it was not
	Columns []string // of a CSV as the header names them, or the fields of the first objects
	Rows    [][]string
	// Read is how many records at the beginning were read, of which Refused, five at most, name what is wrong with the first that are.
	Read int
	// Faulty are the cells at the beginning that hold an error of a spreadsheet, which counts as empty.
	Faulty int
	// CutOff are those that hold a number of which a spreadsheet has cut off digits.
	CutOff  int
	Wrong   int
	Refused []Refused
}

// Look reads the beginning of a file.
func Look(in io.Reader, f Format, keep func(string) (string, error)) (Preview, error) {
	file, err := Open(in, f, keep)
	if err != nil {
		return Preview{}, err
	}
	defer file.Close()
	buffered := bufio.NewReaderSize(file, HeadBytes)
	head, err := buffered.Peek(HeadBytes)
	whole := errors.Is(err, io.EOF)
	if err != nil && !whole {
		return Preview{}, err
	}
	p := Preview{Format: Guess(head, whole, f, keep), From: file.From}
	p.Sheet, p.Sheets = file.Sheet, file.Sheets
	if !whole {
		head = head[:bytes.LastIndexByte(head, '\n')+1]
	}
	if len(bytes.TrimSpace(head)) == 0 {
		return p, &FileError{"nobody is in the file: nothing is imported"}
	}
	p.Kind, p.Encoding, p.Delimiter = cmp.Or(p.Kind, CSV), cmp.Or(p.Encoding, UTF8), cmp.Or(p.Delimiter, ",")
	if p.Kind == NDJSON {
		p.Delimiter = ""
	}
	if err := p.show(head); err != nil {
		return p, err
	}
	if p.Address == "" {
		return p, nil
	}
	return p, p.read(head, keep)
}

// show fills in the columns and what stands in them.
func (p *Preview) show(head []byte) error {
	text := bytes.TrimPrefix(head, []byte("\ufeff"))
	if p.Encoding == GBK {
		if decoded, ok := fromGBK(text); ok {
			text = decoded
		}
	}
	if p.Kind == NDJSON {
		p.objects(text)
		return nil
	}
	rows := sample(text, p.Delimiter[0])
	p.Columns = p.Format.Columns
	if len(p.Columns) == 0 && len(rows) > 0 {
		p.Columns, rows = trimmed(rows[0]), rows[1:]
	}
	for _, row := range rows {
		for i := range row {
			if faulty(row[i]) {
				p.Faulty, row[i] = p.Faulty+1, ""
			}
			if CutOff(row[i]) {
				p.CutOff++
			}
		}
	}
	for _, row := range rows[:min(len(rows), shownRows)] {
		cells := make([]string, len(row))
		for i, c := range row {
			cells[i] = shortCell(c)
		}
		p.Rows = append(p.Rows, cells)
	}
	if p.Address == "" {
		return nil
	}
	_, err := p.Format.place(p.Columns)
	return err
}

func (p *Preview) objects(text []byte) {
	var objects []map[string]json.RawMessage
	names := map[string]bool{}
	for line := range bytes.Lines(text) {
		var fields map[string]json.RawMessage
		if len(objects) == shownRows {
			break
		}
		if json.Unmarshal(line, &fields) != nil || fields == nil {
			continue
		}
		objects = append(objects, fields)
		for name := range fields {
			names[name] = true
		}
	}
	p.Columns = slices.Sorted(maps.Keys(names))
	for _, fields := range objects {
		cells := make([]string, len(p.Columns))
		for i, name := range p.Columns {
			var text string
			if json.Unmarshal(fields[name], &text) != nil {
				text = string(fields[name])
			}
			cells[i] = shortCell(text)
		}
		p.Rows = append(p.Rows, cells)
	}
}

func shortCell(text string) string {
	n := 0
	for i := range text {
		if n++; n > shownCell {
			return text[:i] + "…"
		}
	}
	return strings.ToValidUTF8(text, "�")
}

// read finds what is wrong with the first records.
func (p *Preview) read(head []byte, keep func(string) (string, error)) error {
	r := NewReader(bytes.NewReader(head), p.Format, Position{}, true, keep)
	for p.Read+p.Wrong < sampleRows {
		_, err := r.Next()
		var refused *Refused
		switch {
		case errors.As(err, &refused):
			if p.Wrong++; len(p.Refused) < shownRefused {
				p.Refused = append(p.Refused, *refused)
			}
		case errors.Is(err, io.EOF):
			if p.Read+p.Wrong == 0 {
				return &FileError{"nobody is in the file: nothing is imported"}
			}
			return nil
		case err != nil:
			return err
		default:
			p.Read++
		}
	}
	return nil
}
