package audience

import (
	"archive/zip"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/xuri/excelize/v2"
)

// Bounds of a workbook. It is read by its directory, which stands at its end, so all of the file is held at once.
const (
	maxBook     = 32 << 20  // of the file, in bytes
	maxUnzipped = 256 << 20 // of what the file unpacks to, in bytes
	inMemory    = 8 << 20   // of one part of it: a longer one is unpacked into a file
)

var (
	zipMagic = []byte("PK\x03\x04")
	oleMagic = []byte{0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1}
)

// book is the first sheet of a workbook that has something, as a CSV in UTF-8. The same workbook is the same text each time, so an import
// goes on in it at a byte, as in other files.
type book struct {
	file *excelize.File
	name string // of the sheet
	rows *excelize.Rows
	held [][]string // rows that were read to find the header
	out  bytes.Buffer
	csv  *csv.Writer
	wide int // columns of the header
	done bool
}

// openBook reads a workbook whose cells are read row by row.
func openBook(in *source, body io.Reader) (*book, error) {
	all, err := io.ReadAll(io.LimitReader(body, maxBook+1))
	switch {
	case err != nil && in.err != nil:
		return nil, in.err
	case err != nil:
		return nil, in.fault("xlsx", err)
	case len(all) > maxBook:
		return nil, &FileError{fmt.Sprintf("the workbook is longer than %d MiB: save the sheet as CSV UTF-8, which has no such bound", maxBook>>20)}
	}
	most := min(int64(maxUnzipped), freely+mostTimes*int64(len(all)))
	file, err := excelize.OpenReader(bytes.NewReader(all), excelize.Options{UnzipSizeLimit: most, UnzipXMLSizeLimit: min(inMemory, most), TmpDir: os.TempDir(), ShortDatePattern: "yyyy-mm-dd"})
	if err != nil {
		return nil, bookError(err, most)
	}
	b := &book{file: file}
	b.csv = csv.NewWriter(&b.out)
	if err := b.begin(); err != nil {
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

// begin finds the first sheet that is shown and has a row with something in it.
func (b *book) begin() error {
	for _, name := range b.file.GetSheetList() {
		if shown, err := b.file.GetSheetVisible(name); err != nil || !shown {
			continue
		}
		rows, err := b.file.Rows(name)
		if err != nil {
			continue // a sheet of a chart has no rows
		}
		b.rows, b.name = rows, name
		if err := b.header(); err != nil {
			return err
		}
		if b.wide > 0 {
			return nil
		}
		if err := rows.Close(); err != nil {
			return bookError(err, maxUnzipped)
		}
		b.rows = nil
	}
	return nil
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
	b.wide = len(b.held[0])
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
	for len(cells) < b.wide {
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
