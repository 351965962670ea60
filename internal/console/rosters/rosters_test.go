package rosters_test

import (
	"bytes"
	"html"
	"maps"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/consoletest"
	"github.com/posthouse/posthouse/wire"
)

const atNight = "/console/t/default/rosters/night"

// house is a consoletest.House whose rosters are read.
type house struct{ *consoletest.House }

// night is a house with a roster that has days and a date of its own.
func night(t *testing.T) house {
	h := house{consoletest.Open(t, false)}
	h.API("PUT", "/v1/rosters/night", `{"days":{"1":["li.na"],"2":["wang.fang"],"4":["<b>"]},"overrides":{"2099-11-25":["zhao.min"],"2099-11-27":[]}}`, nil)
	return h
}

func (h house) roster(name string) (r posthouse.Roster) {
	h.Helper()
	h.API("GET", "/v1/rosters/"+name, "", &r)
	return r
}

// The month and the week of a roster show who is on duty, the days with nobody, and who is on duty elsewhere too.
func TestARosterIsACalendar(t *testing.T) {
	t.Parallel()
	h := night(t)
	h.API("PUT", "/v1/rosters/day", `{"days":{"1":["li.na","x"]},"overrides":{"2099-11-24":["wang.fang"]}}`, nil)
	month := h.Page("viewer", atNight+"?date=2099-11-24")
	h.Shows(month, "<h2>2099-11</h2>", "date=2099-10-01", "date=2099-12-01", `datetime="2099-11-30"`, "&lt;b&gt;", "wang.fang is also on duty in day", "li.na is also on duty in day", "zhao.min", "other than its day of the week", "On duty now", "Nobody is on duty, and nobody is told, on 2099-11-01, 2099-11-04,")
	if strings.Contains(month, "2099-11-25, 2099-11-26") || strings.Contains(month, "Preview") {
		t.Error("a day with users of its own counts as empty, or a viewer gets forms")
	}
	if n := strings.Count(month, "<td class="); n != 42 { // Monday, October 26th, to Sunday, December 6th
		t.Errorf("the month has %d days", n)
	}
	week := h.Page("admin", atNight+"?view=week&date=2099-11-24", func(r *http.Request) { r.Header.Set("Accept-Language", "zh-CN") })
	h.Shows(week, "2099-11-23 – 2099-11-29", "2099-11-26, 2099-11-27, 2099-11-28, 2099-11-29"[12:], "换班", "周一", "先预览")
	if n := strings.Count(week, "<td class="); n != 7 {
		t.Errorf("the week has %d days", n)
	}
	h.Shows(h.Page("viewer", atNight+"?view=x&date=0000-99"), `aria-current="date"`)
	h.Shows(h.Page("viewer", "/console/t/default/rosters"), ">night</a>", ">day</a>", "Asia/Shanghai")
	for as, want := range map[string]string{"csv": "2099-11-25,zhao.min", "ics": "BEGIN:VCALENDAR"} {
		got := h.Ask("viewer", atNight+"/file?as="+as, nil)
		h.Shows(got.Body, want)
		if got.Header.Get("Content-Disposition") != "attachment; filename=night."+as {
			t.Errorf("the file is %v", got.Header)
		}
	}
	for _, path := range []string{atNight + "/file?as=exe", "/console/t/default/rosters/none", "/console/t/default/rosters/none/file"} {
		if got := h.Ask("viewer", path, nil); got.Status != http.StatusNotFound {
			t.Errorf("%s: %d", path, got.Status)
		}
	}
}

// The list of rosters says who is on duty in the next two weeks, and a swap begins there: it goes on in the calendar of that roster.
func TestASwapBeginsOnTheListOfRosters(t *testing.T) {
	t.Parallel()
	h := consoletest.Open(t, false)
	h.API("PUT", "/v1/users", `{"users":[{"id":"chen.jing","name":"陈静"},{"id":"a&b","name":"安"}]}`, nil)
	h.API("PUT", "/v1/rosters/day", `{"days":{"6":["chen.jing"],"7":["a&b","b","c","d","e","f"]}}`, nil)
	h.API("PUT", "/v1/rosters/night", `{"days":{"1":["chen.jing"]},"hand_over":"08:30"}`, nil)
	h.API("PUT", "/v1/rosters/workdays", `{"days":{}}`, nil)
	const list = "/console/t/default/rosters"
	page := h.Page("operator", list)
	_, table, some := strings.Cut(page, `<table class="coming">`)
	if table, _, _ = strings.Cut(table, "</table>"); !some || strings.Count(table, "<tr><th scope=\"row\">") != 14 || strings.Contains(table, "workdays") {
		t.Fatalf("the next two weeks are\n%s", table)
	}
	h.Shows(table, `<th scope="col">day</th><th scope="col">night</th>`, ">陈静</a>", ">安</a>", "+2", "nobody")
	for _, roster := range []string{"day", "night"} {
		_, link, _ := strings.Cut(table, `<a href="`+list+"/"+roster)
		link, _, _ = strings.Cut(link, `"`)
		h.Shows(h.Page("operator", list+"/"+roster+html.UnescapeString(strings.TrimSuffix(link, "#calendar"))), `aria-current="true">`, "To be swapped:", `name="do" value="swap"`)
	}
	h.API("PUT", "/v1/rosters/all", `{"days":{"1":["a"],"2":["b"],"3":["a"],"4":["b"],"5":["a"],"6":["b"],"7":["a"]}}`, nil)
	now := time.Now()
	give := url.Values{"view": {"month"}, "date": {now.AddDate(0, 0, -40).Format(time.DateOnly)}, "give": {now.AddDate(0, 0, 3).Format(time.DateOnly) + " a"}}
	if past := h.Page("operator", list+"/all?"+give.Encode()); strings.Contains(past, `name="with_date" value="`+now.AddDate(0, 0, -38).Format(time.DateOnly)) || !strings.Contains(past, "To be swapped:") {
		t.Error("a duty that is over is offered for a swap")
	}
	if strings.Contains(h.Page("viewer", list), "give=") {
		t.Error("somebody who may not swap is led to it")
	}
}

// Pages show the names of the people on duty: in the list, in the tiles, and in the preview of a change.
func TestWhoIsOnDutyIsCalledByName(t *testing.T) {
	t.Parallel()
	h := consoletest.Open(t, false)
	h.API("PUT", "/v1/users", `{"users":[{"id":"chen.jing","name":"陈静"},{"id":"zhao.min","name":"赵敏"}]}`, nil)
	h.API("PUT", "/v1/rosters/day", `{"days":{"1":["chen.jing"],"2":["chen.jing"],"3":["chen.jing"],"4":["chen.jing"],"5":["chen.jing"],"6":["chen.jing"],"7":["chen.jing"]}}`, nil)
	const chen = `search?q=chen.jing" title="chen.jing">陈静</a>`
	h.Shows(h.Page("viewer", "/console/t/default/rosters?all=1"), chen)
	const at = "/console/t/default/rosters/day"
	page := h.Page("viewer", at)
	_, tiles, _ := strings.Cut(page, `<dl class="tiles">`)
	tiles, _, _ = strings.Cut(tiles, "</dl>")
	if n := strings.Count(tiles, chen); n != 2 {
		t.Errorf("%d tiles call her by name:\n%s", n, tiles)
	}
	look := h.Ask("operator", at+"/override", url.Values{"do": {"date"}, "date": {"2099-11-24"}, "users": {"zhao.min"}, "version": {consoletest.Hidden(h.Page("operator", at), "version")}})
	if look.To() != "" {
		look = h.Ask("operator", look.To(), nil)
	}
	h.Shows(look.Body, chen+`</td><td><a class="over duty" href="/console/t/default/search?q=zhao.min" title="zhao.min">赵敏</a>`)
}

// Each form shows first what it would change, and stores it once, with the person and the note.
func TestARosterIsChangedAfterALook(t *testing.T) {
	t.Parallel()
	h := night(t)
	change := func(form url.Values, seen ...string) posthouse.Roster {
		t.Helper()
		before := h.roster("night")
		who, at := "admin", atNight
		if form.Get("do") == "date" || form.Get("do") == "swap" || form.Get("do") == "clear" { // a person on night duty does these
			who, at = "operator", atNight+"/override"
		}
		look := h.Ask(who, at, form)
		h.Shows(look.Body, append(seen, "What it will change", "On duty then", `action="`+at+`"`)...)
		if now := h.roster("night"); !now.UpdatedAt.Equal(before.UpdatedAt) {
			t.Fatalf("%v: a look has stored it", form)
		}
		form.Set("step", "store")
		form.Set("version", consoletest.VersionOf(look.Body))
		form.Set("note", "as agreed")
		back := "?said=stored"
		if form.Get("view") != "" { // to where the page was
			back = "?date=" + form.Get("date") + "&said=stored&view=" + form.Get("view")
		}
		if got := h.Ask(who, at, form); got.To() != atNight+back {
			t.Fatalf("%v: %d to %s\n%s", form, got.Status, got.To(), got.Body)
		}
		if got := h.Ask(who, at, form); got.Status/100 != 4 {
			t.Errorf("%v: a second click gets %d", form, got.Status)
		}
		return h.roster("night")
	}
	r := change(url.Values{"do": {"date"}, "date": {"2099-12-01"}, "users": {"a，b\r\nc"}, "view": {"month"}}, "2099-12-01", "wang.fang")
	h.Shows(h.Page("viewer", atNight+"?view=month&date=2099-12-01"), "← 2099-11</a>", "2100-01 →</a>")
	if got := r.Overrides["2099-12-01"]; !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("the date has %v", got)
	}
	r = change(url.Values{"do": {"swap"}, "date": {"2099-11-23"}, "user": {"li.na"}, "with_date": {"2099-11-25"}, "with": {"zhao.min"}}, "2099-11-23", "2099-11-25")
	if a, b := r.Overrides["2099-11-23"], r.Overrides["2099-11-25"]; !slices.Equal(a, []string{"zhao.min"}) || !slices.Equal(b, []string{"li.na"}) {
		t.Errorf("swapped to %v and %v", a, b)
	}
	r = change(url.Values{"do": {"clear"}, "date": {"2099-11-27"}})
	if _, there := r.Overrides["2099-11-27"]; there {
		t.Errorf("still there: %v", r.Overrides)
	}
	r = change(url.Values{"do": {"week"}, "day1": {"x\r\ny"}, "day7": {"z"}, "hand_over": {"08:30"}}, "00:00 → 08:30", "nobody")
	if len(r.Days) != 2 || !slices.Equal(r.Days["1"], []string{"x", "y"}) || r.HandOver != "08:30" || len(r.Overrides) != 3 {
		t.Errorf("the week is %+v", r)
	}
	r = change(url.Values{"do": {"import"}, "csv": {"day,user\nFri,q\n"}})
	if len(r.Days) != 1 || len(r.Overrides) != 0 || r.HandOver != "08:30" {
		t.Errorf("imported: %+v", r)
	}
	var log struct{ Items []wire.AuditEntry }
	h.API("GET", "/v1/audit?target=night&key=person:admin", "", &log)
	if len(log.Items) != 2 || log.Items[0].Note != "as agreed" || log.Items[0].Action != "rosters.put" {
		t.Errorf("the audit log has %+v", log.Items)
	}
	h.API("GET", "/v1/audit?target=night&key=person:operator", "", &log)
	if len(log.Items) != 3 || log.Items[0].Note != "as agreed" || log.Items[0].Action != "rosters.override" {
		t.Errorf("the audit log has %+v", log.Items)
	}
}

// A person on night duty changes single dates, from today on, and nothing else of a roster.
func TestAnOperatorChangesSingleDates(t *testing.T) {
	t.Parallel()
	h := night(t)
	page := h.Page("operator", atNight)
	h.Shows(page, `action="`+atNight+`/override"`, "Swap")
	if strings.Contains(page, `name="day1"`) || strings.Contains(page, `name="csv"`) {
		t.Error("an operator gets the forms of the whole roster")
	}
	before := h.roster("night")
	for _, form := range []url.Values{{"do": {"week"}, "day1": {"me"}}, {"do": {"import"}, "csv": {"day,user\n1,me\n"}}, {}} {
		form.Set("step", "store")
		form.Set("version", before.Tag())
		if got := h.Ask("operator", atNight+"/override", form); got.Status != http.StatusUnprocessableEntity {
			t.Errorf("%v: %d", form, got.Status)
		}
		if got := h.Ask("operator", atNight, form); got.Status != http.StatusForbidden {
			t.Errorf("%v by the form of the whole roster: %d", form, got.Status)
		}
	}
	past := url.Values{"do": {"date"}, "date": {"2020-01-01"}, "users": {"me"}}
	h.Shows(h.Ask("operator", atNight+"/override", past).Body, `data-problem="dates.2020-01-01"`, "is over")
	if now := h.roster("night"); now.Tag() != before.Tag() {
		t.Errorf("the roster is %+v", now)
	}
}

// Two who change a roster at a time: the second one sees what the first one made of it, and confirms anew.
func TestTheSecondOfTwoSeesWhatTheFirstChanged(t *testing.T) {
	t.Parallel()
	h := night(t)
	form := url.Values{"do": {"week"}, "day1": {"mine"}, "step": {"store"}, "version": {h.roster("night").Tag()}}
	h.API("PUT", "/v1/rosters/night", `{"days":{"2":["theirs"]}}`, nil)
	both := h.Ask("admin", atNight, form)
	if h.Shows(both.Body, "Somebody else has changed this roster", "theirs", "mine"); both.Status != http.StatusConflict {
		t.Errorf("status %d", both.Status)
	}
	if r := h.roster("night"); len(r.Days["1"]) != 0 {
		t.Fatal("a colleague's change was overwritten")
	}
	form.Set("version", consoletest.VersionOf(both.Body))
	if got := h.Ask("admin", atNight, form); got.To() != atNight+"?said=stored" {
		t.Errorf("confirmed: %d\n%s", got.Status, got.Body)
	}
}

// What is wrong with a form stands on the page, with what was typed, and nothing is stored.
func TestAWrongRosterFormSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	h := night(t)
	before := h.roster("night")
	for want, form := range map[string]url.Values{
		"<code>do</code> nothing was asked for":                         {},
		`data-problem="overrides.soon"`:                                 {"do": {"date"}, "date": {"soon"}, "users": {"a"}, "step": {"store"}},
		`data-problem="overrides.2099-12-01[1]"`:                        {"do": {"date"}, "date": {"2099-12-01"}, "users": {"a,a"}},
		"<code>date</code> this date was not changed":                   {"do": {"clear"}, "date": {"2099-12-01"}},
		"<code>user</code> is not on duty on that date":                 {"do": {"swap"}, "date": {"2099-11-23"}, "user": {"nobody"}, "with_date": {"2099-11-25"}, "with": {"zhao.min"}},
		"<code>with</code> is not on duty on that date":                 {"do": {"swap"}, "date": {"2099-11-23"}, "user": {"li.na"}, "with_date": {"2099-11-25"}, "with": {"li.na"}},
		"<code>with_date</code> is the same date":                       {"do": {"swap"}, "date": {"2099-11-23"}, "with_date": {"2099-11-23"}},
		"<code>date</code> want a date":                                 {"do": {"swap"}, "date": {"x"}, "user": {"li.na"}, "with_date": {"2099-11-23"}},
		`class="bad wrong">&#34;late&#34;`:                              {"do": {"week"}, "hand_over": {"late"}},
		`class="bad wrong">&#34;Mars&#34;`:                              {"do": {"week"}, "day1": {"kept"}, "time_zone": {"Mars"}},
		"<code>line 2</code>":                                           {"do": {"import"}, "csv": {"day,user\nFreitag,q\n"}},
		"<code>line 1</code> the first line must be &#34;day,user&#34;": {"do": {"import"}},
	} {
		got := h.Ask("admin", atNight, form)
		h.Shows(got.Body, want)
		if got.Status != http.StatusUnprocessableEntity || !h.roster("night").UpdatedAt.Equal(before.UpdatedAt) {
			t.Errorf("%v: %d", form, got.Status)
		}
	}
	form := url.Values{"do": {"date"}, "date": {"2099-12-01"}, "users": {"a"}, "step": {"back"}}
	h.Shows(h.Ask("admin", atNight, form).Body, ">a</textarea>", "Preview")
	form.Set("step", "store")
	if got := h.Ask("admin", atNight, form); got.Status != http.StatusConflict {
		t.Errorf("over a roster that was not shown: %d", got.Status)
	}
	if got := h.Ask("operator", atNight, form); got.Status != http.StatusForbidden {
		t.Errorf("an operator: %d", got.Status)
	}
}

// A roster is made of a file, after a look, and over none that is there.
func TestARosterIsMadeOfAFile(t *testing.T) {
	t.Parallel()
	h := night(t)
	at := "/console/t/default/rosters"
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	_ = w.WriteField("name", "branch")
	file, err := w.CreateFormFile("file", "duty.csv")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = file.Write([]byte("\ufeff星期,用户\r\n周一,李娜\r\n"))
	_ = w.Close()
	look := h.Ask("admin", at, url.Values{}, func(r *http.Request) {
		sent := httptest.NewRequest(http.MethodPost, at, &body)
		r.Body, r.ContentLength = sent.Body, sent.ContentLength
		r.Header.Set("Content-Type", w.FormDataContentType())
	})
	h.Shows(look.Body, "李娜", `name="version" value=""`, `name="name" value="branch"`)
	_, rest, _ := strings.Cut(look.Body, `name="csv" value="`)
	csv, _, _ := strings.Cut(rest, `"`)
	form := url.Values{"do": {"new"}, "name": {"branch"}, "csv": {csv}, "step": {"store"}}
	if got := h.Ask("admin", at, form); got.To() != at+"/branch?said=stored" {
		t.Fatalf("storing: %d\n%s", got.Status, got.Body)
	}
	if got := h.roster("branch").Days["1"]; !slices.Equal(got, []string{"李娜"}) {
		t.Errorf("Monday has %v", got)
	}
	for want, form := range map[string]url.Values{
		"There is a roster of this name already": form, `class="bad wrong">is missing`: {"csv": {"x"}}, `data-problem="name"`: {"name": {"a\tb/c"}, "step": {"store"}},
	} {
		if got := h.Ask("admin", at, form); got.Status != http.StatusUnprocessableEntity || !strings.Contains(got.Body, want) {
			t.Errorf("%v: %d, want %q\n%s", form, got.Status, want, got.Body)
		}
	}
}

// A calendar is read after a look, which says whom nobody knows; a new roster too, whose form keeps what was typed.
func TestARosterIsMadeOfACalendar(t *testing.T) {
	t.Parallel()
	h := night(t)
	h.API("PUT", "/v1/users", `{"users":[{"id":"li.na","name":"李娜"}]}`, nil)
	calendar := "\ufeffBEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nDTSTART;VALUE=DATE:20200106\r\nRRULE:FREQ=WEEKLY\r\nSUMMARY:李娜、<b>小王\r\nEND:VEVENT\r\nEND:VCALENDAR"
	before := h.roster("night")
	wrong := h.Ask("admin", atNight, url.Values{"do": {"import"}, "csv": {calendar}, "by": {"summary"}})
	h.Shows(wrong.Body, "<code>line 5</code>", "&lt;b&gt;小王", `<option value="summary" selected="">`, "Preview")
	if wrong.Status != http.StatusUnprocessableEntity {
		t.Errorf("somebody unknown: %d", wrong.Status)
	}
	h.Shows(h.Ask("admin", atNight, url.Values{"do": {"import"}, "csv": {calendar}, "as": {"小王"}}).Body, `class="bad wrong">want a line such as Li Na=li.na`)
	form := url.Values{"do": {"import"}, "csv": {calendar}, "as": {"<b>小王=wang.fang\r\n\r\n"}}
	look := h.Ask("admin", atNight, form)
	h.Shows(look.Body, "What it will change", "li.na", "wang.fang", `name="as" value="&lt;b&gt;小王=wang.fang"`)
	if now := h.roster("night"); now.Tag() != before.Tag() {
		t.Errorf("a look has stored %+v", now)
	}
	form.Set("step", "store")
	form.Set("version", consoletest.VersionOf(look.Body))
	if got := h.Ask("admin", atNight, form); got.To() != atNight+"?said=stored" {
		t.Fatalf("storing: %d\n%s", got.Status, got.Body)
	}
	if r := h.roster("night"); !slices.Equal(r.Days["1"], []string{"li.na", "wang.fang"}) || len(r.Days) != 1 || len(r.Overrides) != 0 {
		t.Errorf("the roster is %+v", r)
	}
	at := "/console/t/default/rosters"
	form = url.Values{"name": {"new"}, "csv": {calendar}, "hand_over": {"late"}, "keep": {"1"}}
	h.Shows(h.Ask("admin", at, form).Body, `data-problem="hand_over"`, `value="late"`, `value="new"`, ` checked=""/>`)
	form.Set("hand_over", "09:00")
	form.Set("step", "store")
	form.Set("version", "")
	if got := h.Ask("admin", at, form); got.To() != at+"/new?said=stored" {
		t.Fatalf("storing: %d\n%s", got.Status, got.Body)
	}
	if r := h.roster("new"); r.HandOver != "09:00" || !slices.Equal(r.Days["1"], []string{"li.na", "<b>小王"}) {
		t.Errorf("the roster is %+v", r)
	}
	text := h.Page("viewer", at+"/new/file?as=ics")
	again := h.Ask("admin", at, url.Values{"name": {"copy"}, "csv": {text}, "step": {"store"}, "version": {""}})
	if r := h.roster("copy"); again.To() == "" || r.HandOver != "09:00" || !slices.Equal(r.Days["1"], []string{"li.na", "<b>小王"}) {
		t.Errorf("a copy is %d, %+v", again.Status, r)
	}
}

// A list of public holidays becomes dates of a roster, and where a channel names that as its calendar, other rosters show which days are off.
func TestHolidaysAreShownByTheCalendarOfChannels(t *testing.T) {
	t.Parallel()
	h := night(t)
	const at = "/console/t/default/rosters/workdays"
	h.API("PUT", "/v1/rosters/workdays", `{"days":{"1":["x"],"2":["x"],"3":["x"],"4":["x"],"5":["x"]}}`, nil)
	h.API("PUT", "/v1/channels/out", `{"driver":"discard","quiet_hours":[{"from":"22:00","to":"08:00","days":"workdays","calendar":"workdays"}]}`, nil)
	bad := h.Ask("admin", at, url.Values{"do": {"holidays"}, "csv": {"2099-11-23,maybe"}})
	h.Shows(bad.Body, "line 1", "off (休) or work (班)")
	form := url.Values{"do": {"holidays"}, "csv": {"2099-11-23..2099-11-24,off\n2099-11-28,班"}}
	look := h.Ask("admin", at, form)
	h.Shows(look.Body, "What it will change", "2099-11-24", "2099-11-28")
	form.Set("step", "store")
	form.Set("version", consoletest.VersionOf(look.Body))
	if got := h.Ask("admin", at, form); got.To() != at+"?said=stored" {
		t.Fatalf("the holidays: %d\n%s", got.Status, got.Body)
	}
	if r := h.roster("workdays"); len(r.Overrides) != 3 || len(r.Overrides["2099-11-23"]) != 0 || !slices.Equal(r.Overrides["2099-11-28"], []string{"x"}) {
		t.Errorf("the roster is %+v", r)
	}
	for _, page := range []string{at, atNight} {
		body := h.Page("viewer", page+"?date=2099-11-24")
		if off, work := strings.Count(body, `class="kind off"`), strings.Count(body, `class="kind work"`); off != 2 || work != 1 {
			t.Errorf("%s shows %d days off and %d workdays", page, off, work)
		}
	}
	h.Shows(h.Page("viewer", atNight), "Days off by", `/rosters/workdays">workdays</a>`)
	calendar := h.Page("viewer", at)
	h.Shows(calendar, "This roster is the calendar of workdays of", `/channels/out">out</a>`)
	if strings.Contains(calendar, "nobody is told") {
		t.Error("a calendar's days off count as days on which duty is missing")
	}
}

// The calendar of the tenant's quiet hours marks days as those of channels do; who may not see the tenant sees the days without them.
func TestHolidaysAreShownByTheCalendarOfTheTenant(t *testing.T) {
	t.Parallel()
	h := night(t)
	const at = "/console/t/default/rosters/workdays"
	h.API("PUT", "/v1/rosters/workdays", `{"days":{"1":["x"],"2":["x"],"3":["x"],"4":["x"],"5":["x"]},"overrides":{"2099-11-23":[],"2099-11-24":[],"2099-11-28":["x"]}}`, nil)
	if body := h.Page("admin", atNight+"?date=2099-11-24"); strings.Contains(body, `class="kind off"`) {
		t.Error("a roster that nobody names marks days")
	}
	h.API("PUT", "/v1/tenants/default", `{"quiet_hours":[{"from":"22:00","to":"08:00","days":"workdays","calendar":"workdays"}]}`, nil)
	for _, page := range []string{at, atNight} {
		body := h.Page("admin", page+"?date=2099-11-24")
		if off, work := strings.Count(body, `class="kind off"`), strings.Count(body, `class="kind work"`); off != 2 || work != 1 {
			t.Errorf("%s shows %d days off and %d workdays", page, off, work)
		}
	}
	h.Shows(h.Page("admin", atNight), "Days off by", `/rosters/workdays">workdays</a>`)
	calendar := h.Page("admin", at)
	h.Shows(calendar, "The tenant&#39;s quiet hours take their workdays from this roster", `href="/console/t/default/quiet"`)
	if strings.Contains(calendar, "nobody is told") {
		t.Error("a calendar's days off count as days on which duty is missing")
	}
	if body := h.Page("viewer", atNight+"?date=2099-11-24"); strings.Contains(body, `class="kind off"`) {
		t.Error("a viewer sees what the tenant has set")
	}
}

// As many people as there are colours have one of their own each.
func TestEachPersonOnDutyHasAColour(t *testing.T) {
	t.Parallel()
	h := consoletest.Open(t, false)
	h.API("PUT", "/v1/rosters/day", `{"days":{"1":["qian.duo","sun.yue","chen.jing","li.na"],"2":["a","b","c","d"]}}`, nil)
	tones := map[string]string{}
	for _, at := range regexp.MustCompile(`<li class="(tone-\d)"[^>]*>\s*([a-z.]+)`).FindAllStringSubmatch(h.Page("viewer", "/console/t/default/rosters/day"), -1) {
		tones[at[2]] = at[1]
	}
	if all := slices.Compact(slices.Sorted(maps.Values(tones))); len(tones) != 8 || len(all) != 8 {
		t.Errorf("eight people have the colours %v", tones)
	}
}
