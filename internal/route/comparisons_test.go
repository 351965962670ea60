package route

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/draft"
)

func TestAConditionIsRefusedThatComparesWithWhatNothingCanBe(t *testing.T) {
	t.Parallel()
	for when, want := range map[string]string{
		`time_zone == "Asia/Peking"`:                        `time_zone == "Asia/Shanghai"`,
		`hour > 7 and "Local" != time_zone`:                 `time_zone == "Asia/Shanghai"`,
		`time_zone in ["Asia/Shanghai", "asia shanghai"]`:   `time_zone == "Asia/Shanghai"`,
		`not (language in ["zh_cn"])`:                       `language == "zh-CN"`,
		`language == "chinese"`:                             `language == "zh-CN"`,
		`language == "EN"`:                                  `language == "en"`,
		`priority == "urgent"`:                              `priority == "high"`,
		`kind == "a\nb"`:                                    `kind == "alert"`,
		`type == "` + strings.Repeat("x", 129) + `"`:        `kind == "alert"`,
		`time_zone == "Asia/Shanghai" or time_zone == ""`:   "",
		`language in ["zh-CN", "en", ""]`:                   "",
		`priority == "low" or kind == "otp" or ref == "中"`:  "",
		`payload.time_zone == "Asia/Peking"`:                "",
		`lower(time_zone) == "asia/shanghai"`:               "",
		`time_zone startsWith "Asia/" and "Asia" != source`: "",
		`user in ["zhang.san"] and "lead" in roles`:         "",
	} {
		var p draft.Problems
		r := WithDefaults(posthouse.Route{Name: "r", Steps: []posthouse.RouteStep{{Channels: []string{"sms"}, When: when}}})
		Check(&r, func(string) bool { return true }, &p)
		got := []string{}
		for _, problem := range p.List {
			if !strings.HasSuffix(problem.Message, "such as "+want) {
				t.Errorf("%s: %s, want the example %s", when, problem.Message, want)
			}
			got = append(got, problem.Path)
		}
		wrong := []string{}
		if want != "" {
			wrong = []string{"steps[0].when"}
		}
		if diff := cmp.Diff(wrong, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
}

// What a person may have is what the directory takes: a value that it refuses is no comparison that could ever hold.
func TestWhatAPersonHasMayBeComparedWith(t *testing.T) {
	t.Parallel()
	for _, zone := range []string{"UTC", "Asia/Shanghai", "Etc/GMT+8", "America/Argentina/Buenos_Aires"} {
		if _, err := time.LoadLocation(zone); err != nil {
			t.Fatal(err)
		}
		var p draft.Problems
		if checkComparisons(`time_zone == "`+zone+`"`, "when", &p); len(p.List) > 0 {
			t.Errorf("%s: %v", zone, p.List)
		}
	}
	for _, tag := range []string{"zh", "zh-Hant", "zh-Hant-TW", "en-US", "x-bank"} {
		var p draft.Problems
		if checkComparisons(`language == "`+tag+`"`, "when", &p); len(p.List) > 0 {
			t.Errorf("%s: %v", tag, p.List)
		}
	}
}

// A condition that cannot be evaluated is refused with one that can, by what it asks for.
func TestAConditionIsRefusedWithAnExample(t *testing.T) {
	t.Parallel()
	for when, want := range map[string]string{
		`"lead" == roles`: `want a condition such as "lead" in roles`, `priority > 3`: `want a condition such as priority == "high"`, `hour + "x"`: "want a condition such as hour >= 22 or hour < 7",
	} {
		r := WithDefaults(posthouse.Route{Name: "night", Steps: []posthouse.RouteStep{{Channels: []string{"a"}, When: when}}})
		var p draft.Problems
		Check(&r, func(string) bool { return true }, &p)
		if len(p.List) != 1 || p.List[0].Path != "steps[0].when" || !strings.Contains(p.List[0].Message, want) {
			t.Errorf("%s: %+v, want %s", when, p.List, want)
		}
		compiled, err := compile(strings.TrimPrefix(want, "want a condition such as "))
		if compiled == nil || err != nil {
			t.Errorf("the example of %s is none: %v", when, err)
		}
	}
	for when, want := range map[string]bool{
		`priority == "high" and priority == "low"`: true, "not workday and workday": true, "hour >= 22 and hour < 7": true, "workday and weekday > 5": false, `priority == "high"`: false, `kind == "x" and kind == "y"`: false,
	} {
		if got := never(when); got != want {
			t.Errorf("%s is never true: %v", when, got)
		}
	}
}
