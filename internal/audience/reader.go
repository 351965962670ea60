package audience

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/posthouse/posthouse/channel"
)

// Kind is the form of a file.
type Kind string

// The kinds.
const (
	CSV    Kind = "csv"
	NDJSON Kind = "ndjson"
)

// Format is how a file is to be read.
type Format struct {
	Kind Kind `json:"kind"` // defaults to CSV
	// Delimiter stands between the fields of a CSV. Defaults to a comma.
	Delimiter string `json:"delimiter,omitempty"`
	// Columns name those of a CSV that has no header, an empty name leaves one out. Defaults to the first record.
	Columns []string `json:"columns,omitempty"`
	// Address is the column or field of the address. Defaults to one with a usual name.
	Address string `json:"address,omitempty"`
	// Addresses is what the channel's addresses are. Defaults to not known.
	Addresses channel.AddressKind `json:"-"`
	Encoding  Encoding            `json:"encoding,omitempty"` // defaults to UTF8
	// Sheet is that of a workbook. Defaults to the first with a column of addresses.
	Sheet string `json:"sheet,omitempty"`
	// Sheets are all sheets of the workbook that hold something. The reader fills them in, and a refusal names them.
	Sheets []string `json:"-"`
}

// place is which of a file's columns has the address, or what is wrong with them.
func (f Format) place(columns []string) (int, error) {
	place, err := CheckColumns(columns, f)
	switch {
	case err == nil:
		return place, nil
	case len(f.Sheets) > 1:
		err = fmt.Errorf("the sheet %.60q was read, of %s: %w", f.Sheet, list(f.Sheets), err)
	}
	return 0, &FileError{err.Error()}
}

// Row is one record that could be read.
type Row struct {
	Line    int64
	Address string
	// Variables is a JSON object of all else, nil without any. It holds until the next one is read.
	Variables []byte
	// Fields are the names of those that are not null.
	Fields []string
}

// Refused is a record that could not be read, and where it is wrong.
type Refused struct {
	Line   int64  `json:"line"`
	Column int64  `json:"column"` // in characters, from 1
	Reason string `json:"reason"`
	Text   string `json:"text"` // the beginning of the record
}

func (r *Refused) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", r.Line, r.Column, r.Reason)
}

// mostBlank bounds the records without content of a file: each takes time and none is stored.
const mostBlank = 1 << 20

// mostWrong bounds the records in a row that cannot be read: behind a quote that was never closed, or with another delimiter, none can.
const mostWrong = 100_000

// MaxAddress bounds an address, in bytes.
const MaxAddress = 512

// Reader reads the records of a file one after the other.
type Reader struct {
	format  Format
	records *records
	// address is an address as its channel keeps it, or says why it is none.
	address func(address string) (string, error)
	place   int // of the address among the columns
	begun   bool
	keys    []string // of the columns, as JSON with a colon behind
	names   []string // of the columns that are variables
	foreign bool     // whether text beyond ASCII was read as UTF-8 yet
	blank   int      // records without content
	wrong   int      // records in a row that could not be read

	fields    []string
	starts    []int
	variables []byte
}

// KindOf is the kind of a file, by the first byte of its text: an object of JSON begins with a brace.
func KindOf(head []byte) Kind {
	head = bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\ufeff")), " \t\r\n")
	if bytes.HasPrefix(head, []byte("{")) {
		return NDJSON
	}
	return CSV
}

// NewReader reads a file from a position on. whole says that the file ends where in ends, so that its last record needs no
// line's end. address may be nil, to take any address without spaces.
func NewReader(in io.Reader, f Format, at Position, whole bool, address func(string) (string, error)) *Reader {
	r := &Reader{format: f, address: address, foreign: at.Offset > 0}
	if r.address == nil {
		r.address = PlainAddress
	}
	end := lineEnd
	if f.Kind != NDJSON {
		end = csvEnd(r.delimiter())
	}
	r.records = newRecords(in, at, whole, end)
	return r
}

func (r *Reader) delimiter() byte { return (r.format.Delimiter + ",")[0] }

// SumTo writes all that is passed to a hash: what it has seen ends where Position says.
func (r *Reader) SumTo(h io.Writer) { r.records.sum = h }

// Rest is how many bytes were read behind the last record, at least.
func (r *Reader) Rest() int { return len(r.records.buf) }

// Format is how the file is read, as it was given or as it shows to be.
func (r *Reader) Format() Format { return r.format }

// Position is behind the record that was read last.
func (r *Reader) Position() Position { return r.records.at }

// Next reads a record. The error is a *Refused for one that is wrong, and reading goes on; io.EOF at the end; a *FileError
// where the whole file is not what it should be; or what reading the file failed with.
func (r *Reader) Next() (Row, error) {
	if !r.begun {
		if err := r.begin(); err != nil {
			return Row{}, err
		}
		r.begun = true
	}
	row, err := r.next()
	var refused *Refused
	if !errors.As(err, &refused) {
		r.wrong = 0
		return row, err
	}
	if r.wrong++; r.wrong > mostWrong {
		return row, &FileError{fmt.Sprintf("none of %d records up to line %d can be read: %s", r.wrong, refused.Line, refused)}
	}
	return row, err
}

// next is the next record with content.
func (r *Reader) next() (Row, error) {
	for {
		rec, err := r.record()
		if err != nil {
			return Row{}, err
		}
		if len(bytes.TrimSpace(rec.text)) == 0 {
			if r.blank++; r.blank > mostBlank {
				return Row{}, &FileError{fmt.Sprintf("more than %d of its lines are empty, up to line %d: that is no list of people", mostBlank, rec.line)}
			}
			continue
		}
		row, err := r.row(rec)
		var refused *Refused
		if errors.As(err, &refused) {
			refused.Text = excerpt(rec.text)
		}
		return row, err
	}
}

// record is the next one as UTF-8.
func (r *Reader) record() (record, error) {
	rec, err := r.records.next()
	if err != nil {
		return rec, err
	}
	if rec.wrong != nil {
		rec.wrong.Text = excerpt(rec.text)
		return rec, rec.wrong
	}
	return r.decode(rec)
}

// decode makes UTF-8 of a record, and recognises a file that is another.
func (r *Reader) decode(rec record) (record, error) {
	text := rec.text
	if at := bytes.IndexByte(text, 0); at >= 0 {
		return rec, &Refused{Line: rec.line, Column: columnOf(text[:at]), Reason: "holds a NUL", Text: excerpt(text)}
	}
	if r.format.Encoding == GBK {
		var ok bool
		if rec.text, ok = fromGBK(text); !ok {
			return rec, &Refused{Line: rec.line, Column: columnOf(rec.text[:max(bytes.IndexRune(rec.text, utf8.RuneError), 0)]), Reason: "is not GBK", Text: excerpt(rec.text)}
		}
		return rec, nil
	}
	if utf8.Valid(text) {
		r.foreign = r.foreign || len(text) != utf8.RuneCount(text)
		return rec, nil
	}
	if _, gbk := fromGBK(text); gbk && !r.foreign {
		if r.format.Encoding == "" && looksGBK(slices.Concat(text, []byte("\n"), r.records.lines())) {
			r.format.Encoding = GBK // all before is ASCII, which reads the same
			return r.decode(rec)
		}
		return rec, &FileError{fmt.Sprintf("line %d is not UTF-8 but reads as GBK: say that the encoding is gbk", rec.line)}
	}
	before := text[:badAt(text)]
	return rec, &Refused{Line: rec.line, Column: columnOf(before), Reason: "is not UTF-8", Text: excerpt(text)}
}

// begin passes the byte order mark and finds the columns.
func (r *Reader) begin() error {
	if r.records.at.Offset == 0 {
		r.mark()
	}
	if r.format.Kind == NDJSON {
		return nil
	}
	columns := r.format.Columns
	if len(columns) == 0 {
		columns = r.records.at.Columns
	}
	if len(columns) == 0 {
		var err error
		if columns, err = r.header(); err != nil {
			return err
		}
	}
	place, err := r.format.place(columns)
	if err != nil {
		return err
	}
	r.place, r.records.at.Columns = place, columns
	for i, name := range columns {
		r.keys = append(r.keys, string(AppendString(nil, name))+":")
		if i != place && name != "" {
			r.names = append(r.names, name)
		}
	}
	return nil
}

// mark passes the mark that some programs write first.
func (r *Reader) mark() {
	for len(r.records.buf) < 3 && r.records.err == nil {
		r.records.fill()
	}
	if bytes.HasPrefix(r.records.buf, []byte("\ufeff")) {
		r.records.pass(3)
	}
}

// header reads the columns' names.
func (r *Reader) header() ([]string, error) {
	for {
		rec, err := r.record()
		var refused *Refused
		if errors.As(err, &refused) {
			return nil, &FileError{"the header cannot be read: " + refused.Error()}
		}
		if err != nil {
			return nil, err
		}
		if len(bytes.TrimSpace(rec.text)) == 0 {
			if r.blank++; r.blank > mostBlank {
				return nil, &FileError{fmt.Sprintf("more than %d of its lines are empty, up to line %d: that is no list of people", mostBlank, rec.line)}
			}
			continue
		}
		names, _, err := splitCSV(rec.text, r.delimiter(), nil, nil)
		if err != nil {
			return nil, &FileError{"the header cannot be read: " + err.Error()}
		}
		for i := range names {
			if strings.Contains(strings.TrimSpace(names[i]), "\r") {
				return nil, &FileError{"its lines end with a carriage return alone: save it with line feeds"}
			}
			if names[i] = strings.TrimSpace(names[i]); names[i] == "" {
				return nil, &FileError{fmt.Sprintf("column %d of the header has no name: name the columns yourself, an empty name leaves one out", i+1)}
			}
		}
		return names, nil
	}
}

// row reads a record.
func (r *Reader) row(rec record) (Row, error) {
	if r.format.Kind == NDJSON {
		return r.object(rec)
	}
	refuse := func(at int, format string, args ...any) error {
		before := rec.text[:at]
		return &Refused{Line: rec.line + int64(bytes.Count(before, []byte("\n"))), Column: columnOf(before[bytes.LastIndexByte(before, '\n')+1:]), Reason: fmt.Sprintf(format, args...)}
	}
	var err error
	r.fields, r.starts, err = splitCSV(rec.text, r.delimiter(), r.fields, r.starts)
	var wrong *fieldError
	if errors.As(err, &wrong) {
		return Row{}, refuse(wrong.at, "%s", wrong.message)
	}
	columns := r.records.at.Columns
	if len(r.fields) != len(columns) {
		at := len(rec.text)
		if len(r.fields) > len(columns) {
			at = r.starts[len(columns)]
		}
		return Row{}, refuse(at, "has %d fields: want %d, one for each column", len(r.fields), len(columns))
	}
	for i, cell := range r.fields {
		if faulty(cell) {
			r.fields[i] = ""
		}
	}
	address, err := r.addressOf(columns[r.place], r.fields[r.place])
	if err != nil {
		return Row{}, refuse(r.starts[r.place], "%s %s", columns[r.place], err)
	}
	variables, names := r.variablesOf(columns)
	return Row{Line: rec.line, Address: address, Variables: variables, Fields: names}, nil
}

// variablesOf writes the fields but the address as a JSON object, and names them. An empty cell is a variable that is missing.
func (r *Reader) variablesOf(columns []string) (object []byte, names []string) {
	out, empty := append(r.variables[:0], '{'), 0
	for i, value := range r.fields {
		if i == r.place || columns[i] == "" {
			continue
		}
		if value == "" {
			empty++
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = AppendString(append(out, r.keys[i]...), value)
	}
	names = r.names
	if empty > 0 {
		names = slices.DeleteFunc(slices.Clone(columns), func(name string) bool {
			at := slices.Index(columns, name)
			return name == "" || at == r.place || r.fields[at] == ""
		})
	}
	r.variables = append(out, '}')
	if len(r.variables) == 2 {
		return nil, names
	}
	return r.variables, names
}

// addressOf is an address of a column or field as it is kept.
func (r *Reader) addressOf(name, text string) (string, error) {
	text, err := r.format.Whole(name, strings.TrimSpace(text))
	switch {
	case err != nil:
		return "", err
	case text == "":
		return "", errors.New("is empty: nobody can be reached")
	case len(text) > MaxAddress:
		return "", fmt.Errorf("has %d bytes: at most %d are allowed", len(text), MaxAddress)
	}
	kept, err := r.address(text)
	if err != nil {
		return "", fmt.Errorf("is no address of the channel: %w", err)
	}
	return kept, nil
}

var errSpace = errors.New("it holds a space or a control character")

// PlainAddress is an address as it is, or the error that it holds what no address has.
func PlainAddress(text string) (string, error) {
	if strings.ContainsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
		return "", errSpace
	}
	return text, nil
}

// AppendString writes a text as JSON.
func AppendString(out []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' {
			var b bytes.Buffer
			e := json.NewEncoder(&b)
			e.SetEscapeHTML(false)
			_ = e.Encode(s) // a text is always JSON
			return append(out, bytes.TrimRight(b.Bytes(), "\n")...)
		}
	}
	return append(append(append(out, '"'), s...), '"')
}
