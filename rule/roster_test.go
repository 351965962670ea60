package rule_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/rule"
)

func TestValidateNamesEveryProblemOfARoster(t *testing.T) {
	t.Parallel()
	got := rule.Validate(posthouse.Roster{
		Days: map[string][]string{
			"1": {"u1", "", "u1", strings.Repeat("x", 129), " u2", "a\nb", "\xff"},
			"0": {"u1"}, "8": nil, "mon": nil, "7": {},
		},
		Overrides: map[string][]string{"2026-02-30": {"u1"}, "2026-2-1": nil, "2026-10-01": {}},
		HandOver:  "8:30",
		TimeZone:  "Local",
	})
	want := []posthouse.Problem{
		{Path: "days.0", Message: `"0" is not a day of the week from 1 (Monday) to 7`},
		{Path: "days.1[1]", Message: "an empty user id"},
		{Path: "days.1[2]", Message: `"u1" is on this day already, at [0]`},
		{Path: "days.1[3]", Message: "a user id of 129 bytes; the most is 128"},
		{Path: "days.1[4]", Message: `the user id " u2" begins or ends with a space`},
		{Path: "days.1[5]", Message: `the user id "a\nb" holds a control character`},
		{Path: "days.1[6]", Message: "a user id that is not UTF-8"},
		{Path: "days.8", Message: `"8" is not a day of the week from 1 (Monday) to 7`},
		{Path: "days.mon", Message: `"mon" is not a day of the week from 1 (Monday) to 7`},
		{Path: "overrides.2026-02-30", Message: `"2026-02-30" is not a date such as 2026-10-01`},
		{Path: "overrides.2026-2-1", Message: `"2026-2-1" is not a date such as 2026-10-01`},
		{Path: "hand_over", Message: `"8:30" is not a time of day such as 08:30, from 00:00 to 23:59`},
		{Path: "time_zone", Message: `"Local" is not a time zone such as Asia/Shanghai or UTC`},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestValidateAcceptsGoodRosters(t *testing.T) {
	t.Parallel()
	for name, roster := range map[string]posthouse.Roster{
		"empty": {},
		"full": {
			Days:      map[string][]string{"1": {"u1", "王芳"}, "7": {}},
			Overrides: map[string][]string{"2026-10-01": {}, "2028-02-29": {"u9"}},
			HandOver:  "08:30", TimeZone: "Asia/Shanghai",
		},
	} {
		if got := rule.Validate(roster); len(got) > 0 {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

func TestReadCSVReadsDaysWordsAndDates(t *testing.T) {
	t.Parallel()
	want := posthouse.Roster{
		Days:      map[string][]string{"1": {"u1", "u2"}, "2": {"u1"}, "7": {"王芳"}},
		Overrides: map[string][]string{"2026-10-01": {"u9"}, "2026-10-02": {}},
	}
	for name, text := range map[string]string{
		"plain":            "day,user\n1,u1\n1,u2\n2,u1\n7,王芳\n2026-10-01,u9\n2026-10-02,\n",
		"mark, CRLF":       "\ufeffday,user\r\n1,u1\r\n1,u2\r\n2,u1\r\n7,王芳\r\n2026-10-01,u9\r\n2026-10-02,\r\n",
		"words":            "Day,User\nMon,u1\nmonday,u2\nTUE,u1\nsun,王芳\n2026/10/1,u9\n2026/10/02,",
		"Chinese":          "日期,用户\n周一,u1\n星期一,u2\n周二,u1\n周天,王芳\n2026-10-01,u9\n2026-10-02,\n",
		"spaces and empty": "day,user,,\n\n 1 , u1 ,\n,,\n1,\"u2\"\n2,u1\n7,王芳\n   \n2026-10-01,u9\n2026-10-02,,,\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, problems, err := rule.ReadCSV(strings.NewReader(text))
			if err != nil || len(problems) > 0 {
				t.Fatal(problems, err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestReadCSVReportsEachBadLineAndImportsNothing(t *testing.T) {
	t.Parallel()
	text := "day,user\n1,u1\n8,u1\n2026-02-30,u1\n3\n1,u1\n4,\n5,u1,x\n6,\"a\"b\n2026-10-01,\n2026-10-01,u9\n7,u7\n"
	got, problems, err := rule.ReadCSV(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	const notADay = "%q is not a day: write 1 (Monday) to 7, Mon to Sun, 周一 to 周日, or a date such as 2026-10-01"
	want := []posthouse.Problem{
		{Path: "line 3", Message: fmt.Sprintf(notADay, "8")},
		{Path: "line 4", Message: fmt.Sprintf(notADay, "2026-02-30")},
		{Path: "line 5", Message: "it must have two fields, a day and a user, and has 1"},
		{Path: "line 6", Message: "it repeats line 2"},
		{Path: "line 7", Message: "an empty user id"},
		{Path: "line 8", Message: "it must have two fields, a day and a user, and has 3"},
		{Path: "line 9", Message: `extraneous or missing " in quoted-field`},
		{Path: "line 11", Message: "2026-10-01 has a line with a user and one without: is anybody on duty?"},
	}
	if diff := cmp.Diff(want, problems); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(posthouse.Roster{}, got); diff != "" {
		t.Errorf("something was imported: %s", diff)
	}
}

func TestReadCSVRefusesWhatIsNoRosterFile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, path, message string }{
		"empty":        {"", "line 1", `the first line must be "day,user"`},
		"no header":    {"1,u1\n", "line 1", `the first line must be "day,user"`},
		"semicolons":   {"day;user\n1;u1\n", "line 1", `the first line must be "day,user"`},
		"header alone": {"day,user\n", "file", "it has no line below its header"},
		"GBK":          {"day,user\n1,\xcd\xf5\n", "file", "it is not UTF-8; in a spreadsheet program, save it as CSV UTF-8"},
		"too long":     {"day,user\n" + strings.Repeat("\n", rule.MaxCSV), "file", "it has more than 1048576 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, problems, err := rule.ReadCSV(strings.NewReader(c.text))
			if diff := cmp.Diff([]posthouse.Problem{{Path: c.path, Message: c.message}}, problems); diff != "" || err != nil {
				t.Error(diff, err)
			}
		})
	}
	_, problems, err := rule.ReadCSV(strings.NewReader("day,user\n" + strings.Repeat("9,u\n", 500)))
	if err != nil || len(problems) != 100 {
		t.Errorf("got %d problems, %v, want the first 100", len(problems), err)
	}
	if _, _, err := rule.ReadCSV(iotest.ErrReader(io.ErrClosedPipe)); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("got %v, want the reader's error", err)
	}
}

// DUTY-11.
func TestReportFindsEmptyAndOverlappingDays(t *testing.T) {
	t.Parallel()
	got := rule.Report(posthouse.Roster{
		Days:      map[string][]string{"1": {"u1", "u2"}, "2": {"u2"}, "3": {"u1"}, "4": {"u4"}, "7": {}},
		Overrides: map[string][]string{"2026-10-02": {}, "2026-10-01": {"u1"}},
	})
	want := rule.Overview{
		EmptyDays:  []string{"5", "6", "7"},
		EmptyDates: []string{"2026-10-02"},
		Several:    []rule.UserDays{{User: "u1", Days: []string{"1", "3"}}, {User: "u2", Days: []string{"1", "2"}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// FuzzReadCSV: whatever is accepted is a valid roster and comes back from its
// own export; whatever is not leaves nothing.
func FuzzReadCSV(f *testing.F) {
	f.Add("day,user\n1,u1\n2026-10-01,\n")
	f.Add("\ufeff日期,用户\r\n周一,\"a,\"\"b\"\r\n")
	f.Add("day,user\n1,\"a\nb\"\n")
	f.Fuzz(func(t *testing.T, text string) {
		roster, problems, err := rule.ReadCSV(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if len(problems) > 0 {
			if diff := cmp.Diff(posthouse.Roster{}, roster); diff != "" {
				t.Fatal(diff)
			}
			return
		}
		if wrong := rule.Validate(roster); len(wrong) > 0 {
			t.Fatal(wrong)
		}
		var out strings.Builder
		if err := rule.WriteCSV(&out, roster); err != nil {
			t.Fatal(err)
		}
		again, problems, err := rule.ReadCSV(strings.NewReader(out.String()))
		if diff := cmp.Diff(roster, again); diff != "" {
			t.Fatal(diff, problems, err)
		}
	})
}

func ExampleReadCSV() {
	_, problems, _ := rule.ReadCSV(strings.NewReader("day,user\nMon,u1\nFunday,u2\n"))
	for _, p := range problems {
		fmt.Println(p.Path + ": " + p.Message)
	}

	roster, _, _ := rule.ReadCSV(strings.NewReader("day,user\n周一,u1\n2026-10-01,u9\n"))
	rule.WriteCSV(os.Stdout, roster)
	// Output:
	// line 3: "Funday" is not a day: write 1 (Monday) to 7, Mon to Sun, 周一 to 周日, or a date such as 2026-10-01
	// day,user
	// 1,u1
	// 2026-10-01,u9
}

func TestNoCellOfTheCSVIsAFormula(t *testing.T) {
	t.Parallel()
	users := []string{"=cmd|'/C calc'!A0", "+86138", "-1", "@SUM(A1)", "'=1", "''=1", "＝1", "'quoted", "li.na"}
	roster := posthouse.Roster{Days: map[string][]string{"1": users}, Overrides: map[string][]string{}}
	var out strings.Builder
	if err := rule.WriteCSV(&out, roster); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		_, cell, _ := strings.Cut(strings.TrimSpace(line), ",")
		if cell = strings.Trim(cell, `"`); strings.IndexAny(cell, "=+-@＝") == 0 {
			t.Errorf("a spreadsheet calculates %s", cell)
		}
	}
	again, problems, err := rule.ReadCSV(strings.NewReader(out.String()))
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	if diff := cmp.Diff(roster, again); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
}
