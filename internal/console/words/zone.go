package words

// chartWords are the texts of charts.
func chartWords() map[string]Word {
	return map[string]Word{
		"chart":        {"What was accepted, and how attempts ended", "受理量与发送结果"},
		"span":         {"Time shown", "时间范围"},
		"span_hour":    {"60 minutes", "60 分钟"},
		"span_day":     {"24 hours", "24 小时"},
		"span_week":    {"7 days", "7 天"},
		"span_quarter": {"90 days", "90 天"},
	}
}

// zoneWords are the texts of the page of the zone.
func zoneWords() map[string]Word {
	return map[string]Word{
		"zone_help":   {"Times on all pages are shown in this zone, in this browser. An empty field means the zone of the server:", "此浏览器的所有页面按该时区显示时间。留空则用服务器的时区："},
		"zone_wrong":  {"There is no zone of this name. Names are such as Asia/Shanghai.", "没有这个时区。名称形如 Asia/Shanghai。"},
		"zone_change": {"change", "更改"},
		"save":        {"Save", "保存"},
	}
}
