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
