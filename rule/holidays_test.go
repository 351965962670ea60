package rule_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/rule"
)

func TestHolidaysBecomeOverridesOfARoster(t *testing.T) {
	t.Parallel()
	list, problems, err := rule.ReadHolidays(strings.NewReader("\ufeff日期,类型,名称\r\n2027-10-01..2027-10-03,休,国庆节\r\n2027/10/9,Work\r\n"))
	if err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
	before := posthouse.Roster{Name: "workdays", Days: map[string][]string{"1": {"work"}, "2": {"work"}}, Overrides: map[string][]string{"2027-10-01": {"li.na"}, "2027-12-31": {"zhao.min"}}}
	got, problems := list.Over(before)
	want := map[string][]string{"2027-10-01": {}, "2027-10-02": {}, "2027-10-03": {}, "2027-10-09": {"work"}, "2027-12-31": {"zhao.min"}}
	if diff := cmp.Diff(want, got.Overrides); diff != "" || len(problems) > 0 {
		t.Errorf("the overrides are %v: %s", problems, diff)
	}
	if len(before.Overrides) != 2 {
		t.Errorf("the roster of before has become %v", before.Overrides)
	}
	if _, problems := list.Over(posthouse.Roster{Name: "empty"}); len(problems) != 1 || problems[0].Path != "days" {
		t.Errorf("over a roster without users: %v", problems)
	}
}

func TestReadHolidaysReportsEachWrongLine(t *testing.T) {
	t.Parallel()
	text := "date,day\n2027-10-01,maybe\nMon,off\n2027-10-07..2027-10-01,off\n2027-01-01..2027-12-31,off\n2027-10-02\n2027-05-01,off\n2027-04-30..2027-05-02,work\n"
	list, problems, err := rule.ReadHolidays(strings.NewReader(text))
	var paths []string
	for _, p := range problems {
		paths = append(paths, p.Path)
	}
	if want := []string{"line 2", "line 3", "line 4", "line 5", "line 6", "line 8"}; err != nil || list != nil || !slices.Equal(paths, want) {
		t.Errorf("the problems are %v, %v", problems, err)
	}
	for _, text := range []string{"", "date,day\n", "\xff,off\n"} {
		if _, problems, err := rule.ReadHolidays(strings.NewReader(text)); err != nil || len(problems) != 1 || problems[0].Path != "file" {
			t.Errorf("%q: %v, %v", text, problems, err)
		}
	}
}

func ExampleReadHolidays() {
	list, _, _ := rule.ReadHolidays(strings.NewReader("2027-10-01..2027-10-07,off\n2027-10-09,work\n"))
	roster, _ := list.Over(posthouse.Roster{Name: "workdays", Days: map[string][]string{"1": {"work"}}})
	fmt.Println(len(roster.Overrides), roster.Overrides["2027-10-01"], roster.Overrides["2027-10-09"])
	// Output: 8 [] [work]
}
