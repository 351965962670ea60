package catalog_test

import (
	"testing"

	"github.com/posthouse/posthouse/internal/catalog"
)

// A line and an item of a list are said in Chinese; the name of a field is the page's to say.
func TestAPathIsSaidInChinese(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"line 1":              "第 1 行",
		"line 12.limits":      "第 12 行的 limits",
		"file":                "文件",
		"payload.sum":         "变量 sum",
		"steps[0].to[0].user": "第 1 步，第 1 个收件人",
		"steps[1].until":      "第 2 步的 until",
		"to[2].address":       "第 3 个收件人的地址",
		"[0].address":         "第 1 项的地址",
		"caps[0]":             "第 1 条频次上限",
		"quiet_hours[1].from": "第 2 条免打扰时段的 from",
		"match[0].to[1].role": "第 1 行，第 2 个收件人的角色",
		"content.rows[0]":     "content rows 第 1 项",
		"channel":             "", "config.url": "", "": "", "line": "", "a b[0]": "", "x[y]": "",
	} {
		got, ok := catalog.Path(path)
		if ok != (want != "") || ok && got != want || !ok && got != path {
			t.Errorf("%q is said as %q (%v), want %q", path, got, ok, want)
		}
	}
	if got, ok := catalog.Chinese("is that of caps[0], for the same kinds: one of both says nothing"); !ok || got != "与第 1 条频次上限相同，类别也相同，其中一条多余" {
		t.Errorf("a path within a sentence: %q", got)
	}
}
