package remote

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse/internal/catalog"
	"github.com/posthouse/posthouse/internal/cli/shell"
)

// An answer says which moment a time of day was taken for: just after midnight it is yesterday's, and a minute before it comes too.
func TestTheMomentThatIsAskedAboutIsSaid(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		local := time.Now()
		midnight := time.Date(local.Year(), local.Month(), local.Day()+1, 0, 0, 0, 0, local.Location())
		time.Sleep(time.Until(midnight.Add(5 * time.Minute))) // of the bubble's clock
		day, before := midnight.Format(time.DateOnly), midnight.AddDate(0, 0, -1).Format(time.DateOnly)
		for text, want := range map[string]string{
			"23:50":           "By " + before + " 23:50:00 " + midnight.Format("-07:00") + ", yesterday: 23:50 is yet to come today.",
			"00:06":           "By " + before + " 00:06:00 " + midnight.Format("-07:00") + ", yesterday: 00:06 is yet to come today.",
			"00:05":           "By " + day + " 00:05:00 " + midnight.Format("-07:00") + ":",
			before + " 23:50": "By " + before + " 23:50:00 " + midnight.Format("-07:00") + ":",
			"15m":             "By " + before + " 23:50:00 " + midnight.Format("-07:00") + ":",
		} {
			f := asked{by: text}
			f.Person = "li.na"
			sh := &shell.Shell{}
			by, err := f.read(sh)
			if err != nil {
				t.Fatal(err)
			}
			if got := f.asksBy(sh, by); got != want {
				t.Errorf("--by %q is %q, want %q", text, got, want)
			}
		}
		f := asked{by: day + " 00:06"}
		f.Person = "li.na"
		_, err := f.read(&shell.Shell{})
		if err == nil || !strings.Contains(err.Error(), "lies ahead") {
			t.Fatalf("a moment that lies ahead is taken: %v", err)
		}
		if said, _ := catalog.Error(err.Error()); !strings.Contains(said, "还没到；只能查询已过去的时间") {
			t.Errorf("in Chinese it is %q", said)
		}
	})
}
