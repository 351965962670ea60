package clock

import (
	"archive/zip"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the zones that the binary carries

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/rule"
	"github.com/posthouse/posthouse/torture/internal/house"
)

// The years whose transitions are looked at; the law-makers have not decided further.
var (
	firstYear = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	lastYear  = time.Date(2036, 1, 1, 0, 0, 0, 0, time.UTC)
)

const (
	around    = 36 * time.Hour // what is looked at on either side of a transition
	perDay    = 96             // local times, a quarter of an hour apart
	quarter   = 15 * time.Minute
	minuteDay = 24 * 60
)

// TestLocalTimesComeOnce looks at every change of clocks from 2024 to 2035: a duty begins once at its
// hand-over, at the first of two and after a gap, and a day ends once. The oracle knows nothing of
// offsets: it reads the clock on the wall, minute by minute.
func TestLocalTimesComeOnce(t *testing.T) {
	t.Parallel()
	zones := zoneNames(t)
	seen := map[shape]bool{}
	var changes, checks, wrong int
	for _, name := range zones {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		for at := range transitions(zone) {
			// Without the long form, one change of each kind stands for all of its kind.
			if kind := shapeOf(at); !house.Full() && seen[kind] {
				continue
			} else {
				seen[kind] = true
			}
			changes++
			n, faults := examine(at)
			checks += n
			wrong += len(faults)
			for _, fault := range faults[:min(3, len(faults))] {
				t.Errorf("%s, clocks change at %s: %s", name, at.UTC().Format(time.RFC3339), fault)
			}
		}
	}
	if changes < 50 {
		t.Errorf("only %d changes of clocks were found in %d zones: the zone files say nothing", changes, len(zones))
	}
	house.Report(t, house.Row{
		Test: "D3", What: fmt.Sprintf("duty hand-overs and ends of day around changes of clocks in %d zones, 2024 to 2035, x %d local times; there are no quiet hours yet", len(zones), perDay),
		N: changes, Unit: "changes of clocks", Figure: fmt.Sprintf("%d moments looked at, %d wrong", checks, wrong), Bar: "0 wrong: each begins once, at the first valid moment",
		Bound: house.Bound(checks), Pass: wrong == 0,
	})
}

// zoneNames are all zones of the Go distribution that runs the test.
func zoneNames(t *testing.T) []string {
	t.Helper()
	root, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	files, err := zip.OpenReader(filepath.Join(strings.TrimSpace(string(root)), "lib/time/zoneinfo.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	var names []string
	for _, f := range files.File {
		if !f.FileInfo().IsDir() {
			names = append(names, f.Name)
		}
	}
	slices.Sort(names)
	return names
}

// transitions are the moments at which a zone's clocks change, the first with the new time.
func transitions(zone *time.Location) func(yield func(time.Time) bool) {
	return func(yield func(time.Time) bool) {
		for _, end := firstYear.In(zone).ZoneBounds(); !end.IsZero() && end.Before(lastYear); _, end = end.ZoneBounds() {
			if !yield(end) {
				return
			}
		}
	}
}

// shape is what makes two changes alike: by how much, and at what time of day.
type shape struct {
	before, after int // offsets in seconds
	minute        int
}

func shapeOf(at time.Time) shape {
	_, before := at.Add(-time.Second).Zone()
	_, after := at.Zone()
	return shape{before, after, minuteOf(at)}
}

func minuteOf(t time.Time) int { return t.Hour()*60 + t.Minute() }

// reading is what a clock on the wall shows: the day, counted, and the minute of the day.
type reading struct{ day, minute int }

// wall reads the clocks of a zone each minute from a moment on. Days are counted from one that is
// 0; a day that is skipped counts as one that has passed.
func wall(from time.Time) []reading {
	list := make([]reading, 2*around/time.Minute)
	for i := range list {
		t := from.Add(time.Duration(i) * time.Minute)
		list[i] = reading{dayNumber(t), minuteOf(t)}
	}
	return list
}

// dayNumber counts calendar days.
func dayNumber(t time.Time) int {
	y, m, d := t.Date()
	return int(time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Unix() / (minuteDay * 60))
}

// examine checks what happens around one change and returns how many moments it looked at.
func examine(at time.Time) (checks int, faults []string) {
	from := at.Add(-around)
	clock := wall(from)
	for i := range perDay {
		n, found := examineHandOver(from, clock, i*minuteDay/perDay)
		checks += n
		faults = append(faults, found...)
	}
	n, found := examineDayEnds(from, clock)
	return checks + n, append(faults, found...)
}

// examineHandOver asks each quarter of an hour, and around each hand-over, whose duty it is.
func examineHandOver(from time.Time, clock []reading, minute int) (checks int, faults []string) {
	roster := posthouse.Roster{HandOver: fmt.Sprintf("%02d:%02d", minute/60, minute%60)}
	begins := map[int]int{} // day → index of its first minute of duty
	for i, r := range clock {
		for day := clock[0].day; day <= r.day; day++ {
			if _, begun := begins[day]; !begun && (r.day > day || r.minute >= minute) {
				begins[day] = i
			}
		}
	}
	look := func(moment time.Time, want int) {
		checks++
		shift, err := rule.ShiftAt(roster, moment)
		if got := parseDay(shift.Date); err != nil || got != want {
			faults = append(faults, fmt.Sprintf("hand-over %s: at %s the duty is that of %s, want day %+d of it, %v", roster.HandOver, moment, shift.Date, want-got, err))
		}
	}
	first := clock[0].day + 1 // the duty before may have begun before the window
	for day := first; begins[day] > 0; day++ {
		begin := from.Add(time.Duration(begins[day]) * time.Minute)
		look(begin.Add(-time.Nanosecond), day-1)
		look(begin, day)
	}
	for i := begins[first]; i > 0 && i < len(clock); i += int(quarter / time.Minute) {
		look(from.Add(time.Duration(i)*time.Minute), current(begins, first, i))
	}
	return checks, faults
}

// current is the last day whose duty has begun by minute i.
func current(begins map[int]int, first, i int) int {
	day := first
	for begins[day+1] > 0 && begins[day+1] <= i {
		day++
	}
	return day
}

func parseDay(date string) int {
	t, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return 0
	}
	return dayNumber(t)
}

// examineDayEnds asks each quarter of an hour when the day is over.
func examineDayEnds(from time.Time, clock []reading) (checks int, faults []string) {
	for i := 0; i < len(clock); i += int(quarter / time.Minute) {
		end := i
		for end < len(clock) && clock[end].day <= clock[i].day {
			end++
		}
		if end == len(clock) {
			break // past the window
		}
		checks++
		moment, want := from.Add(time.Duration(i)*time.Minute), from.Add(time.Duration(end)*time.Minute)
		if got := rule.EndOfDay(moment); !got.Equal(want) {
			faults = append(faults, fmt.Sprintf("the day of %s ends at %s, want %s", moment, got, want))
		}
	}
	return checks, faults
}
