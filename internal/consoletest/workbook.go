package consoletest

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/xuri/excelize/v2"
)

// Sheet is one of a workbook, with its rows.
type Sheet struct {
	Name string
	Rows [][]any
}

// Workbook is a file of Excel, behind an empty sheet.
func Workbook(tb testing.TB, sheets ...Sheet) string {
	tb.Helper()
	f := excelize.NewFile()
	for _, s := range sheets {
		if _, err := f.NewSheet(s.Name); err != nil {
			tb.Fatal(err)
		}
		for i, row := range s.Rows {
			if err := f.SetSheetRow(s.Name, fmt.Sprint("A", i+1), &row); err != nil {
				tb.Fatal(err)
			}
		}
	}
	var b bytes.Buffer
	if err := errors.Join(f.Write(&b), f.Close()); err != nil {
		tb.Fatal(err)
	}
	return b.String()
}
