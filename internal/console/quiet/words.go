package quiet

import "github.com/posthouse/posthouse/internal/console/words"

// texts are the words of the pages of quiet hours and caps.
func texts() map[string]words.Word {
	return map[string]words.Word{
		"quiet":             {"Quiet hours", "免打扰时段"},
		"quiet_tenant":      {"They hold for all channels, besides a channel's own.", "对全部渠道生效；渠道自己的设置同时有效。"},
		"quiet_channel":     {"They hold for this channel, besides those of all channels.", "只对这个渠道生效；对全部渠道的设置同时有效。"},
		"quiet_all":         {"Those of all channels", "全部渠道的设置"},
		"quiet_help":        {"What would start in these hours waits for their end, retries too, or is left out where its deadline comes first. What is critical is sent all the same.", "这段时间内不发送，重试也一样，等结束后再发；截止时间先到的不再发送。紧急消息照常发送。"},
		"quiet_from":        {"From", "开始"},
		"quiet_to":          {"To", "结束"},
		"quiet_days":        {"On", "哪些天"},
		"quiet_every":       {"every day", "每天"},
		"quiet_workdays":    {"workdays", "工作日"},
		"quiet_days_off":    {"days off", "休息日"},
		"quiet_calendar":    {"Days off by", "休息日依据"},
		"quiet_weekend":     {"Saturdays and Sundays", "周六、周日"},
		"quiet_kinds":       {"Kinds", "消息类别"},
		"quiet_except":      {"But not kinds", "不含类别"},
		"quiet_users":       {"People", "人员"},
		"quiet_zone":        {"Time zone", "时区"},
		"quiet_spread":      {"Spread the end over", "结束后分散在"},
		"quiet_rows":        {"Kinds and people by commas; without any it is all of them. Leave a row empty to take it away.", "类别和人员用逗号分隔，不填表示全部。清空一行即删除。"},
		"caps":              {"Caps", "频次上限"},
		"caps_help":         {"How many messages one person may get in a time. What is critical is not counted.", "一个人在一段时间内最多收到多少条。紧急消息不计入。"},
		"cap_max":           {"At most", "最多"},
		"cap_per":           {"In", "每"},
		"cap_then":          {"Beyond that", "超出时"},
		"cap_defer":         {"it waits for room", "等有余量再发"},
		"cap_suppress":      {"it is not sent", "不再发送"},
		"quiet_want_number": {"is no number: want one such as 3", "不是数字，请填写例如 3"},
		"quiet_want_span":   {"is no span of time: want one such as 30m or 24h", "不是时长，请填写例如 30m 或 24h"},
		"quiet_moved":       {"Somebody else has changed them meanwhile. What you typed is below; store it to replace theirs.", "期间有其他人改过。下面是你填写的内容，再次提交将覆盖对方的修改。"},
	}
}
