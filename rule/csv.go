package rule

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/cell"
)

// MaxCSV is the longest roster file that ReadCSV accepts, in bytes.
const MaxCSV = 1 << 20

// maxProblems bounds the list of problems of one file.
const maxProblems = 100

// headers are the first lines that ReadCSV accepts, in lower case.
var headers = map[[2]string]bool{
	{"day", "user"}: true, {"星期", "用户"}: true, {"日期", "用户"}: true, {"值班日", "值班人"}: true,
}

// dayWords are the words for the days of the week, in lower case.
var dayWords = map[string]string{
	"1": "1", "mon": "1", "monday": "1", "周一": "1", "星期一": "1",
	"2": "2", "tue": "2", "tuesday": "2", "周二": "2", "星期二": "2",
	"3": "3", "wed": "3", "wednesday": "3", "周三": "3", "星期三": "3",
	"4": "4", "thu": "4", "thursday": "4", "周四": "4", "星期四": "4",
	"5": "5", "fri": "5", "friday": "5", "周五": "5", "星期五": "5",
	"6": "6", "sat": "6", "saturday": "6", "周六": "6", "星期六": "6",
	"7": "7", "sun": "7", "sunday": "7", "周日": "7", "周天": "7", "星期日": "7", "星期天": "7",
}

// ReadCSV reads the days and overrides of a roster: below the header "day,user"
// a line for each user of a day. The day is 1 (Monday) to 7, a word for it such
// as Mon or 周一, or a date, which makes an override; a date without a user means
// that nobody is on duty then. A byte order mark, CRLF and further empty columns
// are tolerated. An apostrophe before what a spreadsheet would take for a formula
// is WriteCSV's guard, and left out.
//
// Every wrong line is reported, with the path "line 3"; with any problem the
// roster is empty, so that nothing is imported by halves. The error says that
// reading failed.
func ReadCSV(r io.Reader) (posthouse.Roster, []posthouse.Problem, error) {
	text, err := io.ReadAll(io.LimitReader(r, MaxCSV+1))
	if err != nil {
		return posthouse.Roster{}, nil, fmt.Errorf("read the roster: %w", err)
	}
	switch {
	case len(text) > MaxCSV:
		return posthouse.Roster{}, problemOf("file", "it has more than %d bytes", MaxCSV), nil
	case !utf8.Valid(text):
		return posthouse.Roster{}, problemOf("file", "it is not UTF-8; in a spreadsheet program, save it as CSV UTF-8"), nil
	}
	t := table{
		csv:    csv.NewReader(bytes.NewReader(bytes.TrimPrefix(text, []byte("\ufeff")))),
		roster: posthouse.Roster{Days: map[string][]string{}, Overrides: map[string][]string{}},
		lines:  map[[2]string]int{},
	}
	t.csv.FieldsPerRecord = -1
	t.read()
	if len(t.problems) > 0 {
		return posthouse.Roster{}, t.problems, nil
	}
	return t.roster, nil, nil
}

func problemOf(path, format string, args ...any) []posthouse.Problem {
	return []posthouse.Problem{{Path: path, Message: fmt.Sprintf(format, args...)}}
}

// table is a file that is being read.
type table struct {
	csv      *csv.Reader
	roster   posthouse.Roster
	problems []posthouse.Problem
	lines    map[[2]string]int // the line of each day and user
}

func (t *table) problem(line int, format string, args ...any) {
	t.problems = append(t.problems, problemOf(fmt.Sprintf("line %d", line), format, args...)...)
}

func (t *table) read() {
	if head, line, err := t.next(); err != nil || !isHeader(head) {
		t.problem(max(line, 1), `the first line must be "day,user"`)
		return
	}
	rows := 0
	for len(t.problems) < maxProblems {
		fields, line, err := t.next()
		if errors.Is(err, io.EOF) {
			break
		}
		rows++
		switch {
		case err != nil:
			t.problem(line, "%v", err)
		case len(fields) != 2:
			t.problem(line, "it must have two fields, a day and a user, and has %d", len(fields))
		default:
			t.row(line, fields[0], fields[1])
		}
	}
	if rows == 0 {
		t.problems = problemOf("file", "it has no line below its header")
	}
}

// next is the next line that is not blank, its fields without the spaces around
// them and without empty ones after the second. The error is io.EOF or what is
// wrong with the line's quotes.
func (t *table) next() (fields []string, line int, err error) {
	for {
		fields, err = t.csv.Read()
		var syntax *csv.ParseError
		switch {
		case errors.As(err, &syntax):
			return nil, syntax.Line, syntax.Err
		case err != nil:
			return nil, 0, err
		}
		for i := range fields {
			fields[i] = cell.Bare(strings.TrimSpace(fields[i]))
		}
		for len(fields) > 2 && fields[len(fields)-1] == "" {
			fields = fields[:len(fields)-1]
		}
		if strings.Join(fields, "") != "" {
			line, _ = t.csv.FieldPos(0)
			return fields, line, nil
		}
	}
}

func isHeader(fields []string) bool {
	return len(fields) == 2 && headers[[2]string{strings.ToLower(fields[0]), strings.ToLower(fields[1])}]
}

// row takes one day and user into the roster.
func (t *table) row(line int, word, user string) {
	day, isDate := readDay(word)
	if wrong := wrongUser(user); day == "" {
		t.problem(line, "%q is not a day: write 1 (Monday) to 7, Mon to Sun, 周一 to 周日, or a date such as 2026-10-01", word)
		return
	} else if wrong != "" && !(isDate && user == "") {
		t.problem(line, "%s", wrong)
		return
	}
	key := [2]string{day, user}
	if before := t.lines[key]; before > 0 {
		t.problem(line, "it repeats line %d", before)
		return
	}
	t.lines[key] = line
	t.put(line, day, user, isDate)
}

func (t *table) put(line int, day, user string, isDate bool) {
	if !isDate {
		t.roster.Days[day] = append(t.roster.Days[day], user)
		return
	}
	users, known := t.roster.Overrides[day]
	switch {
	case known && (user == "" || len(users) == 0):
		t.problem(line, "%s has a line with a user and one without: is anybody on duty?", day)
	case user == "":
		t.roster.Overrides[day] = []string{}
	default:
		t.roster.Overrides[day] = append(users, user)
	}
}

// readDay is the day of the week "1" to "7", or the date, that a word means.
func readDay(word string) (day string, isDate bool) {
	if day := dayWords[strings.ToLower(word)]; day != "" {
		return day, false
	}
	for _, layout := range []string{time.DateOnly, "2006/1/2"} { // the second as spreadsheets write it
		if t, err := time.Parse(layout, word); err == nil {
			return t.Format(time.DateOnly), true
		}
	}
	return "", false
}

// WriteCSV writes the days and overrides of a roster as ReadCSV reads them: the
// days of the week first, then the dates, users in their order. Cells that a
// spreadsheet would calculate begin with an apostrophe.
func WriteCSV(w io.Writer, roster posthouse.Roster) error {
	out := csv.NewWriter(w)
	lines := [][]string{{"day", "user"}}
	for _, day := range slices.Sorted(maps.Keys(roster.Days)) {
		for _, user := range roster.Days[day] {
			lines = append(lines, []string{day, cell.Guard(user)})
		}
	}
	for _, date := range slices.Sorted(maps.Keys(roster.Overrides)) {
		users := roster.Overrides[date]
		if len(users) == 0 {
			users = []string{""}
		}
		for _, user := range users {
			lines = append(lines, []string{date, cell.Guard(user)})
		}
	}
	if err := out.WriteAll(lines); err != nil {
		return fmt.Errorf("write the roster: %w", err)
	}
	return nil
}
