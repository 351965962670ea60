// Command torture prints what the fault tests found, as a table. The tests are the
// packages below this folder; each appends a row about what it did to a file, also
// where it failed or the run was interrupted later:
//
//	make torture
//	go run ./torture -rows bin/torture.ndjson -markdown
//
// It runs no test itself and judges nothing: a row says by itself whether it passed.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/posthouse/posthouse/internal/machine"
	"github.com/posthouse/posthouse/torture/house"
)

func main() {
	path := flag.String("rows", "bin/torture.ndjson", "the `FILE` that the tests wrote their rows to")
	markdown := flag.Bool("markdown", false, "print the table as docs/reliability.md holds it")
	flag.Parse()
	failed, err := run(os.Stdout, *path, *markdown)
	if err != nil {
		fmt.Fprintln(os.Stderr, "torture:", err)
		os.Exit(2)
	}
	if failed > 0 {
		os.Exit(1)
	}
}

// run prints the table and returns how many rows did not pass.
func run(out io.Writer, path string, markdown bool) (failed int, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	rows, err := read(f)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	if len(rows) == 0 {
		return 0, fmt.Errorf("%s holds no rows", path)
	}
	for _, r := range rows {
		if !r.Pass {
			failed++
		}
	}
	from, to := span(rows)
	fmt.Fprintf(out, "%s to %s, %s. %d rows, %d failed.\n\n", from.Format(stamp), to.Format(stamp), machine.Describe(), len(rows), failed)
	if markdown {
		printMarkdown(out, rows)
		return failed, nil
	}
	return failed, printText(out, rows)
}

// read reads the rows and sorts them by test. The last line of an interrupted run may be cut off.
func read(in io.Reader) ([]house.Row, error) {
	var rows []house.Row
	for d := json.NewDecoder(in); ; {
		var r house.Row
		err := d.Decode(&r)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	slices.SortStableFunc(rows, func(a, b house.Row) int { return strings.Compare(a.Test, b.Test) })
	return rows, nil
}
