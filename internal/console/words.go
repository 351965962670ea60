package console

// word is a text of pages in both languages.
type word struct{ en, zh string }

// say is a text in a language; its name where there is none, which a test does not let happen.
func say(name string, zh bool) string {
	for _, table := range []map[string]word{frameWords(), stateWords(), pageWords(), decisionWords(), troubleWords()} {
		if w, ok := table[name]; ok {
			if zh {
				return w.zh
			}
			return w.en
		}
	}
	return name
}

func frameWords() map[string]word {
	return map[string]word{
		"console":       {"Posthouse", "驿站 Posthouse"},
		"other":         {"中文", "English"},
		"skip":          {"To the content", "跳到正文"},
		"sign_in":       {"Sign in", "登录"},
		"sign_out":      {"Sign out", "退出"},
		"me":            {"My account", "我的账户"},
		"enter":         {"Sign in by a link", "通过链接登录"},
		"tenant":        {"Tenant", "租户"},
		"name":          {"Name", "用户名"},
		"password":      {"Password", "密码"},
		"sandbox":       {"This is a demo with simulated providers: nothing reaches a person.", "这是演示环境，平台都是模拟的：消息不会真正发给任何人。"},
		"simulator":     {"Simulator", "模拟器"},
		"docs":          {"API documentation", "接口文档"},
		"zone":          {"Times are of the zone", "时间所用时区："},
		"older":         {"Older", "更早的"},
		"nothing":       {"Nothing is here yet", "这里还没有内容"},
		"next_step":     {"What to do next:", "接下来可以："},
		"welcome":       {"You are signed in. Set a password to sign in again without a link.", "已登录。设置密码后，下次无需链接即可登录。"},
		"password_set":  {"The password is set. All other sessions have ended.", "密码已设置，其他会话均已退出。"},
		"no_roles":      {"No role yet", "还没有角色"},
		"no_roles_help": {"You have a role in no tenant. An administrator gives you one:", "你在任何租户都没有角色，请管理员授予："},
		"wrong":         {"The name or the password is wrong.", "用户名或密码不对。"},
		"wrong_link":    {"The link was used already, or is older than a day. An administrator makes another:", "链接已经用过，或已超过一天。请管理员重新生成："},
		"slowed":        {"Too many wrong tries: wait a minute.", "错误次数太多，请一分钟后再试。"},
		"enter_as":      {"The link signs you in, once, as", "此链接只能使用一次，将登录为"},
		"old_password":  {"Password until now", "当前密码"},
		"new_password":  {"New password", "新密码"},
		"least":         {"characters at least:", "最少字符数："},
		"set_password":  {"Set the password", "设置密码"},
		"lost_password": {"Without a password, an administrator makes a link:", "没有密码或忘记密码，请管理员生成登录链接："},
		"roles":         {"Roles", "角色"},
		"viewer":        {"viewer", "查看者"},
		"operator":      {"operator", "值守者"},
		"sender":        {"sender", "发送者"},
		"admin":         {"administrator", "管理员"},
		"note":          {"Note for the audit log", "备注（写入审计日志）"},
		"pages":         {"Pages", "页面"},
	}
}

func stateWords() map[string]word {
	return map[string]word{
		"pending": {"waits", "待发送"}, "sending": {"is being sent", "发送中"}, "unknown": {"unknown", "未知"}, "quarantined": {"set aside", "已隔离"},
		"sent": {"sent", "已发送"}, "delivered": {"arrived", "已送达"}, "undelivered": {"did not arrive", "未送达"}, "failed": {"failed", "失败"},
		"cancelled": {"cancelled", "已撤销"}, "expired": {"expired", "已过期"}, "suppressed": {"suppressed", "已抑制"},
		"high": {"high", "高"}, "normal": {"normal", "普通"}, "low": {"low", "低"},
	}
}

func pageWords() map[string]word {
	return map[string]word{
		"search":      {"Search", "查询"},
		"search_for":  {"User, name, phone, address, id, or kind/ref", "用户编号、姓名、手机号、地址、消息或投递编号，或 业务类型/业务主键"},
		"find":        {"Find", "查询"},
		"channel":     {"Channel", "渠道"},
		"kind":        {"Kind", "业务类型"},
		"ref":         {"Ref", "业务主键"},
		"state":       {"State", "状态"},
		"any":         {"any", "全部"},
		"user":        {"Recipient", "收件人"},
		"address":     {"Address", "地址"},
		"at":          {"Handed in", "受理时间"},
		"changed":     {"Changed", "更新时间"},
		"reason":      {"Reason", "原因"},
		"account":     {"Account", "发送账号"},
		"delivery":    {"Delivery", "投递"},
		"deliveries":  {"Deliveries", "投递"},
		"message":     {"Message", "消息"},
		"none_found":  {"Nothing was found.", "没有找到。"},
		"none_hint":   {"Look whether the id is the one that the message was sent to, or search for kind/ref, such as leave/4711.", "请确认编号与发送时所用的一致，或用 业务类型/业务主键 查询，例如 leave/4711。"},
		"none_yet":    {"No message has been handed in yet.", "还没有受理过消息。"},
		"send_first":  {"Send one:", "发一条试试："},
		"in_book":     {"In the directory", "通讯录中"},
		"more_people": {"The directory is long: its first 10,000 users were looked through. Search for the user's id.", "通讯录较大，只查找了前 10,000 人；请用用户编号查询。"},
		"why":         {"Why it is where it is", "为什么是现在这样"},
		"until":       {"until", "直到"},
		"nobody_ends": {"until an event or a person ends it", "直到有新的事件或人工处理"},
		"timeline":    {"What happened", "经过"},
		"attempts":    {"Attempts", "发送尝试"},
		"attempt":     {"Attempt", "尝试"},
		"took":        {"took", "耗时"},
		"request":     {"Request", "请求"},
		"response":    {"Response", "应答"},
		"content":     {"Content", "内容"},
		"sensitive":   {"The content is sensitive: it is not shown.", "敏感内容，不显示。"},
		"more_events": {"There is more than a page has room for:", "内容较多，未全部显示："},
		"priority":    {"Priority", "优先级"},
		"due":         {"Due", "下次执行"},
		"deadline":    {"Deadline", "截止时间"},
		"provider_id": {"Provider's id", "平台编号"},
		"replay_of":   {"Replay of", "重发自"},
		"handed_out":  {"Hand-outs to phones", "下发记录"},
		"reported":    {"Reports of phones", "汇报记录"},
		"unconfirmed": {"counted as sent without proof", "视为已发，未经确认"},
		"support":     {"Text for support", "可复制的说明"},
		"id":          {"Id", "编号"},
		"source":      {"Source", "来源系统"},
		"template":    {"Template", "模板"},
	}
}

func decisionWords() map[string]word {
	return map[string]word{
		"decide":           {"Decide", "处理"},
		"cancel":           {"Cancel the message", "撤销整条消息"},
		"cancel_help":      {"All recipients of the message who have not been sent to get nothing. This cannot be undone.", "该消息中尚未发送的收件人都不再发送，无法恢复。"},
		"replay":           {"Send again", "重发"},
		"replay_help":      {"A new delivery to the same recipient begins. The old one stays as it is.", "向同一收件人新建一条投递，原投递保持不变。"},
		"force_new":        {"With a new idempotency key: a provider who remembers the old one sends again", "使用新的幂等键：即使平台记得旧键也会再发一次"},
		"resolve":          {"Resolve", "人工裁定"},
		"resolve_sent":     {"It arrived", "已送达（记为已发送）"},
		"resolve_not_sent": {"It did not arrive: count it as failed", "没有送达（记为失败）"},
		"resolve_retry":    {"It did not arrive: send it again", "没有送达，再发一次"},
		"resolve_help":     {"Look at the provider or ask the recipient first: sending again what arrived tells somebody twice.", "请先在平台或向收件人核实：若其实已送达，再发会让对方收到两次。"},
		"confirm":          {"Yes, do it", "确认执行"},
		"back":             {"Back", "返回"},
		"replayed":         {"It is sent again: this is the new delivery.", "已重发，这是新的投递。"},
		"resolved":         {"The decision is written down.", "裁定已记录。"},
		"sure":             {"Are you sure?", "确定吗？"},
		"cancelled_said":   {"The message is cancelled, as far as it had not been sent.", "已撤销尚未发送的部分。"},
	}
}

func troubleWords() map[string]word {
	return map[string]word{
		"trouble":      {"Something is in the way", "无法完成"},
		"not_found":    {"There is nothing here: it does not exist, or is not yours to see.", "这里没有内容：它不存在，或你无权查看。"},
		"forbidden":    {"Your role does not reach this.", "你的角色不能执行此操作。"},
		"away":         {"The database does not answer now. Nothing that was accepted is lost; this page comes back by itself.", "数据库暂时没有应答。已受理的内容不会丢失，本页会自动恢复。"},
		"conflict":     {"It has changed meanwhile, and nothing was done. Look again:", "情况已发生变化，本次没有执行任何操作，请重新查看："},
		"invalid":      {"What was asked for cannot be done as it is:", "无法按此执行："},
		"too_many":     {"Too many requests: wait a moment.", "请求太多，请稍候。"},
		"broken":       {"An error that should not be. The server's log says more.", "程序出错，详情见服务日志。"},
		"foreign_form": {"This form was sent by another site: nothing was done.", "此表单来自其他网站，没有执行任何操作。"},
		"look_again":   {"Look again", "重新查看"},
	}
}
