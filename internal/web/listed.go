package web

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"

	"github.com/posthouse/posthouse/internal/cell"
)

// Listed writes things as they are read: as lines of JSON, or as a table in which no cell is a formula.
func Listed[T any](table bool, head []string, each func(func(T) error) error, row func(T) []string) Stream {
	if !table {
		return Stream{Kind: "application/x-ndjson", Write: func(w io.Writer) error {
			lines := json.NewEncoder(w)
			return each(func(v T) error { return lines.Encode(v) })
		}}
	}
	return Stream{Kind: "text/csv; charset=utf-8", Write: func(w io.Writer) error {
		out := csv.NewWriter(w)
		err := out.Write(head)
		if err == nil {
			err = each(func(v T) error {
				cells := row(v)
				for i := range cells {
					cells[i] = cell.Guard(cells[i])
				}
				return out.Write(cells)
			})
		}
		out.Flush()
		if err == nil {
			err = out.Error()
		}
		if err != nil {
			return fmt.Errorf("export a list: %w", err)
		}
		return nil
	}}
}
