package rule

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/posthouse/posthouse"
)

// Holidays are the dates of a list of public holidays, such as 2027-10-01: true
// for a day off, false for a workday, such as a Saturday that makes up for one.
type Holidays map[string]bool

// maxSpan bounds how many dates one line of a list has.
const maxSpan = 62

// dayKinds are the words for what a date is, in lower case.
var dayKinds = map[string]bool{"off": true, "holiday": true, "休": true, "放假": true, "work": false, "workday": false, "班": false, "上班": false, "补班": false}

// ReadHolidays reads a list of public holidays: a line for each date or span of
// dates, with what it is, "2027-10-01..2027-10-07,off" or "2027-10-09,work".
// Further columns, such as a holiday's name, and a first line of headings are
// left out. Every wrong line is reported, with the path "line 3"; with any problem
// the list is empty. The error says that reading failed.
func ReadHolidays(r io.Reader) (Holidays, []posthouse.Problem, error) {
	text, err := io.ReadAll(io.LimitReader(r, MaxCSV+1))
	if err != nil {
		return nil, nil, fmt.Errorf("read the holidays: %w", err)
	}
	switch {
	case len(text) > MaxCSV:
		return nil, problemOf("file", "it has more than %d bytes", MaxCSV), nil
	case !utf8.Valid(text):
		return nil, problemOf("file", "it is not UTF-8; in a spreadsheet program, save it as CSV UTF-8"), nil
	}
	t := table{csv: csv.NewReader(bytes.NewReader(bytes.TrimPrefix(text, []byte("\ufeff"))))}
	t.csv.FieldsPerRecord = -1
	list := t.holidays()
	if len(t.problems) > 0 {
		return nil, t.problems, nil
	}
	if len(list) == 0 {
		return nil, problemOf("file", `it has no date: want lines such as "2027-10-01..2027-10-07,off"`), nil
	}
	return list, nil, nil
}

// holidays are the dates of a list.
func (t *table) holidays() Holidays {
	list, rows := Holidays{}, 0
	for len(t.problems) < maxProblems {
		fields, line, err := t.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.problem(line, "%v", err)
			continue
		}
		if rows++; rows == 1 && !strings.ContainsAny(fields[0], "0123456789") {
			continue // headings
		}
		t.holiday(list, line, fields)
	}
	return list
}

// holiday takes a line into a list.
func (t *table) holiday(list Holidays, line int, fields []string) {
	if len(fields) < 2 {
		t.problem(line, "it must have two fields, a date and off or work")
		return
	}
	off, known := dayKinds[strings.ToLower(fields[1])]
	if !known {
		t.problem(line, "%.40q is no kind of day: want off (休) or work (班)", fields[1])
		return
	}
	first, last, ok := spanOf(fields[0])
	if !ok {
		t.problem(line, "%.40q is no date such as 2027-10-01, and no span of at most %d days such as 2027-10-01..2027-10-07", fields[0], maxSpan)
		return
	}
	for ; !first.After(last); first = first.AddDate(0, 0, 1) {
		date := first.Format(time.DateOnly)
		if before, there := list[date]; there && before != off {
			t.problem(line, "%s is off on one line and work on another", date)
			return
		}
		list[date] = off
	}
}

// spanOf reads a date, or the first and the last of several.
func spanOf(text string) (first, last time.Time, ok bool) {
	from, to, several := strings.Cut(text, "..")
	if !several {
		to = from
	}
	a, isDate := readDay(strings.TrimSpace(from))
	b, isToo := readDay(strings.TrimSpace(to))
	if !isDate || !isToo {
		return first, last, false
	}
	first, _ = time.Parse(time.DateOnly, a) // readDay wrote both
	last, _ = time.Parse(time.DateOnly, b)
	return first, last, !last.Before(first) && last.Sub(first) < maxSpan*24*time.Hour
}

// Over is a roster with a list of holidays as its overrides: a day off has
// nobody, a workday has the users of the first day of the week that has some.
// Other overrides stay. The problem says that no day of the week has users.
func (h Holidays) Over(roster posthouse.Roster) (posthouse.Roster, []posthouse.Problem) {
	var users []string
	for day := 1; day <= 7 && len(users) == 0; day++ {
		users = roster.Days[strconv.Itoa(day)]
	}
	next := roster
	if next.Overrides = maps.Clone(roster.Overrides); next.Overrides == nil {
		next.Overrides = map[string][]string{}
	}
	for date, off := range h {
		switch {
		case off:
			next.Overrides[date] = []string{}
		case len(users) == 0:
			return roster, problemOf("days", "has nobody on any day of the week, and a workday takes users from there: want some, such as Monday to Friday")
		default:
			next.Overrides[date] = slices.Clone(users)
		}
	}
	return next, nil
}
