package shell

import (
	"io"
	"strings"

	"github.com/posthouse/posthouse/internal/audience"
)

// TellSheets names beside the output the sheets of a workbook that has several, of which one is read, and leaves the file at its beginning. What
// is wrong with a file, the server says.
func (sh *Shell) TellSheets(file io.ReadSeeker) {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return // a pipe is read once
	}
	if book, err := audience.Open(file, audience.Format{}, nil); err == nil {
		if len(book.Sheets) > 1 {
			sh.Notef("the workbook has several sheets: %s. The first with a column of addresses is read; --sheet NAME takes another\n", strings.Join(book.Sheets, ", "))
		}
		_ = book.Close()
	}
	_, _ = file.Seek(0, io.SeekStart)
}
