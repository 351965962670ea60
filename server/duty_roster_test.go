package server_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// The CLI's side of DUTY-11 (posthouse roster import, show, check) is tested with the command; the
// console's calendar comes with the console.
func TestDUTY11_RostersAreEditedByAPIAndCSV(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		status, answer := h.call(http.MethodPut, "/v1/rosters/duty", "application/json",
			`{"days": {"1": ["u1", "u2"], "2": ["u1"], "7": []}, "overrides": {"2099-10-01": ["u9"], "2020-01-01": [], "2019-12-31": []}, "hand_over": "08:30"}`)
		if status != http.StatusOK || answer["hand_over"] != "08:30" {
			h.Fatalf("the roster of the document is answered HTTP %d %v", status, answer)
		}
		check, err := h.api.Rosters.Check(h.Context(), "duty")
		h.must(err)
		want := wire.RosterCheck{
			Name: "duty", EmptyDays: []string{"3", "4", "5", "6", "7", "2019-12-31", "2020-01-01"},
			Overlaps: map[string][]string{"u1": {"1", "2"}}, Past: []string{"2019-12-31", "2020-01-01"},
		}
		if diff := cmp.Diff(want, check); diff != "" {
			h.Errorf("check:\n%s", diff)
		}

		// By CSV, in Chinese as a spreadsheet saves it; the hand-over stays.
		stored, err := h.api.Rosters.Import(h.Context(), "duty", []byte("\ufeff星期,用户\r\n周一,张三\r\n星期日,李四\r\n2026-10-01,王五\r\n2026/10/2,\r\n"))
		h.must(err)
		days := map[string][]string{"1": {"张三"}, "7": {"李四"}}
		overrides := map[string][]string{"2026-10-01": {"王五"}, "2026-10-02": {}}
		for what, r := range map[string]posthouse.Roster{"answer": stored, "stored": h.readRoster("duty")} {
			if diff := cmp.Diff([]any{days, overrides, "08:30"}, []any{r.Days, r.Overrides, r.HandOver}); diff != "" {
				h.Errorf("CSV, %s:\n%s", what, diff)
			}
		}
		text, err := h.api.Rosters.Export(h.Context(), "duty")
		h.must(err)
		if got, want := string(text), "day,user\n1,张三\n7,李四\n2026-10-01,王五\n2026-10-02,\n"; got != want {
			h.Errorf("exported %q, want %q", got, want)
		}

		// A wrong file changes nothing and names every wrong line.
		_, err = h.api.Rosters.Import(h.Context(), "duty", []byte("day,user\n8,u1\nMon,u1\nMon,u1\n"))
		if diff := cmp.Diff([]string{"line 2", "line 4"}, paths(err)); diff != "" {
			h.Errorf("a wrong CSV: %v\n%s", err, diff)
		}
		_, err = h.api.Rosters.Put(h.Context(), posthouse.Roster{Name: "duty", Days: map[string][]string{"0": {"u1"}, "1": {"u1", "u1"}}, Overrides: map[string][]string{"2026-02-30": {"u1"}}, HandOver: "25:00", TimeZone: "Mars"})
		if diff := cmp.Diff([]string{"days.0", "days.1[1]", "overrides.2026-02-30", "hand_over", "time_zone"}, paths(err)); diff != "" {
			h.Errorf("a wrong roster: %v\n%s", err, diff)
		}
		if diff := cmp.Diff(days, h.readRoster("duty").Days); diff != "" {
			h.Errorf("a wrong roster changed the stored one:\n%s", diff)
		}
	})
}

func (h *house) readRoster(name string) posthouse.Roster {
	h.Helper()
	r, err := h.api.Rosters.Get(h.Context(), name)
	h.must(err)
	return r
}

func TestDUTY11_OverridesHandOverAndSeveralRostersDecide(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		h.close(h.tianyuan(runs(time.Minute)))
		night := h.zhaohu(runs(time.Minute))
		night.Rules = []posthouse.RuleSettings{{Type: "duty", Roster: "night", Recipients: []string{"总行", "branch"}}}
		h.close(night)
		whole := []int{1, 2, 3, 4, 5, 6, 7}

		// A date wins over its day of the week, also where it names nobody.
		dates := near(t, "Asia/Shanghai")
		h.roster(posthouse.Roster{Name: "duty", Days: weekdays([]string{"weekday"}, whole...), Overrides: map[string][]string{dates[0]: {"holiday"}, dates[1]: {"holiday"}}})
		h.roster(posthouse.Roster{Name: "night", Days: weekdays([]string{"owl"}, whole...)})
		h.wantDuty("tianyuan", "总行", map[string]string{"weekday": "not_on_duty", "holiday": "", "owl": "not_on_duty"})
		h.wantDuty("zhaohu", "分行", map[string]string{"weekday": "not_on_duty", "owl": ""}) // its own roster and recipients
		h.roster(posthouse.Roster{Name: "duty", Days: weekdays([]string{"weekday"}, whole...), Overrides: map[string][]string{dates[0]: {}, dates[1]: {}}})
		h.wantDuty("tianyuan", "总行", map[string]string{"weekday": "not_on_duty"})

		// Before the hand-over yesterday's people are on duty: one minute before midnight comes late
		// enough that nearly all of today still counts as yesterday.
		place, err := time.LoadLocation("Asia/Shanghai")
		h.must(err)
		for {
			now := time.Now().In(place)
			yesterday, today := now.AddDate(0, 0, -1).Format(time.DateOnly), now.Format(time.DateOnly)
			h.roster(posthouse.Roster{Name: "duty", HandOver: "23:59", Days: map[string][]string{}, Overrides: map[string][]string{yesterday: {"early"}, today: {"late"}}})
			early, late := h.notify("early", "总行", "天元", "x"), h.notify("late", "总行", "天元", "x")
			shift, err := h.api.Rosters.OnDuty(h.Context(), "duty")
			h.must(err)
			if after := time.Now().In(place); after.Format("15:04") != now.Format("15:04") {
				continue // the minute turned meanwhile: it may have been the hand-over
			}
			want, wantDate := []string{"pending", "suppressed"}, yesterday
			if now.Format("15:04") >= "23:59" {
				want, wantDate = []string{"suppressed", "pending"}, today
			}
			if diff := cmp.Diff(want, []string{early.Status, late.Status}); diff != "" || shift.Date != wantDate {
				h.Errorf("at %s, hand-over 23:59, duty day %s, want %s:\n%s", now, shift.Date, wantDate, diff)
			}
			break
		}
	})
}

// near are the dates of today and tomorrow.
func near(t *testing.T, zone string) [2]string {
	t.Helper()
	place, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().In(place)
	return [2]string{now.Format(time.DateOnly), now.AddDate(0, 0, 1).Format(time.DateOnly)}
}

// wantDuty sends notices to users and wants these reasons, none for one who is told.
func (h *house) wantDuty(platform, kind string, want map[string]string) {
	h.Helper()
	got := map[string]string{}
	for user := range want {
		got[user] = h.notify(user, kind, platform, "x").Reason
	}
	if diff := cmp.Diff(want, got); diff != "" {
		h.Errorf("%s by %s:\n%s", kind, platform, diff)
	}
}
