package rosters

import (
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/console/host"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/rule"
	"github.com/posthouse/posthouse/wire"
)

// wish is what a form of the page of a roster asks for.
type wish struct {
	Do       string // new, date, clear, swap, week, import or holidays
	Name     string // of a new one
	Date     string
	Users    string // a line each
	User     string // who gives the duty of Date
	With     string // to whom
	WithDate string // for the duty of this date
	HandOver string
	TimeZone string
	CSV      string    // of a file: CSV, or a calendar
	By       string    // of a calendar: where users stand
	As       string    // of a calendar: who is called how, a line each
	Keep     string    // of a calendar: set, unknown users are taken as they stand
	Days     [8]string // the lines of each day of the week; the first is not used
	View     string    // where the page was

	read posthouse.Roster // what a calendar holds
}

// look is what a wish would change.
type look struct {
	Changed  []shifted
	More     int // that are not shown
	HandOver *[2]string
	TimeZone *[2]string
	After    *watch // who is on duty then, of a roster that was there
	Moved    bool   // somebody else has changed the roster since an earlier look
}

// shifted is a day whose users would be others.
type shifted struct {
	Day           string // 1 to 7, or a date
	Weekday       int    // 0 for a date
	Before, After []string
}

// mostShifted bounds how many days a look shows.
const mostShifted = 62

// change shows what a form would change, and stores it when it is confirmed: over the roster that was shown and no other.
func change(v *host.Visit) error {
	d := duty{v}
	ask := wishOf(v)
	before, err := d.rosterOf(ask)
	if err != nil {
		return err
	}
	next, problems, err := d.wanted(&ask, before)
	if err != nil {
		return err
	}
	if ask.Do == "new" && before.Name != "" {
		problems = problemAt("name", "roster_taken")
	}
	switch step := v.Form("step"); {
	case len(problems) > 0, step == "back":
		return d.again(before, ask, nil, problems)
	case step != "store":
		return d.again(before, ask, lookOf(before, next), d.wrongDates(ask, before, next))
	case v.Form("version") != (watch{Roster: before}).Version():
		return d.moved(before, ask, next)
	}
	err = d.store(ask, before, next)
	var coded *posthouse.Error
	switch {
	case err == nil:
		return v.GoTo(v.At("rosters", next.Name) + "?" + ask.back().Encode())
	case posthouse.CodeOf(err) == posthouse.CodeChanged:
		return d.changedMeanwhile(ask)
	case errors.As(err, &coded) && coded.Code == posthouse.CodeInvalid:
		return d.again(before, ask, nil, coded.Problems)
	}
	return err
}

// wanted is a roster as a form wants it, or what is wrong with that.
func (d duty) wanted(ask *wish, before posthouse.Roster) (next posthouse.Roster, problems []posthouse.Problem, err error) {
	if problems, err = d.readCalendar(ask, before); err != nil || len(problems) > 0 {
		return before, problems, err
	}
	next, problems = ask.apply(before)
	if err := d.settle(ask, before, &next); err != nil {
		return before, nil, err
	}
	return next, append(problems, rule.Validate(next)...), nil
}

// settle has the ids of those whom a form calls by their names. A calendar has said by itself who is meant.
func (d duty) settle(ask *wish, before posthouse.Roster, next *posthouse.Roster) error {
	if ask.Calendar() {
		return nil
	}
	b, err := d.bookOf(usersOf(*next))
	if err != nil {
		return err
	}
	change := func(now, then map[string][]string) {
		for day, users := range then {
			if !slices.Equal(now[day], users) {
				then[day] = b.settled(users)
			}
		}
	}
	change(before.Days, next.Days)
	change(before.Overrides, next.Overrides)
	return nil
}

// changedMeanwhile shows what a form would make of the roster as it is now.
func (d duty) changedMeanwhile(ask wish) error {
	before, err := d.rosterOf(ask)
	if err != nil {
		return err
	}
	next, problems, err := d.wanted(&ask, before)
	if err != nil {
		return err
	}
	if len(problems) > 0 {
		return d.again(before, ask, nil, problems)
	}
	return d.moved(before, ask, next)
}

// calendarBegins is how each calendar begins.
const calendarBegins = "BEGIN:VCALENDAR"

// Calendar reports whether the file of a form is a calendar.
func (w wish) Calendar() bool {
	text := strings.TrimSpace(strings.TrimPrefix(w.CSV, "\ufeff"))
	return (w.Do == "import" || w.Do == "new") && len(text) > len(calendarBegins) && strings.EqualFold(text[:len(calendarBegins)], calendarBegins)
}

// readCalendar asks the API what a calendar makes of a roster.
func (d duty) readCalendar(ask *wish, before posthouse.Roster) (problems []posthouse.Problem, err error) {
	name := cmp.Or(before.Name, ask.Name)
	if !ask.Calendar() || name == "" { // a name that is missing is found later
		return nil, nil
	}
	how := client.CalendarImport{By: ask.By, As: map[string]string{}, KeepUnknown: ask.Keep != "", DryRun: true}
	for line := range strings.Lines(ask.As) {
		called, user, found := strings.Cut(line, "=")
		if called, user = strings.TrimSpace(called), strings.TrimSpace(user); found && called != "" && user != "" && !strings.Contains(line, ",") {
			how.As[called] = user
		} else if strings.TrimSpace(line) != "" {
			return problemAt("as", "wish_called"), nil
		}
	}
	if ask.Do == "new" {
		how.HandOver, how.TimeZone = ask.HandOver, ask.TimeZone
	}
	ask.read, err = d.v.API.Rosters.ImportCalendar(d.v.Ctx(), name, []byte(ask.CSV), how)
	var coded *posthouse.Error
	if errors.As(err, &coded) && coded.Code == posthouse.CodeInvalid {
		return coded.Problems, nil
	}
	return nil, err
}

// rosterOf is the roster that a form is about, without a name where there is none yet.
func (d duty) rosterOf(ask wish) (posthouse.Roster, error) {
	if ask.Do != "new" {
		return d.v.API.Rosters.Get(d.v.Ctx(), cmp.Or(d.v.R.PathValue("name"), ask.Name))
	}
	if ask.Name == "" {
		return posthouse.Roster{}, nil
	}
	r, err := d.v.API.Rosters.Get(d.v.Ctx(), ask.Name)
	if posthouse.CodeOf(err) == posthouse.CodeNotFound {
		return posthouse.Roster{}, nil
	}
	return r, err
}

// override is change of those who may change single dates alone.
func override(v *host.Visit) error {
	if !wishOf(v).single() {
		return posthouse.Invalid("only single dates are changed here", problemAt("do", v.Say("wish_nothing")))
	}
	return change(v)
}

// single reports whether a form changes single dates, as everybody on duty may.
func (w wish) single() bool { return w.Do == "date" || w.Do == "clear" || w.Do == "swap" }

// wrongDates is what the API finds wrong with the dates of a form before they are stored: those that are over.
func (d duty) wrongDates(ask wish, before, next posthouse.Roster) []posthouse.Problem {
	change := datesOf(before, next)
	if change.DryRun = true; !ask.single() || len(change.Dates)+len(change.Clear) == 0 {
		return nil
	}
	_, err := d.v.API.Rosters.Override(d.v.Ctx(), before.Name, change)
	return web.ProblemsOf(err)
}

// store stores a roster, of a form for single dates those dates alone.
func (d duty) store(ask wish, before, next posthouse.Roster) error {
	ctx := onlyOver(d.v.Noted(), before)
	if !ask.single() {
		_, err := d.v.API.Rosters.Put(ctx, next)
		return err
	}
	_, err := d.v.API.Rosters.Override(ctx, before.Name, datesOf(before, next))
	return err
}

// datesOf are the dates by which two states of a roster differ.
func datesOf(before, next posthouse.Roster) wire.Override {
	out := wire.Override{Dates: map[string][]string{}}
	for date, users := range next.Overrides {
		if old, there := before.Overrides[date]; !there || !slices.Equal(old, users) {
			out.Dates[date] = users
		}
	}
	for date := range before.Overrides {
		if _, stays := next.Overrides[date]; !stays {
			out.Clear = append(out.Clear, date)
		}
	}
	return out
}

// onlyOver has a roster stored over the one that was looked at, or where there was none.
func onlyOver(ctx context.Context, before posthouse.Roster) context.Context {
	if before.Name == "" {
		return client.IfNew(ctx)
	}
	return client.IfMatch(ctx, before.Tag())
}

// moved shows what a form would make of a roster that somebody else has changed since the look.
func (d duty) moved(now posthouse.Roster, ask wish, next posthouse.Roster) error {
	will := lookOf(now, next)
	will.Moved = true
	return d.again(now, ask, will, nil)
}

// Undecided says that a form whose outcome is shown has changed nothing.
func (c calendar) Undecided() bool { return true }

// again draws the page with the form as it was sent.
func (d duty) again(r posthouse.Roster, ask wish, will *look, problems []posthouse.Problem) error {
	if len(problems) > 0 {
		will = nil
	}
	c, err := d.calendarOf(r, ask.View, ask.Date)
	if err != nil {
		return err
	}
	if will != nil && r.Name != "" {
		next, _ := ask.apply(r)
		if err := d.settle(&ask, r, &next); err != nil {
			return err
		}
		if len(rule.Validate(next)) == 0 {
			after, err := d.watchOf(next)
			if err != nil {
				return err
			}
			will.After = &after
		}
	}
	if will != nil {
		var users []string
		for _, one := range will.Changed {
			users = append(users, one.After...)
		}
		if c.Book, err = d.bookOf(users); err != nil {
			return err
		}
	}
	c.New, c.Asked, c.Look, c.Problems = r.Name == "", ask, will, problems
	status := http.StatusOK
	if will != nil && will.Moved {
		status = http.StatusConflict
	}
	for i := range problems {
		problems[i].Message = d.v.Say(problems[i].Message) // those that are no words stay
		status = http.StatusUnprocessableEntity
	}
	return d.v.Draw(status, "roster", "rosters", c)
}

// wishOf reads the form.
func wishOf(v *host.Visit) wish {
	w := wish{
		Do: v.Form("do"), Name: v.Form("name"), Date: v.Form("date"), Users: v.Form("users"), User: v.Form("user"), With: v.Form("with"),
		WithDate: v.Form("with_date"), HandOver: v.Form("hand_over"), TimeZone: v.Form("time_zone"), CSV: v.Form("csv"), By: v.Form("by"), As: v.Form("as"), Keep: v.Form("keep"), View: v.Form("view"),
	}
	if picked := v.R.PostForm["on"]; len(picked) > 0 {
		w.Users = strings.Join(append(picked, w.Users), "\n")
	}
	for i := range w.Days {
		w.Days[i] = v.Form("day" + strconv.Itoa(i))
	}
	if v.R.PathValue("name") == "" {
		w.Do = "new"
	}
	if file, _, err := v.R.FormFile("file"); err == nil {
		defer file.Close()
		if text, err := io.ReadAll(file); err == nil && len(text) > 0 {
			w.CSV = string(text)
		}
	}
	return w
}

// back leads to where the page was, with the day that was changed.
func (w wish) back() url.Values {
	q := url.Values{"said": {"stored"}}
	if _, err := time.Parse(time.DateOnly, w.Date); err == nil && w.View != "" {
		q.Set("view", w.View)
		q.Set("date", w.Date)
	}
	return q
}

// Fields are the names and values of the form, which the look hands on.
func (w wish) Fields() [][2]string {
	list := [][2]string{
		{"do", w.Do}, {"name", w.Name}, {"date", w.Date}, {"users", w.Users}, {"user", w.User}, {"with", w.With}, {"with_date", w.WithDate},
		{"hand_over", w.HandOver}, {"time_zone", w.TimeZone}, {"csv", w.CSV}, {"by", w.By}, {"as", w.As}, {"keep", w.Keep}, {"view", w.View},
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
	case "holidays":
		return w.holidays(next)
	default:
		return next, problemAt("do", "wish_nothing")
	}
	return next, nil
}

// problemAt is a problem of a field, whose message is a word.
func problemAt(path, word string) []posthouse.Problem {
	return []posthouse.Problem{{Path: path, Message: word}}
}

// imported takes the days and dates of a file in place of all that there were, of a calendar the hand-over and zone too.
func (w wish) imported(next posthouse.Roster) (posthouse.Roster, []posthouse.Problem) {
	if w.Calendar() {
		next.Days, next.Overrides, next.HandOver, next.TimeZone = w.read.Days, w.read.Overrides, w.read.HandOver, w.read.TimeZone
		return next, nil
	}
	read, problems, err := rule.ReadCSV(strings.NewReader(w.CSV))
	if err != nil {
		return next, problemAt("file", err.Error())
	}
	next.Days, next.Overrides = read.Days, read.Overrides
	return next, problems
}

// holidays puts a list of public holidays into the roster.
func (w wish) holidays(next posthouse.Roster) (posthouse.Roster, []posthouse.Problem) {
	list, problems, err := rule.ReadHolidays(strings.NewReader(w.CSV))
	if err != nil {
		return next, problemAt("file", err.Error())
	}
	if len(problems) > 0 {
		return next, problems
	}
	return list.Over(next)
}

// swapped has two users take each other's duty, each on a date.
func (w wish) swapped(next posthouse.Roster) (posthouse.Roster, []posthouse.Problem) {
	if w.Date == w.WithDate {
		return next, problemAt("with_date", "wish_same_date")
	}
	next, problems := rule.Swap(next, rule.Turn{User: w.User, Date: w.Date}, rule.Turn{User: w.With, Date: w.WithDate})
	for i, p := range problems {
		problems[i].Message = "wish_no_date"
		if p.Path == "user" || p.Path == "with" {
			problems[i].Message = "wish_not_on_duty"
		}
	}
	return next, problems
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
		a, _ := rule.UsersOn(before, date)
		b, _ := rule.UsersOn(next, date) // Validate has looked at both
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

// Single reports whether the form is one for single dates.
func (c calendar) Single() bool { return c.Asked.single() }
