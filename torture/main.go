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
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/posthouse/posthouse/torture/house"
)

func main() {
	path := flag.String("rows", "bin/torture.ndjson", "the `FILE` that the tests wrote their rows to")
	markdown := flag.Bool("markdown", false, "print the table in Markdown")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "torture: %q is no flag\n", flag.Arg(0))
		os.Exit(2)
	}
	failed, err := run(os.Stdout, *path, *markdown)
	if err != nil {
		fmt.Fprintln(os.Stderr, "torture:", err)
		os.Exit(2)
	}
	if failed > 0 {
		os.Exit(1)
	}
}

// run prints the table and returns how many rows did not pass. Lines that are no rows are an error, after the
// table of the others.
func run(out io.Writer, path string, markdown bool) (failed int, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	rows, wrong := read(f)
	if wrong != nil {
		wrong = fmt.Errorf("%s: %w", path, wrong)
	}
	if len(rows) == 0 {
		return 0, errors.Join(fmt.Errorf("%s holds no rows", path), wrong)
	}
	for _, r := range rows {
		if !r.Pass {
			failed++
		}
	}
	from, to := span(rows)
	fmt.Fprintf(out, "%s to %s, %s. %d rows, %d failed.\n\n", from.Format(stamp), to.Format(stamp), machines(rows), len(rows), failed)
	if markdown {
		printMarkdown(out, rows)
		return failed, wrong
	}
	return failed, errors.Join(printText(out, rows), wrong)
}

// read reads the rows, sorts them by test and says which lines are none. The last line of an interrupted run may
// be cut off: it has no end.
func read(in io.Reader) (rows []house.Row, wrong error) {
	text, wrong := io.ReadAll(in)
	number := 0
	for line := range bytes.Lines(text) {
		number++
		r, err := parse(bytes.TrimSpace(line))
		switch {
		case err == nil:
			rows = append(rows, r)
		case len(bytes.TrimSpace(line)) > 0 && bytes.HasSuffix(line, []byte("\n")):
			wrong = errors.Join(wrong, fmt.Errorf("line %d is no row: %w", number, err))
		}
	}
	slices.SortStableFunc(rows, func(a, b house.Row) int { return strings.Compare(a.Test, b.Test) })
	return rows, wrong
}

func parse(line []byte) (r house.Row, err error) {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return r, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return r, errors.New("something stands after it")
	}
	if r.Test == "" || r.At.IsZero() {
		return r, errors.New("it does not say which test wrote it, or when")
	}
	return r, nil
}
