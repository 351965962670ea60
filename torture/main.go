// Command torture runs the fault tests in their full form and prints what they found, as a table. The tests are
// the packages below this folder; each appends a row about what it did to a file, also where it failed or the run
// was interrupted later:
//
//	go run ./torture -run                 # all of them: make torture
//	go run ./torture -run -on             # those that an interrupted run has left: make torture-on
//	go run ./torture -run -- -run A1      # some of them, by flags of go test
//	go run ./torture -markdown            # the table of what was found last
//
// It judges nothing: a row says by itself whether it passed.
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

	"github.com/posthouse/posthouse/torture/internal/house"
)

func main() {
	path := flag.String("rows", "bin/torture.ndjson", "the `FILE` that the tests wrote their rows to")
	markdown := flag.Bool("markdown", false, "print the table in Markdown")
	all := flag.Bool("run", false, "run the tests first: all of them, or those that flags of go test after -- name")
	on := flag.Bool("on", false, "with -run: go on with a run that was interrupted")
	flag.Parse()
	if flag.NArg() > 0 && !*all {
		fail(fmt.Errorf("%q is no flag", flag.Arg(0)))
	}
	if *on && (!*all || flag.NArg() > 0) {
		fail(errors.New("-on goes with -run, and with no flags of go test"))
	}
	code := 0
	if *all {
		before := size(*path)
		var err error
		if code, err = test(os.Stdout, *path, *on, flag.Args()); err != nil {
			fail(err)
		}
		if flag.NArg() > 0 && size(*path) == before {
			if code == 0 {
				fail(errors.New("no test ran that writes a row: what the flags ask for matches none"))
			}
			os.Exit(code)
		}
	}
	failed, err := show(os.Stdout, *path, *markdown)
	if err != nil {
		fail(err)
	}
	if failed > 0 {
		code = 1
	}
	os.Exit(code)
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "torture:", err)
	os.Exit(2)
}

// size is how long a file is, 0 where there is none.
func size(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// show prints the table and returns how many rows did not pass. Lines that are no rows are an error, after the
// table of the others.
func show(out io.Writer, path string, markdown bool) (failed int, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	rows, wrong := read(f)
	rows = newest(rows)
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

// newest leaves out what a later run of the same test has said anew.
func newest(rows []house.Row) (list []house.Row) {
	last := map[house.Row]int{}
	key := func(r house.Row) house.Row {
		return house.Row{Test: r.Test, Database: r.Database, What: r.What, Name: r.Name, Full: r.Full}
	}
	for i, r := range rows {
		last[key(r)] = i
	}
	for i, r := range rows {
		if r.Name == "" || last[key(r)] == i {
			list = append(list, r)
		}
	}
	return list
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
