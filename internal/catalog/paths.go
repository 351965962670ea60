package catalog

import (
	"regexp"
	"strconv"
	"strings"
)

// Path is where a problem is, in Chinese: a line of a file, an item of a list such as steps[0].to[1], or a file. False says that the path is the
// name of a field, which a page knows better than this package. Names of fields within an item that nobody writes in Chinese stay.
func Path(path string) (string, bool) {
	if line, rest, _ := strings.Cut(path, "."); lined.MatchString(line) {
		said := "第 " + strings.TrimPrefix(line, "line ") + " 行"
		if rest != "" {
			said += "的 " + rest
		}
		return said, true
	}
	if name, is := strings.CutPrefix(path, "payload."); is {
		return "变量 " + name, true
	}
	if path == "file" {
		return "文件", true
	}
	if !listed.MatchString(path) {
		return path, false
	}
	var items, names []string
	for _, part := range strings.Split(path, ".") {
		name, at, indexed := strings.Cut(part, "[")
		n, err := strconv.Atoi(strings.TrimSuffix(at, "]"))
		switch {
		case indexed && err == nil:
			items, names = append(items, strings.Join(append(names, itemOf(name, n+1)), " ")), nil
		case name == "user" && strings.HasSuffix(strings.Join(items, ""), "收件人"): // says nothing more
		default:
			names = append(names, fieldOf(part))
		}
	}
	said := strings.Join(items, "，")
	if len(names) == 0 {
		return said, true
	}
	between := "的"
	if last := names[0]; last[0] < 0x80 {
		between = "的 "
	}
	return said + between + strings.Join(names, "."), true
}

var (
	lined  = regexp.MustCompile(`^line \d+$`)
	listed = regexp.MustCompile(`^[\w.-]*(?:\[\d+\][\w.-]*)+$`)
)

// itemOf is the item of a list by its number, from 1 on.
func itemOf(list string, n int) string {
	what := map[string]string{
		"": "项", "steps": "步", "to": "个收件人", "match": "行", "channels": "个渠道", "kinds": "个类别", "except_kinds": "个类别", "users": "个用户", "accounts": "个账号",
		"caps": "条频次上限", "quiet_hours": "条免打扰时段", "limits": "个限流窗口", "times": "个时刻", "members": "个成员", "media": "个附件",
	}[list]
	if what == "" {
		return list + " 第 " + strconv.Itoa(n) + " 项"
	}
	return "第 " + strconv.Itoa(n) + " " + what
}

// fieldOf is the name of a field of an item.
func fieldOf(name string) string {
	said := map[string]string{"address": "地址", "user": "用户", "roster": "值班表", "role": "角色", "route": "路由", "channel": "渠道", "template": "模板", "name": "名称"}[name]
	if said == "" {
		return name
	}
	return said
}
