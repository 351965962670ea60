package audience

import (
	"archive/zip"
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/xuri/excelize/v2"
)

// Bounds of a workbook. It is read by its directory, which stands at its end, so all of the file is held at once.
const (
	MaxBook     = 32 << 20  // of the file, in bytes
	maxUnzipped = 256 << 20 // of what the file unpacks to, in bytes
	inMemory    = 8 << 20   // of one part of it: a longer one is unpacked into a file
)

var (
	zipMagic = []byte("PK\x03\x04")
	oleMagic = []byte{0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1}
)

// book is one sheet of a workbook as a CSV in UTF-8. The same sheet is the same text each time, so an import goes on in it at a byte, as in
// other files.
type book struct {
	file    *excelize.File
	sheets  []string // that are shown and have something in them
	sheet   string   // that is read
	rows    *excelize.Rows
	held    [][]string // rows that were read to find the header
	columns []string   // as the header names them
	out     bytes.Buffer
	csv     *csv.Writer
	done    bool
}

// openBook reads a workbook whose cells are read row by row.
func openBook(in *source, body io.Reader, f Format, keep func(string) (string, error)) (*book, error) {
	all, err := io.ReadAll(io.LimitReader(body, MaxBook+1))
	switch {
	case err != nil && in.err != nil:
		return nil, in.err
	case err != nil:
		return nil, in.fault("xlsx", err)
	case len(all) > MaxBook:
		return nil, &FileError{fmt.Sprintf("the workbook is longer than %d MiB: save the sheet as CSV UTF-8, which has no such bound", MaxBook>>20)}
	}
	most := min(int64(maxUnzipped), freely+mostTimes*int64(len(all)))
	file, err := excelize.OpenReader(bytes.NewReader(all), excelize.Options{UnzipSizeLimit: most, UnzipXMLSizeLimit: min(inMemory, most), TmpDir: os.TempDir(), ShortDatePattern: "yyyy-mm-dd"})
	if err != nil {
		return nil, bookError(err, most)
	}
	b := &book{file: file}
	b.csv = csv.NewWriter(&b.out)
	if err := b.begin(f, keep); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// bookError says why a workbook cannot be read. What the library says of one that is too large or damaged is for programmers.
func bookError(err error, most int64) error {
	why := fmt.Sprintf("%.200v", err)
	switch {
	case strings.HasPrefix(why, "unzip size exceeds"): // the library has no value for it
		why = fmt.Sprintf("it unpacks to more than %d MiB", most>>20)
	case errors.Is(err, zip.ErrFormat), errors.Is(err, zip.ErrChecksum), errors.Is(err, io.ErrUnexpectedEOF):
		why = "it is damaged, or no Excel file (.xlsx)"
	}
	return &FileError{"the workbook cannot be read: " + why + ". Save the sheet as CSV UTF-8"}
}

// begin finds the sheets and turns to the one that is to be read.
func (b *book) begin(f Format, keep func(string) (string, error)) error {
	for _, name := range b.file.GetSheetList() {
		if shown, err := b.file.GetSheetVisible(name); err != nil || !shown {
			continue
		}
		switch some, err := b.turnTo(name); {
		case err != nil:
			return err
		case some:
			b.sheets = append(b.sheets, name)
		}
	}
	name, err := b.choose(f, keep)
	if err == nil {
		_, err = b.turnTo(name)
	}
	return err
}

// choose is the sheet that is said, else the first with a column of addresses, else the first.
func (b *book) choose(f Format, keep func(string) (string, error)) (string, error) {
	if f.Sheet != "" && !slices.Contains(b.sheets, f.Sheet) {
		return "", &FileError{fmt.Sprintf("there is no sheet %.60q with something in it: the sheets are %s", f.Sheet, list(b.sheets))}
	}
	if f.Sheet != "" || len(b.sheets) == 0 {
		return f.Sheet, nil
	}
	if len(b.sheets) == 1 {
		return b.sheets[0], nil
	}
	for _, name := range b.sheets {
		if is, err := b.hasAddresses(name, f, keep); err != nil || is {
			return name, err
		}
	}
	return b.sheets[0], nil
}

// hasAddresses reports whether a sheet has the column of the address that is said, or one that looks like it.
func (b *book) hasAddresses(name string, f Format, keep func(string) (string, error)) (bool, error) {
	if _, err := b.turnTo(name); err != nil {
		return false, err
	}
	if f.Address != "" {
		return len(f.Columns) > 0 || slices.Contains(trimmed(b.columns), f.Address), nil
	}
	head, err := bufio.NewReaderSize(b, HeadBytes).Peek(HeadBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	return Guess(head, err != nil, f, keep).Address != "", nil
}

// turnTo begins to read a sheet, and reports whether it has something in it. One of a chart, and that of no name, has no rows.
func (b *book) turnTo(name string) (some bool, err error) {
	if b.rows != nil {
		if err := b.rows.Close(); err != nil {
			return false, bookError(err, maxUnzipped)
		}
	}
	b.sheet, b.held, b.columns, b.done = name, nil, nil, false
	b.out.Reset()
	if b.rows, err = b.file.Rows(name); err != nil {
		b.rows = nil
		return false, nil //nolint:nilerr // a chart is no fault
	}
	if err := b.header(); err != nil {
		return false, err
	}
	return len(b.columns) > 0, nil
}

// mostTitles is how many rows a sheet may have above its header, such as a title over all columns.
const mostTitles = 5

// header finds the row that names the columns: the first that is followed by no wider one.
func (b *book) header() error {
	for len(b.held) <= mostTitles {
		cells, err := b.row()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if len(cells) > 0 {
			b.held = append(b.held, cells)
		}
	}
	for len(b.held) > 1 && filled(b.held[0]) == 1 && filled(b.held[1]) > 1 {
		b.held = b.held[1:]
	}
	if len(b.held) == 0 {
		return nil
	}
	b.columns = b.held[0]
	for i, name := range b.held[0] {
		if strings.TrimSpace(name) == "" { // a column may lack a name in a sheet
			b.held[0][i] = columnName(i)
		}
	}
	return nil
}

// columnName is what a column without a name is called.
func columnName(i int) string { return fmt.Sprint("column", i+1) }

func filled(cells []string) (n int) {
	for _, c := range cells {
		if strings.TrimSpace(c) != "" {
			n++
		}
	}
	return n
}

// row is the next row of the sheet without empty cells behind the last one, nil for an empty row; io.EOF at the end.
func (b *book) row() ([]string, error) {
	if !b.rows.Next() {
		if err := b.rows.Error(); err != nil {
			return nil, bookError(err, maxUnzipped)
		}
		return nil, io.EOF
	}
	cells, err := b.rows.Columns()
	if err != nil {
		return nil, bookError(err, maxUnzipped)
	}
	for i, c := range cells {
		cells[i] = strings.ReplaceAll(strings.TrimSpace(c), "\x00", "")
	}
	for len(cells) > 0 && cells[len(cells)-1] == "" {
		cells = cells[:len(cells)-1]
	}
	return cells, nil
}

// Read gives the sheet as a CSV.
func (b *book) Read(p []byte) (int, error) {
	for b.out.Len() == 0 && !b.done {
		if err := b.more(); err != nil {
			return 0, err
		}
	}
	if b.out.Len() == 0 {
		return 0, io.EOF
	}
	return b.out.Read(p)
}

// more writes a row. An empty one stays an empty line, so that the number of a line is that of the sheet's row where nothing stands above it.
func (b *book) more() error {
	if b.rows == nil {
		b.done = true
		return nil
	}
	var cells []string
	if len(b.held) > 0 {
		cells, b.held = b.held[0], b.held[1:]
	} else {
		var err error
		if cells, err = b.row(); errors.Is(err, io.EOF) {
			b.done = true
			return nil
		} else if err != nil {
			return err
		}
	}
	if len(cells) == 0 {
		b.out.WriteByte('\n')
		return nil
	}
	for len(cells) < len(b.columns) {
		cells = append(cells, "")
	}
	if err := b.csv.Write(cells); err != nil {
		return err
	}
	b.csv.Flush()
	return b.csv.Error()
}

// Close removes the files that parts of it were unpacked into.
func (b *book) Close() error {
	var err error
	if b.rows != nil {
		err = b.rows.Close()
	}
	return errors.Join(err, b.file.Close())
}
