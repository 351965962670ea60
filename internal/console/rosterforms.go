package console

import (
	"cmp"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/rule"
)

// wish is what a form of the page of a roster asks for.
type wish struct {
	Do       string // new, date, clear, swap, week or import
	Name     string // of a new one
	Date     string
	Users    string // a line each
	User     string // who gives the duty of Date
	With     string // to whom
	WithDate string // for the duty of this date
	HandOver string
	TimeZone string
	CSV      string
	Days     [8]string // the lines of each day of the week; the first is not used
	View     string    // where the page was
}

// look is what a wish would change.
type look struct {
	Changed  []shifted
	More     int // that are not shown
	HandOver *[2]string
	TimeZone *[2]string
}

// shifted is a day whose users would be others.
type shifted struct {
	Day           string // 1 to 7, or a date
	Weekday       int    // 0 for a date
	Before, After []string
}

// mostShifted bounds how many days a look shows.
const mostShifted = 62

// changeRoster shows what a form would change, and stores it when it is confirmed: over the roster that was shown and no other.
func changeRoster(v *visit) error {
	d := duty{v}
	ask := wishOf(v)
	before, err := d.rosterOf(ask)
	if err != nil {
		return err
	}
	next, problems := ask.apply(before)
	if ask.Do == "new" && before.Name != "" {
		problems = problemAt("name", "roster_taken")
	}
	if problems = append(problems, rule.Validate(next)...); len(problems) > 0 {
		return d.again(before, ask, nil, problems)
	}
	switch v.form("step") {
	case "store":
	case "back":
		return d.again(before, ask, nil, nil)
	default:
		return d.again(before, ask, lookOf(before, next), nil)
	}
	if v.form("version") != (watch{Roster: before}).Version() {
		return posthouse.Errorf(posthouse.CodeConflict, "the roster was changed by somebody else")
	}
	_, err = v.call().Rosters.Put(withNote(v.ctx(), v.form("note")), next)
	var coded *posthouse.Error
	if errors.As(err, &coded) && coded.Code == posthouse.CodeInvalid {
		return d.again(before, ask, nil, coded.Problems)
	}
	if err != nil {
		return err
	}
	return v.goTo(v.at("rosters", next.Name) + "?said=stored")
}

// rosterOf is the roster that a form is about, without a name where there is none yet.
func (d duty) rosterOf(ask wish) (posthouse.Roster, error) {
	if ask.Do != "new" {
		return d.v.call().Rosters.Get(d.v.ctx(), cmp.Or(d.v.r.PathValue("name"), ask.Name))
	}
	if ask.Name == "" {
		return posthouse.Roster{}, nil
	}
	r, err := d.v.call().Rosters.Get(d.v.ctx(), ask.Name)
	if posthouse.CodeOf(err) == posthouse.CodeNotFound {
		return posthouse.Roster{}, nil
	}
	return r, err
}

// again draws the page with the form as it was sent.
func (d duty) again(r posthouse.Roster, ask wish, will *look, problems []posthouse.Problem) error {
	c, err := d.calendarOf(r, ask.View, ask.Date)
	if err != nil {
		return err
	}
	c.New, c.Asked, c.Look, c.Problems = r.Name == "", ask, will, problems
	status := http.StatusOK
	for i := range problems {
		problems[i].Message = say(problems[i].Message, d.v.zh) // those that are no words stay
		status = http.StatusUnprocessableEntity
	}
	return d.v.draw(status, "roster", "rosters", c)
}

// wishOf reads the form.
func wishOf(v *visit) wish {
	w := wish{
		Do: v.form("do"), Name: v.form("name"), Date: v.form("date"), Users: v.form("users"), User: v.form("user"), With: v.form("with"),
		WithDate: v.form("with_date"), HandOver: v.form("hand_over"), TimeZone: v.form("time_zone"), CSV: v.form("csv"), View: v.form("view"),
	}
	for i := range w.Days {
		w.Days[i] = v.form("day" + strconv.Itoa(i))
	}
	if v.r.PathValue("name") == "" {
		w.Do = "new"
	}
	if file, _, err := v.r.FormFile("file"); err == nil {
		defer file.Close()
		if text, err := io.ReadAll(file); err == nil && len(text) > 0 {
			w.CSV = string(text)
		}
	}
	return w
}

// Fields are the names and values of the form, which the look hands on.
func (w wish) Fields() [][2]string {
	list := [][2]string{
		{"do", w.Do}, {"name", w.Name}, {"date", w.Date}, {"users", w.Users}, {"user", w.User}, {"with", w.With}, {"with_date", w.WithDate},
		{"hand_over", w.HandOver}, {"time_zone", w.TimeZone}, {"csv", w.CSV}, {"view", w.View},
	}
	for i, text := range w.Days {
		list = append(list, [2]string{"day" + strconv.Itoa(i), text})
	}
	return slices.DeleteFunc(list, func(one [2]string) bool { return one[1] == "" })
}

// apply is a roster as the form wants it, or what is wrong with the form.
func (w wish) apply(before posthouse.Roster) (posthouse.Roster, []posthouse.Problem) {
	next := before
	next.Days, next.Overrides = maps.Clone(before.Days), maps.Clone(before.Overrides)
	if next.Overrides == nil {
		next.Overrides = map[string][]string{}
	}
	switch w.Do {
	case "date":
		next.Overrides[w.Date] = usersIn(w.Users)
	case "clear":
		if _, there := before.Overrides[w.Date]; !there {
			return next, problemAt("date", "wish_no_override")
		}
		delete(next.Overrides, w.Date)
	case "swap":
		return w.swapped(next)
	case "week":
		next.Days, next.HandOver, next.TimeZone = map[string][]string{}, w.HandOver, w.TimeZone
		for i := 1; i < len(w.Days); i++ {
			if users := usersIn(w.Days[i]); len(users) > 0 {
				next.Days[strconv.Itoa(i)] = users
			}
		}
	case "new":
		next.Name, next.HandOver, next.TimeZone, next.Days = w.Name, w.HandOver, w.TimeZone, map[string][]string{}
		if w.Name == "" {
			return next, problemAt("name", "wish_no_name")
		}
		if w.CSV != "" {
			return w.imported(next)
		}
	case "import":
		return w.imported(next)
	default:
		return next, problemAt("do", "wish_nothing")
	}
	return next, nil
}

// problemAt is a problem of a field, whose message is a word.
func problemAt(path, word string) []posthouse.Problem {
	return []posthouse.Problem{{Path: path, Message: word}}
}

// imported takes the days and dates of a CSV in place of all that there were.
func (w wish) imported(next posthouse.Roster) (posthouse.Roster, []posthouse.Problem) {
	read, problems, err := rule.ReadCSV(strings.NewReader(w.CSV))
	if err != nil {
		return next, problemAt("file", err.Error())
	}
	next.Days, next.Overrides = read.Days, read.Overrides
	return next, problems
}

// swapped has two users take each other's duty, each on a date.
func (w wish) swapped(next posthouse.Roster) (posthouse.Roster, []posthouse.Problem) {
	if w.Date == w.WithDate {
		return next, problemAt("with_date", "wish_same_date")
	}
	for _, one := range []struct{ path, date, gives, takes string }{{"user", w.Date, w.User, w.With}, {"with", w.WithDate, w.With, w.User}} {
		users, problem := onDutyOn(next, one.date)
		i := slices.Index(users, one.gives)
		switch {
		case problem != nil:
			return next, problem
		case i < 0:
			return next, problemAt(one.path, "wish_not_on_duty")
		}
		users = slices.Clone(users)
		users[i] = one.takes
		next.Overrides[one.date] = users
	}
	return next, nil
}

// onDutyOn are the users of a date.
func onDutyOn(r posthouse.Roster, date string) ([]string, []posthouse.Problem) {
	at, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return nil, problemAt("date", "wish_no_date")
	}
	days, err := rule.Days(r, at, 1)
	if err != nil {
		return nil, problemAt("hand_over", err.Error())
	}
	return days[0].Users, nil
}

// usersIn are the users of a text, one a line or with commas between.
func usersIn(text string) []string {
	users := []string{}
	for _, user := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("\r\n,，、;；", r) }) {
		if user = strings.TrimSpace(user); user != "" {
			users = append(users, user)
		}
	}
	return users
}

// lookOf compares a roster with what it would be.
func lookOf(before, next posthouse.Roster) *look {
	out := &look{}
	add := func(day string, weekday int, a, b []string) {
		switch {
		case slices.Equal(a, b):
		case len(out.Changed) == mostShifted:
			out.More++
		default:
			out.Changed = append(out.Changed, shifted{day, weekday, a, b})
		}
	}
	for i := 1; i <= 7; i++ {
		day := strconv.Itoa(i)
		add(day, i, before.Days[day], next.Days[day])
	}
	dates := maps.Clone(before.Overrides)
	if dates == nil {
		dates = map[string][]string{}
	}
	maps.Copy(dates, next.Overrides)
	for _, date := range slices.Sorted(maps.Keys(dates)) {
		a, _ := onDutyOn(before, date)
		b, _ := onDutyOn(next, date) // Validate has looked at both
		add(date, 0, a, b)
	}
	if before.HandOver != next.HandOver {
		out.HandOver = &[2]string{before.HandOver, next.HandOver}
	}
	if before.TimeZone != next.TimeZone {
		out.TimeZone = &[2]string{before.TimeZone, next.TimeZone}
	}
	return out
}

// Nothing reports whether all would stay as it is.
func (l look) Nothing() bool { return len(l.Changed) == 0 && l.HandOver == nil && l.TimeZone == nil }

// Lines are the users of a day of the week in its field: as they were typed, or as they are.
func (c calendar) Lines(day int) string {
	if c.Asked.Do == "week" {
		return c.Asked.Days[day]
	}
	return strings.Join(c.Days[strconv.Itoa(day)], "\n")
}
