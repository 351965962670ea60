package users

import "github.com/posthouse/posthouse/internal/console/words"

// texts are the words of the page of a user.
func texts() map[string]words.Word {
	return map[string]words.Word{
		"user_messages":      {"Deliveries", "投递记录"},
		"user_notifications": {"Notifications", "通知"},
		"user_wants":         {"What this user wants", "消息偏好"},
		"user_wants_help":    {"Ticked is wanted. It holds as soon as it is stored. Critical messages come all the same.", "勾选表示接收，保存后立即生效；紧急消息不受影响。"},
		"user_by_api":        {"Last chosen by an operator or a program", "最近由管理员或程序设置"},
		"user_by_link":       {"Last chosen by the user, on the page behind the link", "最近由本人在链接页面设置"},
		"user_by_none":       {"Nothing has been chosen: everything is wanted.", "还没有设置：全部接收。"},
		"user_nothing":       {"No messages at all; mandatory kinds come all the same", "不接收任何消息（必收类别除外）"},
		"user_kinds":         {"Kinds of messages", "消息类别"},
		"user_mandatory":     {"mandatory by the tenant's settings", "必收（租户设置）"},
		"user_no_kinds":      {"The tenant names no kinds. Others are switched off below.", "租户没有列出类别，可在下面按类别关闭。"},
		"user_channels":      {"Channels", "渠道"},
		"user_off":           {"Also not wanted, one a line: news, @sms, or news@sms for a kind by one channel", "另外不接收，每行一个：news、@sms，或 news@sms（某类别的某渠道）"},
		"user_prefer":        {"Order of channels for routes that take a person's own, with commas", "路由按个人渠道发送时的顺序，用逗号分隔"},
		"user_quiet":         {"Left alone", "免打扰"},
		"user_quiet_none":    {"No quiet hours hold for this user.", "没有对此用户生效的免打扰时段。"},
		"user_quiet_hours":   {"Hours", "时段"},
		"user_quiet_why":     {"Why", "来源"},
		"user_of_tenant":     {"the tenant, for all channels", "租户设置，全部渠道"},
		"user_of_channel":    {"the channel", "渠道"},
		"user_named":         {"names this user", "指定了此用户"},
		"user_all":           {"everybody", "所有人"},
		"user_clock":         {"By the clock of", "时区"},
		"user_zone_user":     {"the user's own", "用户的时区"},
		"user_zone_hours":    {"that of the quiet hours", "免打扰时段的时区"},
		"user_zone_channel":  {"each channel's own", "各渠道的时区"},
		"user_entry":         {"Zone, language and manager", "时区、语言与上级"},
		"user_zone_help":     {"such as Asia/Shanghai; empty is the channel's", "例如 Asia/Shanghai，不填则按渠道的时区"},
		"user_lang_help":     {"such as zh or en; empty is the tenant's", "例如 zh 或 en，不填则按租户的语言"},
		"user_boss_help":     {"the id of another user", "另一位用户的编号"},
		"user_moved":         {"Somebody else has changed it meanwhile. What you chose is below; store it to replace theirs.", "期间有其他人改过。下面是你的选择，再次提交将覆盖对方的修改。"},
	}
}
